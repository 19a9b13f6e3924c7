#![doc = include_str!("../README.md")]

mod body;
mod codec;
mod digest;
mod error;
mod fields;
mod http;
mod input;
mod message;
mod quick;
mod reader;
mod record;
mod repack;
mod salvage;
mod stream;
mod survey;
mod writer;
mod zstd_frames;

pub use body::BodyEnd;
pub use digest::{Digest, RecordId};
pub use error::WarcError;
pub use http::HttpResponse;
pub use message::{Original, Truncation, WarcRequest, WarcResponse};
pub use reader::{BLOCK_LIMIT, WarcReader, read_record, read_start, unpack_record};
pub use record::{RecordKind, RecordPlace, WarcRecord};
pub use repack::GzipRecords;
pub use salvage::find_record;
pub use survey::{LastWhole, WarcSurvey, last_whole, survey};
pub use writer::{RecordFormat, WarcWriter, Written};
