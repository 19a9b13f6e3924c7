//! A workspace: a folder with porthole.toml, porthole.db and pages/; access to its topics, critic and settings.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use porthole_crawl::{ArchiveError, Command, DiskSpace, Response, SystemClock};
use porthole_page::TERM_VERSION;
use porthole_store::{
    DatabaseLocation, FleetSettings, StoreReader, StoredModel, TableReader, TableStore, TableWriter,
    TermWord, TextIndex, WorkspaceWriter,
};
use porthole_topic::{Critic, CriticModel, FormatError, Pretrained, Taxonomy};
use porthole_types::{CanonicalUrl, Clock, SegmentSpan, TermId, TopicId};

use crate::output::{self, misuse};
use crate::settings::{RawSettings, TEMPLATE};
use crate::training;
use crate::upgrade;

/// A folder with a crawl and its topics.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    database: DatabaseLocation,
    pub(crate) settings: RawSettings,
}

const SETTINGS: &str = "porthole.toml";
const PAGES: &str = "pages";
/// The file with the number of a worker that has joined the crawl of another workspace.
const WORKER: &str = "porthole.worker";

/// Names of stored models.
pub(crate) const CRITIC: &str = "critic";
pub(crate) const TAXONOMY: &str = "taxonomy";

/// Setting: ids of the taxonomy's topics that were removed, so that a new topic with such an id does not inherit their
/// statistics.
pub(crate) const REMOVED: &str = "taxonomy_removed";

impl Workspace {
    /// Checks that a folder can become a workspace.
    pub(crate) fn check_new(root: &Path) -> anyhow::Result<()> {
        if root.join(SETTINGS).exists() {
            return Err(misuse(format!(
                "{0} is a workspace already; use it with `porthole -C {0} …`",
                root.display()
            )));
        }
        let entries = match fs::read_dir(root) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            entries => entries.with_context(|| format!("cannot read {}", root.display()))?,
        };
        if entries.count() > 0 {
            return Err(misuse(format!("{} is not empty; choose a new or empty folder", root.display())));
        }
        Ok(())
    }

    /// Creates a workspace. The settings are written last: their file makes a folder a workspace.
    pub(crate) fn create(root: &Path) -> anyhow::Result<Workspace> {
        Workspace::create_on(root, None)
    }

    /// Creates a workspace whose tables are in a PostgreSQL database, given by its URL.
    pub(crate) fn create_on(root: &Path, url: Option<&str>) -> anyhow::Result<Workspace> {
        Workspace::check_new(root)?;
        let database = match url {
            None => DatabaseLocation::File(root.join(DatabaseLocation::FILE)),
            Some(url) if DatabaseLocation::is_url(url) => DatabaseLocation::Postgres(url.to_owned()),
            Some(_) => return Err(misuse("--db needs a URL such as postgres://user@host/database")),
        };
        if url.is_some() {
            check_unused(&database)?;
        }
        let pages = root.join(PAGES);
        fs::create_dir_all(&pages).with_context(|| format!("cannot create {}", pages.display()))?;
        let mut store = TableStore::open_at(&database)?;
        store.set_setting(upgrade::TERMS, &TERM_VERSION.to_string())?;
        drop(store);
        if let Some(url) = url {
            write_url(&root.join(DatabaseLocation::URL_FILE), url)?;
        }
        let settings = root.join(SETTINGS);
        fs::write(&settings, TEMPLATE).with_context(|| format!("cannot write {}", settings.display()))?;
        Workspace::open(root)
    }

    /// Creates the folder of one more worker on the database of another workspace.
    pub(crate) fn join(root: &Path, url: &str) -> anyhow::Result<Workspace> {
        Workspace::check_new(root)?;
        if !DatabaseLocation::is_url(url) {
            return Err(misuse("--db needs a URL such as postgres://user@host/database"));
        }
        let database = DatabaseLocation::Postgres(url.to_owned());
        TableReader::open_at(&database).with_context(|| format!("cannot join the crawl on {database}"))?;
        let pages = root.join(PAGES);
        fs::create_dir_all(&pages).with_context(|| format!("cannot create {}", pages.display()))?;
        let worker = TableStore::register_worker(&database, &worker_name(root))?;
        write_url(&root.join(DatabaseLocation::URL_FILE), url)?;
        for (name, text) in [(WORKER, &*format!("{worker}\n")), (SETTINGS, TEMPLATE)] {
            let path = root.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Workspace::open(root)
    }

    /// The number of this folder's worker; that of the folder that created the database is 0.
    pub(crate) fn worker(&self) -> anyhow::Result<u32> {
        let path = self.root.join(WORKER);
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
            text => {
                let text = text.with_context(|| format!("cannot read {}", path.display()))?;
                text.trim().parse().with_context(|| format!("{} has no number", path.display()))
            }
        }
    }

    /// A name of this folder's worker for people.
    pub(crate) fn worker_name(&self) -> String {
        worker_name(&self.root)
    }

    /// Whether the tables are in a database that workers on several machines can share.
    pub(crate) fn can_be_shared(&self) -> bool {
        matches!(self.database, DatabaseLocation::Postgres(_))
    }

    /// Opens the database for a crawl as one of several workers.
    pub(crate) fn shared_store(&self, settings: &FleetSettings) -> anyhow::Result<TableStore> {
        Ok(TableStore::join(&self.database, settings)?)
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
                    "{} is not a workspace (no {SETTINGS}); create one with `porthole init DIR`, or choose one with \
                     `-C DIR`",
                    shown(root)
                )));
            }
            text => text.with_context(|| format!("cannot read {}", file.display()))?,
        };
        let settings = RawSettings::parse(&text).with_context(|| file.display().to_string())?;
        let database = DatabaseLocation::of_workspace(root)?;
        if !database.is_there() {
            return Err(misuse(format!("{database} is missing; restore it, or create a new workspace")));
        }
        Ok(Workspace { root: root.to_owned(), database, settings })
    }

    /// The folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The absolute path, which tells workspaces apart.
    pub(crate) fn identity(&self) -> PathBuf {
        fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone())
    }

    /// The folder of the archive.
    pub(crate) fn pages(&self) -> PathBuf {
        self.root.join(PAGES)
    }

    /// The archive segment that holds a page.
    pub(crate) fn segment(&self, span: SegmentSpan) -> PathBuf {
        porthole_crawl::segment_path(&self.pages(), span.segment)
    }

    /// Reads a page from the archive; fails if the record is damaged or belongs to another URL.
    pub(crate) fn read_page(&self, url: &CanonicalUrl, span: SegmentSpan) -> Result<Response, ArchiveError> {
        porthole_crawl::read_page(&self.pages(), url, span)
    }

    /// Size in bytes of the database, including its WAL, and of the archive.
    pub(crate) fn disk_use(&self) -> (u64, u64) {
        let (database, pages) = disk_use(&self.root);
        match self.database {
            DatabaseLocation::File(_) => (database, pages),
            DatabaseLocation::Postgres(_) => {
                let server = self.reader().and_then(|reader| Ok(reader.database_bytes()?));
                (server.unwrap_or(0), pages)
            }
        }
    }

    /// Returns a function that measures the current size of the workspace.
    pub(crate) fn sizes(&self) -> impl Fn() -> u64 + Send + 'static {
        let root = self.root.clone();
        move || {
            let (database, pages) = disk_use(&root);
            database + pages
        }
    }

    /// Returns a function that measures the disk of the workspace; `None` where that is not possible.
    pub(crate) fn disk_space(&self) -> impl Fn() -> Option<DiskSpace> + Send + 'static {
        let (root, used) = (self.root.clone(), self.sizes());
        move || {
            let (free, total) = free_and_total(&root)?;
            Some(DiskSpace { free, total, used: used() })
        }
    }

    /// Opens the full-text index to bring it up to date.
    pub(crate) fn text_index(&self) -> anyhow::Result<TextIndex> {
        TextIndex::open_at(&self.database).map_err(|error| self.index_error(error))
    }

    /// An error of the full-text index, with what helps: it is in a file of its own, and can be made again.
    pub(crate) fn index_error(&self, error: porthole_store::Error) -> anyhow::Error {
        use porthole_store::Error::Damaged;
        let file = self.root.join("porthole-readers.db");
        let is_there = matches!(self.database, DatabaseLocation::File(_)) && file.exists();
        match error {
            Damaged(why) if is_there => misuse(format!(
                "the full-text index is damaged ({why}): delete {} and search again, which makes it again from the pages",
                file.display()
            )),
            error if is_there => {
                anyhow::Error::new(error).context("cannot write the full-text index; try --no-update")
            }
            error => anyhow::Error::new(error).context("cannot write the full-text index"),
        }
    }

    /// Opens the database for writes beside a crawl, whether or not one is running.
    pub(crate) fn writer(&self) -> anyhow::Result<TableWriter> {
        Ok(TableWriter::open_at(&self.database)?)
    }

    /// Sends a command to the crawl that runs on the workspace and prints its answer. Returns whether one is running.
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
            // Checked before the answer is read: a stopping crawl answers before it ends.
            let is_over = !reader.is_crawled()? || began.elapsed() >= PATIENCE;
            if let Some(answer) = reader.command(id)?.and_then(|row| row.answer) {
                if answer.failed {
                    return Err(misuse(format!(
                        "the running crawl rejected the command: {}",
                        answer.outcome
                    )));
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
            "the running crawl has not answered yet; check with `porthole query 'select * from command'`",
        );
        Ok(true)
    }

    /// Opens the database for a crawl, exclusively.
    pub(crate) fn store(&self) -> anyhow::Result<TableStore> {
        Ok(TableStore::open_at(&self.database)?)
    }

    /// Opens the database for reading, also during a crawl.
    pub(crate) fn reader(&self) -> anyhow::Result<TableReader> {
        let database = &self.database;
        let reader = TableReader::open_at(database).or_else(|error| {
            // Open for writing once to migrate an older version; other errors occur again.
            match TableWriter::open_at(database) {
                Ok(_) => TableReader::open_at(database),
                Err(_) => Err(error),
            }
        });
        Ok(reader?.asking_by(DatabaseLocation::for_questions(&self.root)?).telling(output::say))
    }
}

/// The names of the machine and of a folder.
fn worker_name(root: &Path) -> String {
    let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let folder = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    format!("{}:{}", machine.trim(), folder.display())
}

/// Checks that a PostgreSQL database is not that of another workspace.
fn check_unused(database: &DatabaseLocation) -> anyhow::Result<()> {
    match TableReader::open_at(database) {
        Ok(_) => Err(misuse(format!(
            "{database} has the tables of a workspace already; create a database for each"
        ))),
        // No tables yet; any other error occurs again.
        Err(_) => Ok(()),
    }
}

/// Writes the URL of a database, which may have a password, so that nobody else can read it.
fn write_url(path: &Path, url: &str) -> anyhow::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| writeln!(file, "{url}"));
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn shown(root: &Path) -> String {
    if root == Path::new(".") { "this folder".to_owned() } else { root.display().to_string() }
}

fn disk_use(root: &Path) -> (u64, u64) {
    let size = |path: PathBuf| fs::metadata(path).map_or(0, |file| file.len());
    let database = ["", "-wal"].map(|end| size(root.join(format!("{}{end}", DatabaseLocation::FILE))));
    let pages = fs::read_dir(root.join(PAGES)).into_iter().flatten().flatten();
    (database.iter().sum(), pages.map(|entry| size(entry.path())).sum())
}

#[cfg(unix)]
fn free_and_total(root: &Path) -> Option<(u64, u64)> {
    let disk = rustix::fs::statvfs(root).ok()?;
    Some((disk.f_bavail.checked_mul(disk.f_frsize)?, disk.f_blocks.checked_mul(disk.f_frsize)?))
}

#[cfg(not(unix))]
fn free_and_total(_: &Path) -> Option<(u64, u64)> {
    None
}

/// The stored topic tree.
pub(crate) fn tree(reader: &dyn StoreReader) -> anyhow::Result<Taxonomy> {
    Taxonomy::from_rows(&reader.topics()?).context("the topics in porthole.db are damaged")
}

/// The trained critic with the current tree.
pub(crate) fn critic(reader: &dyn StoreReader) -> anyhow::Result<(Critic, Taxonomy)> {
    let Some(stored) = reader.model(CRITIC)? else {
        return Err(misuse(no_critic(reader)?));
    };
    let model = CriticModel::from_bytes(&stored.bytes);
    if let Err(FormatError::Terms { .. }) = model {
        return Err(misuse(
            "the critic was trained by another version of porthole, which read words by other rules: run `porthole train`",
        ));
    }
    let model = model.context("cannot read the critic in porthole.db")?;
    let tree = tree(reader)?;
    Ok((Critic::new(model, &tree), tree))
}

/// A message that there is no critic, with the next command to run.
pub(crate) fn no_critic(reader: &dyn StoreReader) -> anyhow::Result<String> {
    let examples = reader.examples(None)?;
    let missing = examples.iter().filter(|example| training::can_be_fetched(example)).count();
    let next = match (examples.len(), missing) {
        (0, _) => {
            "add examples with `porthole examples add TOPIC FILE|URL…`, then run `porthole train`".to_owned()
        }
        (_, 0) => "run `porthole train`".to_owned(),
        _ => format!(
            "fetch the pages of {} with `porthole examples fetch`, then run `porthole train`",
            output::count(missing, "example")
        ),
    };
    Ok(format!("there is no critic yet: {next}"))
}

/// Stores bytes as a named model.
pub(crate) fn keep(store: &mut dyn WorkspaceWriter, name: &str, bytes: Vec<u8>) -> anyhow::Result<()> {
    Ok(store.set_model(name, &StoredModel { bytes, made: porthole_crawl::SystemClock.now() })?)
}

/// The pretrained taxonomy of the workspace, without topics that the user removed.
pub(crate) fn pretrained(store: &dyn WorkspaceWriter) -> anyhow::Result<Option<Pretrained>> {
    let Some(pretrained) = pretrained_as_it_came(&*store.reader())? else { return Ok(None) };
    Ok(Some(without(pretrained, removed(store)?)))
}

/// The same, for those who only read.
pub(crate) fn pretrained_of(reader: &dyn StoreReader) -> anyhow::Result<Option<Pretrained>> {
    let gone = removed_in(reader.setting(REMOVED)?);
    Ok(pretrained_as_it_came(reader)?.map(|pretrained| without(pretrained, gone)))
}

/// A taxonomy without what was counted at some topics.
fn without(mut pretrained: Pretrained, gone: Vec<TopicId>) -> Pretrained {
    for topic in gone {
        pretrained.statistics.forget(topic);
        pretrained.tunings.remove(&topic);
    }
    pretrained
}

fn pretrained_as_it_came(reader: &dyn StoreReader) -> anyhow::Result<Option<Pretrained>> {
    let Some(stored) = reader.model(TAXONOMY)? else { return Ok(None) };
    let pretrained = Pretrained::from_bytes(&stored.bytes);
    Ok(Some(pretrained.context("cannot read the pretrained taxonomy in porthole.db")?))
}

fn removed(store: &dyn WorkspaceWriter) -> anyhow::Result<Vec<TopicId>> {
    Ok(removed_in(store.setting(REMOVED)?))
}

fn removed_in(list: Option<String>) -> Vec<TopicId> {
    list.unwrap_or_default().split(',').filter_map(|id| id.parse().ok()).map(TopicId).collect()
}

/// Records that topics were removed.
pub(crate) fn note_removed(store: &mut dyn WorkspaceWriter, gone: &[TopicId]) -> anyhow::Result<()> {
    let mut all = removed(store)?;
    all.extend(gone);
    all.sort_unstable();
    all.dedup();
    let list: Vec<String> = all.iter().map(|id| id.0.to_string()).collect();
    Ok(store.set_setting(REMOVED, &list.join(","))?)
}

/// Maps terms to readable words.
pub(crate) struct WordLookup<'a> {
    reader: &'a dyn StoreReader,
    /// Spellings in the pages at hand, which take precedence.
    own: HashMap<TermId, String>,
    /// Loaded on demand, since it is large.
    inherited: OnceCell<BTreeMap<TermId, String>>,
}

impl<'a> WordLookup<'a> {
    /// The words of a workspace and of the pages at hand.
    pub(crate) fn new(reader: &'a dyn StoreReader, own: &[TermWord]) -> Self {
        let own = own.iter().map(|word| (TermId::of(word.stem.as_bytes()), word.word.clone()));
        WordLookup { reader, own: own.collect(), inherited: OnceCell::new() }
    }

    /// A word for each term; the number of the term if none is known.
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
            // The background of a tree without pretrained counts is that of the general taxonomy.
            let pretrained = match pretrained_as_it_came(self.reader)? {
                Some(pretrained) => Some(pretrained),
                None => Pretrained::general().ok(),
            };
            let _ = self.inherited.set(pretrained.map(|pretrained| pretrained.words).unwrap_or_default());
        }
        Ok(self.inherited.get().expect("just set"))
    }
}

/// Path of a topic, also if it was removed after the critic was trained.
pub(crate) fn path_of(tree: &Taxonomy, id: TopicId) -> String {
    if tree.contains(id) { tree.path(id) } else { "(removed topic)".to_owned() }
}
