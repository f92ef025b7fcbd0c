//! The rules that the proof rests on, each with the mistakes that are made about it.

use super::Leased;
use super::config::{PARTS, Switch};

impl Leased {
    /// Whether who waits takes notice of its session's end.
    pub(super) fn minds_its_session(&self) -> bool {
        !self.has(Switch::GrantToDeadSession)
    }

    /// Whether the end of a lease is written after who is next was let in.
    pub(super) fn lets_in_early(&self) -> bool {
        self.has(Switch::EarlyRelease)
    }

    /// Whether nobody else is inside when one who was inside, or was not, has left.
    pub(super) fn leaves_nobody(&self, was_inside: bool) -> bool {
        was_inside || self.has(Switch::AnyRelease)
    }

    /// Whether a leader that was deposed finds that out before it answers a renewal.
    pub(super) fn asks_a_majority(&self) -> bool {
        !self.has(Switch::DeposedRenews)
    }

    /// Whether a lease that was renewed goes on from there.
    pub(super) fn minds_renewals(&self) -> bool {
        !self.has(Switch::ExpiryDisregardsRenewal)
    }

    /// Whether what is left is noted when a part of a lease is over.
    pub(super) fn notes_what_is_left(&self) -> bool {
        !self.has(Switch::TtlJumpsBack)
    }

    /// From how many parts a new leader counts.
    pub(super) fn counted_from(&self, left: u64) -> u64 {
        if self.has(Switch::TtlJumpsBack) { PARTS } else { left.clamp(1, PARTS) }
    }

    /// From which revision on a key is watched that was seen in the one before.
    pub(super) fn watched_from(&self, from: u64) -> u64 {
        if self.has(Switch::WatchFromWrongRevision) { 0 } else { from }
    }
}
