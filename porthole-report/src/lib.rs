//! Reports: self-contained HTML pages, SVG charts, clusters of similar pages, and summaries of series.

pub mod clusters;
pub mod html;
pub mod summary;
pub mod svg;
