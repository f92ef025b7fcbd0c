use std::collections::HashMap;

use serde::Serialize;
use tenure_core::{ProcessId, Term};

use crate::fold::standing::{Change, Hold};

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
    /// The network was split, and the leader is not on the largest of its sides: until it is whole
    /// again, those on the others count as little as who is stopped.
    Partition,
    /// Somebody took over: counted from the moment when not all agreed any more, which is its
    /// boot when it has just come back.
    Takeover,
}

/// An election in ticks since whenever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) since: u64,
    pub(super) until: u64,
    pub(super) term: Term,
    pub(super) cause: Cause,
}

/// How many elections are told one by one; of more, the first.
const TOLD: usize = 10_000;

/// Whom everybody believes in, and since when all agree. Everybody is live until told otherwise.
#[derive(Clone, Debug)]
pub(super) struct Elections {
    believers: HashMap<ProcessId, Believer>,
    size: u32,
    live: u32,
    /// By term: how many live processes believe in it, if any.
    counts: HashMap<Term, u32>,
    settled: Option<Term>,
    /// Since when, and why, an election is necessary.
    open: Option<(u64, Cause)>,
    pub(super) held: Vec<Held>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Believer {
    down: bool,
    stopped: bool,
    /// Not on the largest side of a network that is split.
    apart: bool,
    belief: Option<Term>,
}

impl Believer {
    fn is_live(self) -> bool {
        !self.down && !self.stopped && !self.apart
    }
}

impl Elections {
    pub(super) fn new(size: u32) -> Self {
        Elections {
            believers: HashMap::new(),
            size,
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

    pub(super) fn changed(&mut self, time: u64, at: ProcessId, change: Change) {
        let led = self.settled.is_some_and(|settled| settled.leader == at);
        let crashes = matches!(change, Change::Crashes | Change::Leaves);
        match change {
            Change::Crashes | Change::Leaves => {
                self.change(at, |it| *it = Believer { down: true, belief: None, ..*it });
                self.forget(at);
            }
            Change::Recovers => {
                self.change(at, |it| *it = Believer { apart: it.apart, ..Believer::default() });
            }
            Change::Begins(Hold::Stopped) => self.change(at, |it| it.stopped = true),
            Change::Ends(Hold::Stopped, _) => self.change(at, |it| it.stopped = false),
            Change::Believes(leader) => self.change(at, |it| it.belief = leader),
            _ => {}
        }
        match self.open {
            None | Some((_, Cause::Stop | Cause::Partition | Cause::Takeover))
                if led && crashes =>
            {
                self.open = Some((time, Cause::Crash));
            }
            None | Some((_, Cause::Takeover)) if led && change == Change::Begins(Hold::Stopped) => {
                self.open = Some((time, Cause::Stop));
            }
            _ => {}
        }
        self.settle(time);
    }

    /// Messages pass within these sides alone, or, if there are none, between all.
    pub(super) fn parted(&mut self, time: u64, sides: &[Vec<ProcessId>]) {
        let largest = sides.iter().rev().max_by_key(|side| side.len());
        let is_apart = |at: ProcessId| largest.is_some_and(|largest| !largest.contains(&at));
        for at in (0..self.size).map(ProcessId) {
            self.change(at, |it| it.apart = is_apart(at));
        }
        let cut_off = self.settled.is_some_and(|settled| is_apart(settled.leader));
        if cut_off && matches!(self.open, None | Some((_, Cause::Takeover))) {
            self.open = Some((time, Cause::Partition));
        }
        self.settle(time);
    }

    /// Nobody believes any more in a leader that crashed: whoever knows of it again was told
    /// again.
    fn forget(&mut self, leader: ProcessId) {
        self.counts.retain(|believed, _| believed.leader != leader);
        for believer in self.believers.values_mut() {
            believer.belief = believer.belief.filter(|believed| believed.leader != leader);
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

    /// The term that every live process believes in, if its leader is live as well.
    fn agreed(&self) -> Option<Term> {
        let (term, believers) = self.counts.iter().next()?;
        let leader = self.believers.get(&term.leader).copied().unwrap_or_default();
        let all = self.counts.len() == 1 && *believers == self.live && leader.is_live();
        all.then_some(*term)
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
        if again && matches!(cause, Cause::Stop | Cause::Partition | Cause::Takeover) {
            return;
        }
        if self.held.len() < TOLD {
            self.held.push(Held { since, until: time, term: agreed, cause });
        }
    }
}
