//! Tests of explorations of all reachable states when a link has no room for a message.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use tenure_algorithms::mutex::{Central, RicartAgrawala};
use tenure_check::{
    Check, Checkable, ExplorationReport, GlobalState, StateSpaceObserver, VisitedStep,
};

use crate::by_service::of;

/// Greatest number of states that an exploration of these tests may reach.
const MAX_STATES: u64 = 100_000;

/// Observer that counts what an exploration hands over.
#[derive(Default)]
struct Counts {
    states: u64,
    steps: u64,
    /// Greatest number of messages that were in flight on one link.
    on_a_link: usize,
}

impl Counts {
    fn count(&mut self, state: &GlobalState) {
        self.states += 1;
        let mut links: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for message in &state.messages {
            *links.entry((message.from, message.to)).or_default() += 1;
        }
        self.on_a_link = links.into_values().max().unwrap_or(0).max(self.on_a_link);
    }
}

impl StateSpaceObserver for Counts {
    fn on_initial_state(&mut self, state: &GlobalState) -> ControlFlow<()> {
        self.count(state);
        ControlFlow::Continue(())
    }

    fn on_step(&mut self, step: VisitedStep<'_>) -> ControlFlow<()> {
        self.steps += 1;
        if let Some(state) = step.new_state {
            assert_eq!(step.after as u64, self.states, "a new state has the next number");
            self.count(state);
        }
        ControlFlow::Continue(())
    }
}

/// Explores all states. Returns the report of the exploration, and the greatest number of messages
/// that were in flight on one link.
fn walk<P: Checkable>(check: Check<P>) -> (ExplorationReport, usize) {
    let mut counts = Counts::default();
    let report = check.visit_reachable_states(MAX_STATES, &mut counts).expect("a valid check");
    assert_eq!((report.states, report.steps), (counts.states, counts.steps));
    assert!(report.states < MAX_STATES);
    (report, counts.on_a_link)
}

#[test]
fn walk_leaves_out_states_beyond_a_full_link() {
    let check = || of::<RicartAgrawala>(2).request_limits(2);
    let (whole, on_a_link) = walk(check());
    assert!(whole.is_complete && on_a_link == 2, "{whole:?}, {on_a_link} messages");
    let (bounded, on_a_link) = walk(check().in_flight_per_link(1));
    assert!(!bounded.is_complete && on_a_link == 1, "{bounded:?}, {on_a_link} messages");
    assert!(bounded.states < whole.states);
    let (enough, _) = walk(check().in_flight_per_link(2));
    assert_eq!(enough, whole);
}

/// If messages may be lost, a full link drops a message instead.
#[test]
fn walk_that_drops_messages_is_incomplete() {
    let check = || of::<RicartAgrawala>(2).request_limits(2).max_losses(1);
    let (whole, _) = walk(check());
    assert!(whole.is_complete);
    let (dropping, on_a_link) = walk(check().in_flight_per_link(1));
    assert!(!dropping.is_complete && on_a_link == 1, "{dropping:?}");
    let pruning = check().in_flight_per_link(1);
    let (pruning, _) = walk(pruning.configure(|config| config.bounds.prunes_full_links = true));
    assert!(!pruning.is_complete && pruning.states < dropping.states, "{pruning:?}");
}

/// A duplicate needs room on the link of its message. With room for one message, no duplicate is
/// possible, so the exploration has the same states and steps as without duplication.
#[test]
fn blocked_duplicate_is_no_step() {
    let check = || of::<Central>(2).in_flight_per_link(1);
    let (without, _) = walk(check());
    assert!(without.is_complete);
    let (blocked, _) = walk(check().max_duplicates(1));
    assert_eq!(blocked, ExplorationReport { is_complete: false, ..without });
    let (duplicating, on_a_link) = walk(check().max_duplicates(1).in_flight_per_link(2));
    assert!(duplicating.states > without.states && on_a_link == 2, "{duplicating:?}");
}
