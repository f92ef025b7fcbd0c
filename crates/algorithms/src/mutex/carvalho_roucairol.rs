//! Carvalho–Roucairol mutual exclusion: a process keeps a permission until its peer requests it
//! back.
//!
//! O. S. F. Carvalho, G. Roucairol, *On mutual exclusion in computer networks*, technical
//! correspondence, CACM 26(2), 1983: an improvement of Ricart and Agrawala's algorithm.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, no crash |
//! | messages per entry | 0 to 2(N − 1): two for each missing permission |
//! | delay to enter, uncontended | 0 or 2 messages |
//! | delay from exit to the next entry | 1 message |
//!
//! **Why it is right.** Each pair of processes shares one permission: one of them has it, or it is
//! in flight in a reply. A process inside has all its permissions and gives none away, so no two
//! processes are inside. A waiting process defers requests with larger timestamps than its own, and
//! yields the shared permission to a request with a smaller timestamp. After it has yielded a
//! permission, it immediately requests the permission again. The peer replies after its own exit,
//! and later requests of the peer have larger timestamps. So each process waits only for a process
//! inside and for requests with smaller timestamps. The request with the smallest timestamp waits
//! only for a process inside.
//!
//! A process with all its permissions enters again without any message, so entries are not in the
//! order of requests.
//!
//! There are two differences from the paper. First, the process with the smaller number initially
//! holds the permission of a pair. In the paper neither process holds this permission, and each
//! grants it to the other. Second, the clock also counts entries and is sent in replies, so that it
//! can serve as the fence.

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange, Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, Card, Effects, Fence, Group, LamportClock, MessageCost, Never, ProcessId,
    ProcessSet, Protocol, Timestamp, ToleratedFaults, labelled,
};

use crate::Variants;
use crate::variants::variant_ids;

/// One process of the algorithm of Carvalho and Roucairol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CarvalhoRoucairol {
    group: Group,
    variants: Variants<VariantId>,
    /// Highest known clock of all requests and of all entries to the critical section (`HSN` in the
    /// paper).
    clock: LamportClock,
    phase: Phase,
    /// Each pair of processes shares one permission. This set contains the peers whose shared
    /// permission is at this process (`A` in the paper).
    permissions: ProcessSet,
    /// Peers to which this process replies when it exits the critical section (`Reply_Deferred` in
    /// the paper).
    deferred: ProcessSet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    /// The process waits for the critical section, and has requested every missing permission.
    Waiting {
        /// Timestamp of the request of this process. It consists of the sequence number of the
        /// request (`OSN` in the paper) and the id of the process.
        request: Timestamp,
    },
    Inside,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests entry to the critical section, and the permission that the two processes share.
    Request {
        /// Timestamp of the request. A request with a smaller timestamp has precedence.
        stamp: Timestamp,
    },
    /// Gives the shared permission to the receiver.
    Reply {
        /// Clock of the sender. It is not smaller than any fence with which the sender has entered
        /// the critical section.
        clock: u64,
    },
}

labelled!(Message, Mutex, Request => "request", Reply => "reply");

/// Configuration of one process: the variants that are switched on.
pub type Config = Variants<VariantId>;

variant_ids! {
    NoRerequest = "no-rerequest", unsound,
        "a waiting process that yields a permission does not request it again"
        => "7-CR1", "-n 3";
}

impl Protocol for CarvalhoRoucairol {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    /// Boots the process. On the first boot, the process has the permissions that it shares with
    /// processes of larger numbers. A restarted process cannot know which permissions it gave away,
    /// so it starts without permissions.
    fn boot(group: Group, config: &Config, stable: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let is_first_boot = stable.is_none();
        let larger = |peer: &ProcessId| is_first_boot && *peer > group.me();
        CarvalhoRoucairol {
            group,
            variants: *config,
            clock: LamportClock::default(),
            phase: Phase::Idle,
            permissions: group.processes().filter(larger).collect(),
            deferred: ProcessSet::new(),
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => self.request(fx),
            Command::Exit => self.exit(fx),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { stamp } => {
                self.clock.observe(stamp.clock);
                if self.precedes(stamp) {
                    self.deferred.insert(from);
                } else {
                    self.yield_permission(from, fx);
                }
            }
            Message::Reply { clock } => {
                self.clock.observe(clock);
                self.permissions.insert(from);
                self.enter_if_permitted(fx);
            }
        }
    }
}

impl CarvalhoRoucairol {
    fn request(&mut self, fx: &mut impl Effects<Self>) {
        assert!(self.phase == Phase::Idle, "a process may request only when idle");
        let stamp = Timestamp { clock: self.clock.tick(), process: self.group.me() };
        self.phase = Phase::Waiting { request: stamp };
        for peer in &self.group.peers() {
            if !self.permissions.contains(peer) {
                fx.send(peer, Message::Request { stamp });
            }
        }
        self.enter_if_permitted(fx);
    }

    fn enter_if_permitted(&mut self, fx: &mut impl Effects<Self>) {
        let waiting = matches!(self.phase, Phase::Waiting { .. });
        if waiting && self.permissions.len() + 1 == self.group.size() {
            self.phase = Phase::Inside;
            let fence = Fence(self.clock.tick(), u64::from(self.group.me().display_number()));
            fx.emit(Event::Entered { fence });
        }
    }

    fn exit(&mut self, fx: &mut impl Effects<Self>) {
        assert!(self.phase == Phase::Inside, "only a process inside may exit");
        self.phase = Phase::Idle;
        for peer in &core::mem::take(&mut self.deferred) {
            self.yield_permission(peer, fx);
        }
        fx.emit(Event::Exited);
    }

    /// Gives the shared permission to `peer`. If this process waits and had the permission, it
    /// requests the permission again, except with the variant `no-rerequest`.
    fn yield_permission(&mut self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        let was_here = self.permissions.remove(peer);
        fx.send(peer, Message::Reply { clock: self.clock.now() });
        if let Phase::Waiting { request: stamp } = self.phase
            && was_here
            && !self.variants.has(VariantId::NoRerequest)
        {
            fx.send(peer, Message::Request { stamp });
        }
    }

    /// Returns true if this process is inside the critical section, or waits for it with a request
    /// that precedes `request`.
    fn precedes(&self, request: Timestamp) -> bool {
        match self.phase {
            Phase::Idle => false,
            Phase::Waiting { request: ours } => ours < request,
            Phase::Inside => true,
        }
    }
}

impl Algorithm for CarvalhoRoucairol {
    fn card(_: &Config, size: u32) -> Card {
        Card {
            faults: ToleratedFaults::none(
                "a lost permission blocks its pair, and a duplicated one lets two in",
            ),
            messages: MessageCost::per_entry("0 … 2(N−1)", 0, Some(2 * u64::from(size - 1))),
            theory: Some(ExpectedCosts::lock(["0 or 2", "no bound", "no"], HopRange::ONE)),
            variants: Variants::<VariantId>::declarations(),
            ..Card::mutex(
                "carvalho-roucairol",
                "a process keeps a permission until it is requested back",
                "Carvalho & Roucairol, CACM 26(2), 1983",
            )
        }
    }

    fn predicted_messages(_: &Config, size: u32, workload: WorkloadKind) -> Option<Prediction> {
        // In each pair, the process that entered last holds the permission. On average, half of the
        // permissions are missing, and each of these takes two messages.
        let mean = Prediction::new(PredictionKind::Mean, u64::from(size - 1));
        (workload == WorkloadKind::OneAtATime).then_some(mean)
    }

    /// Returns true. The algorithm only compares clocks with each other, so a common shift of all
    /// clocks does not change its behaviour.
    fn can_shift_timestamps(_: &Config) -> bool {
        true
    }

    fn smallest_timestamp(&self) -> Option<u64> {
        let request = match self.phase {
            Phase::Waiting { request } => Some(request.clock),
            Phase::Idle | Phase::Inside => None,
        };
        request.into_iter().chain([self.clock.now()]).min()
    }

    fn lower_timestamps(&mut self, by: u64) {
        self.clock.0 -= by;
        if let Phase::Waiting { request } = &mut self.phase {
            request.clock -= by;
        }
    }

    fn smallest_message_timestamp(_: &Config, message: &Message) -> Option<u64> {
        match message {
            Message::Request { stamp } => Some(stamp.clock),
            Message::Reply { clock } => Some(*clock),
        }
    }

    fn lower_message_timestamps(_: &Config, message: &mut Message, by: u64) {
        match message {
            Message::Request { stamp } => stamp.clock -= by,
            Message::Reply { clock } => *clock -= by,
        }
    }
}
