//! Live view of a run. The view reads the traces of the run while they are being written.
//!
//! [`TraceFollower`] delivers all records in causal order, for verification. A page that displays
//! the run uses [`TraceTail`] and [`LiveView`]. A [`TraceTail`] reads the lines that were appended
//! to a file. A [`LiveView`] contains the state to display. None of these types stores the whole
//! run. Therefore their memory does not grow with the duration of the run.

mod follow;
mod notable_events;
mod strip;
mod tail;
mod view;

pub use crate::merge::NextRecord;
pub use follow::TraceFollower;
pub use notable_events::NotableEvent;
pub use strip::{TimelineConditionSpan, TimelineMessage, TimelineStrip};
pub use tail::TraceTail;
pub use view::{LiveSnapshot, LiveView, ProcessSnapshot};
