//! The workspaces that are served: some folders, and the workspaces directly below others. Names in requests are looked
//! up in this list; no path is ever made of them, except for a new workspace, whose name is checked first.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use porthole_store::{DatabaseLocation, TableReader, TableWriter};
use porthole_topic::Taxonomy;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Answer, ApiError, Error};
use crate::feed::CrawlFeed;
use crate::program::ProgramCall;
use crate::trace::CrawlTrace;

const SETTINGS: &str = "porthole.toml";
const PAGES: &str = "pages";

/// A workspace with what is known of it.
pub(crate) struct ServedWorkspace {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) reader: TableReader,
    database: DatabaseLocation,
    trace: Mutex<CrawlTrace>,
    pub(crate) feed: CrawlFeed,
    /// Held while the full-text index is filled.
    filling: Arc<Semaphore>,
}

impl ServedWorkspace {
    fn open(name: &str, folder: &Path) -> porthole_store::Result<ServedWorkspace> {
        let database = DatabaseLocation::of_workspace(folder)?;
        let reader = TableReader::open_at(&database).or_else(|error| {
            // Open for writing once to migrate an older version; other errors occur again.
            match TableWriter::open_at(&database) {
                Ok(_) => TableReader::open_at(&database),
                Err(_) => Err(error),
            }
        })?;
        let reader = reader.asking_by(DatabaseLocation::for_questions(folder)?);
        Ok(ServedWorkspace {
            name: name.to_owned(),
            folder: folder.to_owned(),
            reader,
            database,
            trace: Mutex::default(),
            feed: CrawlFeed::default(),
            filling: Arc::new(Semaphore::new(1)),
        })
    }

    /// The crawl as it went, up to now.
    pub(crate) fn trace(&self) -> porthole_store::Result<MutexGuard<'_, CrawlTrace>> {
        let mut trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        trace.update(&self.reader)?;
        Ok(trace)
    }

    /// The right to fill the full-text index; `None` while it is being filled.
    pub(crate) fn filling_place(&self) -> Option<OwnedSemaphorePermit> {
        self.filling.clone().try_acquire_owned().ok()
    }

    /// Opens the database for writes beside a crawl.
    pub(crate) fn writer(&self) -> porthole_store::Result<TableWriter> {
        TableWriter::open_at(&self.database)
    }

    /// The stored topic tree.
    pub(crate) fn tree(&self) -> Answer<Taxonomy> {
        let rows = porthole_store::StoreReader::topics(&self.reader)?;
        Taxonomy::from_rows(&rows)
            .map_err(|error| ApiError::internal(format!("the topics are damaged: {error}")))
    }

    /// A command of the program in this workspace.
    pub(crate) fn call(&self, command: &[&str]) -> ProgramCall {
        ProgramCall::within(&self.name, &self.folder, command)
    }

    /// Runs a function that reads the database, on a thread for such work.
    pub(crate) async fn read<T: Send + 'static>(
        self: Arc<Self>,
        read: impl FnOnce(&ServedWorkspace) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        let done = tokio::task::spawn_blocking(move || read(&self)).await;
        done.unwrap_or_else(|error| Err(ApiError::internal(error.to_string())))
    }

    /// Size in bytes of the database with its log, of the archive, and of the free space on the disk.
    pub(crate) fn disk(&self) -> (u64, u64, Option<u64>) {
        let size = |path: PathBuf| fs::metadata(path).map_or(0, |file| file.len());
        let database = self.reader.database_bytes().unwrap_or(0);
        let pages = fs::read_dir(self.folder.join(PAGES)).into_iter().flatten().flatten();
        let free = rustix::fs::statvfs(&self.folder).ok().map(|disk| disk.f_bavail * disk.f_frsize);
        (database, pages.map(|entry| size(entry.path())).sum(), free)
    }
}

/// All served workspaces.
pub(crate) struct WorkspaceList {
    /// Folders that are workspaces.
    single: Vec<PathBuf>,
    /// Folders of workspaces; new ones are created in the first.
    homes: Vec<PathBuf>,
    known: Mutex<BTreeMap<String, Arc<ServedWorkspace>>>,
}

/// A workspace, or why it cannot be opened.
pub(crate) type FoundWorkspace = Result<Arc<ServedWorkspace>, (String, PathBuf, String)>;

impl WorkspaceList {
    pub(crate) fn new(folders: &[PathBuf]) -> Result<WorkspaceList, Error> {
        let mut list = WorkspaceList { single: Vec::new(), homes: Vec::new(), known: Mutex::default() };
        for folder in folders {
            let found = fs::canonicalize(folder).map_err(|error| error.to_string());
            let found = found
                .and_then(|path| if path.is_dir() { Ok(path) } else { Err("it is no folder".to_owned()) });
            let path = found.map_err(|reason| Error::Folder { folder: folder.clone(), reason })?;
            if is_workspace(&path) { list.single.push(path) } else { list.homes.push(path) }
        }
        Ok(list)
    }

    /// All workspaces, by name.
    pub(crate) fn all(&self) -> Vec<FoundWorkspace> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let folders = self.folders();
        known.retain(|name, workspace| folders.get(name) == Some(&workspace.folder));
        let mut all = Vec::new();
        for (name, folder) in folders {
            let workspace = match known.get(&name) {
                Some(workspace) => Ok(workspace.clone()),
                None => ServedWorkspace::open(&name, &folder).map(Arc::new),
            };
            all.push(match workspace {
                Ok(workspace) => {
                    known.insert(name, workspace.clone());
                    Ok(workspace)
                }
                Err(error) => Err((name, folder, error.to_string())),
            });
        }
        all
    }

    /// A workspace by its name.
    pub(crate) fn find(&self, name: &str) -> Answer<Arc<ServedWorkspace>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        if let Some(workspace) = known.filter(|workspace| is_workspace(&workspace.folder)) {
            return Ok(workspace);
        }
        let mut found = self.all().into_iter().filter_map(|found| match found {
            Ok(workspace) => (workspace.name == name).then_some(Ok(workspace)),
            Err((other, _, error)) => (other == name).then_some(Err(ApiError::conflict(error))),
        });
        found.next().unwrap_or_else(|| Err(ApiError::not_found("there is no such workspace")))
    }

    /// The folder of a new workspace.
    pub(crate) fn place_for(&self, name: &str) -> Answer<PathBuf> {
        if !is_good_name(name) {
            return Err(ApiError::bad(
                "the name of a workspace has 1 to 64 letters, digits, dots, hyphens and underscores, and starts with \
                 no dot",
            ));
        }
        let Some(home) = self.homes.first() else {
            return Err(ApiError::conflict("only single workspaces are served")
                .remedy("run `porthole serve` in the folder that holds your workspaces"));
        };
        let folder = home.join(name);
        if folder.symlink_metadata().is_ok() || self.folders().contains_key(name) {
            return Err(
                ApiError::conflict(format!("there is a folder {name} already")).remedy("choose another name")
            );
        }
        Ok(folder)
    }

    /// Folders directly below the folders of workspaces that have a file of this name, by name.
    pub(crate) fn folders_with(&self, file: &str) -> BTreeMap<String, PathBuf> {
        let entries = self.homes.iter().flat_map(fs::read_dir).flatten().flatten();
        let folders = entries.map(|entry| entry.path()).filter(|folder| folder.join(file).is_file());
        let name = |folder: PathBuf| Some((folder.file_name()?.to_str()?.to_owned(), folder));
        folders.filter_map(name).collect()
    }

    /// The folders of all workspaces, by name. A name that occurs again gets a number.
    fn folders(&self) -> BTreeMap<String, PathBuf> {
        let below = |home: &PathBuf| {
            let mut found: Vec<PathBuf> =
                fs::read_dir(home).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            found.retain(|path| is_workspace(path));
            found.sort();
            found
        };
        let mut folders: BTreeMap<String, PathBuf> = BTreeMap::new();
        for folder in self.single.iter().cloned().chain(self.homes.iter().flat_map(below)) {
            let name = folder.file_name().map_or_else(|| "workspace".into(), |name| name.to_string_lossy());
            let mut unique = name.to_string();
            let mut number = 2;
            while folders.get(&unique).is_some_and(|other| *other != folder) {
                unique = format!("{name}-{number}");
                number += 1;
            }
            folders.insert(unique, folder.clone());
        }
        folders
    }
}

fn is_workspace(folder: &Path) -> bool {
    let has_database = || DatabaseLocation::of_workspace(folder).is_ok_and(|database| database.is_there());
    folder.join(SETTINGS).is_file() && has_database()
}

/// Whether a name can be that of a new file or folder: a single component of a path without surprises.
pub(crate) fn is_good_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (1..=64).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_single_components() {
        for name in ["owls", "owls-2.a_B", "a"] {
            assert!(is_good_name(name), "{name}");
        }
        let long = "a".repeat(65);
        for name in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "/etc",
            "a\0b",
            ".hidden",
            "-rf",
            "a b",
            "a\\b",
            "ü",
            long.as_str(),
        ] {
            assert!(!is_good_name(name), "{name:?}");
        }
    }

    #[test]
    fn workspaces_below_a_folder_are_found_and_new_ones_do_not_replace_anything() {
        let home = tempfile::tempdir().unwrap();
        for name in ["owls", "empty"] {
            fs::create_dir(home.path().join(name)).unwrap();
        }
        let owls = home.path().join("owls");
        fs::write(owls.join(SETTINGS), "").unwrap();
        drop(porthole_store::SqliteStore::open(owls.join(DatabaseLocation::FILE)).unwrap());
        let list = WorkspaceList::new(&[home.path().to_owned()]).unwrap();
        assert_eq!(list.all().len(), 1);
        assert_eq!(list.find("owls").unwrap().name, "owls");
        for name in ["empty", "..", "../owls", "owls/", ""] {
            assert!(list.find(name).is_err(), "{name}");
        }
        assert!(list.place_for("owls").is_err() && list.place_for("empty").is_err());
        assert!(list.place_for("new").unwrap().starts_with(fs::canonicalize(home.path()).unwrap()));
        let single = WorkspaceList::new(&[owls]).unwrap();
        assert!(single.find("owls").is_ok() && single.place_for("new").is_err());
    }
}
