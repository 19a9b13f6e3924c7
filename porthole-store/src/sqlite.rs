//! SQLite below the tables: its files, migrations and limits; and what there is only on SQLite: the full-text index, the
//! readers' indexes, questions across databases, the classifier and the distiller inside the database.

mod across;
mod distill;
mod lookup;
mod many;
mod migrations;
mod open;
mod prober;
mod sandbox;
mod search;
mod text_index;

pub(crate) use self::across::open as open_across;
pub use self::distill::{SqlDistillation, SqlDistiller, SqlScores};
pub(crate) use self::lookup::{LARGE, attach, attach_existing, indexed_rows};
pub(crate) use self::many::insert_many;
pub(crate) use self::migrations::VERSION;
pub(crate) use self::open::{Lock, is_locked, lock, reader, sync_log, workspace_writer, writer};
pub use self::prober::{BulkJudgment, ProbeTable, Prober, Spent};
pub(crate) use self::sandbox::answer;
pub(crate) use self::search::answer as search;
pub use self::text_index::TextIndex;
pub(crate) use self::text_index::state as index_state;
