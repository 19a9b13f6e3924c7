//! Arguments of `porthole serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Workspaces, and folders of workspaces [default: the current folder]
    #[arg(value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// Address to listen on [default: 127.0.0.1:7373, or the next free port]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Another name under which the server is reached
    #[arg(long, value_name = "NAME")]
    pub(crate) host_name: Vec<String>,
    /// Search endpoint for workspaces that begin with keywords; {words} stands for the words
    #[arg(long, value_name = "URL")]
    pub(crate) search_url: Option<String>,
    /// Write the token to this file, readable by you only, for programs
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Print the description of the API (OpenAPI) and exit
    #[arg(long)]
    pub(crate) openapi: bool,
}
