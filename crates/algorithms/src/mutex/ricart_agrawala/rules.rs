//! Rules of the algorithm that the variants replace. Most of the replacements are mistakes. Each
//! function states the correct rule first.

use tenure_core::{LamportClock, ProcessId, ProcessSet, Timestamp};

use super::Message;
use crate::Variants;
use crate::variants::variant_ids;

variant_ids! {
    Reference = "reference", sound,
        "as printed in 1981: replies carry neither the request's name nor a clock";
    UnstampedReply = "unstamped-reply", sound,
        "replies carry no clock: entries may leave the order of happened-before"
        => "7-R6", "-n 3 --entries 2,1,1 --channel fifo --property order";
    UntaggedReply = "untagged-reply", unsound,
        "replies do not name the request, so a duplicate may serve the next one"
        => "7-R8", "-n 2 --entries 2 --duplicate 1";
    BareCounter = "bare-counter", unsound,
        "replies are only counted, without request or sender"
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
        "a request that arrives while the process is inside is answered at once"
        => "", "-n 3 --entries 2 --channel fifo";
    RepliesAgain = "replies-again", unsound,
        "a deferred request is answered again at each exit: correct but expensive"
        => "", "-n 2 --entries 2 --property cost";
}

/// Rules of the algorithm under the given variants.
#[derive(Clone, Copy)]
pub(super) struct Rules(pub(super) Variants<VariantId>);

/// Rules for the steps of a process.
impl Rules {
    /// Returns the timestamp of a new request.
    #[inline]
    pub(super) fn request_timestamp(self, clock: u64, process: ProcessId) -> Timestamp {
        Timestamp { clock: if self.orders_by_clock() { clock } else { 0 }, process }
    }

    /// Advances the clock to at least the clock of a received request.
    #[inline]
    pub(super) fn advance_clock(self, clock: &mut LamportClock, request: Timestamp) {
        if !self.0.has(VariantId::NoClockOnRequest) {
            clock.observe(request.clock);
        }
    }

    /// Returns true if this process considers its own request `ours` earlier than the request
    /// `theirs` of a peer. Without a tie-break, the two processes may disagree.
    pub(super) fn precedes(self, ours: Timestamp, theirs: Timestamp) -> bool {
        if self.breaks_ties() {
            ours < theirs
        } else if self.0.has(VariantId::ClockOnlyStrict) {
            ours.clock < theirs.clock
        } else {
            ours.clock <= theirs.clock
        }
    }

    fn breaks_ties(self) -> bool {
        !self.has_any([VariantId::ClockOnlyStrict, VariantId::ClockOnlyDefer])
    }

    /// Returns true if a process inside the critical section defers all requests.
    pub(super) fn defers_while_inside(self) -> bool {
        !self.0.has(VariantId::ReplyWhileInside)
    }

    /// Returns the timestamp under which this process stores a deferred request. If replies do not
    /// contain the clock of the request, the stored clock is 0.
    pub(super) fn deferred_timestamp(self, request: Timestamp) -> Timestamp {
        if self.names_replies() { request } else { Timestamp { clock: 0, ..request } }
    }

    /// Returns true if a process removes a request from its deferred requests when it replies.
    pub(super) fn forgets_answered_requests(self) -> bool {
        !self.0.has(VariantId::RepliesAgain)
    }

    /// Returns the reply to a request. `clock` is the clock of this process.
    pub(super) fn create_reply(self, request: Timestamp, clock: u64) -> Message {
        Message::Reply {
            to: if self.names_replies() { request.clock } else { 0 },
            clock: if self.stamps_replies() { clock } else { 0 },
        }
    }

    /// Returns true if a reply answers `ours`, this process's current request. `replied_clock` is
    /// the clock of the request that the reply names. If replies do not name requests, every reply
    /// answers `ours`.
    pub(super) fn answers_own_request(self, replied_clock: u64, ours: Timestamp) -> bool {
        replied_clock == ours.clock || !self.names_replies()
    }

    /// Removes the sender `from` of a reply from `awaited`. Returns true if a reply of `from` was
    /// awaited. With the variant `bare-counter`, removes the smallest awaited process instead, and
    /// returns true if there is one.
    pub(super) fn record_reply(self, from: ProcessId, awaited: &mut ProcessSet) -> bool {
        if !self.0.has(VariantId::BareCounter) {
            return awaited.remove(from);
        }
        awaited.smallest().is_some_and(|first| awaited.remove(first))
    }
}

/// Rules about the clocks in messages and states. The checker shifts these clocks in order to merge
/// equivalent states.
impl Rules {
    /// Returns true if the timestamps of requests contain the logical clock. Returns false if they
    /// contain 0 instead, so that requests are ordered by process id alone.
    pub(super) fn orders_by_clock(self) -> bool {
        !self.0.has(VariantId::IdsAsStamps)
    }

    /// Returns true if a reply contains the clock of the request that it answers.
    fn names_replies(self) -> bool {
        !self.has_any([VariantId::UntaggedReply, VariantId::BareCounter, VariantId::Reference])
    }

    /// Returns true if a reply contains the clock of its sender.
    pub(super) fn stamps_replies(self) -> bool {
        !self.has_any([VariantId::UnstampedReply, VariantId::Reference])
    }

    /// Returns true if deferred requests and replies contain the logical clock of the request.
    pub(super) fn keeps_request_clocks(self) -> bool {
        self.names_replies() && self.orders_by_clock()
    }

    /// Calls `each` with every logical clock in `message`.
    pub(super) fn for_each_stamp(self, message: &mut Message, mut each: impl FnMut(&mut u64)) {
        match message {
            Message::Request { stamp } if self.orders_by_clock() => each(&mut stamp.clock),
            Message::Request { .. } => {}
            Message::Reply { to, clock } => {
                if self.keeps_request_clocks() {
                    each(to);
                }
                if self.stamps_replies() {
                    each(clock);
                }
            }
        }
    }

    fn has_any<const N: usize>(self, switches: [VariantId; N]) -> bool {
        switches.into_iter().any(|switch| self.0.has(switch))
    }
}
