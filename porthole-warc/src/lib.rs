//! WARC: reading what crawlers recorded, in whatever state it is, and writing correct WARC 1.1.
//!
//! Works over readers and writers that are handed in; no file is opened here, no clock is asked. Reading
//! takes any bytes: memory is bounded by the limits, time is linear in what comes out of the compression,
//! and damage is an error that names the offset of the record it is in.
//!
//! ```
//! use porthole_warc::{Answer, BLOCK_LIMIT, Form, WarcReader, WarcWriter};
//!
//! let mut file = Vec::new();
//! let mut writer = WarcWriter::new(&mut file, Form::Gzip, 1);
//! let headers = [("Content-Type", "text/html")].into_iter().collect();
//! writer.response(&Answer::new("http://example.com/", &headers, b"<p>Hello")).unwrap();
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
mod stream;
mod survey;
mod writer;

pub use body::BodyEnd;
pub use digest::{Digest, RecordId};
pub use error::WarcError;
pub use http::HttpResponse;
pub use message::{Answer, Original, Question, Truncation};
pub use reader::{BLOCK_LIMIT, WarcReader, read_record};
pub use record::{Place, Record, RecordKind};
pub use survey::{LastWhole, Survey, last_whole, survey};
pub use writer::{Form, WarcWriter, Written};
