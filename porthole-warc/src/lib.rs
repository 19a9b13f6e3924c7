//! WARC: a lenient reader for files of any crawler, and a writer of correct WARC 1.1.
//!
//! Works on readers and writers of the caller; opens no files and reads no clock. The reader accepts any bytes: memory
//! is bounded by limits, time is linear in the decompressed size, and damage is an error with the offset of its record.
//!
//! ```
//! use porthole_warc::{BLOCK_LIMIT, RecordFormat, WarcReader, WarcResponse, WarcWriter};
//!
//! let mut file = Vec::new();
//! let mut writer = WarcWriter::new(&mut file, RecordFormat::Gzip, 1);
//! let headers = [("Content-Type", "text/html")].into_iter().collect();
//! writer.response(&WarcResponse::new("http://example.com/", &headers, b"<p>Hello")).unwrap();
//!
//! for record in WarcReader::new(&file[..]) {
//!     let record = record.unwrap();
//!     assert_eq!(record.target(), Some("http://example.com/"));
//!     assert_eq!(record.http(BLOCK_LIMIT).unwrap().body, b"<p>Hello");
//! }
//! ```

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
mod salvage;
mod stream;
mod survey;
mod writer;

pub use body::BodyEnd;
pub use digest::{Digest, RecordId};
pub use error::WarcError;
pub use http::HttpResponse;
pub use message::{Original, Truncation, WarcRequest, WarcResponse};
pub use reader::{BLOCK_LIMIT, WarcReader, read_record, read_start};
pub use record::{RecordKind, RecordPlace, WarcRecord};
pub use salvage::find_record;
pub use survey::{LastWhole, WarcSurvey, last_whole, survey};
pub use writer::{RecordFormat, WarcWriter, Written};
