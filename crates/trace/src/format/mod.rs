//! The trace format: header, records, readers and writers.

mod access;
mod edge_list;
mod event;
mod header;
mod limits;
pub(crate) mod line;
mod memory_access;
mod message_record;
pub(crate) mod named;
pub(crate) mod numbered;
mod reader;
mod segments;
mod service;
mod subject;
mod trace;
pub mod units;
mod writer;

pub use access::{Access, Operation};
pub use edge_list::EdgeList;
pub use event::{Choice, Kind, Record};
pub use header::{ClockUnit, Header, MAX_PROCESSES, Source, VERSION};
pub use limits::ReadLimits;
pub use memory_access::{MemoryAccess, MemoryOperation};
pub use message_record::MessageRecord;
pub use reader::{MAX_LINE_BYTES, ReadError, Reader};
pub use segments::{Segments, segment_path};
pub use service::{ApplicationCommand, ApplicationEvent, CommandData, EventData};
pub use subject::Subject;
pub use trace::{Trace, TraceBuffer};
pub use units::now;
pub use writer::{AppendError, CreateError, WriteError, Writer};
