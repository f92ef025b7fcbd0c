//! Tests of drinking philosophers and group mutual exclusion. The tests explore every schedule of
//! small groups, and check that known mistakes violate properties. The numbers of states and
//! messages equal those of the independent models of `tests/independent`.

use std::sync::Arc;

use tenure_algorithms::catalogue::{self, AlgorithmVisitor, Parameters};
use tenure_check::{Check, CheckReport, Judgement};
use tenure_core::monitors::AgreementMonitor;
use tenure_core::{Agreement, Algorithm, Election, Graph, Mutex, Property};

use crate::dining_philosophers::graph;
use crate::independent::searches;
use crate::independent::searches::graphs::{self, classes, connected};
use crate::independent::searches::search::Delivery::{self, Fifo, Unordered};
use crate::independent::searches::search::{Process, count, extremes};
use crate::verdicts::Explored;

const DRINKING: &str = "drinking-philosophers";
const CONGENIAL: &str = "congenial-philosophers";

/// An algorithm. `sessions` contains, for each user, the number of sessions that it requests.
#[derive(Clone, Debug)]
struct Case<'a> {
    name: &'static str,
    sessions: &'a [u32],
    /// Graph whose edges are the conflicts; `None` for a ring.
    graph: Option<Graph>,
    variant: Option<&'static str>,
    duplicates: u32,
    order: Delivery,
}

impl<'a> Case<'a> {
    fn new(name: &'static str, sessions: &'a [u32]) -> Self {
        Case { name, sessions, graph: None, variant: None, duplicates: 0, order: Unordered }
    }

    fn explore(&self, measures: bool) -> Explored {
        let parameters = Parameters {
            graph: self.graph.clone().map(Arc::new),
            variants: self.variant.iter().map(ToString::to_string).collect(),
            ..Parameters::with_defaults(self.sessions.len() as u32)
        };
        let explored = catalogue::visit(self.name, &parameters, Explore { case: self, measures });
        explored.unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    fn report(&self) -> CheckReport {
        self.explore(false).report()
    }

    /// Checks the promises of the algorithm, and compares the numbers of states and steps with
    /// those of the independent model.
    fn compare_states<S: Process>(&self, sites: Vec<S>) {
        let report = self.report();
        report.assert_holds();
        assert_eq!((report.states, report.transitions), count(sites, self.order), "{self:?}");
    }

    /// Compares the least and the greatest number of messages with those of the independent model,
    /// and returns them.
    fn compare_messages<S: Process>(&self, sites: Vec<S>) -> (u64, u64) {
        let found = self.explore(true).messages();
        assert_eq!(found, extremes(sites, self.order), "{self:?}");
        found
    }
}

struct Explore<'a> {
    case: &'a Case<'a>,
    measures: bool,
}

impl AlgorithmVisitor for Explore<'_> {
    type Output = Explored;

    fn mutex<P: Mutex + Algorithm>(self, _: P::Config) -> Explored {
        unreachable!("there are no locks among these algorithms")
    }

    fn election<P: Election + Algorithm>(self, _: P::Config) -> Explored {
        unreachable!("there are no elections among these algorithms")
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Explored {
        let size = self.case.sessions.len() as u32;
        let service = P::card(&config, size).service;
        let check =
            Check::<P>::with_protocol_config(size, config).request_limits(self.case.sessions);
        let check = check.max_duplicates(self.case.duplicates);
        let check = check.configure(|config| config.service = service);
        let check = if self.case.order == Fifo { check.fifo() } else { check };
        if self.measures {
            return Explored::measured(check);
        }
        let monitor =
            AgreementMonitor::for_property(service, Property::SessionExclusion, size, &[]);
        Explored::checked(check.always(monitor.expect("the service has it")).check_progress())
    }
}

/// Compares the numbers of states on both kinds of links, and the numbers of messages on FIFO links
/// only. On links that reorder messages, the number of messages has no bound: a bottle can go to
/// and fro any number of times while a fork is in transit.
fn compare_drinking(lists: &graphs::Graph, sessions: &[u32]) {
    let sites = || searches::drinking::sites(lists, sessions);
    let unordered = Case { graph: Some(graph(lists)), ..Case::new(DRINKING, sessions) };
    unordered.compare_states(sites());
    let fifo = Case { order: Fifo, ..unordered };
    fifo.compare_states(sites());
    let (_, greatest) = fifo.compare_messages(sites());
    let each = lists.iter().zip(sessions);
    let most: u64 = each.map(|(peers, times)| 4 * peers.len() as u64 * u64::from(*times)).sum();
    assert!(greatest <= most, "{fifo:?}: {greatest}");
}

#[test]
#[ignore = "long: 4 s"]
fn drinking_matches_independent_model() {
    compare_drinking(&connected(2)[0], &[2, 2]);
    for graph in classes(3) {
        compare_drinking(&graph, &[1, 1, 1]);
    }
    for graph in classes(4) {
        compare_drinking(&graph, &[1, 0, 0, 1]);
    }
}

#[test]
fn congenial_matches_independent_model_and_costs_2n_minus_2() {
    for sessions in [&[1, 1][..], &[2, 2], &[1, 1, 1], &[1, 0, 1, 0]] {
        let sites = || searches::congenial::sites(sessions);
        let case = Case::new(CONGENIAL, sessions);
        case.compare_states(sites());
        let times = u64::from(sessions.iter().sum::<u32>());
        let cost = 2 * times * (sessions.len() as u64 - 1);
        assert_eq!(case.compare_messages(sites()), (cost, cost), "{case:?}");
    }
}

#[test]
fn congenial_tolerates_duplicates() {
    let case = Case { duplicates: 2, ..Case::new(CONGENIAL, &[2, 1]) };
    case.report().assert_holds();
}

/// Each mistake violates its property. Without the mistake, the algorithm satisfies this property
/// in the same scope.
#[test]
fn detects_mistakes() {
    let (unsafe_, stuck) = ("session-exclusion", "progress");
    for (name, variant, sessions, property) in [
        (DRINKING, "keeps-needed", &[1, 2, 1][..], stuck),
        (DRINKING, "yields-needed", &[1, 1, 1], stuck),
        (DRINKING, "yields-inside", &[1, 1], unsafe_),
        (DRINKING, "drops-request", &[1, 1], stuck),
        (CONGENIAL, "replies-inside", &[1, 1], unsafe_),
        (CONGENIAL, "no-priority", &[1, 1], unsafe_),
        (CONGENIAL, "frozen-clock", &[1, 1], unsafe_),
        (CONGENIAL, "drops-deferred", &[1, 1, 1], stuck),
    ] {
        let report = Case { variant: Some(variant), ..Case::new(name, sessions) }.report();
        assert_eq!(
            report.judgement_of(property),
            Judgement::Violated,
            "{name} {variant}: {report}"
        );
    }
    let plain = Case { variant: Some("one-at-a-time"), ..Case::new(CONGENIAL, &[1, 1, 1]) };
    plain.report().assert_holds();
}
