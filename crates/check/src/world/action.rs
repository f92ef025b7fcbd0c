//! What may happen in a world, in 32 bits.

/// One step of a run, as the visited set remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Action(pub(crate) u32);

/// What kind of step it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// The user of a process asks, or a timer fires: an item of the process's menu.
    Own,
    /// A parcel of a link is delivered.
    Deliver,
    /// A process is told that a peer seems to have crashed.
    Suspect,
    /// A process is told that a peer seems to be alive after all.
    Trust,
    /// A parcel of a link is lost.
    Lose,
    /// A parcel of a link is duplicated.
    Duplicate,
    /// A process crashes.
    Crash,
    /// A process comes back.
    Recover,
    /// The application of a process sends a message.
    Send,
    /// A unit of time passes.
    Tick,
    /// The network falls into two.
    Cut,
    /// A process meets a peer in a new session: the old one must have crashed.
    Meet,
    /// And is told at once, before anything else, that the peer is alive again.
    Greet,
    /// A process is heard no more: it crashes before what it does from here on leaves.
    Mute,
}

pub(crate) const KINDS: [Kind; 14] = [
    Kind::Own,
    Kind::Deliver,
    Kind::Suspect,
    Kind::Trust,
    Kind::Lose,
    Kind::Duplicate,
    Kind::Crash,
    Kind::Recover,
    Kind::Send,
    Kind::Tick,
    Kind::Cut,
    Kind::Meet,
    Kind::Greet,
    Kind::Mute,
];

/// The most outcomes of one handler, by its choices.
pub(crate) const MOST_OUTCOMES: usize = 1 << 9;

impl Action {
    /// A step at the slot `place`, of the item there, with one of its outcomes.
    pub(crate) fn new(kind: Kind, place: usize, item: usize, outcome: usize) -> Self {
        debug_assert!(place < 1 << 11 && item < 1 << 8 && outcome < MOST_OUTCOMES);
        let code = (kind as usize) << 28 | place << 17 | item << 9 | outcome;
        Action(code as u32)
    }

    /// The same step with another of its outcomes.
    pub(crate) fn with_outcome(self, outcome: usize) -> Self {
        Action(self.0 & !(MOST_OUTCOMES as u32 - 1) | outcome as u32)
    }

    pub(crate) fn kind(self) -> Kind {
        KINDS[(self.0 >> 28) as usize]
    }

    pub(crate) fn place(self) -> usize {
        (self.0 >> 17) as usize & 0x7FF
    }

    pub(crate) fn item(self) -> usize {
        (self.0 >> 9) as usize & 0xFF
    }

    pub(crate) fn outcome(self) -> usize {
        self.0 as usize & (MOST_OUTCOMES - 1)
    }
}

/// What a process is given, for its outcomes to be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cause {
    /// The offer of the user at this place.
    Command(u32),
    /// The armed timer at this place.
    Timer(u32),
    /// This parcel arrives.
    Deliver(u32),
    /// The detector suspects this peer.
    Suspect(u32),
    /// The detector trusts this peer.
    Trust(u32),
    /// The process crashes.
    Crash,
    /// The process comes back.
    Recover,
    /// The application sends a message to this peer.
    Send(u32),
    /// A new session of this peer says that the old one crashed, whatever the detector thinks.
    Meet(u32),
    /// And that the peer is alive again.
    Greet(u32),
    /// The process is heard no more.
    Mute,
}

impl Cause {
    /// A number that tells causes apart.
    pub(crate) fn code(self) -> u32 {
        let (kind, of) = match self {
            Cause::Command(place) => (1, place),
            Cause::Timer(place) => (2, place),
            Cause::Deliver(parcel) => (3, parcel),
            Cause::Suspect(peer) => (4, peer),
            Cause::Trust(peer) => (5, peer),
            Cause::Crash => (6, 0),
            Cause::Recover => (7, 0),
            Cause::Send(peer) => (8, peer),
            Cause::Meet(peer) => (9, peer),
            Cause::Greet(peer) => (10, peer),
            Cause::Mute => (11, 0),
        };
        assert!(of < 1 << 28, "fewer than 2^28 different parcels");
        kind << 28 | of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_says_what_it_was_made_of() {
        for kind in KINDS {
            let action = Action::new(kind, 1953, 255, 511);
            assert_eq!(action.kind(), kind);
            assert_eq!((action.place(), action.item(), action.outcome()), (1953, 255, 511));
        }
    }
}
