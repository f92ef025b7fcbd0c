//! The rules that a variant changes: in each the right one stands first, the mistakes below it.

use tenure_core::{ProcessId, Stamp};

use super::Message;
use crate::Variants;
use crate::variants::switches;

switches! {
    AnyMessage = "any-message", sound,
        "any message with a later clock counts as a reply, as in the paper";
    SuppressedReplies = "suppressed-replies", sound,
        "a process whose own request is larger does not reply: its request says the same";
    IdsAsStamps = "ids-as-stamps", unsound,
        "requests are ordered by process alone, so a later one can overtake an entry"
        => "7-L1", "-n 2";
    ClockOnlyOwnFirst = "clock-only-own-first", unsound,
        "no tie-break: of two equal clocks everybody takes its own to be first, and both enter"
        => "7-L2", "-n 2";
    ClockOnlyOtherFirst = "clock-only-other-first", unsound,
        "no tie-break: of two equal clocks everybody takes the other's to be first, for ever"
        => "7-L3", "-n 2";
    OwnRequestOnTop = "own-request-on-top", unsound,
        "enters as soon as its request is the smallest it knows, without waiting for replies"
        => "7-L5", "-n 2";
    ReplyFromAll = "reply-from-all", unsound,
        "enters as soon as everybody has replied, whoever else may be before it"
        => "7-L6", "-n 2";
}

/// The rules that a process follows.
#[derive(Clone, Copy)]
pub(super) struct Rules(pub(super) Variants<Switch>);

impl Rules {
    /// The place of a new request in the order.
    pub(super) fn stamp(self, clock: u64, process: ProcessId) -> Stamp {
        Stamp { clock: if self.orders_by_clock() { clock } else { 0 }, process }
    }

    /// Whether a request has a clock.
    pub(super) fn orders_by_clock(self) -> bool {
        !self.0.has(Switch::IdsAsStamps)
    }

    /// Whether our request comes before theirs.
    pub(super) fn precedes(self, ours: Stamp, theirs: Stamp) -> bool {
        if self.breaks_ties() {
            ours < theirs
        } else if self.0.has(Switch::ClockOnlyOwnFirst) {
            ours.clock <= theirs.clock
        } else {
            ours.clock < theirs.clock
        }
    }

    fn breaks_ties(self) -> bool {
        !self.0.has(Switch::ClockOnlyOwnFirst) && !self.0.has(Switch::ClockOnlyOtherFirst)
    }

    /// Whether we may enter: everybody has replied, and our request is on top of the queue.
    pub(super) fn grants(self, all_replied: bool, on_top: bool) -> bool {
        if all_replied && on_top {
            return true;
        }
        let enough = all_replied || self.0.has(Switch::OwnRequestOnTop);
        enough && (on_top || self.0.has(Switch::ReplyFromAll))
    }

    /// Whether a message counts as a reply.
    pub(super) fn is_reply(self, message: &Message) -> bool {
        matches!(message, Message::Reply { .. })
            || self.0.has(Switch::AnyMessage)
            || self.0.has(Switch::SuppressedReplies)
    }

    /// Whether a request gets a reply, while ours waits, if we have one.
    pub(super) fn replies(self, theirs: Stamp, ours: Option<Stamp>) -> bool {
        // A larger request of ours, which its process has or will get, says the same.
        let said = self.0.has(Switch::SuppressedReplies) && ours.is_some_and(|ours| ours > theirs);
        !said
    }
}
