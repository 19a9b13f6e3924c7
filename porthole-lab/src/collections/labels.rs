//! Labels of pages: lines of URL, topic and an optional group, separated by tabs.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use super::{CollectionError, Result, open};

/// Labels of pages, by URL as written.
pub(super) struct Labels(HashMap<String, PageLabel>);

/// Labels of one page.
#[derive(Debug, Default)]
pub(super) struct PageLabel {
    /// Topic paths, in the order of the lines.
    pub(super) topics: Vec<String>,
    pub(super) group: String,
}

impl Labels {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let mut text = String::new();
        let unreadable = |source| CollectionError::Read { path: path.into(), source };
        open(path)?.read_to_string(&mut text).map_err(unreadable)?;
        let wrong = |(line, what)| CollectionError::Label { path: path.into(), line, what };
        Labels::parse(&text).map_err(wrong)
    }

    /// An error is a line number and a description.
    pub(super) fn parse(text: &str) -> std::result::Result<Self, (usize, &'static str)> {
        let mut labels: HashMap<String, PageLabel> = HashMap::new();
        for (line, number) in text.lines().zip(1..) {
            let mut fields = line.split('\t');
            let (Some(url), Some(topic)) = (fields.next(), fields.next()) else {
                return Err((number, "a URL and a topic with a tab between them are needed"));
            };
            if !topic.starts_with('/') {
                return Err((number, "a topic is a path and starts with `/`"));
            }
            let label = labels.entry(url.to_owned()).or_default();
            label.topics.push(topic.to_owned());
            label.group = fields.next().unwrap_or_default().to_owned();
        }
        Ok(Labels(labels))
    }

    pub(super) fn get(&self, url: &str) -> Option<&PageLabel> {
        self.0.get(url)
    }
}
