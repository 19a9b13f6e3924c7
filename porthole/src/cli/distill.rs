//! Arguments of `porthole distill`.

use clap::{Args, ValueEnum};

use crate::settings::SiteWord;

#[derive(Debug, Args)]
pub(crate) struct Distill {
    /// Implementation to use; all compute the same scores
    #[arg(long, value_enum, default_value_t = EngineWord::Native)]
    pub(crate) engine: EngineWord,
    /// Share of the pages, by relevance, that may be authorities
    /// [default: porthole.toml, 0.15]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) rho: Option<f64>,
    /// What a site is; links within a site are ignored [default: porthole.toml]
    #[arg(long, value_enum)]
    pub(crate) site: Option<SiteWord>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineWord {
    /// Sparse matrix products in memory, on all cores
    Native,
    /// One link at a time along the table (the baseline before joins)
    Walk,
    /// Joins inside the database
    Sql,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("expected a number above 0 and at most 1, such as 0.15".to_owned()),
    }
}
