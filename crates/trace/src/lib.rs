//! What happened: one event format, read, written, merged, shown and judged.
//!
//! A trace is a file of lines of JSON: a [`Header`], then one [`Record`] a line. The simulator,
//! the checker and real nodes write the same format (`docs/trace.md` documents it with an
//! example), so one reader, one story-teller, one draughtsman and one judge serve them all.
//!
//! Scripts are the other direction: a story that *shall* happen. A [`Script`] is data; the
//! [`Stage`] performs it in memory against the real [`Protocol`](tenure_core::Protocol) values,
//! and [`golden()`] turns a folder of scripts into a test.

mod access;
mod course;
pub mod diagram;
mod dice;
mod diff;
mod event;
pub mod export;
mod golden;
mod header;
mod line;
pub mod live;
mod merge;
mod numbered;
mod parse;
mod passage;
mod perform;
mod plain;
mod reader;
mod script;
mod service;
mod show;
mod spoken;
mod stage;
mod standing;
pub mod state;
mod theatre;
mod trace;
pub mod units;
mod verify;
mod who;
mod writer;

pub use access::{Access, Operation};
pub use course::{Course, CourseError};
pub use dice::Dice;
pub use event::{Kind, Record};
pub use golden::golden;
pub use header::{ClockUnit, Header, Service, Source, VERSION};
pub use merge::{MergeError, Merged, merge, merge_files, merge_whole_files};
pub use parse::ParseError;
pub use passage::Passage;
pub use perform::{PerformError, perform};
pub use plain::plain;
pub use reader::{ReadError, Reader};
pub use script::{Action, Asking, Block, Line, Pick, Script};
pub use service::{Asked, Told};
pub use show::Show;
pub use spoken::Spoken;
pub use stage::{Link, Seen, Stage};
pub use standing::{Change, Hold, Life, Standing, Standings};
pub use theatre::{FollowError, Impossible, Theatre, timer_named};
pub use trace::Trace;
pub use units::now;
pub use verify::{
    Accesses, Cause, Counter, Election, Judge, Judgement, Quantiles, Traffic, Verification,
    Violated, verify, verify_files,
};
pub use who::Who;
pub use writer::{AppendError, CreateError, WriteError, Writer};
