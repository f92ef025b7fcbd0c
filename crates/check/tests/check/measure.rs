//! Tests of the least and the greatest value of measures. The tests compare these values with known
//! values. They also check that a mistake raises a maximum, and that some measures have no maximum.

use std::collections::BTreeMap;

use tenure_algorithms::Variants;
use tenure_algorithms::election::{Bully, ChangRoberts, bully, chang_roberts};
use tenure_algorithms::mutex::{Central, RicartAgrawala, TokenRing, ricart_agrawala};
use tenure_check::{
    Check, Checkable, FinalStateKind, Measure, MeasureConfig, MeasureReport, MeasureValue,
};
use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT};
use tenure_trace::{RecordKind, Trace};

use crate::by_service::{ServiceCheck, of, with};
use crate::elections;
use crate::verdicts::extremes;

fn measured<P: Checkable>(check: Check<P>, measure: impl Into<MeasureConfig>) -> MeasureReport {
    check.measure(measure).unwrap_or_else(|error| panic!("{error}"))
}

fn kind(name: &str) -> MeasureConfig {
    MeasureConfig { measure: Measure::Messages, message_kind: Some(name.to_owned()) }
}

fn chang_roberts(
    ids: &[u32],
    variants: Variants<chang_roberts::VariantId>,
) -> ServiceCheck<ChangRoberts> {
    elections::chang_roberts(ids, variants).fifo()
}

fn ricart_agrawala(
    size: u32,
    variants: Variants<ricart_agrawala::VariantId>,
) -> ServiceCheck<RicartAgrawala> {
    with::<RicartAgrawala>(size, variants)
}

/// An election on a ring of n processes (Chang and Roberts 1979). If the ranks decrease along the
/// ring, at most n(n + 1)/2 messages carry a rank. If the ranks increase, at most 2n − 1 messages
/// carry a rank. The announcement of the leader takes n further messages. Some runs attain these
/// bounds.
#[test]
fn chang_roberts_attains_its_bound() {
    for n in 2..=3 {
        let falling: Vec<u32> = (1..=n).rev().collect();
        let rising: Vec<u32> = (1..=n).collect();
        let most = |ids: &[u32]| extremes(chang_roberts(ids, Variants::none()), kind("election")).1;
        assert_eq!(most(&falling), n * (n + 1) / 2);
        assert_eq!(most(&rising), 2 * n - 1);
        let all = extremes(chang_roberts(&falling, Variants::none()), Measure::Messages);
        assert_eq!(all, (2 * n, n * (n + 1) / 2 + n));
    }
}

/// Ricart and Agrawala 1981: 2(N − 1) messages for an entry, in every run.
#[test]
fn ricart_agrawala_has_constant_cost() {
    for (n, entries) in [(2, 1), (2, 2), (3, 1)] {
        let check = ricart_agrawala(n, Variants::none()).request_limits(entries);
        let cost = 2 * (n - 1) * n * entries;
        assert_eq!(extremes(check, Measure::Messages), (cost, cost));
    }
}

/// The bully algorithm attains its bound (Garcia-Molina 1982) if the lowest process starts, and
/// every process answers and starts an election in turn.
#[test]
fn bully_attains_its_bound() {
    for n in 2..=3 {
        let config = bully::Config::with_defaults(n, TICKS_PER_TIME_UNIT);
        let check = with::<Bully>(n, config).initiators([ProcessId(0)]).synchronous(0..=1);
        let (_, most) = extremes(check, Measure::Messages);
        assert_eq!(most, n * n - 1);
    }
}

#[test]
fn messages_equal_received_without_faults() {
    let check = || of::<Central>(3);
    assert_eq!(extremes(check(), Measure::Messages), extremes(check(), Measure::Received));
    let lossy = || check().max_losses(1).configure(|config| config.model.assumed_card = None);
    let (least_sent, _) = extremes(lossy(), Measure::Messages);
    let report = measured(lossy(), Measure::Received);
    assert!(report.exact_maximum() == Some(6) && least_sent <= 6, "{report}");
}

#[test]
fn mistake_raises_the_maximum() {
    let again = Variants::none().with(ricart_agrawala::VariantId::RepliesAgain);
    let check = ricart_agrawala(2, again).request_limits(2);
    assert!(measured(check, Measure::Messages).exact_maximum() > Some(8));
    let again = Variants::none().with(chang_roberts::VariantId::StartsAgain);
    let check = chang_roberts(&[3, 2, 1], again);
    assert!(measured(check, kind("election")).exact_maximum() > Some(6));
}

/// The number of messages on an idle token ring has no bound, because the token travels for ever.
#[test]
fn idle_token_has_no_bound() {
    let report = measured(of::<TokenRing>(2), Measure::Messages);
    assert!(report.is_unbounded(), "{report}");
    assert_eq!(report.minimum_run_end, Some(FinalStateKind::Served));
    let maximum = report.maximum.as_ref().expect("there is a run");
    let from = maximum.run.repeats_from.expect("the end of the run repeats");
    assert!(from < maximum.run.steps.len());
    assert!(report.to_string().contains("again and again"), "{report}");
}

#[test]
fn stopped_search_states_no_exact_extreme() {
    let check = ricart_agrawala(3, Variants::none()).request_limits(2).max_states(2_000);
    let report = measured(check, Measure::Messages);
    assert_eq!((report.exact_maximum(), report.is_complete), (None, false));
    assert!(report.summary().contains("at least"), "{report}");
}

/// Counting of the bypass stops at the cap of the check. It is another one than that of the command
/// line. The central lock serves requests in the order of their arrival, so it has no bound on the
/// bypass of a process whose request is slow.
#[test]
fn bypass_at_the_cap_is_a_lower_bound() {
    let bypass = |cap| {
        let check = of::<Central>(3).request_limits([0, 3, 1]).measuring_bypass(cap);
        measured(check, Measure::Bypass)
    };
    let value = |report: &MeasureReport| report.maximum.as_ref().expect("there is a run").value;
    for cap in [1, 2, 3] {
        let report = bypass(cap);
        assert_eq!(value(&report), MeasureValue::AtLeast(cap), "{report}");
        assert_eq!((report.exact_maximum(), report.is_complete), (None, true));
    }
    for cap in [4, 64] {
        assert_eq!(bypass(cap).exact_maximum(), Some(3), "cap {cap}");
    }
    let least = bypass(1);
    assert_eq!(least.minimum_in_words(), "0");
}

/// A message takes at most one unit of time. The time of a run is therefore the length of the
/// longest causal chain of messages. For instance, a request and its reply are a chain of two
/// messages.
#[test]
fn time_is_the_longest_chain() {
    let alone = ricart_agrawala(2, Variants::none()).request_limits([1, 0]);
    assert_eq!(extremes(alone, Measure::CausalChainLength), (2, 2));
    let both = measured(ricart_agrawala(2, Variants::none()), Measure::CausalChainLength);
    let maximum = both.maximum.as_ref().expect("there is a run");
    assert_eq!(maximum.value, MeasureValue::Exactly(chain(&maximum.trace)));
    let election =
        measured(chang_roberts(&[3, 2, 1], Variants::none()), Measure::CausalChainLength);
    let maximum = election.maximum.as_ref().expect("there is a run");
    assert_eq!(maximum.value, MeasureValue::Exactly(chain(&maximum.trace)));
}

/// Returns the longest causal chain of messages in a trace without crashes.
fn chain(trace: &Trace) -> u32 {
    let mut at = BTreeMap::new();
    let mut sent = BTreeMap::new();
    for record in &trace.records {
        let Some(process) = record.process.process() else { continue };
        let mine = at.entry(process).or_insert(0);
        match &record.kind {
            RecordKind::Send(message) => {
                sent.insert((process, message.peer, message.number), *mine);
            }
            RecordKind::Receive(message) => {
                *mine = (*mine).max(1 + sent[&(message.peer, process, message.number)]);
            }
            _ => {}
        }
    }
    at.into_values().max().unwrap_or(0)
}

#[test]
fn schedules_attain_the_extremes() {
    let sent = |trace: &Trace| {
        let is_sent = |kind: &RecordKind| matches!(kind, RecordKind::Send(_));
        trace.records.iter().filter(|record| is_sent(&record.kind)).count() as u32
    };
    for ids in [&[3, 2, 1][..], &[1, 2, 3], &[2, 1]] {
        let report = measured(chang_roberts(ids, Variants::none()), Measure::Messages);
        for extreme in [&report.maximum, &report.minimum] {
            let extreme = extreme.as_ref().expect("there is a run");
            assert_eq!(extreme.value, MeasureValue::Exactly(sent(&extreme.trace)), "{report}");
        }
    }
}
