//! The contact address in porthole.toml, which crawls of the open web require.

use std::fs;
use std::path::Path;

use anyhow::Context;
use porthole_crawl::HttpFetch;

use crate::asking;
use crate::cli;
use crate::output::misuse;
use crate::settings::{RawFetch, RawSettings};
use crate::workspace::Workspace;

const SETTINGS: &str = "porthole.toml";

/// The contact to write, if one was given or is missing. Runs before anything is created.
pub(super) async fn needed(folder: &Path, arguments: &cli::Start) -> anyhow::Result<Option<String>> {
    if let Some(contact) = &arguments.contact {
        return checked(contact).map(Some);
    }
    let is_there = Workspace::is_at(folder) && Workspace::open(folder)?.settings.fetch.ready().is_ok();
    if is_there || !arguments.crawl.web.is_empty() {
        return Ok(None);
    }
    if asking::is_possible() {
        let question = "a contact address is required to crawl the open web.\n\
             your email address, or the URL of a page about your crawl:";
        let understood = |answer: &str| match answer {
            "" => Ok(None),
            contact => checked(contact).map(Some).map_err(|error| error.to_string()),
        };
        if let Some(contact) = asking::ask_until(question, understood).await.flatten() {
            return Ok(Some(contact));
        }
    }
    Err(misuse(
        "a contact address is required to crawl the open web: add `--contact you@example.org` or the URL of a page \
         about your crawl; it is stored in porthole.toml and sent with every request. To replay a recorded web, use --web \
        FILE.warc.gz",
    ))
}

/// Checks a contact address.
pub(in crate::commands) fn checked(contact: &str) -> anyhow::Result<String> {
    let settings = RawFetch { contact: Some(contact.to_owned()), ..RawFetch::default() };
    HttpFetch::new(settings.ready()?).map_err(|error| misuse(format!("--contact: {error}")))?;
    Ok(contact.to_owned())
}

/// Stores the contact in porthole.toml.
pub(in crate::commands) fn write(folder: &Path, contact: &str) -> anyhow::Result<()> {
    // JSON and TOML quote strings in the same way.
    set(folder, "fetch", "contact", &serde_json::Value::from(contact).to_string())
}

/// Changes one setting in porthole.toml and keeps the rest of the file.
pub(in crate::commands) fn set(folder: &Path, section: &str, name: &str, value: &str) -> anyhow::Result<()> {
    let file = folder.join(SETTINGS);
    let cannot = || format!("cannot write {}", file.display());
    let text = with(&fs::read_to_string(&file).with_context(cannot)?, section, name, value);
    RawSettings::parse(&text).with_context(cannot)?;
    // Rename, so that the file is never half written.
    let new = folder.join("porthole.toml.new");
    fs::write(&new, text).and_then(|()| fs::rename(&new, &file)).with_context(cannot)
}

/// Returns the text with a setting changed or added.
fn with(text: &str, section: &str, name: &str, value: &str) -> String {
    let setting = format!("{name} = {value}");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let Some(head) = lines.iter().position(|line| line.trim() == format!("[{section}]")) else {
        return format!("{text}\n[{section}]\n{setting}\n");
    };
    let end = lines[head + 1..].iter().position(|line| line.trim_start().starts_with('['));
    let end = end.map_or(lines.len(), |end| head + 1 + end);
    let sets_it = |line: &String| {
        let left = line.trim_start_matches(['#', ' ']).split('=').next().unwrap_or("");
        left.trim() == name && line.contains('=')
    };
    // Prefer a line that is in force to one that is commented out.
    let is_in_force = |line: &String| sets_it(line) && !line.trim_start().starts_with('#');
    let all = &lines[head + 1..end];
    match all.iter().position(is_in_force).or_else(|| all.iter().position(sets_it)) {
        Some(place) => lines[head + 1 + place] = setting,
        None => lines.insert(head + 1, setting),
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::TEMPLATE;

    fn check(text: &str) {
        let text = with(text, "fetch", "contact", r#""me@\"x\".test""#);
        let fetch = RawSettings::parse(&text).unwrap_or_else(|error| panic!("{error:#}\n{text}")).fetch;
        assert_eq!(fetch.contact.as_deref(), Some("me@\"x\".test"), "{text}");
    }

    #[test]
    fn a_setting_goes_into_any_settings() {
        check(TEMPLATE);
        check("");
        check("[fetch]\n");
        check("[fetch]\n# contact = \"a\"\nloopback = true\ncontact = \"b\"\n[polite]\n");
        check("[fetch]\nloopback = true\n\n[polite]\ndelay = 1.0\n");
        check("[polite]\ndelay = 1.0");
        let kept = with(TEMPLATE, "train", "smoothing", "0.1");
        assert_eq!(kept.lines().count(), TEMPLATE.lines().count(), "{kept}");
        assert_eq!(RawSettings::parse(&kept).unwrap().train.smoothing, Some(0.1));
    }
}
