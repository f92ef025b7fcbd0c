//! Judgements of the properties of locks, on the graph of all states.

use tenure_core::shared_memory::LockSection;
use tenure_core::{ProcessId, Property};

use super::graph::{LockStateId, OUT_OF_BOUNDS, SharedMemoryGraph, SharedMemoryStep};
use super::lasso::{Lasso, fair_lasso};
use super::pairs::{find_order_violation, find_overtaking, rival_pairs};
use crate::explain::findings::{join_names, waits_in_words};
use crate::liveness::Fairness;
use crate::report::ViolationKind;

#[derive(Clone, Debug)]
pub(crate) struct ExplainedViolation {
    pub(crate) kind: ViolationKind,
    pub(crate) explanation: String,
    pub(crate) run: Vec<SharedMemoryStep>,
    /// Index of the first step of a cycle. The run repeats the steps from this index to the last
    /// step for ever. `None` if the run ends without a cycle.
    pub(crate) repeats_from: Option<usize>,
}

/// Analysis that judges properties on the graph of all states. It judges liveness under `fairness`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedMemoryAnalysis<'g> {
    pub(crate) graph: &'g SharedMemoryGraph,
    pub(crate) fairness: Fairness,
}

impl SharedMemoryAnalysis<'_> {
    /// Returns a violation of the property, if one exists. If the stop signal of the graph is
    /// raised meanwhile, only the result for mutual exclusion is valid.
    ///
    /// # Panics
    ///
    /// Panics if the property does not apply to a lock in shared memory.
    pub(crate) fn judge(&self, property: Property) -> Option<ExplainedViolation> {
        match property {
            Property::MutualExclusion => self.mutual_exclusion(),
            Property::DeadlockFreedom => self.deadlock(),
            Property::StarvationFreedom => self.starvation(),
            Property::FirstComeFirstServed => self.order(),
            Property::Bypass(Some(most)) => self.find_excessive_bypass(most),
            other => panic!("{other} cannot be checked for a lock in shared memory"),
        }
    }

    fn mutual_exclusion(&self) -> Option<ExplainedViolation> {
        let is_inside = |section: LockSection| section == LockSection::Inside;
        let count = |state| {
            self.graph.sections_in(state).iter().filter(|section| is_inside(**section)).count()
        };
        let state = self.graph.states().find(|state| count(*state) > 1)?;
        let inside = self.graph.processes_in_section(state, is_inside);
        let run = self.graph.path_to(state);
        let at = run.last().map_or(ProcessId(0), |edge| edge.process);
        let explanation = format!("{at} entered, and now {} are inside", join_names(&inside));
        Some(ExplainedViolation::step(explanation, run))
    }

    /// Returns a shortest run in which a process enters more than `most` times while another
    /// process waits. The wait begins when the waiting process has left its doorway, the first part
    /// of its entry code.
    pub(crate) fn find_excessive_bypass(&self, most: u32) -> Option<ExplainedViolation> {
        let found = rival_pairs(self.graph)
            .filter_map(|pair| Some((pair, find_overtaking(self.graph, pair, most)?)))
            .min_by_key(|(_, run)| run.len());
        let (pair, run) = found?;
        let (times, after) = (most + 1, "after its doorway");
        let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
        let explanation =
            format!("{} entered {times} while {} waited {after}", pair.rival, pair.waiter);
        Some(ExplainedViolation::step(explanation, run))
    }

    fn order(&self) -> Option<ExplainedViolation> {
        let found = rival_pairs(self.graph)
            .filter_map(|pair| Some((pair, find_order_violation(self.graph, pair)?)))
            .min_by_key(|(_, run)| run.len());
        let (pair, run) = found?;
        let explanation = format!(
            "{} entered before {}, which had left its doorway before the request",
            pair.rival, pair.waiter
        );
        Some(ExplainedViolation::step(explanation, run))
    }

    /// Returns a run in which processes try to enter for ever and none enters. Without fairness,
    /// returns a run that may stop while a process tries to enter.
    fn deadlock(&self) -> Option<ExplainedViolation> {
        let tries = |state| self.graph.processes_in_section(state, LockSection::is_trying);
        let is_stuck = |state| {
            let is_inside = |section: &LockSection| *section == LockSection::Inside;
            !tries(state).is_empty() && !self.graph.sections_in(state).iter().any(is_inside)
        };
        if self.fairness == Fairness::None {
            return self.stop(&is_stuck);
        }
        let lasso = fair_lasso(self.graph, is_stuck)?;
        let waits = waits_in_words(&tries(lasso.entry));
        let can_enter = self.can_reach(lasso.entry, |edge| edge.enters);
        let (kind, explanation) = match can_enter {
            Some(false) => {
                (ViolationKind::Deadlock, format!("{waits}, and no process can ever enter again"))
            }
            Some(true) | None => {
                (ViolationKind::Livelock, format!("no process need ever enter again while {waits}"))
            }
        };
        Some(self.endless(kind, &explanation, &lasso))
    }

    /// Returns a run in which a process tries to enter for ever. Without fairness, returns a run
    /// that may stop while a process tries to enter.
    fn starvation(&self) -> Option<ExplainedViolation> {
        let tries = |state, process| self.graph.section(state, process).is_trying();
        if self.fairness == Fairness::None {
            return self.stop(&|state| self.graph.processes().any(|it| tries(state, it)));
        }
        let found = self
            .graph
            .processes()
            .filter_map(|process| {
                Some((process, fair_lasso(self.graph, |state| tries(state, process))?))
            })
            .min_by_key(|(_, lasso)| (lasso.entry, lasso.cycle.len()));
        let (process, lasso) = found?;
        let can_enter = self.can_reach(lasso.entry, |edge| edge.enters && edge.process == process);
        let waiting = self.graph.processes_in_section(lasso.entry, LockSection::is_trying);
        let (kind, explanation) = match (can_enter, waiting.len()) {
            (Some(true), _) => (
                ViolationKind::Starvation,
                format!("{process} can wait for ever although it could be served"),
            ),
            (None, _) => (ViolationKind::Starvation, format!("{process} can wait for ever")),
            (Some(false), 1) => {
                (ViolationKind::Blocked, format!("{process} can never be served from here"))
            }
            (Some(false), _) => (
                ViolationKind::Deadlock,
                format!("{} can never be served from here", join_names(&waiting)),
            ),
        };
        Some(self.endless(kind, &explanation, &lasso))
    }

    /// Returns a violation with a shortest run to a state for which `belongs` returns true. The run
    /// stops in this state. Only checks without fairness call this function, because a fair run may
    /// not stop there.
    fn stop(&self, belongs: &dyn Fn(LockStateId) -> bool) -> Option<ExplainedViolation> {
        let mut states = self.graph.states().take_while(|_| !self.graph.must_stop_analysis());
        let state = states.find(|state| belongs(*state))?;
        let waiting = self.graph.processes_in_section(state, LockSection::is_trying);
        Some(ExplainedViolation {
            kind: ViolationKind::End,
            explanation: format!("{} if the run stops here", waits_in_words(&waiting)),
            run: self.graph.path_to(state),
            repeats_from: None,
        })
    }

    /// Returns a violation whose run leads to the cycle of the lasso and repeats this cycle
    /// forever.
    fn endless(&self, kind: ViolationKind, explanation: &str, lasso: &Lasso) -> ExplainedViolation {
        let mut run = self.graph.path_to(lasso.entry);
        let repeats_from = Some(run.len());
        run.extend(lasso.cycle.iter().cloned());
        let explanation = format!("{explanation}: the end of the run repeats");
        ExplainedViolation { kind, explanation, run, repeats_from }
    }

    /// Returns true if a run from this state can take a step that `is_wanted` accepts, and false if
    /// no run can. Returns `None` if no such step was found, but a reachable state was not
    /// expanded, or exceeds the bound on values.
    fn can_reach(
        &self,
        from: LockStateId,
        is_wanted: impl Fn(&SharedMemoryStep) -> bool,
    ) -> Option<bool> {
        let mut is_known = true;
        let mut seen = vec![false; self.graph.len()];
        seen[from as usize] = true;
        let mut open = vec![from];
        while let Some(state) = open.pop()
            && !self.graph.must_stop_analysis()
        {
            is_known &= self.graph.is_expanded(state);
            for edge in &self.graph.edges[state as usize] {
                if is_wanted(edge) {
                    return Some(true);
                }
                if edge.to == OUT_OF_BOUNDS {
                    is_known = false;
                } else if !std::mem::replace(&mut seen[edge.to as usize], true) {
                    open.push(edge.to);
                }
            }
        }
        is_known.then_some(false)
    }
}

impl ExplainedViolation {
    fn step(explanation: String, run: Vec<SharedMemoryStep>) -> Self {
        ExplainedViolation { kind: ViolationKind::Step, explanation, run, repeats_from: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_memory::graph::LockAction;

    fn step(process: u32, to: LockStateId) -> SharedMemoryStep {
        let process = ProcessId(process);
        SharedMemoryStep { process, to, action: LockAction::Enter, enters: false }
    }

    /// Two processes try to enter for ever in the cycle of the states 0 and 1. In state 1, the
    /// first process may also leave the cycle, to the state `exit`.
    fn endless_graph(exit: LockStateId) -> SharedMemoryGraph {
        let edges = vec![vec![step(0, 1)], vec![step(1, 0), step(0, exit)]];
        SharedMemoryGraph {
            sections: vec![LockSection::Waiting; 4],
            size: 2,
            expanded_count: edges.len(),
            edges,
            origins: vec![(0, 0), (0, 0)],
            depths: vec![0, 1],
            ..SharedMemoryGraph::default()
        }
    }

    #[test]
    fn pruned_states_leave_later_entries_undecided() {
        let kinds = |graph: &SharedMemoryGraph| {
            let analysis = SharedMemoryAnalysis { graph, fairness: Fairness::default() };
            let properties = [Property::DeadlockFreedom, Property::StarvationFreedom];
            properties.map(|property| analysis.judge(property).expect("no process enters").kind)
        };
        assert_eq!(kinds(&endless_graph(0)), [ViolationKind::Deadlock, ViolationKind::Deadlock]);
        let pruned = kinds(&endless_graph(OUT_OF_BOUNDS));
        assert_eq!(pruned, [ViolationKind::Livelock, ViolationKind::Starvation]);
    }
}
