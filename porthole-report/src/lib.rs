//! Reports: HTML pages that need nothing else, SVG charts, groups of similar pages, and the figures of a series.

pub mod clusters;
pub mod html;
pub mod summary;
pub mod svg;
