//! Acts on proposals to broaden the topic while the crawl runs (`[crawl] broaden = "yes"`): a crawl that stagnates, or
//! whose relevance falls, follows links on pages about the topic that commingles most with the good ones. That topic is not
//! marked good, so that R means what it meant (W 2.2, 4.1).

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use porthole_crawl::{Command, SystemClock};
use porthole_store::{StoreReader, WorkspaceWriter};
use porthole_topic::{Broadening, Taxonomy};
use porthole_types::{Clock, Event, TopicId};

use super::super::{broaden, toward};
use super::watch::SharedWatch;
use crate::output;
use crate::workspace::{self, Workspace};

/// Kind of the event.
const BROADENED: &str = "broadened";

/// Asks for the topic to be broadened. There is one request at a time.
pub(super) struct Broadener(SyncSender<()>);

impl Broadener {
    /// Starts the thread that broadens the topic on request: the census of a large crawl takes a while. It ends with the
    /// watch that holds the broadener.
    pub(super) fn start(workspace: Workspace, watch: SharedWatch) -> std::io::Result<()> {
        let (sender, requests) = sync_channel(1);
        watch.lock().broaden_by(Broadener(sender));
        let broaden = move || serve(&workspace, &watch, &requests);
        thread::Builder::new().name("broaden".to_owned()).spawn(broaden).map(drop)
    }

    /// Returns false if nobody listens.
    pub(super) fn request(&self) -> bool {
        self.0.try_send(()).is_ok()
    }
}

fn serve(workspace: &Workspace, watch: &SharedWatch, requests: &Receiver<()>) {
    while requests.recv().is_ok() {
        let broadened = broaden_once(workspace).unwrap_or_else(|error| {
            output::say(&format!("warning: cannot broaden the topic: {}", output::in_words(&error)));
            None
        });
        watch.lock().broadened(broadened.as_ref());
    }
}

/// Adds a topic to those that are followed, and tells the crawl. `None` if none is proposed.
fn broaden_once(workspace: &Workspace) -> anyhow::Result<Option<Event>> {
    let mut writer = workspace.writer()?;
    let reader = writer.reader();
    let tree = workspace::tree(&*reader)?;
    let Some(proposal) = next_proposal(&*reader, &tree)? else { return Ok(None) };
    let path = tree.path(proposal.topic);
    let detail = format!(
        "links on pages about {path} are followed, too: {}; it is not marked good (`porthole topics toward --none` undoes \
         this)",
        broaden::why(&proposal, &tree)
    );
    toward::add(&mut writer, &tree, proposal.topic)?;
    let event = Event { at: SystemClock.now(), kind: BROADENED.to_owned(), detail };
    writer.append(std::slice::from_ref(&event))?;
    // The crawl reads the row within a moment.
    let (what, parameters) = Command::Refocus.row();
    writer.append_command(what, &parameters, SystemClock.now())?;
    Ok(Some(event))
}

/// The best proposal that is not followed yet. A sibling comes before the parent, which covers more than is needed.
fn next_proposal(reader: &dyn StoreReader, tree: &Taxonomy) -> anyhow::Result<Option<Broadening>> {
    let wide = toward::wider(reader, tree)?;
    let followed = wide.as_ref().unwrap_or(tree);
    let is_followed = |topic: TopicId| {
        std::iter::once(topic).chain(followed.ancestors(topic)).any(|above| followed.is_good(above))
    };
    let mut proposals = broaden::proposals(reader, tree)?;
    proposals.retain(|proposal| !is_followed(proposal.topic));
    Ok(proposals
        .into_iter()
        .max_by(|a, b| b.is_above.cmp(&a.is_above).then(a.found.relevance.total_cmp(&b.found.relevance))))
}
