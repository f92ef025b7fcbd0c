//! How much of a trace is taken in: somebody else may have written it.

use std::sync::OnceLock;

use crate::format::header::MOST_PROCESSES;
use crate::format::reader::LONGEST_LINE;

/// How much this program reads of a trace at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// How long a line may be, in bytes.
    pub longest_line: u64,
    /// How large the group may be.
    pub most_processes: u32,
}

static OF_THIS_PROGRAM: OnceLock<ReadLimits> = OnceLock::new();

impl ReadLimits {
    /// What is read where nobody says otherwise.
    pub const PLAIN: ReadLimits =
        ReadLimits { longest_line: LONGEST_LINE, most_processes: MOST_PROCESSES };

    /// Has this whole program read so much, from whichever file. The first who says so is heard.
    pub fn hold_everywhere(self) {
        let _ = OF_THIS_PROGRAM.set(self);
    }

    pub(crate) fn now() -> Self {
        OF_THIS_PROGRAM.get().copied().unwrap_or(ReadLimits::PLAIN)
    }
}
