//! One event format for all executions: reading, writing, merging, displaying and verifying traces.
//!
//! A trace is a file with one JSON value per line. The first line is a [`Header`], and each other
//! line is a [`Record`]. The simulator, the checker and real nodes write the same format. Therefore
//! one reader, one formatter, one set of diagrams and one verifier serve all programs.
//! `docs/trace.md` documents the format with an example.
//!
//! A trace records what happened. A script states what *shall* happen. A [`Script`] is data. A
//! [`TestCluster`] performs a script in memory with real [`Protocol`](tenure_core::Protocol)
//! values. [`run_golden_scripts`] turns a folder of scripts into a test.
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
pub use fold::logs::{ReplicatedLogChange, ReplicatedLogState, ReplicatedLogStates};
pub use fold::process_state::{
    ProcessCondition, ProcessState, ProcessStateChange, ProcessStates, ProcessStatus,
};
pub use format::{
    AppendError, ApplicationCommand, ApplicationEvent, ClockUnit, CreateError,
    DEFAULT_MAX_LINE_BYTES, DEFAULT_MAX_PROCESSES, EdgeList, Header, MemoryAccess, MemoryOperation,
    MessageRecord, RandomChoice, ReadError, ReadLimits, Reader, Record, RecordKind, RecordSubject,
    RecordedCommand, RecordedEvent, ResourceAccessRecord, ResourceOperation, TRACE_FORMAT_VERSION,
    Trace, TraceBuffer, TraceProducer, TraceSegments, WriteError, Writer, segment_path, units,
    unix_time_nanos,
};
pub use merge::{
    MergeError, MergeReport, MergedFiles, MergedTrace, merge, merge_files,
    merge_files_for_verification,
};
pub use scripts::{
    ActionError, Link, MessageSelector, MuteState, PerformError, ProcessEvent, RecordableProtocol,
    SaveFault, SaveFaults, Schedule, ScheduleError, ScheduleReplayError, Script, ScriptAction,
    ScriptBlock, ScriptCommand, ScriptLine, ScriptParseError, ScriptRunner, ServiceCommand,
    ServiceEvent, SplitMix64, TestCluster, find_timer, perform_script, run_golden_scripts,
};
pub use show::RecordFormatter;
pub use tenure_core::Service;
pub use trace_diff::{AlignedEvent, DiffSide, TraceDiff};
pub use verify::{
    ElectionCause, Judgement, MeasuredElection, MessageCounts, Quantiles, ResourceAccessCounts,
    ResourceCounterResult, TraceVerifier, TraceViolation, Verification, verify, verify_files,
};
