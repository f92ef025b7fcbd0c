//! The bully election: a process leads if no higher one responds.
//!
//! H. Garcia-Molina, *Elections in a distributed computing system*, IEEE Transactions on Computers
//! C-31(1), 1982. This file has the *election*, *answer* and *coordinator* messages of the
//! textbooks. The original algorithm fails when processes recover or messages are late (S. Stoller,
//! *Leader election in asynchronous distributed systems*, 2000). This file adds terms as a remedy.
//!
//! | | |
//! |---|---|
//! | assumes | reliable channels, a failure detector; bounded delays, so that the highest leads |
//! | messages | N − 1 if the highest starts; N² − 1 if the lowest starts and the highest is up, |
//! | | N(N − 1) if the highest is down |
//! | time | the answer timeout T, then one message |
//!
//! **Why it is right.** A process that starts an election sends a message to all higher processes.
//! Each live higher process answers within T and starts an election as well, unless it takes part
//! in one already. So in a synchronous system only the highest live process gets no answer, and it
//! announces itself to all. When timeouts are wrong or processes recover, two may announce
//! themselves. Every announcement therefore carries a term: a number and the sender's id. The
//! sender chooses a number above all numbers that it knows. A process accepts no term below the
//! highest term that it has accepted. To a late announcement, it answers with the number of the
//! accepted term. The late sender thus learns that a later election has taken place, and starts a
//! new election with a higher number. Once no message and no wrong suspicion is left, all processes
//! agree on one leader: the highest live process.
//!
//! A leader that resigns nominates its heir, the highest trusted process below it. The heir
//! announces itself with the next number. The former leader then behaves as if it were down, until
//! a process announces itself, its user requests an election, or it suspects its heir. After that
//! the former leader takes part in elections again, and the next election may elect it. Resignation
//! is not part of the paper.
//!
//! As in the paper, a process that takes part in an election answers further election messages
//! without starting another election. Otherwise the number of messages would grow exponentially.

mod card;
mod config;
mod message;
mod rules;

use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Effects, Group, PeerVerdict, ProcessId, ProcessSet, Protocol, Term, TimerRole, UncomparedConfig,
};

pub use config::Config;
pub use message::Message;
use rules::Rules;
pub use rules::VariantId;

/// State of one process of the election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bully {
    group: Group,
    config: UncomparedConfig<Config>,
    phase: Phase,
    /// Term of the leader that this process has accepted (`elected` in the paper). `None` before
    /// the first leader, and after this process has deposed its leader.
    leader: Option<Term>,
    /// Highest term that this process has announced, or that another process has announced to it.
    /// After a boot, the saved number with the first process as the leader.
    announced: Term,
    /// Highest term number that this process knows from sent or received messages, or from its
    /// saved state.
    number: u64,
    suspected: ProcessSet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Settled,
    /// This process has asked all higher processes, and none has answered yet.
    Asking,
    /// A higher process has answered or has started an election. This process waits until a leader
    /// announces itself, at most for *T1*.
    Waiting,
    /// This process has accepted the announcement of a suspected leader, which may have crashed
    /// after the announcement. If the failure detector does not trust the leader again within *T1*,
    /// this process starts another election.
    Doubting,
    /// This process has resigned in favour of the lower process `heir`. This process takes no part
    /// in elections until a process announces itself as the leader, the user requests an election,
    /// or this process suspects `heir`.
    Retired {
        heir: ProcessId,
    },
}

/// Timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// *T*: time within which every live higher process answers. If the timer fires, this process
    /// announces itself.
    Answer,
    /// *T1*: time within which a leader announces itself, after a higher process has answered or
    /// has started an election. Also the time within which a suspected new leader must be trusted
    /// again. If the timer fires, this process starts another election.
    Coordinator,
}

/// State that survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    number: u64,
}

impl Protocol for Bully {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    /// The highest term number that this process knows. It is saved so that a process never
    /// announces the same term twice, even after a crash.
    type Stable = Stable;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        assert!(config.ranks.len() == group.size() as usize, "every process needs a rank");
        let number = stable.as_ref().map_or(0, |stable| stable.number);
        let mut bully = Bully {
            group,
            config: UncomparedConfig::new(config.clone()),
            phase: Phase::Settled,
            leader: None,
            announced: Term { number, leader: ProcessId(0) },
            number,
            suspected: ProcessSet::new(),
        };
        if stable.is_some() {
            bully.send_election(0, fx);
        }
        bully
    }

    fn stable(&self) -> Stable {
        Stable { number: self.rules().term_number_to_save(self.number) }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if self.is_settled() || self.is_retired() => self.start(fx),
            Command::Resign if self.follows(self.group.me()) => self.retire(fx),
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Election { number } => self.on_election(from, number, fx),
            Message::Answer { number } => self.on_answer(number, fx),
            Message::Coordinator { number } => self.on_coordinator(from, number, fx),
            Message::Nominate { number } => self.on_nomination(from, number, fx),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Answer => self.announce(fx),
            Timer::Coordinator => {
                // Another election may have used the current number while this process was waiting.
                self.number = self.rules().next_term_number(self.number);
                self.start(fx);
            }
        }
    }

    fn timer_role(_: &Timer) -> TimerRole {
        TimerRole::MeasuresSilence
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match verdict {
            PeerVerdict::Suspect => {
                self.suspected.insert(peer);
                let is_heir = self.phase == Phase::Retired { heir: peer };
                if self.follows(peer) || is_heir {
                    self.depose(fx);
                    self.on_command(Command::Elect, fx);
                }
            }
            PeerVerdict::Trust => {
                self.suspected.remove(peer);
                if self.phase == Phase::Doubting && self.follows(peer) {
                    self.enter_phase(Phase::Settled, fx);
                }
                if self.rules().announces_when_trusted() && self.follows(self.group.me()) {
                    fx.send(peer, Message::Coordinator { number: self.announced.number });
                }
            }
        }
    }
}

impl Bully {
    fn start(&mut self, fx: &mut impl Effects<Self>) {
        self.number = self.number.max(self.announced.number + 1);
        self.send_election(self.rules().term_number_to_send(self.number), fx);
    }

    fn send_election(&mut self, number: u64, fx: &mut impl Effects<Self>) {
        let higher = self.higher();
        if higher.is_empty() {
            return self.announce(fx);
        }
        let election_recipients = self.rules().election_recipients(higher, self.group);
        fx.broadcast(&election_recipients, Message::Election { number });
        self.enter_phase(Phase::Asking, fx);
    }

    fn on_election(&mut self, from: ProcessId, number: u64, fx: &mut impl Effects<Self>) {
        self.number = self.number.max(number);
        // If the sender's election has already ended, the announcement of the leader is on the way
        // to the sender. Another election would only cost messages.
        let concluded = number != 0 && number <= self.announced.number;
        let is_free = self.is_settled() && !concluded;
        if self.outranks_me(from) {
            if is_free {
                self.enter_phase(Phase::Waiting, fx);
            }
            return;
        }
        // A retired process behaves as if it were down, so that the sender does not wait for it.
        if self.is_retired() {
            return;
        }
        fx.send(from, Message::Answer { number: self.rules().term_number_to_send(self.number) });
        if self.rules().starts_election(is_free) {
            self.start(fx);
        }
    }

    fn on_answer(&mut self, number: u64, fx: &mut impl Effects<Self>) {
        self.number = self.number.max(number);
        match self.phase {
            Phase::Asking if self.rules().waits_for_higher() => {
                self.enter_phase(Phase::Waiting, fx);
            }
            Phase::Settled if self.is_overtaken(number) => {
                self.number = self.number.max(number + 1);
                self.depose(fx);
                self.start(fx);
            }
            Phase::Settled | Phase::Asking | Phase::Waiting => {}
            Phase::Doubting | Phase::Retired { .. } => {}
        }
    }

    fn on_coordinator(&mut self, from: ProcessId, number: u64, fx: &mut impl Effects<Self>) {
        let term = Term { number, leader: from };
        self.number = self.number.max(number);
        if self.rules().is_outdated(term, self.announced) {
            return fx.send(from, Message::Answer { number: self.announced.number });
        }
        let outranks_me = self.outranks_me(from) || self.is_retired();
        if self.rules().accepts_leader(outranks_me) {
            self.accept(term, fx);
        } else if self.rules().challenges_lower_leader() {
            self.announced = term;
            if self.is_settled() {
                self.start(fx);
            }
        }
    }

    /// Resigns, and nominates a successor: the highest unsuspected process below this one. Does
    /// nothing if there is no such process.
    ///
    /// Until the successor announces itself, this process behaves as if it had crashed. Otherwise
    /// it would have to lead again, because the highest live process is the leader by definition.
    fn retire(&mut self, fx: &mut impl Effects<Self>) {
        let below = self.group.peers();
        let below =
            below.iter().filter(|peer| !self.outranks_me(*peer) && !self.suspected.contains(*peer));
        let heir = below.max_by_key(|peer| self.config.ranks[peer.index()]);
        let Some(heir) = heir else { return };
        self.depose(fx);
        self.enter_phase(Phase::Retired { heir }, fx);
        fx.send(heir, Message::Nominate { number: self.announced.number });
    }

    /// Handles a nomination by `from`, which led in the term with this `number`. Makes this process
    /// the leader, unless it knows the leader of a later term. The nomination is valid even if the
    /// announcement of `from` itself has not arrived yet.
    fn on_nomination(&mut self, from: ProcessId, number: u64, fx: &mut impl Effects<Self>) {
        self.number = self.number.max(number);
        let left = Term { number, leader: from };
        if left >= self.announced {
            self.announced = left;
            self.announce(fx);
        }
    }

    /// Makes this process the leader, and announces the new leader to the peers.
    fn announce(&mut self, fx: &mut impl Effects<Self>) {
        self.number = self.number.max(self.announced.number + 1);
        let number = self.rules().term_number_to_send(self.number);
        let informed =
            self.rules().announcement_recipients(self.group, |peer| self.outranks_me(peer));
        fx.broadcast(&informed, Message::Coordinator { number });
        self.accept(Term { number, leader: self.group.me() }, fx);
    }

    fn accept(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        self.announced = term;
        let is_suspected = self.suspected.contains(term.leader);
        self.enter_phase(if is_suspected { Phase::Doubting } else { Phase::Settled }, fx);
        if self.leader != Some(term) {
            self.leader = Some(term);
            fx.emit(Event::Elected { leader: term.leader, term });
        }
    }

    fn depose(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(term) = self.leader.take() {
            fx.emit(Event::Deposed { term });
        }
    }

    fn enter_phase(&mut self, phase: Phase, fx: &mut impl Effects<Self>) {
        self.phase = phase;
        match phase {
            Phase::Settled | Phase::Retired { .. } => {
                fx.cancel_timer(Timer::Answer);
                fx.cancel_timer(Timer::Coordinator);
            }
            Phase::Asking => {
                fx.set_timer(Timer::Answer, self.config.answer_timeout);
                fx.cancel_timer(Timer::Coordinator);
            }
            Phase::Waiting | Phase::Doubting => {
                fx.cancel_timer(Timer::Answer);
                fx.set_timer(Timer::Coordinator, self.config.coordinator_timeout);
            }
        }
    }

    /// Returns true if this process leads and `number`, the number in an answer, shows that a later
    /// election has taken place.
    fn is_overtaken(&self, number: u64) -> bool {
        let ours = self.announced.leader == self.group.me() && self.leader == Some(self.announced);
        ours && self.rules().overtakes(number, self.announced.number)
    }

    fn is_settled(&self) -> bool {
        matches!(self.phase, Phase::Settled | Phase::Doubting)
    }

    fn is_retired(&self) -> bool {
        matches!(self.phase, Phase::Retired { .. })
    }

    fn follows(&self, process: ProcessId) -> bool {
        self.leader.is_some_and(|term| term.leader == process)
    }

    fn outranks_me(&self, peer: ProcessId) -> bool {
        self.config.ranks[peer.index()] > self.config.ranks[self.group.me().index()]
    }

    fn higher(&self) -> ProcessSet {
        self.group.peers().iter().filter(|peer| self.outranks_me(*peer)).collect()
    }

    fn rules(&self) -> Rules {
        Rules(self.config.variants)
    }
}
