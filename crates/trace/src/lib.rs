//! One event format for all executions: reading, writing, merging, displaying and verifying traces.
//!
//! A trace is a file with one JSON value per line. The first line is a [`Header`], and each other
//! line is a [`Record`]. The simulator, the checker and real nodes write the same format. Therefore
//! one reader, one formatter, one set of diagrams and one verifier serve all programs.
//! `docs/trace.md` documents the format with an example.
//!
//! A trace records what happened. A script states what *shall* happen. A [`Script`] is data. A
//! [`TestCluster`] performs a script in memory with real [`Protocol`](tenure_core::Protocol)
//! values. [`golden()`] turns a folder of scripts into a test.
#![doc = include_str!("../README.md")]

mod alignment;
pub mod diagram;
mod escaping;
pub mod export;
pub mod files;
mod fold;
mod format;
pub mod live;
mod merge;
#[cfg(feature = "properties")]
pub mod property;
mod scripts;
mod show;
pub mod state;
mod trace_diff;
mod verify;

pub use escaping::{escape_invisible, escape_invisible_in_json};
pub use fold::logs::{LogChange, LogState, LogStates};
pub use fold::process_state::{
    ProcessCondition, ProcessState, ProcessStates, ProcessStatus, StateChange,
};
pub use format::{
    AccessOperation, AccessRecord, AppendError, ApplicationCommand, ApplicationEvent, ClockUnit,
    CommandData, CreateError, DEFAULT_MAX_LINE_BYTES, DEFAULT_MAX_PROCESSES, EdgeList, EventData,
    Header, MemoryAccess, MemoryOperation, MessageRecord, RandomChoice, ReadError, ReadLimits,
    Reader, Record, RecordKind, Subject, TRACE_FORMAT_VERSION, Trace, TraceBuffer, TraceSegments,
    TraceSource, WriteError, Writer, segment_path, units, unix_time_nanos,
};
pub use merge::{
    MergeError, MergeReport, MergedFiles, MergedTrace, merge, merge_files,
    merge_files_with_contents,
};
pub use scripts::{
    Action, ActionError, ClusterEvent, FollowError, Link, MessageSelector, MuteState, ParseError,
    PerformError, RecordableProtocol, SaveFault, SaveFaults, Schedule, ScheduleError, Script,
    ScriptBlock, ScriptCommand, ScriptLine, ScriptRunner, ServiceCommand, ServiceEvent, SplitMix64,
    TestCluster, find_timer, golden, perform_script,
};
pub use show::RecordFormatter;
pub use tenure_core::Service;
pub use trace_diff::{AlignedEvent, RunMembership, TraceDiff};
pub use verify::{
    AccessCounts, CounterResult, ElectionCause, Judgement, MeasuredElection, MessageCounts,
    Quantiles, TraceVerifier, TraceViolation, Verification, verify, verify_files,
};
