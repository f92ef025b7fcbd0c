//! Live view of a run, from its traces while they are being written.
//!
//! [`TraceFollower`] delivers all records in causal order, for verification. [`Tail`] and [`View`]
//! are for a page that displays the run: a [`Tail`] reads the lines that were appended to a file,
//! and a [`View`] contains the state to display. None of these types stores the whole run, so their
//! memory does not grow with the duration of the run.

mod follow;
mod notable_events;
mod strip;
mod tail;
mod view;

pub use crate::merge::NextRecord;
pub use follow::TraceFollower;
pub use notable_events::NotableEvent;
pub use strip::{ConditionInterval, Strip, StripMessage};
pub use tail::Tail;
pub use view::{Process, Snapshot, View};
