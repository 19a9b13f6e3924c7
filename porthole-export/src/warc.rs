//! WARC files of selected pages: their records as they are in the archive, each followed by the request for it, if it was
//! recorded, and by a metadata record with topic and relevance; a warcinfo record is in front. Records that are
//! compressed by zstd are compressed by gzip instead, which all tools read.

use std::path::Path;

use porthole_store::StoredPage;
use porthole_topic::Taxonomy;
use porthole_types::Timestamp;
use porthole_warc::{GzipRecords, RecordFormat, RecordId, WarcWriter};

use crate::archive::ArchivedPages;
use crate::page_row::topic_path;
use crate::{Error, Result, RowWriter};

/// What the warcinfo record of every file says.
#[derive(Clone, Debug, Default)]
pub struct WarcDescription {
    /// Name and version of the program.
    pub software: String,
    /// Who crawled: an email address or URL.
    pub operator: Option<String>,
    /// What was selected, in words.
    pub description: String,
    /// When the export was made.
    pub made: Timestamp,
}

/// Pages as WARC records. A page that is not in the archive is left out.
pub struct WarcPages<'a> {
    tree: &'a Taxonomy,
    archive: ArchivedPages,
    about: WarcDescription,
    /// Packs the records that are not in the archive.
    packer: WarcWriter<Vec<u8>>,
    gzip: GzipRecords,
}

impl<'a> WarcPages<'a> {
    /// Records of an archive, with topics named after a tree.
    pub fn new(tree: &'a Taxonomy, archive: &Path, about: WarcDescription) -> Self {
        let packer = WarcWriter::new(Vec::new(), RecordFormat::Gzip, 0);
        WarcPages { tree, archive: ArchivedPages::new(archive), about, packer, gzip: GzipRecords::default() }
    }

    /// The fields of a page's metadata record.
    fn metadata(&self, page: &StoredPage) -> Vec<(&'static str, String)> {
        let topic = page.best.and_then(|best| topic_path(self.tree, best));
        let score = |score: Option<f64>| score.map(|score| score.to_string());
        let fields = [
            ("topic", topic),
            ("relevance", score(page.relevance)),
            ("hub", score(page.hub)),
            ("authority", score(page.authority)),
            ("distance", Some(page.depth.to_string())),
            ("language", (!page.language.is_empty()).then(|| page.language.clone())),
            ("title", (!page.title.is_empty()).then(|| page.title.clone())),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

impl RowWriter<StoredPage> for WarcPages<'_> {
    fn name(&self) -> &'static str {
        "warc"
    }

    fn head(&mut self, file_name: &str, out: &mut Vec<u8>) -> Result<()> {
        let about = &self.about;
        let mut fields = vec![("software", about.software.as_str()), ("format", "WARC File Format 1.1")];
        fields.extend(about.operator.as_deref().map(|operator| ("operator", operator)));
        fields.push(("description", about.description.as_str()));
        fields.push((
            "conformsTo",
            "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        ));
        let written = self.packer.warcinfo(about.made, file_name, &fields);
        written.map_err(|source| Error::Warc { path: file_name.into(), source })?;
        out.append(&mut self.packer.take());
        Ok(())
    }

    fn row(&mut self, page: &StoredPage, out: &mut Vec<u8>) -> Result<Option<String>> {
        let Some(span) = page.span else { return Ok(Some(format!("{} is not in the archive", page.url))) };
        let (bytes, record) = match self.archive.record(&page.url, span) {
            Ok(found) => found,
            Err(error) => return Ok(Some(error.to_string())),
        };
        let damaged = |source| Error::Warc { path: page.url.as_str().into(), source };
        out.append(&mut self.gzip.pack(bytes, span.offset).map_err(damaged)?);
        if let Some(request) = self.archive.request(&record, span) {
            out.append(&mut self.gzip.pack(request, span.offset).map_err(damaged)?);
        }
        let id = record.id().and_then(RecordId::parse).filter(|_| !page.is_redirect);
        let Some(id) = id else { return Ok(None) };
        let fields = self.metadata(page);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let date = record.date().unwrap_or(page.at);
        let written = self.packer.metadata(date, &page.url, id, &fields);
        written.map_err(|source| Error::Warc { path: "-".into(), source })?;
        out.append(&mut self.packer.take());
        Ok(None)
    }
}
