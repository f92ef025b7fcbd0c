//! `tenure run --log`: nodes with a replicated log, its clients, and the result.

mod box_diagram;
mod clients;
mod summary;
mod table;

pub(super) use box_diagram::box_diagram;
pub(super) use clients::Clients;
pub(super) use summary::Summary;
pub(super) use table::table;
