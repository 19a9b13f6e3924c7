//! Opening the kept pages of a crawl, also after a power cut.
//!
//! A row is committed when its record is written; both reach the disk later, in any order. The setting [`SYNCED`] says
//! up to which fetch the records were synced when that setting was committed. So at open every row behind it is checked
//! against its record. A row whose record is missing, damaged or another page's is queued again, and says no longer where
//! its page is. All of that is synced before anything is written to the segments.

use std::collections::BTreeSet;
use std::path::Path;

use porthole_store::TriedUrl;
use porthole_types::{CanonicalUrl, SegmentSpan, UrlId};

use crate::archive::{Archive, Keep, Unsynced, look_up, read_page};
use crate::engine::{Crawl, CrawlError, Writer, last_archived};

/// The setting that says that the records of all fetches below that number are synced.
pub(crate) const SYNCED: &str = "crawl.synced";

/// Rows that are looked up at once.
const LOOKED_UP: usize = 1_024;

/// Kept pages that a crawl had to do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostPages {
    /// Pages that were lost to a power cut or with the end of a file, and are fetched again.
    pub queued_again: u64,
    /// Pages that could not be read when the strategy was to be told of them, or when they were to be judged again.
    pub unreadable: u64,
}

impl Crawl<'_> {
    /// Keeps pages that come, in the segments of a folder. Pages that a power cut has taken from there are queued again.
    pub fn archived(mut self, folder: &Path, keep: Keep) -> Result<Self, CrawlError> {
        let writer = &mut self.writer;
        let last = last_archived(&*writer.store)?;
        writer.recover(folder, last)?;
        writer.archive = Some((Archive::open_after(folder, last)?, keep));
        Ok(self)
    }

    /// Has every new segment of the archive say more of the crawl, in the names of WARC: `operator`, `robots`.
    pub fn describing_archive(mut self, fields: Vec<(&'static str, String)>) -> Self {
        if let Some((archive, _)) = &mut self.writer.archive {
            archive.describe(fields);
        }
        self
    }

    /// Kept pages that this crawl had to do without, since it was opened.
    pub fn lost_pages(&self) -> LostPages {
        self.writer.lost_pages
    }
}

impl Writer<'_> {
    fn recover(&mut self, folder: &Path, last: Option<SegmentSpan>) -> Result<(), CrawlError> {
        let setting = self.store.setting(SYNCED)?;
        // Older versions kept no such setting. What they wrote is long on the disk.
        let synced = setting.as_deref().and_then(|synced| synced.parse().ok()).unwrap_or(self.next_seq);
        let mut damage = Damage::default();
        if synced < self.next_seq {
            self.find_unsynced(folder, synced, &mut damage)?;
        }
        if let Some(last) = last {
            self.find_cut_off(folder, last, synced, &mut damage)?;
        }
        if !damage.lost.is_empty() {
            self.lost_pages.queued_again += damage.lost.len() as u64;
            self.store.lose_pages(&damage.lost)?;
        }
        if !damage.lost.is_empty() || synced < self.next_seq {
            Unsynced::open(folder, damage.segments.into_iter())?.sync()?;
        }
        let now_synced = self.next_seq.to_string();
        if setting.as_deref() != Some(&now_synced) {
            self.store.set_setting(SYNCED, &now_synced)?;
            self.store.reader().sync()?;
        }
        Ok(())
    }

    /// Checks the records of all fetches from that number on.
    fn find_unsynced(&self, folder: &Path, synced: u64, damage: &mut Damage) -> Result<(), CrawlError> {
        self.visit_tried(synced.checked_sub(1), &mut |tried| {
            let Some(span) = tried.span else { return Ok(true) };
            damage.segments.insert(span.segment);
            let Ok(url) = CanonicalUrl::parse(&tried.url) else { return Ok(true) };
            match read_page(folder, &url, span) {
                Err(error) if error.is_lost_page() => damage.lost.push(tried.oid),
                page => drop(page?),
            }
            Ok(true)
        })
    }

    /// If the last record is not whole though it was synced, the segment has lost its end to something else than a power
    /// cut: finds all rows, before the number, that this concerns. A segment that is gone as a whole was taken away on
    /// purpose.
    fn find_cut_off(
        &self,
        folder: &Path,
        last: SegmentSpan,
        synced: u64,
        damage: &mut Damage,
    ) -> Result<(), CrawlError> {
        let Some((false, length)) = look_up(folder, last)? else { return Ok(()) };
        self.visit_tried(None, &mut |tried| {
            if tried.seq >= synced {
                return Ok(false);
            }
            let is_cut_off = |span: &SegmentSpan| {
                let end = span.offset.saturating_add(span.length.into());
                span.segment == last.segment && (end > length || *span == last)
            };
            damage.lost.extend(tried.span.filter(is_cut_off).map(|_| tried.oid));
            Ok(true)
        })
    }

    /// Visits what was tried behind a fetch, in order, as long as it is asked to.
    fn visit_tried(
        &self,
        mut after: Option<u64>,
        visit: &mut dyn FnMut(&TriedUrl) -> Result<bool, CrawlError>,
    ) -> Result<(), CrawlError> {
        let reader = self.store.reader();
        loop {
            let some = reader.tried(after, LOOKED_UP)?;
            let Some(last) = some.last() else { return Ok(()) };
            after = Some(last.seq);
            for tried in &some {
                if !visit(tried)? {
                    return Ok(());
                }
            }
        }
    }
}

#[derive(Default)]
struct Damage {
    /// URLs whose pages are gone.
    lost: Vec<UrlId>,
    /// Segments that may not be synced.
    segments: BTreeSet<u32>,
}
