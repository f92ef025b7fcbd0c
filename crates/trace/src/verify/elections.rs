//! Elections in a trace: their causes, durations and leaders.

use std::collections::HashMap;

use serde::Serialize;
use tenure_core::{ProcessId, Term};

use crate::fold::process_state::{ProcessCondition, ProcessStateChange};

/// An election. It begins with its cause, and ends when all live processes know the leader.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredElection {
    /// Time at which the election became necessary, in milliseconds (or virtual units) since the
    /// first record.
    pub at: f64,
    /// Duration of the election, in milliseconds (or virtual units).
    pub ms: f64,
    /// Number of the elected process, from 1.
    pub leader: u32,
    /// Number of the term; 0 in elections without terms.
    pub term: u64,
    /// Cause of the election.
    pub cause: ElectionCause,
}

/// Reason why an election became necessary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElectionCause {
    /// The group had no leader yet. The election is measured from the first record of the trace.
    Start,
    /// The leader crashed or ended.
    Crash,
    /// The leader was stopped (SIGSTOP), and the other processes ceased to follow it.
    Stop,
    /// The network was partitioned, and the leader was not on the largest side. Until the partition
    /// ends, all processes outside the largest side are treated as stopped.
    Partition,
    /// The live processes stopped agreeing on a leader and later agreed again, without a crash, a
    /// stop or a partition. The election is measured from the time at which they stopped agreeing.
    /// If the new leader has just recovered, the election is measured from the boot of this leader.
    Takeover,
}

/// An election whose start and end are times in ticks or nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElectionInterval {
    pub(super) since: u64,
    pub(super) until: u64,
    pub(super) term: Term,
    pub(super) cause: ElectionCause,
}

/// Maximum number of elections in the list of a verification. Later elections are not listed.
const MAX_LISTED: usize = 10_000;

/// Tracks which leader each process currently accepts, and the elections so far. Changes of
/// accepted leaders determine the start and the end of an election. The tracker assumes that a
/// process is live until a record shows otherwise.
#[derive(Clone, Debug)]
pub(super) struct ElectionTracker {
    believers: HashMap<ProcessId, ProcessBelief>,
    size: u32,
    /// Number of live processes.
    live: u32,
    /// For each term, the number of live processes that accept its leader. A term that no live
    /// process accepts is missing.
    counts: HashMap<Term, u32>,
    /// Last term that all live processes accepted. `None` before the first election.
    settled: Option<Term>,
    /// Start and cause of the current election, if any.
    open: Option<(u64, ElectionCause)>,
    pub(super) ended_elections: Vec<ElectionInterval>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ProcessBelief {
    down: bool,
    stopped: bool,
    /// True if the process is not on the largest side of the current partition.
    apart: bool,
    belief: Option<Term>,
}

impl ProcessBelief {
    fn is_live(self) -> bool {
        !self.down && !self.stopped && !self.apart
    }
}

impl ElectionTracker {
    pub(super) fn new(size: u32) -> Self {
        ElectionTracker {
            believers: HashMap::new(),
            size,
            live: size,
            counts: HashMap::new(),
            settled: None,
            open: None,
            ended_elections: Vec::new(),
        }
    }

    /// Handles the start of the trace. The election of the first leader begins at this time.
    pub(super) fn on_start(&mut self, time: u64) {
        self.open = Some((time, ElectionCause::Start));
    }

    pub(super) fn on_state_change(&mut self, time: u64, at: ProcessId, change: ProcessStateChange) {
        let led = self.settled.is_some_and(|settled| settled.leader == at);
        let crashes =
            matches!(change, ProcessStateChange::Crashes | ProcessStateChange::Terminates);
        match change {
            ProcessStateChange::Crashes | ProcessStateChange::Terminates => {
                self.change(at, |it| *it = ProcessBelief { down: true, belief: None, ..*it });
                self.forget(at);
            }
            ProcessStateChange::Recovers => {
                self.change(at, |it| {
                    *it = ProcessBelief { apart: it.apart, ..ProcessBelief::default() }
                });
            }
            ProcessStateChange::ConditionBegins(ProcessCondition::Stopped) => {
                self.change(at, |it| it.stopped = true)
            }
            ProcessStateChange::ConditionEnds(ProcessCondition::Stopped, _) => {
                self.change(at, |it| it.stopped = false)
            }
            ProcessStateChange::LeaderChanges(leader) => self.change(at, |it| it.belief = leader),
            _ => {}
        }
        match self.open {
            None
            | Some((_, ElectionCause::Stop | ElectionCause::Partition | ElectionCause::Takeover))
                if led && crashes =>
            {
                self.open = Some((time, ElectionCause::Crash));
            }
            None | Some((_, ElectionCause::Takeover))
                if led
                    && change == ProcessStateChange::ConditionBegins(ProcessCondition::Stopped) =>
            {
                self.open = Some((time, ElectionCause::Stop));
            }
            _ => {}
        }
        self.settle(time);
    }

    /// Handles a partition of the network into `sides`. If `sides` is empty, handles the end of the
    /// partition. A leader that is not on the largest side must be replaced.
    pub(super) fn on_partition(&mut self, time: u64, sides: &[Vec<ProcessId>]) {
        let largest = sides.iter().rev().max_by_key(|side| side.len());
        let is_apart = |at: ProcessId| largest.is_some_and(|largest| !largest.contains(&at));
        for at in (0..self.size).map(ProcessId) {
            self.change(at, |it| it.apart = is_apart(at));
        }
        let cut_off = self.settled.is_some_and(|settled| is_apart(settled.leader));
        if cut_off && matches!(self.open, None | Some((_, ElectionCause::Takeover))) {
            self.open = Some((time, ElectionCause::Partition));
        }
        self.settle(time);
    }

    /// Handles a crash or the end of `leader`: no process accepts this leader any longer. A later
    /// record may report that a process accepts it again.
    fn forget(&mut self, leader: ProcessId) {
        self.counts.retain(|believed, _| believed.leader != leader);
        for believer in self.believers.values_mut() {
            believer.belief = believer.belief.filter(|believed| believed.leader != leader);
        }
    }

    fn change(&mut self, at: ProcessId, change: impl FnOnce(&mut ProcessBelief)) {
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

    /// Returns the term that all live processes accept. `None` if not all of them accept the same
    /// term, or if the leader of the accepted term is not live.
    fn agreed(&self) -> Option<Term> {
        let (term, believers) = self.counts.iter().next()?;
        let leader = self.believers.get(&term.leader).copied().unwrap_or_default();
        let all = self.counts.len() == 1 && *believers == self.live && leader.is_live();
        all.then_some(*term)
    }

    fn settle(&mut self, time: u64) {
        let Some(agreed) = self.agreed() else {
            if self.settled.is_some() {
                self.open.get_or_insert((time, ElectionCause::Takeover));
            }
            return;
        };
        let again = self.settled.replace(agreed) == Some(agreed);
        let Some((since, cause)) = self.open.take() else { return };
        if again
            && matches!(
                cause,
                ElectionCause::Stop | ElectionCause::Partition | ElectionCause::Takeover
            )
        {
            return;
        }
        if self.ended_elections.len() < MAX_LISTED {
            self.ended_elections.push(ElectionInterval { since, until: time, term: agreed, cause });
        }
    }
}
