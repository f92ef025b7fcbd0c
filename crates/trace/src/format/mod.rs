//! What a trace is made of: its head, its records, and how they are read and written.

mod access;
mod event;
mod header;
mod limits;
pub(crate) mod line;
pub(crate) mod named;
pub(crate) mod numbered;
mod passage;
mod reader;
mod segments;
mod service;
mod trace;
pub mod units;
mod who;
mod writer;

pub use access::{Access, Operation};
pub use event::{Choice, Kind, Record};
pub use header::{ClockUnit, Header, MOST_PROCESSES, Source, VERSION};
pub use limits::ReadLimits;
pub use passage::Passage;
pub use reader::{LONGEST_LINE, ReadError, Reader};
pub use segments::{Segments, segment};
pub use service::{ApplicationCommand, ApplicationEvent, Asked, Told};
pub use trace::Trace;
pub use units::now;
pub use who::Who;
pub use writer::{AppendError, CreateError, WriteError, Writer};
