//! A run while it runs: what is known of its processes now, from their traces as they are
//! written.
//!
//! [`Follow`] tells all that happened, for a judge. For pages, a [`Tail`] reads what was added to a
//! file; a [`View`] keeps what a page shows of it. None of them keeps the run: a view of a run of
//! days takes the memory of one of seconds.

mod follow;
mod news;
mod strip;
mod tail;
mod view;

pub use crate::merge::Next;
pub use follow::Follow;
pub use news::News;
pub use strip::{Held, Letter, Strip};
pub use tail::Tail;
pub use view::{Process, Snapshot, View};
