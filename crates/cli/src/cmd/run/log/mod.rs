//! `tenure run --log`: nodes that keep a log, clients who use it, and what came of that.

mod boxes;
mod clients;
mod summary;
mod table;

pub(super) use boxes::boxes;
pub(super) use clients::Clients;
pub(super) use summary::Summary;
pub(super) use table::table;
