//! Limits on the traces that a program reads. The limits protect the program from traces of unknown
//! origin.

use std::sync::OnceLock;

use crate::format::header::DEFAULT_MAX_PROCESSES;
use crate::format::reader::DEFAULT_MAX_LINE_BYTES;

/// Limits on the traces that this program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Maximum length of a line, in bytes.
    pub max_line_bytes: u64,
    /// Maximum number of processes in the group of a trace.
    pub max_processes: u32,
}

static OF_THIS_PROGRAM: OnceLock<ReadLimits> = OnceLock::new();

impl ReadLimits {
    /// Default limits. They apply if [`ReadLimits::set_for_program`] sets no other limits.
    pub const DEFAULT: ReadLimits =
        ReadLimits { max_line_bytes: DEFAULT_MAX_LINE_BYTES, max_processes: DEFAULT_MAX_PROCESSES };

    /// Sets the limits for all traces that this program reads. Only the first call has an effect.
    pub fn set_for_program(self) {
        let _ = OF_THIS_PROGRAM.set(self);
    }

    pub(crate) fn current() -> Self {
        OF_THIS_PROGRAM.get().copied().unwrap_or(ReadLimits::DEFAULT)
    }
}
