//! A run while it runs: what is known of its processes now, from their traces as they are
//! written.
//!
//! A [`Tail`] reads what was added to a file; a [`View`] keeps what a page shows of it. Neither
//! keeps the run: a view of a run of days takes the memory of one of seconds.

mod news;
mod strip;
mod tail;
mod view;

pub use news::News;
pub use strip::{Held, Letter, Strip};
pub use tail::Tail;
pub use view::{Process, Snapshot, View};
