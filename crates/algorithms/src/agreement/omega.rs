//! Ω, the leader oracle, built from a failure detector.
//!
//! T. D. Chandra, V. Hadzilacos, S. Toueg, *The weakest failure detector for solving consensus*,
//! JACM 43(4), 1996.

use tenure_core::{PeerVerdict, ProcessId, ProcessSet};

/// The leader oracle. Each process regards as leader the process with the lowest id that it does
/// not suspect.
///
/// **Why it is an Ω.** Once the detectors no longer err, each process suspects exactly the crashed
/// processes, so all choose the same live leader. Until then there may be several leaders, and a
/// leader may have crashed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Omega {
    suspected: ProcessSet,
}

impl Omega {
    pub(super) fn on_verdict(&mut self, peer: ProcessId, verdict: PeerVerdict) {
        match verdict {
            PeerVerdict::Suspect => self.suspected.insert(peer),
            PeerVerdict::Trust => self.suspected.remove(peer),
        };
    }

    pub(super) fn suspects(&self, process: ProcessId) -> bool {
        self.suspected.contains(process)
    }

    /// Returns true if `me` considers itself the leader: it suspects every lower process.
    pub(super) fn is_leader(&self, me: ProcessId) -> bool {
        (0..me.0).all(|lower| self.suspects(ProcessId(lower)))
    }

    pub(super) fn suspected(&self) -> impl Iterator<Item = ProcessId> + '_ {
        self.suspected.iter()
    }
}
