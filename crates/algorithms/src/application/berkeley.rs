//! Berkeley clock synchronisation: the leader polls all clocks and sends each process its
//! adjustment.
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
//! **Why it is right.** The leader compares a reading with the midpoint between sending the poll
//! and receiving the reading, both by its own clock. The error of this comparison is at most half
//! of the difference between this round trip and the shortest possible round trip. A round brings
//! every clock to the average, up to this error. An adjustment is *relative*, a number of ticks to
//! add, so its delay does not matter. The adjustments sum to zero if the average includes all
//! clocks. For this, the leader adds the remainder of the division, which is less than N ticks, to
//! its own adjustment.
//!
//! A clock far from the others would distort the average. So the average includes only the largest
//! set of clocks that differ by at most `tolerance`. All other clocks are adjusted to this average
//! too.
//!
//! A leader that crashes halfway leaves some clocks adjusted and others not. The next leader polls
//! all clocks again, so it need not know of the interrupted round. A process that has sent a
//! reading in a newer term accepts no adjustment of an older term. So two leaders do not both
//! correct the same deviation. The paper slows a clock down instead of setting it back; here the
//! user is informed of the adjustment, and may slow the clock down.

use alloc::vec::Vec;

use tenure_core::service::clock_synchronisation::{Command, Event};
use tenure_core::{
    Delay, Effects, Group, PeerVerdict, ProcessId, ProcessSet, Protocol, Term, UncomparedConfig,
    labelled,
};

use super::{Application, Leadership};

/// One process: its clock and, while it leads, the round in which it compares all clocks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Berkeley {
    group: Group,
    config: UncomparedConfig<Config>,
    leadership: Leadership,
    suspected: ProcessSet,
    /// Corrected time minus the time of the local clock, in ticks.
    correction: i64,
    /// Last round in which this process adjusted its clock, as (term, number of the round). `None`
    /// before the first adjustment.
    adjusted: Option<(Term, u64)>,
    /// Number of rounds that this process has started as a leader. The last round has this number.
    rounds: u64,
    /// Unfinished round; `None` if there is none. A deposed leader may keep an unfinished round,
    /// which then has no effect.
    round: Option<Round>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Round {
    /// Time of the leader's clock at the start of the round.
    polled: i64,
    /// Processes whose readings have not arrived.
    awaited: ProcessSet,
    /// Offset of each clock from the leader's clock, in ticks.
    offsets: Vec<(ProcessId, i64)>,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Asks for the time of the receiver's clock.
    Poll {
        /// Term of the sender.
        term: Term,
        /// Number of the round.
        round: u64,
    },
    /// Responds to a poll with the time of the sender's clock.
    Reading {
        /// Term in the poll to which this message responds.
        term: Term,
        /// Number of the round.
        round: u64,
        /// Time of the sender's clock, in ticks.
        time: i64,
    },
    /// Asks the receiver to adjust its clock.
    Adjust {
        /// Term of the sender.
        term: Term,
        /// Number of the round.
        round: u64,
        /// Adjustment, in ticks; negative if the clock is set back.
        by: i64,
    },
    /// Informs the receiver of a newer term.
    Newer {
        /// Newest term known to the sender.
        term: Term,
    },
}

labelled!(
    Message, Application,
    Poll => "poll", Reading => "reading", Adjust => "adjust", Newer => "newer",
);

/// Timer that a leader sets when it starts a round. It requires [`Config::round_interval`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The next round is due.
    Round,
}

/// Configuration of one process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// Maximum difference between clocks that contribute to the average, in ticks. `None` if all
    /// clocks contribute.
    pub tolerance: Option<u64>,
    /// Interval between rounds. If `None`, a leader starts rounds only on three occasions: when it
    /// is elected, when a process is trusted again, and on command.
    pub round_interval: Option<Delay>,
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
            config: UncomparedConfig::new(*config),
            leadership: Leadership::default(),
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
            Command::Set { to } => self.correction += to - self.corrected_time(fx),
            Command::Synchronise => self.start_round(fx),
            Command::Read => {
                let time = self.corrected_time(fx);
                fx.emit(Event::Shows { time });
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Poll { term, .. } | Message::Adjust { term, .. }
                if let Some(term) = self.leadership.newer_than(term) =>
            {
                fx.send(from, Message::Newer { term });
            }
            Message::Poll { term, round } => {
                self.follow(term);
                let time = self.corrected_time(fx);
                fx.send(from, Message::Reading { term, round, time });
            }
            Message::Reading { term, round, time } => {
                if self.leadership.leading_term() == Some(term) && round == self.rounds {
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
        self.start_round(fx);
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match verdict {
            PeerVerdict::Suspect => {
                self.suspected.insert(peer);
                if let Some(round) = &mut self.round {
                    round.awaited.remove(peer);
                    self.finish_if_complete(fx);
                }
            }
            PeerVerdict::Trust => {
                self.suspected.remove(peer);
                self.start_round(fx);
            }
        }
    }
}

impl Application for Berkeley {
    fn on_leader_elected(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.leadership.on_elected(term, self.group) {
            self.start_round(fx);
        }
    }

    fn on_leader_deposed(&mut self, term: Term, _: &mut impl Effects<Self>) {
        self.leadership.on_deposed(term);
    }
}

/// Behaviour of every process.
impl Berkeley {
    /// Returns the local time of this process plus its correction, in ticks.
    fn corrected_time(&self, fx: &mut impl Effects<Self>) -> i64 {
        fx.local_clock().0.cast_signed().saturating_add(self.correction)
    }

    fn follow(&mut self, term: Term) {
        if self.leadership.follow(term) {
            self.round = None;
        }
    }

    fn adjust(&mut self, term: Term, round: u64, by: i64, fx: &mut impl Effects<Self>) {
        self.adjusted = Some((term, round));
        self.correction = self.correction.saturating_add(by);
        fx.emit(Event::Adjusted { by, term });
    }
}

/// Behaviour of the leader.
impl Berkeley {
    fn start_round(&mut self, fx: &mut impl Effects<Self>) {
        let Some(term) = self.leadership.leading_term() else { return };
        self.rounds += 1;
        let awaited: ProcessSet =
            self.group.peers().iter().filter(|peer| !self.suspected.contains(*peer)).collect();
        fx.broadcast(&awaited, Message::Poll { term, round: self.rounds });
        let (polled, me) = (self.corrected_time(fx), self.group.me());
        self.round = Some(Round { polled, awaited, offsets: [(me, 0)].into() });
        if let Some(every) = self.config.round_interval {
            fx.set_timer(Timer::Round, every);
        }
        self.finish_if_complete(fx);
    }

    fn record(&mut self, from: ProcessId, time: i64, fx: &mut impl Effects<Self>) {
        let now = self.corrected_time(fx);
        let Some(round) = &mut self.round else { return };
        if round.awaited.remove(from) {
            let midpoint = round.polled + now.saturating_sub(round.polled) / 2;
            round.offsets.push((from, time.saturating_sub(midpoint)));
            self.finish_if_complete(fx);
        }
    }

    /// Ends the round when no awaited process is left, and sends each process that has responded
    /// its adjustment.
    fn finish_if_complete(&mut self, fx: &mut impl Effects<Self>) {
        let Some(round) = self.round.take_if(|round| round.awaited.is_empty()) else { return };
        let Some(term) = self.leadership.leading_term() else { return };
        let counted = largest_agreeing_set(&round.offsets, self.config.tolerance);
        let sum = counted.iter().copied().fold(0, i64::saturating_add);
        let size = i64::try_from(counted.len()).expect("group size fits in i64");
        let average = sum.div_euclid(size);
        // The leader takes the remainder of the division, so that the adjustments sum to zero.
        let remainder = sum - average * size;
        for (process, offset) in round.offsets {
            let by = average.saturating_sub(offset);
            if process == self.group.me() {
                self.adjust(term, self.rounds, by.saturating_add(remainder), fx);
            } else {
                fx.send(process, Message::Adjust { term, round: self.rounds, by });
            }
        }
    }
}

/// Returns the offsets of the largest set of clocks that differ by at most `tolerance` ticks. If
/// several sets are equally large, returns the set with the smallest offsets. If `tolerance` is
/// `None`, returns all offsets.
fn largest_agreeing_set(offsets: &[(ProcessId, i64)], tolerance: Option<u64>) -> Vec<i64> {
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
