//! Synchronous rounds: every crash pattern of FloodSet, and elections on synchronous rings. The
//! results are compared with those of the independent models of `tests/independent`.

use tenure_algorithms::catalogue::{self, AlgorithmVisitor, Parameters};
use tenure_check::{Check, CheckConfig, CheckReport, Checkable, Judgement};
use tenure_core::monitors::{AgreementMonitor, LeaderAgreement};
use tenure_core::{Algorithm, Delay, Election, Mutex, ProcessId, Property, Rank, Timing};
use tenure_trace::ScriptAction;

use crate::independent::searches::floodset::outcomes;
use crate::independent::searches::graphs::permutations;
use crate::independent::searches::synchronous_rings::{self as rings, Elected};
use crate::verdicts::Explored;

/// An algorithm in rounds, with its configuration. `change` changes the configuration of the check.
#[derive(Clone)]
struct Case {
    name: &'static str,
    parameters: Parameters,
    change: fn(&mut CheckConfig),
    crashes: u32,
}

impl Case {
    fn new(name: &'static str, size: u32) -> Self {
        Case { name, parameters: Parameters::with_defaults(size), change: |_| {}, crashes: 0 }
    }

    fn ring(name: &'static str, ids: &[u64]) -> Self {
        let mut case = Case::new(name, ids.len() as u32);
        case.parameters.ranks = ids.iter().map(|id| Rank::from_id(*id as u32)).collect();
        case
    }

    fn variant(mut self, variant: &str) -> Self {
        self.parameters.variants.push(variant.to_owned());
        self
    }

    fn crashing(self, crashes: u32) -> Self {
        Case { crashes, ..self }
    }

    fn changed(self, change: fn(&mut CheckConfig)) -> Self {
        Case { change, ..self }
    }

    fn report(&self) -> CheckReport {
        self.explore(false).report()
    }

    fn explore(&self, measures: bool) -> Explored {
        let explore = Explore { case: self, measures };
        let explored = catalogue::visit(self.name, &self.parameters, explore);
        explored.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    fn is(&self, property: &str) -> Judgement {
        self.report().judgement_of(property)
    }

    /// Returns the least and the greatest number of messages of a complete measurement.
    fn messages(&self) -> (u64, u64) {
        self.explore(true).messages()
    }

    fn check<P: Algorithm + Checkable>(&self, config: P::Config) -> Check<P> {
        let card = P::card(&config, self.parameters.size);
        let check = Check::<P>::with_protocol_config(self.parameters.size, config)
            .max_crashes(self.crashes);
        let check = check.threads(1);
        let check = if card.timing == Timing::Rounds { check.in_rounds() } else { check };
        check.configure(|config| {
            config.service = card.service;
            (self.change)(config);
        })
    }
}

struct Explore<'a> {
    case: &'a Case,
    /// True if the exploration counts messages instead of judging properties.
    measures: bool,
}

impl AlgorithmVisitor for Explore<'_> {
    type Output = Explored;

    fn mutex<P: Mutex + Algorithm>(self, _: P::Config) -> Explored {
        unreachable!("no lock needs rounds")
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Explored {
        let check = self.case.check::<P>(config);
        if self.measures {
            return Explored::measured(check);
        }
        Explored::checked(check.always_and_at_end(LeaderAgreement::new()).check_progress())
    }

    fn agreement<P: tenure_core::Agreement + Algorithm>(self, config: P::Config) -> Explored {
        let size = self.case.parameters.size;
        let card = P::card(&config, size);
        let mut check = self.case.check::<P>(config);
        if self.measures {
            return Explored::measured(check);
        }
        for property in [Property::Agreement, Property::Validity, Property::Integrity] {
            let monitor = AgreementMonitor::for_property(card.service, property, size, &[]);
            let monitor = monitor.expect("consensus has this property");
            let ends = monitor.is_judged_at_end();
            check = if ends { check.always_and_at_end(monitor) } else { check.always(monitor) };
        }
        Explored::checked(check.check_progress())
    }
}

const FLOODSET: &str = "floodset";

/// FloodSet that tolerates f crashes reaches agreement in f + 1 rounds, but not in f rounds. By
/// default, f is N − 2, so the algorithm takes N − 1 rounds.
#[test]
fn f_plus_one_rounds_agree_and_f_rounds_do_not() {
    for (size, crashes) in [(2, 1), (3, 1), (3, 2), (4, 2)] {
        let rounds = size as usize - 1;
        let report = Case::new(FLOODSET, size).crashing(crashes).report();
        report.assert_holds();
        assert!(outcomes(size as usize, rounds, crashes as usize).agree());
        if size < 3 {
            continue;
        }
        let less = Case::new(FLOODSET, size).variant("one-round-less");
        let few = size - 2;
        assert_eq!(less.clone().crashing(few).is("agreement"), Judgement::Violated, "{size}");
        assert!(!outcomes(size as usize, rounds - 1, few as usize).agree());
        // With fewer crashes, at least one round has no crash.
        let fewer = few - 1;
        less.crashing(fewer).report().assert_holds();
        assert!(outcomes(size as usize, rounds - 1, fewer as usize).agree());
    }
}

#[test]
fn shortest_violation_is_a_broadcast_that_reaches_one_of_two() {
    let report = Case::new(FLOODSET, 3).variant("one-round-less").crashing(1).report();
    let run = report.counterexample("agreement").expect("a counterexample").to_string();
    assert!(run.contains("crashes") && run.contains("lost"), "{run}");
}

#[test]
fn early_decision_disagrees_only_with_a_chain_of_two_crashes() {
    let early = |size, crashes| {
        Case::new(FLOODSET, size).variant("nothing-new").crashing(crashes).is("agreement")
    };
    assert_eq!(early(4, 2), Judgement::Violated);
    assert_eq!([early(3, 2), early(4, 1)], [Judgement::Holds; 2]);
}

#[test]
fn messages_match_independent_model() {
    for (size, crashes) in [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2), (4, 1)] {
        let case = Case::new(FLOODSET, size).crashing(crashes);
        let model = outcomes(size as usize, size as usize - 1, crashes as usize);
        assert_eq!(case.messages(), (model.least, model.greatest), "{size} {crashes}");
    }
    let news = Case::new(FLOODSET, 4).variant("only-news");
    assert_eq!(news.messages(), (24, 24), "two broadcasts of each process");
    news.crashing(2).report().assert_holds();
}

/// In asynchronous time, FloodSet violates agreement without any crash, because a round may end
/// before its messages have arrived.
#[test]
fn asynchronous_time_violates_agreement_without_a_crash() {
    let asynchronous = Case::new(FLOODSET, 2).changed(|config| {
        config.model.has_rounds = false;
        config.model.latency = None;
    });
    assert_eq!(asynchronous.is("agreement"), Judgement::Violated);
}

/// FloodSet reaches agreement without synchronous rounds if each process ends its rounds by a timer
/// that exceeds the latency. The processes need no common clock if all of them start at the same
/// time.
#[test]
fn known_bounds_carry_rounds_that_are_long_enough() {
    let stretched = |units| {
        let mut case = Case::new(FLOODSET, 2).changed(|config| {
            config.model.has_rounds = false;
            config.model.latency = Some(0..=1);
            let propose = |at: u32| format!("propose p{at} {at}").parse::<ScriptAction>().unwrap();
            config.model.prefix = (1..=2).map(propose).collect();
        });
        case.parameters.timeouts = vec![("round".to_owned(), Delay::time_units(units))];
        case.is("agreement")
    };
    assert_eq!([stretched(1), stretched(2)], [Judgement::Violated, Judgement::Holds]);
}

/// Returns all orders of `ids` that begin with the first element of `ids`.
fn orders(ids: &[u64]) -> Vec<Vec<u64>> {
    let order = |others: &Vec<usize>| {
        std::iter::once(ids[0]).chain(others.iter().map(|at| ids[at + 1])).collect()
    };
    permutations(ids.len() - 1).iter().map(order).collect()
}

#[test]
fn synchronous_rings_elect_the_smallest_at_the_cost_of_the_model() {
    for ids in [&[1, 2][..], &[1, 2, 3], &[2, 3, 5], &[1, 2, 3, 4]] {
        for ids in orders(ids) {
            let n = ids.len() as u64;
            let model: [(&str, Elected, u64); 2] = [
                ("time-slice", rings::time_slice(&ids), 0),
                ("variable-speeds", rings::variable_speeds(&ids), n),
            ];
            for (name, elected, announcements) in model {
                let case = Case::ring(name, &ids);
                assert_eq!(ids[elected.leader], ids.iter().copied().min().unwrap());
                let expected = elected.tokens + announcements;
                assert_eq!(case.messages(), (expected, expected), "{name} {ids:?}");
                if n < 4 {
                    case.report().assert_holds();
                }
            }
            assert_eq!(rings::time_slice(&ids).rounds, n * ids[0]);
            assert_eq!(rings::variable_speeds(&ids).rounds, n << ids[0]);
        }
    }
}

#[test]
fn mistakes_on_synchronous_rings_are_found() {
    let short = Case::ring("time-slice", &[1, 3, 2]).variant("short-phases");
    assert_eq!(short.is("agreement"), Judgement::Violated);
    let (_, most) = Case::ring("variable-speeds", &[1, 2, 3]).variant("same-speed").messages();
    assert_eq!(most, 9, "N(N + 1)/2 + N");
    let ids = [1, 5, 6, 3, 2, 7, 4];
    let linear = Case::ring("variable-speeds", &ids).variant("linear-speed").messages();
    assert_eq!((linear.1, Case::ring("variable-speeds", &ids).messages().1), (19, 18 - 1));
}

/// In asynchronous time, the time-slice election violates agreement. It relies on a common start
/// and on known latencies.
#[test]
fn time_slice_fails_in_asynchronous_time() {
    let asynchronous = Case::new("time-slice", 2).changed(|config| {
        config.model.has_rounds = false;
        config.model.latency = None;
        config.model.initiators = Some(vec![ProcessId(0), ProcessId(1)]);
    });
    assert_eq!(asynchronous.is("agreement"), Judgement::Violated);
}

/// Chang–Roberts, which is an asynchronous algorithm, keeps its promises in synchronous rounds.
#[test]
fn asynchronous_election_holds_in_rounds() {
    let rounds = Case::new("chang-roberts", 4).changed(|config| {
        config.model.has_rounds = true;
        config.model.latency = Some(1..=1);
    });
    rounds.report().assert_holds();
    assert_eq!(rounds.messages(), (11, 11), "2N − 1 and N, if all start in one round");
}
