//! CDXJ: a sorted index of the records in WARC files, by which replay tools find pages.

use std::path::Path;

use porthole_store::StoredPage;
use porthole_types::{CanonicalUrl, Timestamp};

use crate::archive::{ArchivedPages, RecordFacts};
use crate::sorted_lines::SortedLines;
use crate::surt::surt;
use crate::{Error, Result, RowWriter};

/// An index of the pages in the workspace's archive. It is written when all pages are known, so that it cannot be
/// resumed.
pub struct CdxPages {
    archive: ArchivedPages,
    lines: SortedLines,
}

impl CdxPages {
    /// An index of an archive. Media types, dates and digests come from its records.
    pub fn new(archive: &Path) -> Self {
        CdxPages { archive: ArchivedPages::new(archive), lines: SortedLines::new() }
    }
}

impl RowWriter<StoredPage> for CdxPages {
    fn name(&self) -> &'static str {
        "cdxj"
    }

    fn row(&mut self, page: &StoredPage, _: &mut Vec<u8>) -> Result<Option<String>> {
        let Some(span) = page.span else { return Ok(Some(format!("{} is not in the archive", page.url))) };
        let Some(facts) = self.archive.facts(&page.url, span) else {
            return Ok(Some(format!("{} cannot be read from the archive", page.url)));
        };
        let file = self.archive.file_name(span);
        let Some(line) = cdx_line(&page.url, &facts, &file, span.offset, span.length.into()) else {
            return Ok(Some(format!("{} is no URL", page.url)));
        };
        self.lines.push(line).map_err(Error::Stream)?;
        Ok(None)
    }

    fn tail(&mut self, write: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let lines = std::mem::replace(&mut self.lines, SortedLines::new());
        let mut failed = None;
        let written = lines.finish(&mut |line| {
            write(format!("{line}\n").as_bytes()).map_err(|error| {
                failed = Some(error);
                std::io::Error::other("the output failed")
            })
        });
        match (failed, written) {
            (Some(error), _) => Err(error),
            (None, written) => written.map_err(Error::Stream),
        }
    }

    fn is_resumable(&self) -> bool {
        false
    }
}

/// A line of an index; `None` if the URL is none.
pub(crate) fn cdx_line(
    url: &str,
    facts: &RecordFacts,
    file: &str,
    offset: u64,
    length: u64,
) -> Option<String> {
    let key = surt(&CanonicalUrl::parse(url).ok()?);
    let status = facts.status.map_or_else(|| "-".to_owned(), |status| status.to_string());
    let json = serde_json::json!({
        "url": url,
        "mime": facts.mime.as_deref().unwrap_or("unk"),
        "status": status,
        "digest": facts.digest.as_deref().unwrap_or("-"),
        "length": length.to_string(),
        "offset": offset.to_string(),
        "filename": file,
    });
    Some(format!("{key} {} {json}", timestamp(facts.date.unwrap_or(Timestamp(0)))))
}

/// A time in 14 digits.
pub(crate) fn timestamp(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    at.strftime("%Y%m%d%H%M%S").to_string()
}
