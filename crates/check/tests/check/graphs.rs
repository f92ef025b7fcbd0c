//! Tests of algorithms on general graphs and trees. The tests explore every schedule on small
//! graphs. The numbers of states and messages equal those of the independent models of
//! `tests/independent`.

use std::sync::Arc;

use tenure_algorithms::catalogue::{self, AlgorithmVisitor, Parameters};
use tenure_check::{Check, CheckReport, Checkable, Judgement};
use tenure_core::monitors::{AgreementMonitor, LeaderAgreement, LeaderScope, OneLeader};
use tenure_core::{Algorithm, Election, Mutex, ProcessId, Property};

use crate::catalogue::violates;
use crate::dining_philosophers::graph;
use crate::independent::searches::graphs::{self, classes, connected, diameter, edges};
use crate::independent::searches::search::Delivery::Unordered;
use crate::independent::searches::search::{Process, count, extremes};
use crate::independent::searches::{echo, extinction, flooding, saturation};
use crate::verdicts::Explored;

/// An algorithm on a graph. The users of the initiators start one wave or election each.
#[derive(Clone, Debug)]
struct Case<'a> {
    name: &'static str,
    graph: &'a graphs::Graph,
    initiators: &'a [usize],
    variant: Option<&'static str>,
    duplicates: u32,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Promises,
    /// Counts states, without monitors. An initiator that already knows the leader starts no
    /// election.
    States,
    Messages,
}

impl<'a> Case<'a> {
    fn new(name: &'static str, graph: &'a graphs::Graph, initiators: &'a [usize]) -> Self {
        Case { name, graph, initiators, variant: None, duplicates: 0 }
    }

    fn size(&self) -> u32 {
        self.graph.len() as u32
    }

    fn explore(&self, kind: Kind) -> Explored {
        let graph = graph(self.graph);
        let parameters = Parameters {
            user_tree: graph.to_tree().ok().map(Arc::new),
            graph: Some(Arc::new(graph)),
            variants: self.variant.iter().map(ToString::to_string).collect(),
            ..Parameters::with_defaults(self.size())
        };
        let explored = catalogue::visit(self.name, &parameters, Explore { case: self, kind });
        explored.unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    fn report(&self) -> CheckReport {
        self.explore(Kind::Promises).report()
    }

    /// Returns the number of states and the number of steps.
    fn states(&self) -> (u64, u64) {
        let report = self.explore(Kind::States).report();
        (report.states, report.transitions)
    }

    fn messages(&self) -> (u64, u64) {
        self.explore(Kind::Messages).messages()
    }
}

struct Explore<'a> {
    case: &'a Case<'a>,
    kind: Kind,
}

impl Explore<'_> {
    fn check<P: Algorithm + Checkable>(&self, config: P::Config) -> Check<P> {
        let initiators: Vec<ProcessId> =
            self.case.initiators.iter().copied().map(ProcessId::from_index).collect();
        let service = P::card(&config, self.case.size()).service;
        let check =
            Check::<P>::with_protocol_config(self.case.size(), config).initiators(initiators);
        let is_single = matches!(self.kind, Kind::States);
        let check = check.max_duplicates(self.case.duplicates).configure(|config| {
            config.service = service;
            config.model.has_single_election = is_single;
        });
        check.check_progress()
    }
}

impl AlgorithmVisitor for Explore<'_> {
    type Output = Explored;

    fn mutex<P: Mutex + Algorithm>(self, _: P::Config) -> Explored {
        unreachable!("there are no locks among these algorithms")
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Explored {
        let card = P::card(&config, self.case.size());
        let check = self.check::<P>(config);
        match self.kind {
            Kind::Messages => return Explored::measured(check),
            Kind::States => return Explored::checked(check),
            Kind::Promises => {}
        }
        let mut check = check.always_and_at_end(LeaderAgreement::new());
        for promise in card.promises {
            check = match promise {
                Property::Validity => {
                    let ranks = Parameters::with_defaults(self.case.size()).ranks;
                    let validity = tenure_core::monitors::BestRankLeads::new(ranks.to_vec());
                    check.always_and_at_end(validity)
                }
                Property::OneLeaderPerTerm => check.always(OneLeader::new(LeaderScope::PerTerm)),
                Property::OneLeaderAtATime => check.always(OneLeader::new(LeaderScope::Overall)),
                _ => check,
            };
        }
        Explored::checked(check)
    }

    fn agreement<P: tenure_core::Agreement + Algorithm>(self, config: P::Config) -> Explored {
        let size = self.case.size();
        let card = P::card(&config, size);
        let mut check = self.check::<P>(config);
        match self.kind {
            Kind::Messages => return Explored::measured(check),
            Kind::States => return Explored::checked(check),
            Kind::Promises => {}
        }
        for monitor in AgreementMonitor::all_for_service(card.service, size, &[]) {
            check = check.always(monitor);
        }
        Explored::checked(check)
    }
}

const ECHO: &str = "echo";
const EXTINCTION: &str = "echo-election";
const SATURATION: &str = "tree-election";
const FLOODING: &str = "flooding-election";

/// Asserts that the checker and the independent model find the same numbers of states and steps,
/// and the same minimum and maximum number of messages. Returns this minimum and maximum.
fn compare<S: Process>(case: &Case<'_>, sites: &[S]) -> (u64, u64) {
    assert_eq!(case.states(), count(sites.to_vec(), Unordered), "{case:?}");
    let found = case.messages();
    assert_eq!(found, extremes(sites.to_vec(), Unordered), "{case:?}");
    found
}

fn is_tree(graph: &graphs::Graph) -> bool {
    edges(graph) + 1 == graph.len() as u64
}

/// Returns connected graphs: all graphs with two or three vertices, and one graph from each
/// isomorphism class of graphs with four vertices.
fn small_graphs() -> Vec<graphs::Graph> {
    [connected(2), connected(3), classes(4)].concat()
}

#[test]
fn echo_matches_independent_model() {
    for graph in small_graphs() {
        let wave = 2 * edges(&graph);
        let found = compare(&Case::new(ECHO, &graph, &[0]), &echo::sites(&graph, &[0]));
        assert_eq!(found, (wave, wave), "{graph:?}");
    }
    for graph in [connected(2), connected(3)].concat() {
        let two = compare(&Case::new(ECHO, &graph, &[0, 1]), &echo::sites(&graph, &[0, 1]));
        assert_eq!(two, (4 * edges(&graph), 4 * edges(&graph)), "{graph:?}");
    }
}

/// Compares the algorithm `echo-election` (echo with extinction) to its independent model on one
/// graph.
fn compare_extinction(graph: &graphs::Graph, starters: &[usize]) {
    let (wave, others, k) = (2 * edges(graph), graph.len() as u64 - 1, starters.len() as u64);
    let case = Case::new(EXTINCTION, graph, starters);
    let (least, greatest) = compare(&case, &extinction::sites(graph, starters));
    assert_eq!(least, wave + others, "{case:?}");
    // `k` is the number of initiators. The winner takes part in no wave of a smaller rank, which
    // saves at least k − 1 messages.
    assert!(greatest <= k * wave + others + 1 - k, "{case:?}");
}

#[test]
fn echo_election_matches_independent_model() {
    for graph in small_graphs() {
        compare_extinction(&graph, &[0]);
        if graph.len() < 4 {
            compare_extinction(&graph, &[0, 1]);
        }
    }
    for graph in connected(3).iter().filter(|graph| is_tree(graph)) {
        compare_extinction(graph, &[0, 1, 2]);
    }
}

#[test]
fn tree_election_matches_independent_model() {
    for graph in small_graphs().into_iter().filter(is_tree) {
        let n = graph.len() as u64;
        for starters in [&[0][..], &[0, 1], &[0, 1, 2]] {
            if starters.len() > graph.len() || graph.len() == 4 && starters.len() > 2 {
                continue;
            }
            let case = Case::new(SATURATION, &graph, starters);
            let found = compare(&case, &saturation::sites(&graph, starters));
            assert_eq!(found, (3 * n - 3, 3 * n + starters.len() as u64 - 4), "{case:?}");
        }
    }
}

fn compare_flooding(graph: &graphs::Graph, starters: &[usize]) {
    let cost = 2 * edges(graph) * diameter(graph) as u64;
    let case = Case::new(FLOODING, graph, starters);
    let found = compare(&case, &flooding::sites(graph, starters));
    assert_eq!(found, (cost, cost), "{case:?}");
}

#[test]
fn flooding_election_matches_independent_model() {
    for graph in [connected(2), connected(3)].concat() {
        compare_flooding(&graph, &[0]);
        compare_flooding(&graph, &[0, 1]);
    }
    for tree in classes(4).iter().filter(|graph| is_tree(graph)) {
        compare_flooding(tree, &[0]);
    }
}

#[test]
#[ignore = "takes minutes: cargo test -p tenure-check-tests -- --ignored graphs_of"]
fn elections_match_independent_models_on_graphs_of_four() {
    for graph in classes(4) {
        compare_flooding(&graph, &[0]);
        Case::new(FLOODING, &graph, &[0]).report().assert_holds();
        if edges(&graph) < 5 {
            compare_extinction(&graph, &[0, 1]);
            Case::new(EXTINCTION, &graph, &[0, 1]).report().assert_holds();
        }
    }
    let triangle = ring(3);
    compare_extinction(&triangle, &[0, 1, 2]);
}

fn assert_model_costs(graph: &graphs::Graph) {
    let (wave, n) = (2 * edges(graph), graph.len() as u64);
    let one = [0];
    let found = extremes(echo::sites(graph, &one), Unordered);
    assert_eq!(found, (wave, wave), "{graph:?}");
    let found = extremes(extinction::sites(graph, &one), Unordered);
    assert_eq!(found, (wave + n - 1, wave + n - 1), "{graph:?}");
    if is_tree(graph) {
        let found = extremes(saturation::sites(graph, &[0, 1]), Unordered);
        assert_eq!(found, (3 * n - 3, 3 * n - 2), "{graph:?}");
    }
}

#[test]
fn models_cost_as_stated_on_trees_of_five() {
    classes(5).iter().filter(|graph| is_tree(graph)).for_each(assert_model_costs);
}

#[test]
#[ignore = "takes minutes: cargo test -p tenure-check-tests -- --ignored graphs_of"]
fn models_cost_as_stated_on_sparse_graphs_of_five() {
    // With 9 and 10 edges there are millions of states; random schedules cover these graphs.
    for graph in classes(5).into_iter().filter(|graph| edges(graph) < 9) {
        assert_model_costs(&graph);
        if is_tree(&graph) {
            let found = extremes(saturation::sites(&graph, &[0, 1, 2, 3, 4]), Unordered);
            assert_eq!(found, (12, 16), "{graph:?}");
        }
        if edges(&graph) < 6 {
            let flooded = 2 * edges(&graph) * diameter(&graph) as u64;
            let found = extremes(flooding::sites(&graph, &[0]), Unordered);
            assert_eq!(found, (flooded, flooded), "{graph:?}");
        }
    }
}

#[test]
fn promises_hold_in_every_schedule_on_small_graphs() {
    for graph in small_graphs() {
        Case::new(ECHO, &graph, &[0]).report().assert_holds();
        Case::new(EXTINCTION, &graph, &[0]).report().assert_holds();
        if graph.len() < 4 || is_tree(&graph) {
            Case::new(FLOODING, &graph, &[0]).report().assert_holds();
        }
    }
    for graph in connected(3) {
        Case::new(ECHO, &graph, &[0, 2]).report().assert_holds();
        Case::new(EXTINCTION, &graph, &[0, 2]).report().assert_holds();
        Case::new(FLOODING, &graph, &[0, 1]).report().assert_holds();
    }
    for graph in small_graphs().iter().filter(|graph| is_tree(graph)) {
        Case::new(SATURATION, graph, &[0, 1]).report().assert_holds();
    }
}

#[test]
fn elections_tolerate_a_duplicate() {
    for graph in [connected(2), classes(3)].concat() {
        for name in [EXTINCTION, SATURATION, FLOODING] {
            if name == SATURATION && !is_tree(&graph) {
                continue;
            }
            let one = Case { duplicates: 1, ..Case::new(name, &graph, &[0]) };
            one.report().assert_holds();
        }
    }
    // Negative control: in `echo`, a duplicated message starts the wave again.
    let line = &connected(2)[0];
    violates(&Case { duplicates: 1, ..Case::new(ECHO, line, &[0]) }.report(), "one-tree");
}

fn ring(size: usize) -> graphs::Graph {
    (0..size).map(|at| vec![(at + size - 1) % size, (at + 1) % size]).collect()
}

#[test]
fn each_mistake_is_found() {
    let (two, three, four) = (connected(2).remove(0), ring(3), ring(4));
    let star = vec![vec![1, 2], vec![0], vec![0]];
    for (name, variant, graph, starters, property) in [
        (ECHO, "early-echo", &four, &[0][..], "all-reached"),
        (ECHO, "echoes-only", &three, &[0], "progress"),
        (ECHO, "last-parent", &three, &[0], "progress"),
        (EXTINCTION, "answers-smaller", &two, &[0, 1], "one-leader-per-term"),
        (EXTINCTION, "keeps-first", &two, &[0, 1], "progress"),
        (EXTINCTION, "early-echo", &four, &[0, 2], "one-leader-per-term"),
        (SATURATION, "first-message", &star, &[0], "validity"),
        (SATURATION, "ignores-crossing", &two, &[0], "progress"),
        (SATURATION, "no-wake-up", &star, &[0], "progress"),
        (FLOODING, "one-round-less", &three, &[0], "validity"),
        (FLOODING, "no-waiting", &three, &[0], "validity"),
        (FLOODING, "only-news", &four, &[0], "progress"),
    ] {
        let case = Case { variant: Some(variant), ..Case::new(name, graph, starters) };
        let report = case.report();
        assert_eq!(report.judgement_of(property), Judgement::Violated, "{case:?}: {report}");
    }
}
