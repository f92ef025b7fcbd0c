//! Berkeley clock synchronisation: the leader asks for the time, and tells everybody by how much
//! to adjust.
//!
//! R. Gusella, S. Zatti, *The accuracy of the clock synchronization achieved by TEMPO in Berkeley
//! UNIX 4.3BSD*, IEEE Transactions on Software Engineering 15(7), 1989.
//!
//! | | |
//! |---|---|
//! | assumes | a leader; clocks that run at about the same rate; a bound on the round trip helps |
//! | messages per round | 3(N − 1): poll, reading, adjust |
//! | time | 3 messages |
//!
//! **Why it is right.** A reading is compared with the middle between the moments, by the
//! leader's clock, of the poll and of its arrival. It is wrong by at most half of the difference
//! between a round trip and the shortest there can be, and that is all that clocks are apart
//! after a round: everybody is brought to the same time, the average, up to that error. Adjustments
//! say *by how much*, never *to what*: so it does not matter how long they are under way. They
//! sum to zero when nobody is left out; what the division leaves, which is less than N ticks,
//! the leader takes.
//!
//! A clock that is far from the others would spoil the average. Only the largest set of clocks
//! that are within `tolerance` of each other counts; the others are brought to its average.
//!
//! A leader that dies half-way leaves some adjusted and others not. The next one asks everybody
//! anew, so nothing has to be known of the round that was broken off; and as a process takes no
//! adjustment of an older term after it gave a reading in a newer one, no adjustment is counted
//! twice. The paper slows a clock down rather than set it back; here a user is told, and may.

use alloc::vec::Vec;

use tenure_core::service::clock::{Command, Event};
use tenure_core::{
    Delay, Effects, Fixed, Group, ProcessId, ProcessSet, Protocol, Term, Verdict, labelled,
};

use super::{Allegiance, Application};

/// One process: a clock, and while it leads the one who compares them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Berkeley {
    group: Group,
    config: Fixed<Config>,
    allegiance: Allegiance,
    suspected: ProcessSet,
    /// What is added to the local clock, in ticks.
    correction: i64,
    /// The last round in which this clock was adjusted.
    adjusted: Option<(Term, u64)>,
    /// How many rounds we have begun.
    rounds: u64,
    /// Open while we lead and clocks are compared.
    round: Option<Round>,
}

/// A round that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Round {
    /// What our clock showed when it began.
    polled: i64,
    awaited: ProcessSet,
    /// How far ahead of ours each clock is.
    offsets: Vec<(ProcessId, i64)>,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "What time is it?"
    Poll {
        /// The sender's term.
        term: Term,
        /// Which of its rounds.
        round: u64,
    },
    /// "My clock shows this."
    Reading {
        /// The term in which it was asked.
        term: Term,
        /// The round in which it was asked.
        round: u64,
        /// What the clock showed, in ticks.
        time: i64,
    },
    /// "Adjust your clock."
    Adjust {
        /// The sender's term.
        term: Term,
        /// Which of its rounds.
        round: u64,
        /// By so many ticks.
        by: i64,
    },
    /// "There is a newer term than yours."
    Newer {
        /// The newest that the sender knows.
        term: Term,
    },
}

labelled!(
    Message, Application,
    Poll => "poll", Reading => "reading", Adjust => "adjust", Newer => "newer",
);

/// The timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// It is time for the next round.
    Round,
}

/// What is fixed for life.
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// How far apart two clocks that count may be, in ticks; `None`: all count.
    pub tolerance: Option<u64>,
    /// From one round to the next; `None`: a leader begins one when it is elected, when a process
    /// is trusted again, and when it is asked to.
    pub every: Option<Delay>,
}

impl Protocol for Berkeley {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Berkeley {
            group,
            config: Fixed::new(*config),
            allegiance: Allegiance::default(),
            suspected: ProcessSet::new(),
            correction: 0,
            adjusted: None,
            rounds: 0,
            round: None,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Set { to } => self.correction += to - self.shown(fx),
            Command::Synchronise => self.begin(fx),
            Command::Read => {
                let time = self.shown(fx);
                fx.emit(Event::Shows { time });
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Poll { term, .. } | Message::Adjust { term, .. }
                if let Some(term) = self.allegiance.newer_than(term) =>
            {
                fx.send(from, Message::Newer { term });
            }
            Message::Poll { term, round } => {
                self.follow(term);
                let time = self.shown(fx);
                fx.send(from, Message::Reading { term, round, time });
            }
            Message::Reading { term, round, time } => {
                if self.allegiance.reign() == Some(term) && round == self.rounds {
                    self.record(from, time, fx);
                }
            }
            Message::Adjust { term, round, by } => {
                self.follow(term);
                if self.adjusted < Some((term, round)) {
                    self.adjust(term, round, by, fx);
                }
            }
            Message::Newer { term } => self.follow(term),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        let Timer::Round = timer;
        self.begin(fx);
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        match verdict {
            Verdict::Suspect => {
                self.suspected.insert(peer);
                if let Some(round) = &mut self.round {
                    round.awaited.remove(peer);
                    self.conclude(fx);
                }
            }
            Verdict::Trust => {
                self.suspected.remove(peer);
                self.begin(fx);
            }
        }
    }
}

impl Application for Berkeley {
    fn on_elected(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.allegiance.on_elected(term, self.group) {
            self.begin(fx);
        }
    }

    fn on_deposed(&mut self, term: Term, _: &mut impl Effects<Self>) {
        self.allegiance.on_deposed(term);
    }
}

/// Everybody.
impl Berkeley {
    /// What the clock shows.
    fn shown(&self, fx: &mut impl Effects<Self>) -> i64 {
        fx.local_clock().0.cast_signed().saturating_add(self.correction)
    }

    fn follow(&mut self, term: Term) {
        if self.allegiance.follow(term) {
            self.round = None;
        }
    }

    fn adjust(&mut self, term: Term, round: u64, by: i64, fx: &mut impl Effects<Self>) {
        self.adjusted = Some((term, round));
        self.correction = self.correction.saturating_add(by);
        fx.emit(Event::Adjusted { by, term });
    }
}

/// The leader.
impl Berkeley {
    fn begin(&mut self, fx: &mut impl Effects<Self>) {
        let Some(term) = self.allegiance.reign() else { return };
        self.rounds += 1;
        let awaited: ProcessSet =
            self.group.peers().iter().filter(|peer| !self.suspected.contains(*peer)).collect();
        fx.broadcast(&awaited, Message::Poll { term, round: self.rounds });
        let (polled, me) = (self.shown(fx), self.group.me());
        self.round = Some(Round { polled, awaited, offsets: [(me, 0)].into() });
        if let Some(every) = self.config.every {
            fx.set_timer(Timer::Round, every);
        }
        self.conclude(fx);
    }

    fn record(&mut self, from: ProcessId, time: i64, fx: &mut impl Effects<Self>) {
        let now = self.shown(fx);
        let Some(round) = &mut self.round else { return };
        if round.awaited.remove(from) {
            let asked = round.polled + now.saturating_sub(round.polled) / 2;
            round.offsets.push((from, time.saturating_sub(asked)));
            self.conclude(fx);
        }
    }

    /// Tells everybody by how much to adjust, once all have answered.
    fn conclude(&mut self, fx: &mut impl Effects<Self>) {
        let Some(round) = self.round.take_if(|round| round.awaited.is_empty()) else { return };
        let Some(term) = self.allegiance.reign() else { return };
        let counted = agreeing(&round.offsets, self.config.tolerance);
        let sum = counted.iter().copied().fold(0, i64::saturating_add);
        let size = i64::try_from(counted.len()).expect("a group is not that large");
        let average = sum.div_euclid(size);
        // What the division left.
        let rest = sum - average * size;
        for (process, offset) in round.offsets {
            let by = average.saturating_sub(offset);
            if process == self.group.me() {
                self.adjust(term, self.rounds, by.saturating_add(rest), fx);
            } else {
                fx.send(process, Message::Adjust { term, round: self.rounds, by });
            }
        }
    }
}

/// The largest set of clocks that are within `tolerance` of each other; of two as large, the one
/// that is earlier.
fn agreeing(offsets: &[(ProcessId, i64)], tolerance: Option<u64>) -> Vec<i64> {
    let mut sorted: Vec<i64> = offsets.iter().map(|(_, offset)| *offset).collect();
    sorted.sort_unstable();
    let Some(tolerance) = tolerance else { return sorted };
    let mut best = &sorted[..0];
    for first in 0..sorted.len() {
        let near = |offset: &&i64| offset.abs_diff(sorted[first]) <= tolerance;
        let count = sorted[first..].iter().take_while(near).count();
        if count > best.len() {
            best = &sorted[first..first + count];
        }
    }
    best.to_vec()
}
