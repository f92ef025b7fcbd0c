//! Steps from one global state to another, encoded in 32 bits.

/// One step of a run, encoded as the visited set stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Action(pub(crate) u32);

/// Kind of a step.
///
/// For deliveries, losses and duplications, [`Action::slot`] is the slot of a link, and
/// [`Action::item`] is an index in [`QueueFacts::items`](crate::world::network::QueueFacts::items).
/// For the passing of time and a partition, both are 0. For all other kinds, [`Action::slot`] is
/// the index of a process. If the step concerns a peer, [`Action::item`] is the index of this peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ActionKind {
    /// A command by the user, the firing of a timer, or the step in which the user receives its
    /// postponed events. [`Action::item`] is the index of this input in the list of all inputs of
    /// these kinds that are possible now.
    Internal,
    Deliver,
    /// The failure detector of a process suspects a peer.
    Suspect,
    /// The failure detector of a process trusts a peer again.
    Trust,
    Lose,
    Duplicate,
    Crash,
    Recover,
    /// The application of a process sends a message.
    Send,
    /// One unit of time passes.
    Tick,
    /// The step in progress of a process ends, and its messages leave.
    StepEnd,
    Partition,
    /// The process suspects a peer because it has detected a new session of that peer: the peer has
    /// crashed and restarted.
    RestartSuspect,
    /// The process trusts a peer again. The process suspected this peer because of a new session,
    /// and has received no other input since the suspicion.
    RestartTrust,
    /// The process becomes mute: its later effects are not released, and it will crash.
    Mute,
}

pub(crate) const ACTION_KINDS: [ActionKind; 15] = [
    ActionKind::Internal,
    ActionKind::Deliver,
    ActionKind::Suspect,
    ActionKind::Trust,
    ActionKind::Lose,
    ActionKind::Duplicate,
    ActionKind::Crash,
    ActionKind::Recover,
    ActionKind::Send,
    ActionKind::Tick,
    ActionKind::StepEnd,
    ActionKind::Partition,
    ActionKind::RestartSuspect,
    ActionKind::RestartTrust,
    ActionKind::Mute,
];

/// Maximum number of outcomes of one handler, one for each combination of choices.
pub(crate) const MAX_OUTCOMES: usize = 1 << 9;

impl Action {
    /// Encodes a step. [`ActionKind`] explains `slot` and `item`. `outcome` is the index of the
    /// outcome of the step.
    pub(crate) fn new(kind: ActionKind, slot: usize, item: usize, outcome: usize) -> Self {
        debug_assert!(slot < 1 << 11 && item < 1 << 8 && outcome < MAX_OUTCOMES);
        let code = (kind as usize) << 28 | slot << 17 | item << 9 | outcome;
        Action(code as u32)
    }

    pub(crate) fn with_outcome(self, outcome: usize) -> Self {
        Action(self.0 & !(MAX_OUTCOMES as u32 - 1) | outcome as u32)
    }

    pub(crate) fn kind(self) -> ActionKind {
        ACTION_KINDS[(self.0 >> 28) as usize]
    }

    pub(crate) fn slot(self) -> usize {
        (self.0 >> 17) as usize & 0x7FF
    }

    pub(crate) fn item(self) -> usize {
        (self.0 >> 9) as usize & 0xFF
    }

    pub(crate) fn outcome(self) -> usize {
        self.0 as usize & (MAX_OUTCOMES - 1)
    }
}

/// Input that a process receives. The outcomes of the step depend only on the input and on the
/// local state of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ProcessInput {
    /// The user issues a command. The number is an index in the list of commands that the user may
    /// issue now.
    Command(u32),
    /// An armed timer fires. The number is its index among the armed timers of the process.
    Timer(u32),
    /// The process receives the message in flight with this id.
    Deliver(u32),
    /// The failure detector suspects the peer with this index.
    Suspect(u32),
    /// The failure detector trusts the peer with this index again.
    Trust(u32),
    Crash,
    Recover,
    /// The application of the process sends a message to the application of this peer.
    Send(u32),
    /// The process suspects this peer because of its new session, whatever the failure detector
    /// reports.
    RestartSuspect(u32),
    /// The process trusts this peer again. In the step before, [`ProcessInput::RestartSuspect`],
    /// the process suspected the peer because of a new session.
    RestartTrust(u32),
    /// The process becomes mute: its later effects are not released.
    Mute,
    /// The step in progress ends, and its messages leave.
    StepEnd,
    /// The user receives the events that were postponed.
    Notify,
}

impl ProcessInput {
    /// Returns a number that no other input has. Caches use it in their keys.
    pub(crate) fn code(self) -> u32 {
        let (kind, of) = match self {
            ProcessInput::Command(slot) => (1, slot),
            ProcessInput::Timer(slot) => (2, slot),
            ProcessInput::Deliver(packet) => (3, packet),
            ProcessInput::Suspect(peer) => (4, peer),
            ProcessInput::Trust(peer) => (5, peer),
            ProcessInput::Crash => (6, 0),
            ProcessInput::Recover => (7, 0),
            ProcessInput::Send(peer) => (8, peer),
            ProcessInput::RestartSuspect(peer) => (9, peer),
            ProcessInput::RestartTrust(peer) => (10, peer),
            ProcessInput::Mute => (11, 0),
            ProcessInput::StepEnd => (12, 0),
            ProcessInput::Notify => (13, 0),
        };
        assert!(of < 1 << 28, "fewer than 2^28 different packets");
        kind << 28 | of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_and_decodes_every_action() {
        for kind in ACTION_KINDS {
            let action = Action::new(kind, 1953, 255, 511);
            assert_eq!(action.kind(), kind);
            assert_eq!((action.slot(), action.item(), action.outcome()), (1953, 255, 511));
        }
    }
}
