//! Opens the archive of a crawl, also after a power cut.
//!
//! A row is committed after its record is written, but both reach the disk later, in any order. The setting
//! [`SYNCED`] says up to which fetch the records were synced when it was committed. At open every later row is
//! checked against its record. A row whose record is missing, damaged or of another page is queued again and loses
//! its archive location. All of this is synced before anything is appended to the segments.

use std::collections::BTreeSet;
use std::path::Path;

use porthole_store::TriedUrl;
use porthole_types::{CanonicalUrl, Headers, SegmentSpan, UrlId};

use crate::archive::{Archive, ArchiveCompression, Keep, Unsynced, look_up, read_page};
use crate::engine::{Crawl, CrawlError, Writer, last_archived, segments_of};

/// Setting with the sequence number below which all records are synced.
pub(crate) const SYNCED: &str = "crawl.synced";

/// Number of rows read at once.
const READ_AT_ONCE: usize = 1_024;

/// Archived pages that are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostPages {
    /// Pages lost to a power cut or a truncated file. They are fetched again.
    pub queued_again: u64,
    /// Pages that could not be read for the strategy or for judging again.
    pub unreadable: u64,
}

impl Crawl<'_> {
    /// Archives pages in the segments of a folder. Pages lost to a power cut are queued again.
    pub fn archived(self, folder: &Path, keep: Keep) -> Result<Self, CrawlError> {
        self.archived_as(folder, keep, ArchiveCompression::default())
    }

    /// Like [`archived`](Self::archived), with the compression of new segments.
    pub fn archived_as(
        mut self,
        folder: &Path,
        keep: Keep,
        compression: ArchiveCompression,
    ) -> Result<Self, CrawlError> {
        let writer = &mut self.writer;
        let last = last_archived(&*writer.store)?;
        writer.recover(folder, last)?;
        let numbers = writer.store.worker().map_or(0..=u32::MAX, segments_of);
        writer.archive = Some((Archive::open_among(folder, numbers, last, compression)?, keep));
        Ok(self)
    }

    /// Adds fields to the warcinfo record of every new segment, such as `operator` and `robots`.
    pub fn describing_archive(mut self, fields: Vec<(&'static str, String)>) -> Self {
        if let Some((archive, _)) = &mut self.writer.archive {
            archive.describe(fields);
        }
        self
    }

    /// Records what was sent for every archived page, too: these headers, which all requests have in common, the host,
    /// and the conditions of a request for a page that is known.
    pub fn recording_requests(mut self, headers: Headers) -> Self {
        if let Some((archive, _)) = &mut self.writer.archive {
            archive.record_requests(headers);
        }
        self
    }

    /// Archived pages found to be lost since the crawl was opened.
    pub fn lost_pages(&self) -> LostPages {
        self.writer.lost_pages
    }
}

impl Writer<'_> {
    fn recover(&mut self, folder: &Path, last: Option<SegmentSpan>) -> Result<(), CrawlError> {
        let setting = self.own_setting(SYNCED)?;
        // Older versions had no such setting. What they wrote is on the disk by now.
        let synced = setting.as_deref().and_then(|synced| synced.parse().ok()).unwrap_or(self.next_seq);
        let mut damage = Damage::default();
        if synced < self.next_seq {
            self.find_unsynced(folder, synced, &mut damage)?;
        }
        if let Some(last) = last {
            self.find_truncated(folder, last, synced, &mut damage)?;
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
            self.set_own_setting(SYNCED, &now_synced)?;
            self.store.reader().sync()?;
        }
        Ok(())
    }

    /// Checks the records of all fetches from `synced` on.
    fn find_unsynced(&self, folder: &Path, synced: u64, damage: &mut Damage) -> Result<(), CrawlError> {
        self.visit_tried(synced.checked_sub(1), &mut |tried| {
            let Some(span) = tried.span.filter(|span| self.is_own_segment(*span)) else { return Ok(true) };
            damage.segments.insert(span.segment);
            let Ok(url) = CanonicalUrl::parse(&tried.url) else { return Ok(true) };
            match read_page(folder, &url, span) {
                Err(error) if error.is_lost_page() => damage.lost.push(tried.oid),
                page => drop(page?),
            }
            Ok(true)
        })
    }

    /// If the last record is incomplete although it was synced, the segment was truncated by something else than a
    /// power cut. Finds all earlier rows concerned. A segment that is missing entirely was removed on purpose.
    fn find_truncated(
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

    /// Visits the fetches after a sequence number, in order, while the callback asks to.
    fn visit_tried(
        &self,
        mut after: Option<u64>,
        visit: &mut dyn FnMut(&TriedUrl) -> Result<bool, CrawlError>,
    ) -> Result<(), CrawlError> {
        let reader = self.store.reader();
        loop {
            let some = reader.tried(after, READ_AT_ONCE)?;
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
    /// URLs whose pages are lost.
    lost: Vec<UrlId>,
    /// Segments that may not be synced.
    segments: BTreeSet<u32>,
}
