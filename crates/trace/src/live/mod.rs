//! Live view of a run, from its traces while they are being written.
//!
//! [`TraceFollower`] delivers all records in causal order, for verification. For pages, a [`Tail`]
//! reads the lines that were appended to a file, and a [`View`] contains the state to display. None
//! of these types stores the run, so their memory does not grow with its duration.

mod follow;
mod news;
mod strip;
mod tail;
mod view;

pub use crate::merge::Next;
pub use follow::TraceFollower;
pub use news::NewsItem;
pub use strip::{ConditionInterval, Strip, StripMessage};
pub use tail::Tail;
pub use view::{Process, Snapshot, View};
