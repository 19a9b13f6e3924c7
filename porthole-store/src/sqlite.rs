//! SQLite below the tables: its files, migrations and limits; and what there is only on SQLite: the
//! readers' indexes and questions across databases.

mod across;
mod checkpoints;
mod full_text;
mod lookup;
mod many;
mod migrations;
mod open;
mod sandbox;

pub(crate) use self::across::open as open_across;
pub(crate) use self::full_text::{BEGINNING, Fts5, marked};
pub(crate) use self::lookup::{LARGE, attach, attach_existing, indexed_rows, text_index_writer};
pub(crate) use self::many::insert_many;
pub(crate) use self::open::{Lock, calculator, is_locked, lock, reader, sync_log, workspace_writer, writer};
pub(crate) use self::sandbox::answer;
