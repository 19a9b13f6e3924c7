//! A workspace: a folder with porthole.toml, porthole.db and pages/, and what is kept in them about topics.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use porthole_crawl::{ArchiveError, Command, Response, SystemClock};
use porthole_store::{
    Model as StoredModel, SqliteReader, SqliteStore, SqliteWorkspaceWriter, StoreReader, TermWord,
    WorkspaceWriter,
};
use porthole_topic::{Critic, CriticModel, Pretrained, Taxonomy};
use porthole_types::{CanonicalUrl, Clock, SegmentSpan, TermId, TopicId};

use crate::output::{self, misuse};
use crate::settings::{RawSettings, TEMPLATE};

/// A folder that holds a crawl and what it is about.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    pub(crate) settings: RawSettings,
}

const SETTINGS: &str = "porthole.toml";
const DATABASE: &str = "porthole.db";
const PAGES: &str = "pages";

/// The names under which models are kept.
pub(crate) const CRITIC: &str = "critic";
pub(crate) const TAXONOMY: &str = "taxonomy";

/// Setting: the topics that came with the taxonomy and were removed, so that whoever gets their ids is not
/// taken for them.
const REMOVED: &str = "taxonomy_removed";

impl Workspace {
    /// Refuses a folder that cannot become a workspace.
    pub(crate) fn check_new(root: &Path) -> anyhow::Result<()> {
        if root.join(SETTINGS).exists() {
            return Err(misuse(format!(
                "{0} is a workspace already; work in it with `porthole -C {0} …`",
                root.display()
            )));
        }
        let entries = match fs::read_dir(root) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            entries => entries.with_context(|| format!("cannot look into {}", root.display()))?,
        };
        if entries.count() > 0 {
            return Err(misuse(format!("{} is not empty; name a new or empty folder", root.display())));
        }
        Ok(())
    }

    /// Makes a workspace. The settings come last: with them a folder is a workspace.
    pub(crate) fn create(root: &Path) -> anyhow::Result<Workspace> {
        Workspace::check_new(root)?;
        let pages = root.join(PAGES);
        fs::create_dir_all(&pages).with_context(|| format!("cannot make {}", pages.display()))?;
        SqliteStore::open(root.join(DATABASE))?;
        let settings = root.join(SETTINGS);
        fs::write(&settings, TEMPLATE).with_context(|| format!("cannot write {}", settings.display()))?;
        Workspace::open(root)
    }

    /// Whether a folder is a workspace.
    pub(crate) fn is_at(root: &Path) -> bool {
        root.join(SETTINGS).exists()
    }

    /// Opens a workspace.
    pub(crate) fn open(root: &Path) -> anyhow::Result<Workspace> {
        let file = root.join(SETTINGS);
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(misuse(format!(
                    "{} is no workspace: there is no {SETTINGS}; make one with `porthole init DIR`, or name one \
                     with `-C DIR`",
                    shown(root)
                )));
            }
            text => text.with_context(|| format!("cannot read {}", file.display()))?,
        };
        let settings = RawSettings::parse(&text).with_context(|| file.display().to_string())?;
        let database = root.join(DATABASE);
        if !database.exists() {
            return Err(misuse(format!(
                "{} is missing: restore it, or start a new workspace",
                database.display()
            )));
        }
        Ok(Workspace { root: root.to_owned(), settings })
    }

    /// The folder of the pages.
    pub(crate) fn pages(&self) -> PathBuf {
        self.root.join(PAGES)
    }

    /// The file that a page is kept in.
    #[cfg(feature = "lab")]
    pub(crate) fn segment(&self, span: SegmentSpan) -> PathBuf {
        self.pages().join(format!("{:05}.warc.gz", span.segment))
    }

    /// A page as it was kept; an error if what is kept there is damaged or another page.
    pub(crate) fn read_page(&self, url: &CanonicalUrl, span: SegmentSpan) -> Result<Response, ArchiveError> {
        porthole_crawl::read_page(&self.pages(), url, span)
    }

    /// Bytes of the database, with what is yet to be taken over into it, and of the pages.
    pub(crate) fn disk_use(&self) -> (u64, u64) {
        disk_use(&self.root)
    }

    /// Says what the workspace takes up, whenever it is asked.
    pub(crate) fn sizes(&self) -> impl Fn() -> u64 + Send + 'static {
        let root = self.root.clone();
        move || {
            let (database, pages) = disk_use(&root);
            database + pages
        }
    }

    /// The database, for what is written beside a crawl, whether or not one runs.
    pub(crate) fn writer(&self) -> anyhow::Result<SqliteWorkspaceWriter> {
        Ok(SqliteWorkspaceWriter::open(self.root.join(DATABASE))?)
    }

    /// Tells a crawl that runs on the workspace something, and what it answered to the user. Whether one runs.
    pub(crate) fn tell_crawl(&self, command: &Command) -> anyhow::Result<bool> {
        const PATIENCE: Duration = Duration::from_secs(10);
        const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
        let reader = self.reader()?;
        if !reader.is_crawled()? {
            return Ok(false);
        }
        let (what, parameters) = command.row();
        let id = self.writer()?.append_command(what, &parameters, SystemClock.now())?;
        let began = Instant::now();
        loop {
            // Asked first: a crawl that was told to stop answers before it ends.
            let is_over = !reader.is_crawled()? || began.elapsed() >= PATIENCE;
            if let Some(answer) = reader.command(id)?.and_then(|row| row.answer) {
                if answer.failed {
                    return Err(misuse(format!("the running crawl refused: {}", answer.outcome)));
                }
                output::say(&format!("running crawl: {}", answer.outcome));
                return Ok(true);
            }
            if is_over {
                break;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        output::say(
            "the running crawl has not answered; `porthole query 'select * from command'` shows when it does",
        );
        Ok(true)
    }

    /// The database, for a crawl: nobody else may have it then.
    pub(crate) fn store(&self) -> anyhow::Result<SqliteStore> {
        Ok(SqliteStore::open(self.root.join(DATABASE))?)
    }

    /// The database, for reading; also while a crawl writes to it.
    pub(crate) fn reader(&self) -> anyhow::Result<SqliteReader> {
        let database = self.root.join(DATABASE);
        let reader = SqliteReader::open(&database).or_else(|_| {
            // One of an older version is brought up first; whatever else is wrong is wrong still.
            drop(SqliteWorkspaceWriter::open(&database)?);
            SqliteReader::open(&database)
        });
        Ok(reader?.telling(output::say))
    }
}

fn shown(root: &Path) -> String {
    if root == Path::new(".") { "this folder".to_owned() } else { root.display().to_string() }
}

fn disk_use(root: &Path) -> (u64, u64) {
    let size = |path: PathBuf| fs::metadata(path).map_or(0, |file| file.len());
    let database = ["", "-wal"].map(|end| size(root.join(format!("{DATABASE}{end}"))));
    let pages = fs::read_dir(root.join(PAGES)).into_iter().flatten().flatten();
    (database.iter().sum(), pages.map(|entry| size(entry.path())).sum())
}

/// The tree as it is stored.
pub(crate) fn tree(reader: &dyn StoreReader) -> anyhow::Result<Taxonomy> {
    Taxonomy::from_rows(&reader.topics()?).context("the topics in porthole.db are damaged")
}

/// The trained critic, with the tree as it is now.
pub(crate) fn critic(reader: &dyn StoreReader) -> anyhow::Result<(Critic, Taxonomy)> {
    let Some(stored) = reader.model(CRITIC)? else {
        return Err(misuse(
            "there is no critic yet: show it examples (`porthole examples add`), then `porthole train`",
        ));
    };
    let model = CriticModel::from_bytes(&stored.bytes).context("cannot use the critic in porthole.db")?;
    let tree = tree(reader)?;
    Ok((Critic::new(model, &tree), tree))
}

/// Keeps bytes under a name.
pub(crate) fn keep(store: &mut dyn WorkspaceWriter, name: &str, bytes: Vec<u8>) -> anyhow::Result<()> {
    Ok(store.set_model(name, &StoredModel { bytes, made: porthole_crawl::SystemClock.now() })?)
}

/// What came with the workspace's taxonomy, without what the user has removed.
pub(crate) fn pretrained(store: &dyn WorkspaceWriter) -> anyhow::Result<Option<Pretrained>> {
    let Some(mut pretrained) = pretrained_as_it_came(&*store.reader())? else { return Ok(None) };
    for topic in removed(store)? {
        pretrained.statistics.forget(topic);
        pretrained.tunings.remove(&topic);
    }
    Ok(Some(pretrained))
}

fn pretrained_as_it_came(reader: &dyn StoreReader) -> anyhow::Result<Option<Pretrained>> {
    let Some(stored) = reader.model(TAXONOMY)? else { return Ok(None) };
    let pretrained = Pretrained::from_bytes(&stored.bytes);
    Ok(Some(pretrained.context("cannot use the taxonomy that this workspace was made with")?))
}

fn removed(store: &dyn WorkspaceWriter) -> anyhow::Result<Vec<TopicId>> {
    let list = store.setting(REMOVED)?.unwrap_or_default();
    Ok(list.split(',').filter_map(|id| id.parse().ok()).map(TopicId).collect())
}

/// Remembers that topics were removed.
pub(crate) fn note_removed(store: &mut dyn WorkspaceWriter, gone: &[TopicId]) -> anyhow::Result<()> {
    let mut all = removed(store)?;
    all.extend(gone);
    all.sort_unstable();
    all.dedup();
    let list: Vec<String> = all.iter().map(|id| id.0.to_string()).collect();
    Ok(store.set_setting(REMOVED, &list.join(","))?)
}

/// The readable words behind terms.
pub(crate) struct Lexicon<'a> {
    reader: &'a dyn StoreReader,
    /// As they are written in the pages at hand.
    own: HashMap<TermId, String>,
    /// Read only when it is needed: it is large.
    inherited: OnceCell<BTreeMap<TermId, String>>,
}

impl<'a> Lexicon<'a> {
    /// The words of a workspace, and before them those of the pages at hand.
    pub(crate) fn new(reader: &'a dyn StoreReader, own: &[TermWord]) -> Self {
        let own = own.iter().map(|word| (TermId::of(word.stem.as_bytes()), word.word.clone()));
        Lexicon { reader, own: own.collect(), inherited: OnceCell::new() }
    }

    /// A word for each term; its number where none is known.
    pub(crate) fn words(&self, terms: &[(TermId, f64)]) -> anyhow::Result<Vec<String>> {
        let terms: Vec<TermId> = terms.iter().map(|(term, _)| *term).collect();
        let known = self.reader.words(&terms)?;
        let word = |(term, known): (&TermId, Option<String>)| match self.own.get(term).cloned().or(known) {
            Some(word) => Ok(word),
            None => Ok(self.inherited()?.get(term).cloned().unwrap_or_else(|| format!("#{term}"))),
        };
        terms.iter().zip(known).map(word).collect()
    }

    fn inherited(&self) -> anyhow::Result<&BTreeMap<TermId, String>> {
        if self.inherited.get().is_none() {
            let words = pretrained_as_it_came(self.reader)?.map(|pretrained| pretrained.words);
            let _ = self.inherited.set(words.unwrap_or_default());
        }
        Ok(self.inherited.get().expect("just set"))
    }
}

/// A topic's path, also if it went after the critic was trained.
pub(crate) fn path_of(tree: &Taxonomy, id: TopicId) -> String {
    if tree.contains(id) { tree.path(id) } else { "(a topic that is gone)".to_owned() }
}
