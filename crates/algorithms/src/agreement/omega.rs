//! Ω: who leads, made of a detector's opinions.
//!
//! T. D. Chandra, V. Hadzilacos, S. Toueg, *The weakest failure detector for solving consensus*,
//! JACM 43(4), 1996.

use tenure_core::{ProcessId, ProcessSet, Verdict};

/// The leader oracle: everybody takes the lowest process that it does not suspect for the leader.
///
/// **Why it is one.** When the detectors no longer err, everybody who is up suspects those who are
/// down and nobody else, and so takes the same process, which is up. Until then there may be
/// several leaders, or one that has crashed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Omega {
    suspected: ProcessSet,
}

impl Omega {
    /// The detector speaks of a peer.
    pub(super) fn hear(&mut self, peer: ProcessId, verdict: Verdict) {
        match verdict {
            Verdict::Suspect => self.suspected.insert(peer),
            Verdict::Trust => self.suspected.remove(peer),
        };
    }

    /// Whether a process is suspected.
    pub(super) fn suspects(&self, process: ProcessId) -> bool {
        self.suspected.contains(process)
    }

    /// Whether a process takes itself for the leader: it suspects everybody below.
    pub(super) fn leads(&self, me: ProcessId) -> bool {
        (0..me.0).all(|lower| self.suspects(ProcessId(lower)))
    }

    /// Everybody who is suspected.
    pub(super) fn all_suspected(&self) -> impl Iterator<Item = ProcessId> + '_ {
        self.suspected.iter()
    }
}
