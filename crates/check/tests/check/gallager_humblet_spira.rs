//! Tests of the algorithm of Gallager, Humblet and Spira. In every schedule of small graphs, the
//! results equal those of an independent search. Other tests find the shortest run that shows each
//! known mistake.

use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::election::GallagerHumbletSpira;
use tenure_algorithms::election::gallager_humblet_spira::{Config, VariantId};
use tenure_check::{CheckReport, Judgement};
use tenure_core::monitors::{LeaderAgreement, MessageBudget};
use tenure_core::service::election::Command;
use tenure_core::{Algorithm, ChannelOrder, Graph, ProcessId};
use tenure_trace::{SplitMix64, TestCluster};

use crate::by_service::{ServiceCheck, with};
use crate::catalogue::violates;
use crate::independent::searches::gallager_humblet_spira as theirs;
use crate::independent::searches::search::{Delivery, count_with_ends};
use crate::verdicts::counts;

/// Edges of a graph. An edge consists of the indices of its ends, from 0, and its weight.
type Edges = [(usize, usize, u64)];

const PAIR: &Edges = &[(0, 1, 1)];
const LINE: &Edges = &[(0, 1, 1), (1, 2, 2)];
const TRIANGLE: &Edges = &[(0, 1, 3), (1, 2, 1), (0, 2, 2)];
const LINE_OF_FOUR: &Edges = &[(0, 1, 1), (1, 2, 3), (2, 3, 2)];
const ASCENDING: &Edges = &[(0, 1, 1), (1, 2, 2), (2, 3, 3)];
const SQUARE: &Edges = &[(0, 1, 1), (1, 2, 3), (2, 3, 2), (0, 3, 4)];

fn config(size: usize, edges: &Edges, variants: Variants<VariantId>) -> Config {
    let edge =
        |it: &(usize, usize, u64)| (ProcessId::from_index(it.0), ProcessId::from_index(it.1), it.2);
    let graph = Graph::new(size as u32, edges.iter().map(edge)).expect("the edges are distinct");
    Config { graph: Arc::new(graph), variants }
}

fn check(
    size: usize,
    edges: &Edges,
    variants: Variants<VariantId>,
) -> ServiceCheck<GallagerHumbletSpira> {
    let check = with::<GallagerHumbletSpira>(size as u32, config(size, edges, variants));
    check.always_and_at_end(LeaderAgreement::new()).check_progress()
}

/// Every schedule ends with the unique minimum spanning tree. The checker and the independent
/// search count the same number of states.
#[test]
fn states_match_independent_search_and_all_ends_have_minimum_tree() {
    for (size, edges) in [(2, PAIR), (3, LINE), (3, TRIANGLE), (4, LINE_OF_FOUR)] {
        let tree = theirs::minimum_tree(size, edges);
        let mut ends = 0;
        let counted = count_with_ends(theirs::sites(size, edges), Delivery::Fifo, |sites| {
            assert_eq!(theirs::tree(sites), tree, "{edges:?}");
            ends += 1;
        });
        assert_eq!(ends, 1, "the result is independent of the schedule: {edges:?}");
        assert_eq!(counts(check(size, edges, Variants::none()).fifo()), counted, "{edges:?}");
    }
}

/// On each of these five graphs, all schedules with one initiator take the same number of messages.
/// For up to three processes, this number is the upper bound on the algorithm's card.
#[test]
fn message_bounds_hold_in_every_schedule() {
    for (size, edges, sent) in
        [(2, PAIR, 6), (3, LINE, 12), (3, TRIANGLE, 14), (4, LINE_OF_FOUR, 28), (4, SQUARE, 34)]
    {
        let card = GallagerHumbletSpira::card(&config(size, edges, Variants::none()), size as u32);
        let bounds = card.messages.least..=card.messages.most.expect("the card states a bound");
        assert!(bounds.contains(&sent), "{edges:?}: {bounds:?}");
        assert_eq!(*bounds.end() == sent, size <= 3, "{edges:?}: {bounds:?}");
        for (most, expected) in [(sent, Judgement::Holds), (sent - 1, Judgement::Violated)] {
            let check = check(size, edges, Variants::none()).fifo().initiators([ProcessId(0)]);
            let report = check.always(MessageBudget::at_most(card.messages.per, most)).run();
            assert_eq!(report.judgement_of("cost"), expected, "{edges:?}: {report}");
        }
    }
}

fn shortest(report: &CheckReport, property: &str) -> Option<usize> {
    report.counterexample(property).map(|found| found.step_count())
}

#[test]
fn each_mistake_has_a_shortest_run() {
    let with = |switch| Variants::none().with(switch);
    let equal: &Edges = &[(0, 1, 1), (1, 2, 1), (0, 2, 1)];
    for (size, edges, switch, property, length) in [
        (3, TRIANGLE, VariantId::NoWait, "progress", 1),
        (4, LINE_OF_FOUR, VariantId::AbsorbAnyLevel, "progress", 14),
        (4, ASCENDING, VariantId::ReportEarly, "progress", 11),
        (3, equal, VariantId::SameWeights, "progress", 1),
    ] {
        let report = check(size, edges, with(switch)).fifo().run();
        assert_eq!(shortest(&report, property), Some(length), "{switch:?}: {report}");
        check(size, edges, Variants::none()).fifo().run().assert_holds();
    }
}

/// The algorithm fails on links that reorder messages. The paper requires FIFO channels.
#[test]
fn reordered_messages_break_it() {
    violates(&check(3, TRIANGLE, Variants::none()).run(), "progress");
}

/// Returns all connected graphs of `size` processes, with random distinct weights.
fn connected_graphs(size: usize, rng: &mut SplitMix64) -> Vec<Vec<(usize, usize, u64)>> {
    let pairs: Vec<_> =
        (0..size).flat_map(|one| (one + 1..size).map(move |other| (one, other))).collect();
    let mut weighted = |subset: u32| {
        let is_in = |place: &usize| subset & (1 << place) != 0;
        let chosen: Vec<_> = (0..pairs.len()).filter(is_in).map(|place| pairs[place]).collect();
        let mut weights: Vec<u64> = (1..=chosen.len() as u64).collect();
        rng.shuffle(&mut weights);
        let edges = chosen.into_iter().zip(weights).map(|((one, other), it)| (one, other, it));
        edges.collect::<Vec<_>>()
    };
    let all = (0..1_u32 << pairs.len()).map(&mut weighted);
    all.filter(|edges| theirs::minimum_tree(size, edges).len() + 1 == size).collect()
}

/// Runs one schedule to its end, and returns the cluster. In each step, one link delivers a
/// message. `pick` selects this link: it receives the number of links in use, and returns an index
/// in their sorted list.
fn run(config: Config, mut pick: impl FnMut(usize) -> usize) -> TestCluster<GallagerHumbletSpira> {
    let size = config.graph.vertex_count();
    let mut cluster = TestCluster::with_same_config(size, ChannelOrder::Fifo, config);
    (0..size).for_each(|at| cluster.issue_command(ProcessId(at), Command::Elect));
    loop {
        let mut links = cluster.links_in_use();
        if links.is_empty() {
            return cluster;
        }
        links.sort_unstable();
        cluster.deliver_at(links[pick(links.len())], 0);
    }
}

fn tree(cluster: &TestCluster<GallagerHumbletSpira>) -> Vec<(usize, usize)> {
    let branches = |at: ProcessId| {
        let peers = cluster.process(at).expect("no process crashes").branch_neighbours();
        peers.map(move |peer| (at.index(), peer.index()))
    };
    let all = cluster.process_ids().into_iter().flat_map(branches);
    let mut tree: Vec<_> = all.filter(|(one, other)| one < other).collect();
    tree.sort_unstable();
    tree
}

/// Compares two implementations and Kruskal's algorithm on all 772 connected graphs of up to five
/// processes. All three find the same tree. In the same schedule, the two implementations send the
/// same number of messages, at most 2E + 5N log₂N on a graph of N processes and E edges.
#[test]
fn all_small_graphs_match_independent_implementation() {
    let seed = 1983;
    let (mut rng, mut graphs) = (SplitMix64(seed), 0);
    for size in 1..=5 {
        for edges in connected_graphs(size, &mut rng) {
            graphs += 1;
            for schedule in 0..3 {
                let context = format!("seed {seed}, schedule {schedule}: {edges:?}");
                let draws = SplitMix64(seed + schedule);
                let picker = || {
                    let mut draws = draws.clone();
                    move |links| if schedule == 0 { 0 } else { draws.below(links) }
                };
                let (sites, sent) = theirs::run(theirs::sites(size, &edges), picker());
                let cluster = run(config(size, &edges, Variants::none()), picker());
                let expected = theirs::minimum_tree(size, &edges);
                assert_eq!(theirs::tree(&sites), expected, "{context}");
                assert_eq!(tree(&cluster), expected, "{context}");
                assert_eq!(cluster.total_sent(), sent as u64, "{context}");
                let for_tree = sent as u64 - cluster.sent_count("elected");
                let (n, links) = (size as f64, edges.len() as f64);
                assert!(for_tree as f64 <= 2.0 * links + 5.0 * n * n.log2(), "{context}");
            }
        }
    }
    assert_eq!(graphs, 1 + 1 + 4 + 38 + 728);
}
