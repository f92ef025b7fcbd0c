//! The rules that a variant changes: in each the right one stands first, the mistakes below it.

use tenure_core::{LamportClock, ProcessId, ProcessSet, Stamp};

use super::Message;
use crate::Variants;
use crate::variants::switches;

switches! {
    Reference = "reference", sound,
        "as printed in 1981: replies carry neither the request's name nor a clock";
    UnstampedReply = "unstamped-reply", sound,
        "replies carry no clock: entries may leave the order of happened-before"
        => "7-R6", "-n 3 --entries 2,1,1 --channel fifo --property order";
    UntaggedReply = "untagged-reply", unsound,
        "replies do not name the request, so a duplicate may serve the next one"
        => "7-R8", "-n 2 --entries 2 --duplicate 1";
    BareCounter = "bare-counter", unsound,
        "replies are counted and neither named nor told apart by sender"
        => "7-R7", "-n 2 --entries 2 --duplicate 1";
    NoClockOnRequest = "no-clock-on-request", unsound,
        "receiving a request does not advance the clock"
        => "7-R5", "-n 2 --entries 2";
    IdsAsStamps = "ids-as-stamps", unsound,
        "requests are ordered by process alone, without a clock"
        => "7-R2", "-n 3 --channel fifo";
    ClockOnlyStrict = "clock-only-strict", unsound,
        "no tie-break: of two equal clocks neither goes first, and both reply"
        => "7-R3", "-n 2";
    ClockOnlyDefer = "clock-only-defer", unsound,
        "no tie-break: of two equal clocks both go first, and both defer"
        => "7-R4", "-n 2";
    ReplyWhileInside = "reply-while-inside", unsound,
        "a request that arrives while we are inside is answered at once"
        => "", "-n 3 --entries 2 --channel fifo";
    RepliesAgain = "replies-again", unsound,
        "a request that was deferred is answered again at each exit: right, and dear"
        => "", "-n 2 --entries 2 --property cost";
}

/// The rules that a process follows.
#[derive(Clone, Copy)]
pub(super) struct Rules(pub(super) Variants<Switch>);

/// What a process does.
impl Rules {
    /// The place of a new request in the order.
    #[inline]
    pub(super) fn stamp(self, clock: u64, process: ProcessId) -> Stamp {
        Stamp { clock: if self.orders_by_clock() { clock } else { 0 }, process }
    }

    /// Advances our clock beyond that of a request.
    #[inline]
    pub(super) fn hear(self, clock: &mut LamportClock, request: Stamp) {
        if !self.0.has(Switch::NoClockOnRequest) {
            clock.observe(request.clock);
        }
    }

    /// Whether our request comes before theirs.
    pub(super) fn precedes(self, ours: Stamp, theirs: Stamp) -> bool {
        if self.breaks_ties() {
            ours < theirs
        } else if self.0.has(Switch::ClockOnlyStrict) {
            ours.clock < theirs.clock
        } else {
            ours.clock <= theirs.clock
        }
    }

    fn breaks_ties(self) -> bool {
        !self.has_any([Switch::ClockOnlyStrict, Switch::ClockOnlyDefer])
    }

    /// Whether a request has to wait while we are inside.
    pub(super) fn defers_while_inside(self) -> bool {
        !self.0.has(Switch::ReplyWhileInside)
    }

    /// What we keep of a request that we defer.
    pub(super) fn kept(self, request: Stamp) -> Stamp {
        if self.names_replies() { request } else { Stamp { clock: 0, ..request } }
    }

    /// Whether a request is forgotten once it was answered.
    pub(super) fn forgets_answered(self) -> bool {
        !self.0.has(Switch::RepliesAgain)
    }

    /// Our reply to a request, while our clock is `clock`.
    pub(super) fn reply(self, request: Stamp, clock: u64) -> Message {
        Message::Reply {
            to: if self.names_replies() { request.clock } else { 0 },
            clock: if self.stamps_replies() { clock } else { 0 },
        }
    }

    /// Whether a reply to `to` answers our request.
    pub(super) fn answers(self, to: u64, ours: Stamp) -> bool {
        to == ours.clock || !self.names_replies()
    }

    /// Counts the reply of a process; tells whether it was awaited.
    pub(super) fn count(self, from: ProcessId, awaited: &mut ProcessSet) -> bool {
        if !self.0.has(Switch::BareCounter) {
            return awaited.remove(from);
        }
        awaited.smallest().is_some_and(|anybody| awaited.remove(anybody))
    }
}

/// Which clocks are told; a checker has to know.
impl Rules {
    /// Whether a request has a clock.
    pub(super) fn orders_by_clock(self) -> bool {
        !self.0.has(Switch::IdsAsStamps)
    }

    /// Whether a reply says which request it answers.
    fn names_replies(self) -> bool {
        !self.has_any([Switch::UntaggedReply, Switch::BareCounter, Switch::Reference])
    }

    /// Whether a reply carries the replier's clock.
    pub(super) fn stamps_replies(self) -> bool {
        !self.has_any([Switch::UnstampedReply, Switch::Reference])
    }

    /// Whether a request that is answered or deferred is known by its clock.
    pub(super) fn keeps_clocks(self) -> bool {
        self.names_replies() && self.orders_by_clock()
    }

    /// Each clock in a message.
    pub(super) fn for_each_stamp(self, message: &mut Message, mut each: impl FnMut(&mut u64)) {
        match message {
            Message::Request { stamp } if self.orders_by_clock() => each(&mut stamp.clock),
            Message::Request { .. } => {}
            Message::Reply { to, clock } => {
                if self.keeps_clocks() {
                    each(to);
                }
                if self.stamps_replies() {
                    each(clock);
                }
            }
        }
    }

    fn has_any<const N: usize>(self, switches: [Switch; N]) -> bool {
        switches.into_iter().any(|switch| self.0.has(switch))
    }
}
