//! The trace format: header, records, readers and writers.

mod access;
mod edge_list;
mod event;
mod header;
mod limits;
pub(crate) mod line;
mod memory_access;
mod message_record;
pub(crate) mod process_check;
pub(crate) mod process_number;
mod reader;
mod segments;
mod service;
mod subject;
mod trace;
pub mod units;
mod writer;

pub use access::{ResourceAccessRecord, ResourceOperation};
pub use edge_list::EdgeList;
pub use event::{RandomChoice, Record, RecordKind};
pub use header::{ClockUnit, DEFAULT_MAX_PROCESSES, Header, TRACE_FORMAT_VERSION, TraceProducer};
pub use limits::ReadLimits;
pub use memory_access::{MemoryAccess, MemoryOperation};
pub use message_record::MessageRecord;
pub use reader::{DEFAULT_MAX_LINE_BYTES, ReadError, Reader};
pub use segments::{TraceSegments, segment_path};
pub use service::{ApplicationCommand, ApplicationEvent, RecordedCommand, RecordedEvent};
pub use subject::RecordSubject;
pub use trace::{Trace, TraceBuffer};
pub use units::unix_time_nanos;
pub use writer::{AppendError, CreateError, WriteError, Writer};
