//! Rules of the algorithm that a variant can replace by another rule. Many of the replacements are
//! mistakes. Each function states the correct rule first.

use tenure_core::{ProcessId, Timestamp};

use super::Message;
use crate::Variants;
use crate::variants::variant_ids;

variant_ids! {
    AnyMessage = "any-message", sound,
        "any message with a later clock counts as a reply, as in the paper";
    SuppressedReplies = "suppressed-replies", sound,
        "a process whose own request is larger does not reply: its request says the same";
    IdsAsStamps = "ids-as-stamps", unsound,
        "requests are ordered by process alone, so a later one can overtake an entry"
        => "7-L1", "-n 2";
    ClockOnlyOwnFirst = "clock-only-own-first", unsound,
        "no tie-break: of two equal clocks each process considers its own first, and both enter"
        => "7-L2", "-n 2";
    ClockOnlyOtherFirst = "clock-only-other-first", unsound,
        "no tie-break: of two equal clocks each process considers the other's first, for ever"
        => "7-L3", "-n 2";
    OwnRequestOnTop = "own-request-on-top", unsound,
        "enters as soon as its request is the smallest it knows, without waiting for replies"
        => "7-L5", "-n 2";
    ReplyFromAll = "reply-from-all", unsound,
        "enters as soon as all have replied, although other requests may precede its own"
        => "7-L6", "-n 2";
}

/// Rules of the algorithm under the given variants.
#[derive(Clone, Copy)]
pub(super) struct Rules(pub(super) Variants<VariantId>);

impl Rules {
    /// Returns the timestamp of a new request.
    pub(super) fn request_timestamp(self, clock: u64, process: ProcessId) -> Timestamp {
        Timestamp { clock: if self.orders_by_clock() { clock } else { 0 }, process }
    }

    /// Returns true if requests are ordered by their clocks. Returns false if they are ordered by
    /// process id alone.
    pub(super) fn orders_by_clock(self) -> bool {
        !self.0.has(VariantId::IdsAsStamps)
    }

    /// Returns true if this process considers its own request `ours` earlier than the request
    /// `theirs` of a peer. Without a tie-break, the two processes may disagree.
    pub(super) fn precedes(self, ours: Timestamp, theirs: Timestamp) -> bool {
        if self.breaks_ties() {
            ours < theirs
        } else if self.0.has(VariantId::ClockOnlyOwnFirst) {
            ours.clock <= theirs.clock
        } else {
            ours.clock < theirs.clock
        }
    }

    fn breaks_ties(self) -> bool {
        !self.0.has(VariantId::ClockOnlyOwnFirst) && !self.0.has(VariantId::ClockOnlyOtherFirst)
    }

    /// Returns true if this process may enter the critical section. There are two conditions: all
    /// peers have replied (`all_replied`), and the request of this process is the first in the
    /// queue (`on_top`). Two variants omit one condition each, by mistake.
    pub(super) fn may_enter(self, all_replied: bool, on_top: bool) -> bool {
        if all_replied && on_top {
            return true;
        }
        let enough = all_replied || self.0.has(VariantId::OwnRequestOnTop);
        enough && (on_top || self.0.has(VariantId::ReplyFromAll))
    }

    /// Returns true if a message counts as a reply to a request, provided that the timestamp of the
    /// message is later than the request.
    pub(super) fn counts_as_reply(self, message: &Message) -> bool {
        matches!(message, Message::Reply { .. })
            || self.0.has(VariantId::AnyMessage)
            || self.0.has(VariantId::SuppressedReplies)
    }

    /// Returns true if this process must reply to the request `theirs` of a peer. `ours` is the
    /// waiting request of this process; `None` if this process does not wait.
    pub(super) fn must_reply(self, theirs: Timestamp, ours: Option<Timestamp>) -> bool {
        // A larger request of this process serves as the reply, because the peer has received it or
        // will receive it.
        let is_implied =
            self.0.has(VariantId::SuppressedReplies) && ours.is_some_and(|ours| ours > theirs);
        !is_implied
    }
}
