//! Live view of a run, from its traces while they are being written.
//!
//! [`TraceFollower`] delivers all records in causal order, for verification. [`TraceTail`] and
//! [`LiveView`] are for a page that displays the run: a [`TraceTail`] reads the lines that were
//! appended to a file, and a [`LiveView`] contains the state to display. None of these types stores
//! the whole run, so their memory does not grow with the duration of the run.

mod follow;
mod notable_events;
mod strip;
mod tail;
mod view;

pub use crate::merge::NextRecord;
pub use follow::TraceFollower;
pub use notable_events::NotableEvent;
pub use strip::{ConditionInterval, TimelineMessage, TimelineStrip};
pub use tail::TraceTail;
pub use view::{LiveSnapshot, LiveView, ProcessSnapshot};
