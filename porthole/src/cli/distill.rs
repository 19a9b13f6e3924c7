//! What a person types about hubs and authorities.

use clap::{Args, ValueEnum};

use crate::settings::SiteWord;

#[derive(Debug, Args)]
pub(crate) struct Distill {
    /// Who finds the scores; all find the same
    #[arg(long, value_enum, default_value_t = EngineWord::Native)]
    pub(crate) engine: EngineWord,
    /// The most relevant share of the pages, which may be authorities
    #[arg(long, default_value_t = 0.15, value_name = "SHARE", value_parser = share)]
    pub(crate) rho: f64,
    /// What counts as one site, links within which say nothing; as porthole.toml has it if not given
    #[arg(long, value_enum)]
    pub(crate) site: Option<SiteWord>,
    /// Print the facts as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineWord {
    /// Sparse products in memory, on all cores
    Native,
    /// Link by link along the table, as was done before there were joins
    Walk,
    /// Joins inside the database
    Sql,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("a share above 0 and up to 1, such as 0.15".to_owned()),
    }
}
