//! What happened: one event format, read, written, merged, shown and judged.
//!
//! A trace is a file of lines of JSON: a [`Header`], then one [`Record`] a line. The simulator,
//! the checker and real nodes write the same format (`docs/trace.md` documents it with an
//! example), so one reader, one story-teller, one draughtsman and one judge serve them all.
//!
//! Scripts are the other direction: a story that *shall* happen. A [`Script`] is data; the
//! [`Stage`] performs it in memory against the real [`Protocol`](tenure_core::Protocol) values,
//! and [`golden()`] turns a folder of scripts into a test.
//!
#![doc = include_str!("../README.md")]

mod alignment;
mod contrast;
pub mod diagram;
pub mod export;
mod fold;
mod format;
pub mod live;
mod merge;
mod plain;
mod scripts;
mod show;
pub mod state;
mod verify;

pub use contrast::{Contrast, Contrasted, Run};
pub use fold::logs::{Changed, Kept, Logs};
pub use fold::standing::{Change, Hold, Life, Standing, Standings};
pub use format::{
    Access, AppendError, ApplicationCommand, ApplicationEvent, Asked, Choice, ClockUnit,
    CreateError, Header, Kind, LONGEST_LINE, MOST_PROCESSES, Operation, Passage, ReadError,
    ReadLimits, Reader, Record, Segments, Source, Told, Trace, VERSION, Who, WriteError, Writer,
    now, segment, units,
};
pub use merge::{MergeError, Merged, MergedFiles, Seams, merge, merge_files, merge_whole_files};
pub use plain::{plain, plain_json};
pub use scripts::{
    Action, Asking, Block, Course, CourseError, Dice, FollowError, Heard, Impossible, Lapse, Line,
    Link, ParseError, PerformError, Pick, Recorded, Script, Seen, Since, Spoken, Stage, Theatre,
    golden, perform, timer_named,
};
pub use show::Show;
pub use tenure_core::Service;
pub use verify::{
    Accesses, Cause, Counter, Election, Judge, Judgement, Quantiles, Traffic, Verification,
    Violated, verify, verify_files,
};
