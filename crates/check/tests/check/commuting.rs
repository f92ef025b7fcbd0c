//! Tests of the reduction by commuting deliveries, for every lock and every variant. A search with
//! the reduction visits fewer states than a search without it, and leads to the same judgements.

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::{self, AlgorithmVisitor, MUTEXES, Parameters, SumTypeMember};
use tenure_algorithms::mutex::RicartAgrawala;
use tenure_algorithms::mutex::ricart_agrawala::VariantId;
use tenure_check::{Check, CheckConfig, CheckError, CheckReport};
use tenure_core::monitors::{Fencing, LocalMutualExclusion, MessageBudget, MutualExclusion};
use tenure_core::{Agreement, Algorithm, ChannelOrder, DetectorClass, Election, Mutex, Timing};

use crate::verdicts::verdicts;

/// Upper bound on the number of states of a search without the reduction by commuting deliveries.
/// If a search has more states, the tests skip the comparison with the reduced search.
const MAX_STATES: u64 = 5_000;

/// Results of one check: the first without the reduction by commuting deliveries, the second with
/// this reduction.
type Pair = [Result<CheckReport, CheckError>; 2];

/// Scope in which a lock is checked.
///
/// The scope is also a visitor of the catalogue: it checks a lock without and with the reduction,
/// and returns both reports. It returns `None` if the reduction does not apply to the lock, or if
/// the search without the reduction is too large.
#[derive(Clone, Copy, Debug)]
struct Case {
    size: u32,
    entries: u32,
    order: Option<ChannelOrder>,
    max_states: u64,
}

impl Case {
    /// Returns the report of a check, or an error if a handler panics.
    fn check<P: Mutex + Algorithm>(
        self,
        protocol: &P::Config,
        is_commuting: bool,
    ) -> Result<CheckReport, CheckError> {
        let card = P::card(protocol, self.size);
        let config = CheckConfig::new(&card.name, card.service, self.size);
        let mut check = Check::<P>::for_algorithm(protocol.clone(), config)
            .channel_order(self.order.unwrap_or(card.order))
            .request_limits(self.entries)
            .threads(1)
            .max_states(self.max_states);
        check = match card.conflict_graph() {
            Some(graph) => check.always(LocalMutualExclusion::with_conflicts(graph.clone())),
            None => check.always(MutualExclusion::at_most(card.max_inside())),
        };
        if let Some(budget) = MessageBudget::from_cost(&card.messages) {
            check = check.always_and_at_end(budget);
        }
        check = check.always(Fencing::new()).check_starvation_freedom().check_deadlock_freedom();
        if is_commuting {
            check.reducing_by_commuting_deliveries().try_run()
        } else {
            check.try_run()
        }
    }

    /// Checks the lock without variants and with each of its variants. Performs each check without
    /// and with the reduction. Returns one pair of reports per check.
    fn compare(self, name: &str) -> Vec<Pair> {
        let plain = Parameters::with_defaults(self.size);
        let Ok(card) = catalogue::card(name, &plain) else { return Vec::new() };
        let variants = card.variants.iter().map(|variant| vec![variant.name.to_string()]);
        let mut reports = Vec::new();
        for variants in std::iter::once(Vec::new()).chain(variants) {
            let parameters = Parameters { variants, ..plain.clone() };
            // Skips variants that require other variants or select another algorithm.
            if let Ok(Some(pair)) = catalogue::visit(name, &parameters, self) {
                reports.push(pair);
            }
        }
        reports
    }
}

impl AlgorithmVisitor for Case {
    type Output = Option<Pair>;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Self::Output {
        let card = P::card(&config, self.size);
        let is_plain = card.timing == Timing::Asynchronous && card.detection == DetectorClass::None;
        let plain = is_plain.then(|| self.check::<P>(&config, false))?;
        // A search that reached its limit has no judgement that the test could compare.
        let is_limited = plain.as_ref().is_ok_and(|plain| plain.reached_limit.is_some());
        (!is_limited).then(|| [plain, self.check::<P>(&config, true)])
    }

    fn election<P: Election + Algorithm>(self, _: P::Config) -> Self::Output {
        None
    }

    fn agreement<P: Agreement + Algorithm>(self, _: P::Config) -> Self::Output {
        None
    }
}

/// Asserts that the reduction changes no judgement of the locks in the catalogue. To save time,
/// checks only every `share`-th lock.
fn assert_judgements_kept(share: usize) {
    let two = Case { size: 2, entries: 2, order: None, max_states: MAX_STATES };
    let three = Case { size: 3, entries: 1, ..two };
    let (mut reduced, mut violated) = (0, 0);
    for case in [two, three, Case { order: Some(ChannelOrder::Fifo), ..three }] {
        for name in MUTEXES.iter().step_by(share) {
            for pair in case.compare(name) {
                let (plain, commuting) = match pair {
                    [Ok(plain), Ok(commuting)] => (plain, commuting),
                    [plain, commuting] => {
                        assert!(plain.is_err() && commuting.is_err(), "{name}, {case:?}");
                        continue;
                    }
                };
                assert_eq!(verdicts(&plain), verdicts(&commuting), "{case:?}: {plain}{commuting}");
                reduced += usize::from(commuting.is_commuting);
                violated += usize::from(!plain.counterexamples.is_empty());
            }
        }
    }
    assert!(reduced > 0 && violated > 0, "{reduced} reduced, {violated} violated");
}

#[test]
fn keeps_judgements_of_sampled_locks() {
    assert_judgements_kept(3);
}

#[test]
#[ignore = "minutes: cargo test --release -p tenure-check-tests -- --ignored commuting::"]
fn keeps_judgements_of_all_locks() {
    assert_judgements_kept(1);
}

fn ricart_agrawala(size: u32, switch: Option<VariantId>, is_commuting: bool) -> CheckReport {
    let order = Some(ChannelOrder::Reordered);
    let case = Case { size, entries: 1, order, max_states: u64::MAX };
    let variants = switch.map_or(Variants::none(), |switch| Variants::none().with(switch));
    let config = RicartAgrawala::to_sum_type_config(variants);
    let report = case.check::<<RicartAgrawala as SumTypeMember>::Sum>(&config, is_commuting);
    report.expect("no handler panics")
}

#[test]
fn explores_fewer_states_of_three_processes() {
    let [plain, commuting] = [false, true].map(|it| ricart_agrawala(3, None, it));
    commuting.assert_holds();
    assert!(commuting.is_commuting && 3 * commuting.states < plain.states, "{plain}{commuting}");
}

#[test]
fn finds_shortest_violation_without_reduction() {
    let wrong = Some(VariantId::ClockOnlyStrict);
    let [plain, commuting] = [false, true].map(|it| ricart_agrawala(3, wrong, it));
    assert!(!commuting.is_commuting, "{commuting}");
    assert!(commuting.counterexample("at-most-k").is_some(), "{commuting}");
    assert_eq!(verdicts(&plain), verdicts(&commuting), "{plain}{commuting}");
}

#[test]
#[ignore = "takes several seconds on two cores when optimised"]
fn explores_four_processes_in_few_states() {
    let report = ricart_agrawala(4, None, true);
    report.assert_holds();
    assert!(report.is_commuting && report.states < 100_000, "{report}");
}

#[test]
#[ignore = "takes minutes on two cores when optimised"]
fn decides_five_processes() {
    let report = ricart_agrawala(5, None, true);
    report.assert_holds();
    assert!(report.is_commuting, "{report}");
}
