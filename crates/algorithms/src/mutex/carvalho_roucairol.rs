//! Carvalho–Roucairol mutual exclusion: a permission is yours until it is asked back.
//!
//! O. S. F. Carvalho, G. Roucairol, *On mutual exclusion in computer networks*, technical
//! correspondence, CACM 26(2), 1983: an improvement of Ricart and Agrawala's algorithm.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, no crash |
//! | messages per entry | 0 to 2(N − 1), twice the permissions that are missing |
//! | delay to enter, uncontended | 0 or 2 messages |
//! | delay from exit to the next entry | 1 message |
//!
//! **Why it is right.** Each pair of processes shares one permission: one of the two has it, or
//! it is under way in a reply. Whoever is inside has all of its own and gives none away, so no
//! two are inside. Who waits keeps those that it has against larger stamps and gives them up to
//! smaller ones, and at once asks for them back: the peer that got one knows of no request of
//! ours yet. The peer serves that request after its own, and whatever it asks for later has a
//! larger stamp. So each waits for smaller stamps only, and the smallest for nobody.
//!
//! Whoever has all its permissions enters again without a word, and nobody waits in the order of
//! asking. The variant `no-rerequest` gives up a permission and does not ask for it again.
//!
//! Two things differ from the paper's text. A permission is at the smaller number at first,
//! where the paper begins without any: there both of a pair give what neither has. And a clock
//! counts entries too, and replies carry it: it is the fence.

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{Expected, Hops, Precision, Scene, Theory};
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Fence, Group, LamportClock, Never, ProcessId,
    ProcessSet, Protocol, Stamp, labelled,
};

use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::switches;

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CarvalhoRoucairol {
    group: Group,
    variants: Variants<Switch>,
    /// `HSN`: the highest clock of any request or entry, sent or seen.
    clock: LamportClock,
    phase: Phase,
    /// `A`: the peers whose permission is here.
    permissions: ProcessSet,
    /// `Reply_Deferred`: the peers to whom we owe a permission.
    deferred: ProcessSet,
}

/// Where this process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    /// Every permission that is not here has been asked for.
    Waiting {
        /// `OSN`, with our name.
        request: Stamp,
    },
    Inside,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I want to enter, this is my place in the order, and you have our permission."
    Request {
        /// The place.
        stamp: Stamp,
    },
    /// "Our permission is yours until I ask for it."
    Reply {
        /// The replier's clock, no lower than the fence of any entry of its own.
        clock: u64,
    },
}

labelled!(Message, Mutex, Request => "request", Reply => "reply");

/// What is fixed for life.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        Ok(Config { variants: parameters.variants()? })
    }
}

switches! {
    NoRerequest = "no-rerequest", unsound,
        "who gives up a permission while it waits does not ask for it again"
        => "7-CR1", "-n 3";
}

impl Protocol for CarvalhoRoucairol {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    /// One that recovers cannot know what it gave away, and begins with no permission.
    fn boot(group: Group, config: &Config, stable: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let is_first_boot = stable.is_none();
        let larger = |peer: &ProcessId| is_first_boot && *peer > group.me();
        CarvalhoRoucairol {
            group,
            variants: config.variants,
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
                    self.give_up(from, fx);
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
        assert!(self.phase == Phase::Idle, "a process asks only when it neither waits nor is in");
        let stamp = Stamp { clock: self.clock.tick(), process: self.group.me() };
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
            let fence = Fence(self.clock.tick(), u64::from(self.group.me().number()));
            fx.emit(Event::Entered { fence });
        }
    }

    fn exit(&mut self, fx: &mut impl Effects<Self>) {
        assert!(self.phase == Phase::Inside, "only a process that is inside can leave");
        self.phase = Phase::Idle;
        for peer in &core::mem::take(&mut self.deferred) {
            self.give_up(peer, fx);
        }
        fx.emit(Event::Exited);
    }

    /// Gives the permission to a peer who goes first; if we wait, we need it back.
    fn give_up(&mut self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        let was_here = self.permissions.remove(peer);
        fx.send(peer, Message::Reply { clock: self.clock.now() });
        if let Phase::Waiting { request: stamp } = self.phase
            && was_here
            && !self.variants.has(Switch::NoRerequest)
        {
            fx.send(peer, Message::Request { stamp });
        }
    }

    /// Whether our own claim, if we have one, comes before `request`.
    fn precedes(&self, request: Stamp) -> bool {
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
            faults: Faults::none(
                "a lost permission blocks its pair, and a duplicated one lets two in",
            ),
            messages: Cost::per_entry("0 … 2(N−1)", 0, Some(2 * u64::from(size - 1))),
            theory: Some(Theory::lock(["0 or 2", "no bound", "no"], Hops::ONE)),
            variants: Variants::<Switch>::declared(),
            ..Card::mutex(
                "carvalho-roucairol",
                "a permission is yours until it is asked back",
                "Carvalho & Roucairol, CACM 26(2), 1983",
            )
        }
    }

    fn expected(_: &Config, size: u32, scene: Scene) -> Option<Expected> {
        // Of each pair, whoever entered last has the permission: the other's turn half the time.
        let mean = Expected::new(Precision::Mean, u64::from(size - 1));
        (scene == Scene::OneAtATime).then_some(mean)
    }

    /// Clocks are compared with clocks only, so all may be shifted alike.
    fn rebases(_: &Config) -> bool {
        true
    }

    fn smallest_stamp(&self) -> Option<u64> {
        let request = match self.phase {
            Phase::Waiting { request } => Some(request.clock),
            Phase::Idle | Phase::Inside => None,
        };
        request.into_iter().chain([self.clock.now()]).min()
    }

    fn shift_stamps(&mut self, by: u64) {
        self.clock.0 -= by;
        if let Phase::Waiting { request } = &mut self.phase {
            request.clock -= by;
        }
    }

    fn smallest_in_message(_: &Config, message: &Message) -> Option<u64> {
        match message {
            Message::Request { stamp } => Some(stamp.clock),
            Message::Reply { clock } => Some(*clock),
        }
    }

    fn shift_message(_: &Config, message: &mut Message, by: u64) {
        match message {
            Message::Request { stamp } => stamp.clock -= by,
            Message::Reply { clock } => *clock -= by,
        }
    }
}
