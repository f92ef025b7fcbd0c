//! Tests of the dining philosophers. The tests explore every schedule on small graphs, and check
//! that known mistakes violate properties. The numbers of states and messages equal those of the
//! independent model of `tests/independent`.

use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::dining_philosophers::{Config, VariantId};
use tenure_algorithms::mutex::{DiningPhilosophers, dining_philosophers};
use tenure_check::{CheckReport, Judgement};
use tenure_core::monitors::{LocalMutualExclusion, MutualExclusion};
use tenure_core::{Graph, ProcessId};

use crate::by_service::{ServiceCheck, with};
use crate::catalogue::violates;
use crate::independent::searches::dining;
use crate::independent::searches::graphs::{self, classes, connected};
use crate::independent::searches::search::Delivery::Unordered;
use crate::independent::searches::search::{count, extremes};
use crate::verdicts::{counts, messages};

pub(crate) fn graph(lists: &graphs::Graph) -> Graph {
    let of = |(one, others): (usize, &Vec<usize>)| {
        let larger: Vec<usize> = others.iter().copied().filter(|it| *it > one).collect();
        larger
            .into_iter()
            .map(move |other| (ProcessId::from_index(one), ProcessId::from_index(other), 1))
    };
    Graph::new(lists.len() as u32, lists.iter().enumerate().flat_map(of)).expect("a graph")
}

/// Returns a check of the philosophers on a graph. `entries` contains the number of entries of each
/// user.
fn check(lists: &graphs::Graph, entries: &[u32]) -> ServiceCheck<DiningPhilosophers> {
    with::<DiningPhilosophers>(lists.len() as u32, Config::with_graph(graph(lists)))
        .request_limits(entries)
}

/// Checks the promises of the algorithm in every schedule. Compares the numbers of states, steps
/// and messages with those of the independent model. Returns the least and the greatest number of
/// messages.
fn compare(lists: &graphs::Graph, entries: &[u32]) -> (u64, u64) {
    let context = format!("{lists:?}, entries {entries:?}");
    let local = LocalMutualExclusion::with_conflicts(Arc::new(graph(lists)));
    let found = counts(check(lists, entries).always(local).check_starvation_freedom());
    let sites = dining::sites(lists, entries);
    assert_eq!(found, count(sites.clone(), Unordered), "{context}");
    let found = messages(check(lists, entries));
    assert_eq!(found, extremes(sites, Unordered), "{context}");
    found
}

/// Returns the upper bound on the number of messages. Each entry of a process adds two messages for
/// each neighbour of the process.
fn max_messages(lists: &graphs::Graph, entries: &[u32]) -> u64 {
    let each = lists.iter().zip(entries);
    each.map(|(neighbours, times)| 2 * neighbours.len() as u64 * u64::from(*times)).sum()
}

#[test]
fn matches_independent_model() {
    let two_each = connected(2).into_iter().map(|graph| (graph, vec![2; 2]));
    let one_each = [connected(2), connected(3)].concat().into_iter();
    let one_each = one_each.map(|graph| (vec![1; graph.len()], graph)).map(|(it, of)| (of, it));
    for (graph, entries) in two_each.chain(one_each) {
        let (least, greatest) = compare(&graph, &entries);
        assert!(least <= greatest && greatest <= max_messages(&graph, &entries), "{graph:?}");
    }
}

/// If only the first and the last process are hungry, no other process requests a fork, and the
/// checker matches the independent model. The test covers one graph of each class of isomorphic
/// connected graphs of one to five vertices.
#[test]
fn two_hungry_match_independent_model_on_all_graphs_up_to_five() {
    for graph in (1..=5).flat_map(classes) {
        let mut entries = vec![0; graph.len()];
        entries[0] = 1;
        entries[graph.len() - 1] = 1;
        let (_, greatest) = compare(&graph, &entries);
        assert!(greatest <= max_messages(&graph, &entries), "{graph:?}");
    }
}

/// If all processes are hungry, the checker matches the independent model on all graphs of four
/// vertices. Takes some seconds: `cargo test -p tenure-check-tests -- --ignored all_hungry`.
#[test]
#[ignore = "takes some seconds"]
fn all_hungry_match_independent_model_on_all_graphs_of_four() {
    for graph in classes(4) {
        let (_, greatest) = compare(&graph, &[1; 4]);
        assert!(greatest <= max_messages(&graph, &[1; 4]), "{graph:?}");
    }
}

#[test]
fn processes_at_a_distance_are_inside_together() {
    let line = vec![vec![1], vec![0, 2], vec![1]];
    violates(&check(&line, &[1, 0, 1]).always(MutualExclusion::new()).run(), "mutual-exclusion");
    // On a triangle, all processes are neighbours.
    let triangle = vec![vec![1, 2], vec![0, 2], vec![0, 1]];
    check(&triangle, &[1; 3]).always(MutualExclusion::new()).run().assert_holds();
}

fn mistaken(size: u32, switch: VariantId) -> CheckReport {
    let ring = Graph::ring(size);
    let local = LocalMutualExclusion::with_conflicts(Arc::new(ring.clone()));
    let variants = Variants::none().with(switch);
    let config = dining_philosophers::Config { variants, ..Config::with_graph(ring) };
    let check = with::<DiningPhilosophers>(size, config).always(local);
    check.check_deadlock_freedom().check_starvation_freedom().run()
}

#[test]
fn detects_mistakes() {
    let (unsafe_, stuck, starved) =
        ("local-mutual-exclusion", "deadlock-freedom", "starvation-freedom");
    for (switch, size, property) in [
        (VariantId::CyclicStart, 3, stuck),
        (VariantId::KeepsDirty, 3, stuck),
        (VariantId::YieldsClean, 3, starved),
        (VariantId::StaysClean, 2, starved),
        (VariantId::YieldsInside, 2, unsafe_),
        (VariantId::DropsRequest, 2, starved),
    ] {
        let report = mistaken(size, switch);
        assert_eq!(report.judgement_of(property), Judgement::Violated, "{switch:?}: {report}");
        let is_safe = report.judgement_of(unsafe_) == Judgement::Holds;
        assert_eq!(is_safe, property != unsafe_, "{switch:?}: {report}");
    }
}
