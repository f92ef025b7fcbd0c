use std::collections::HashMap;

use serde::Serialize;
use tenure_core::{ProcessId, Term};

use super::lives::Turn;

/// An election, from what made it necessary to the moment every live process knew its leader.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Election {
    /// When it became necessary, in milliseconds (or virtual units) from the start of the trace.
    pub at: f64,
    /// How long it took, in the same unit.
    pub ms: f64,
    /// The number of the leader.
    pub leader: u32,
    /// The number of the term; 0 in elections without.
    pub term: u64,
    /// What made it necessary.
    pub cause: Cause,
}

/// What made an election necessary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Nobody led before: counted from the start of the trace.
    Start,
    /// The leader crashed.
    Crash,
    /// The leader was stopped, and given up by all before it continued.
    Stop,
    /// Somebody took over: counted from the moment when not all agreed any more, which is its
    /// boot when it has just come back.
    Takeover,
}

/// An election in ticks since whenever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) since: u64,
    pub(super) until: u64,
    pub(super) leader: ProcessId,
    pub(super) term: Term,
    pub(super) cause: Cause,
}

type Leadership = (ProcessId, Term);

/// Whom everybody believes in, and since when all agree. Everybody is live until told otherwise.
#[derive(Clone, Debug)]
pub(super) struct Elections {
    believers: HashMap<ProcessId, Believer>,
    live: u32,
    /// By leadership: how many live processes believe in it, if any.
    counts: HashMap<Leadership, u32>,
    settled: Option<Leadership>,
    /// Since when, and why, an election is necessary.
    open: Option<(u64, Cause)>,
    pub(super) held: Vec<Held>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Believer {
    down: bool,
    stopped: bool,
    belief: Option<Leadership>,
}

impl Believer {
    fn is_live(self) -> bool {
        !self.down && !self.stopped
    }
}

impl Elections {
    pub(super) fn new(size: u32) -> Self {
        Elections {
            believers: HashMap::new(),
            live: size,
            counts: HashMap::new(),
            settled: None,
            open: None,
            held: Vec::new(),
        }
    }

    /// The group has begun to run.
    pub(super) fn started(&mut self, time: u64) {
        self.open = Some((time, Cause::Start));
    }

    /// A process was told of a leader, or that there is none.
    pub(super) fn told(&mut self, time: u64, at: ProcessId, belief: Option<Leadership>) {
        self.change(at, |believer| believer.belief = belief);
        self.settle(time);
    }

    pub(super) fn turned(&mut self, time: u64, at: ProcessId, turn: Turn) {
        let led = self.settled.is_some_and(|(leader, _)| leader == at);
        match turn {
            Turn::Crashed => {
                self.change(at, |it| *it = Believer { down: true, ..Believer::default() });
                self.forget(at);
            }
            Turn::Recovered => self.change(at, |it| *it = Believer::default()),
            Turn::Stopped => self.change(at, |it| it.stopped = true),
            Turn::Continued => self.change(at, |it| it.stopped = false),
        }
        match (turn, self.open) {
            (Turn::Crashed, None | Some((_, Cause::Stop | Cause::Takeover))) if led => {
                self.open = Some((time, Cause::Crash));
            }
            (Turn::Stopped, None | Some((_, Cause::Takeover))) if led => {
                self.open = Some((time, Cause::Stop));
            }
            _ => {}
        }
        self.settle(time);
    }

    /// Nobody believes any more in a leader that crashed: whoever knows of it again was told
    /// again.
    fn forget(&mut self, leader: ProcessId) {
        self.counts.retain(|(believed, _), _| *believed != leader);
        for believer in self.believers.values_mut() {
            believer.belief = believer.belief.filter(|(believed, _)| *believed != leader);
        }
    }

    fn change(&mut self, at: ProcessId, change: impl FnOnce(&mut Believer)) {
        let believer = self.believers.entry(at).or_default();
        let before = *believer;
        change(believer);
        let after = *believer;
        if before.is_live() {
            self.live = self.live.saturating_sub(1);
            if let Some(belief) = before.belief
                && let Some(count) = self.counts.get_mut(&belief)
            {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&belief);
                }
            }
        }
        if after.is_live() {
            self.live += 1;
            if let Some(belief) = after.belief {
                *self.counts.entry(belief).or_insert(0) += 1;
            }
        }
    }

    /// The leadership that every live process believes in, if its leader is live as well.
    fn agreed(&self) -> Option<Leadership> {
        let (leadership, believers) = self.counts.iter().next()?;
        let leader = self.believers.get(&leadership.0).copied().unwrap_or_default();
        let all = self.counts.len() == 1 && *believers == self.live && leader.is_live();
        all.then_some(*leadership)
    }

    fn settle(&mut self, time: u64) {
        let Some(agreed) = self.agreed() else {
            if self.settled.is_some() {
                self.open.get_or_insert((time, Cause::Takeover));
            }
            return;
        };
        let again = self.settled.replace(agreed) == Some(agreed);
        let Some((since, cause)) = self.open.take() else { return };
        if again && matches!(cause, Cause::Stop | Cause::Takeover) {
            return;
        }
        let (leader, term) = agreed;
        self.held.push(Held { since, until: time, leader, term, cause });
    }
}
