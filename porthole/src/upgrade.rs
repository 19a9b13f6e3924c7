//! Workspaces of earlier versions, which read words by other rules.

use porthole_page::TERM_VERSION;
use porthole_store::{ExampleState, NewExample, StoreReader, TopicChange, WorkspaceWriter};
use porthole_topic::{CriticModel, FormatError, Pretrained};

use crate::output::{self, count};
use crate::workspace::{self, CRITIC, TAXONOMY};

/// Setting: the version of the rules by which the examples were read. Not in workspaces of before version 2.
pub(crate) const TERMS: &str = "term_version";

/// Languages whose words were read as they are now: all but the longest.
const UNCHANGED: &[&str] = &["en", "de", "fr", "hu", "it"];

/// Brings the general taxonomy up to date, and marks examples as missing whose words would be read differently now.
pub(crate) fn update_terms(store: &mut dyn WorkspaceWriter) -> anyhow::Result<()> {
    let version = TERM_VERSION.to_string();
    let reader = store.reader();
    let has_former_general =
        reader.model(TAXONOMY)?.is_some_and(|stored| Pretrained::is_former_general(&stored.bytes));
    let is_current = match store.setting(TERMS)? {
        Some(noted) => noted == version,
        None => !has_former_general && !has_former_critic(&*reader)?,
    };
    if is_current {
        return Ok(());
    }
    if has_former_general {
        workspace::keep(store, TAXONOMY, Pretrained::general_bytes().to_vec())?;
    }
    let mut outdated = Vec::new();
    reader.visit_examples(&mut |example, _| {
        if example.state == ExampleState::Ok && !UNCHANGED.contains(&example.language.as_str()) {
            let why = "read by an earlier version: run `porthole examples fetch`, or add the file again";
            outdated.push(NewExample {
                topic: example.topic,
                url: example.url.clone(),
                title: example.title.clone(),
                source: example.source.clone(),
                language: example.language.clone(),
                state: ExampleState::Missing(why.to_owned()),
                terms: Vec::new(),
            });
        }
    })?;
    store.change_topics(&TopicChange { added: &outdated, ..TopicChange::default() })?;
    if !outdated.is_empty() {
        output::say(&format!(
            "{} in other languages than English were read by an earlier version, by other rules: run `porthole examples \
             fetch`, then `porthole train`",
            count(outdated.len(), "example")
        ));
    }
    Ok(store.set_setting(TERMS, &version)?)
}

fn has_former_critic(reader: &dyn StoreReader) -> anyhow::Result<bool> {
    let model = reader.model(CRITIC)?.map(|stored| CriticModel::from_bytes(&stored.bytes));
    Ok(matches!(model, Some(Err(FormatError::Terms { .. }))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    fn example(url: &str, language: &str) -> NewExample {
        NewExample {
            topic: porthole_types::TopicId::ROOT,
            url: url.to_owned(),
            title: String::new(),
            source: "test".to_owned(),
            language: language.to_owned(),
            state: ExampleState::Ok,
            terms: vec![(porthole_types::TermId(1), 1)],
        }
    }

    #[test]
    fn examples_that_would_be_read_differently_have_to_be_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::create(&folder.path().join("w")).unwrap();
        let mut store = workspace.writer().unwrap();
        let added = [example("http://a.test/en", "en"), example("http://a.test/uk", "uk")];
        store.change_topics(&TopicChange { added: &added, ..TopicChange::default() }).unwrap();
        let read = |workspace: &Workspace| -> Vec<String> {
            let examples = workspace.reader().unwrap().examples(None).unwrap();
            examples.iter().map(|example| format!("{} {}", example.language, example.state.name())).collect()
        };
        update_terms(&mut store).unwrap();
        assert_eq!(read(&workspace), ["en ok", "uk ok"], "a new workspace is up to date");
        store.set_setting(TERMS, "1").unwrap();
        update_terms(&mut store).unwrap();
        assert_eq!(read(&workspace), ["en ok", "uk missing"]);
        // Read again, it stays.
        store.change_topics(&TopicChange { added: &added[1..], ..TopicChange::default() }).unwrap();
        update_terms(&mut store).unwrap();
        assert_eq!(read(&workspace), ["en ok", "uk ok"]);
    }
}
