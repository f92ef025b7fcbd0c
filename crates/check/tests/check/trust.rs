//! Tests that the judgements of the checker can be trusted. A judgement does not depend on the
//! number of threads, on fingerprints or on reductions. If a search was pruned or stopped, the
//! checker does not report that a property holds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::{Central, Lamport, RicartAgrawala, central};
use tenure_check::{
    Check, CheckError, CheckReport, Checkable, Judgement, RequestLimit, SearchProgress, StopReason,
};
use tenure_core::monitors::{Fencing, MessageBudget, MutualExclusion, RequestOrder};
use tenure_core::{Algorithm, Card, ChannelOrder as Channel, ProcessId};

use crate::by_service::{of, with};
use crate::catalogue::{safe_and_live, violates};
use crate::survival::explored;
use crate::textbook::{Mistake, Textbook};
use crate::verdicts::verdicts;

const MISTAKES: [Mistake; 7] = [
    Mistake::None,
    Mistake::ReplyWhileInside,
    Mistake::NoTieBreakReply,
    Mistake::NoTieBreakDefer,
    Mistake::IdsAsStamps,
    Mistake::NoClockOnRequest,
    Mistake::NeverReplies,
];

/// Returns the part of a report that must not depend on how the search was executed.
fn deterministic_content(report: &CheckReport) -> String {
    let mut report = report.clone();
    report.seconds = 0.0;
    let json = serde_json::to_string(&report).expect("serializable report");
    let stories = report.counterexamples.iter().map(|found| found.run.to_string());
    json + &stories.collect::<String>()
}

#[test]
fn report_does_not_depend_on_threads() {
    for mistake in MISTAKES {
        let run = |threads| {
            let check = Check::<Textbook>::with_protocol_config(3, mistake)
                .request_limits([2, 2, 1])
                .threads(threads);
            deterministic_content(
                &check.always(MutualExclusion::new()).check_starvation_freedom().run(),
            )
        };
        let one = run(1);
        assert_eq!(one, run(2), "{mistake:?}");
        assert_eq!(one, run(5), "{mistake:?}");
    }
}

#[test]
fn exact_mode_matches_fingerprints() {
    for mistake in MISTAKES {
        let check = || {
            let check =
                Check::<Textbook>::with_protocol_config(3, mistake).max_losses(1).max_duplicates(1);
            check
                .request_limits([1, 1, 0])
                .always(MutualExclusion::new())
                .check_starvation_freedom()
        };
        let exact = check().configure(|config| config.search.stores_whole_states = true);
        let (hashed, exact) = (check().run(), exact.run());
        assert!(hashed.missed_state_probability > 0.0 && exact.missed_state_probability == 0.0);
        assert_eq!(deterministic_content(&hashed), deterministic_content(&exact), "{mistake:?}");
    }
}

#[test]
fn rebasing_keeps_judgements_in_two_hundred_cases() {
    let mut cases = 0;
    for mistake in MISTAKES {
        for order in [Channel::Fifo, Channel::Reordered] {
            for entries in [&[1, 1][..], &[2, 1], &[3, 1], &[2, 3], &[1; 3]] {
                let size = entries.len() as u32;
                for (lost, doubled) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                    if size == 3 && lost + doubled > 0 {
                        continue;
                    }
                    let check = || {
                        let check = Check::<Textbook>::with_protocol_config(size, mistake)
                            .request_limits(entries);
                        let check =
                            check.channel_order(order).max_losses(lost).max_duplicates(doubled);
                        safe_and_live(check.threads(1)).always(Fencing::new())
                    };
                    let (plain, rebased) =
                        (check().run(), check().reducing_by_timestamp_shifts().run());
                    let case = (mistake, order, entries, lost, doubled);
                    assert!(rebased.states <= plain.states, "{case:?}: {plain}{rebased}");
                    assert_eq!(verdicts(&plain), verdicts(&rebased), "{case:?}");
                    cases += 1;
                }
            }
        }
    }
    assert!(cases >= 200, "only {cases} pairs of searches");
}

#[test]
fn limit_makes_judgement_incomplete() {
    let check = || safe_and_live(Check::<Textbook>::new(3).request_limits(2));
    let states = check().max_states(1_000).run();
    assert_eq!(states.judgement(), Judgement::Incomplete);
    assert_eq!(states.reached_limit, Some(StopReason::States));
    let memory = check().configure(|it| it.search.limits.bytes = Some(1 << 16)).run();
    assert_eq!(
        (memory.judgement(), memory.reached_limit),
        (Judgement::Incomplete, Some(StopReason::Memory))
    );
    let time = check().configure(|it| it.search.limits.time = Some(Duration::ZERO)).run();
    assert_eq!(
        (time.judgement(), time.reached_limit),
        (Judgement::Incomplete, Some(StopReason::Time))
    );
    let raised = Arc::new(AtomicBool::new(true));
    let stopped = check().configure(|it| it.search.stop_flag = Some(raised)).run();
    assert_eq!(
        (stopped.judgement(), stopped.reached_limit),
        (Judgement::Incomplete, Some(StopReason::Stopped))
    );
}

/// A limited search may report that no step violates a property within some depth. The shortest
/// counterexample must then be longer than this depth, unless the report names a bound that pruned
/// states.
#[test]
fn limited_search_overstates_no_depth() {
    let check = || {
        let variants = Variants::none().with(central::VariantId::UntaggedGrant);
        let config = central::Config { variants, ..central::Config::default() };
        let check =
            with::<Central>(3, config).request_limits([0, 2, 2]).max_duplicates(1).threads(1);
        check.always(MutualExclusion::new())
    };
    let claimed = |report: &CheckReport| {
        let text = report.to_string();
        let rest = text.split("within depth ").nth(1)?.to_owned();
        let depth = rest.split(' ').next()?.parse::<usize>().ok()?;
        Some((depth, rest.contains("1 message on a link")))
    };
    let shortest =
        check().run().counterexample("mutual-exclusion").expect("two enter").step_count();
    let mut beyond = 0;
    for states in 1..=150 {
        let plain = claimed(&check().max_states(states).run());
        assert!(plain.is_none_or(|(depth, _)| depth < shortest), "{states}: {plain:?}");
        let bounded = claimed(&check().in_flight_per_link(1).max_states(states).run());
        let is_true = |(depth, names_bound)| depth < shortest || names_bound;
        assert!(bounded.is_none_or(is_true), "{states}: {bounded:?}");
        beyond += usize::from(bounded.is_some_and(|(depth, _)| depth >= shortest));
    }
    assert!(beyond > 0, "the bound prunes the shortest counterexample");
}

/// If the caller stops the check between the search and the analysis of liveness, the check skips
/// the analysis. The test sets the stop flag when the search checks its limits for the last time.
#[test]
fn stopped_search_skips_liveness_analysis() {
    let raised = Arc::new(AtomicBool::new(false));
    let check = safe_and_live(Check::<Textbook>::new(3).request_limits(2));
    let raise = raised.clone();
    let late = check.max_states(1_000).configure(|config| {
        config.search.stop_flag = Some(raised);
        config.search.on_progress = Some(Arc::new(move |progress: &SearchProgress| {
            raise.fetch_or(progress.states >= 1_000, Ordering::Relaxed);
        }));
    });
    let report = late.run();
    assert_eq!(
        (report.judgement(), report.reached_limit),
        (Judgement::Incomplete, Some(StopReason::Stopped))
    );
    assert!(report.states >= 1_000, "the states seen are reported");
}

/// A level of the search with many states is expanded block by block. The progress then shows how
/// many states of the level are left.
#[test]
fn progress_excludes_expanded_states_of_a_level() {
    let reports = Arc::new(Mutex::new(Vec::<SearchProgress>::new()));
    let seen = Arc::clone(&reports);
    let check = Check::<Textbook>::new(4).max_states(1_000_000).configure(|config| {
        config.search.on_progress = Some(Arc::new(move |progress: &SearchProgress| {
            seen.lock().expect("no report panics").push(*progress);
        }));
    });
    let _ = check.always(MutualExclusion::new()).run();
    let reports = reports.lock().expect("no report panics");
    let pairs = || reports.windows(2).map(|pair| (pair[0], pair[1]));
    assert!(pairs().all(|(before, after)| before.states <= after.states));
    let mut levels = pairs().filter(|(before, after)| before.depth == after.depth).peekable();
    assert!(levels.peek().is_some(), "no level has several blocks: {reports:?}");
    assert!(levels.all(|(before, after)| after.waiting < before.waiting), "{reports:?}");
}

#[test]
fn violation_found_before_limit_is_reported() {
    let wrong =
        Check::<Textbook>::with_protocol_config(3, Mistake::NoTieBreakReply).request_limits(3);
    let report =
        wrong.always(MutualExclusion::new()).check_starvation_freedom().max_states(30_000).run();
    violates(&report, "mutual-exclusion");
    assert_eq!(report.judgement(), Judgement::Violated);
}

#[test]
fn rejects_check_beyond_card() {
    const P1: [ProcessId; 1] = [ProcessId(0)];
    fn assuming<P: Checkable>(check: Check<P>, card: &Card) -> Check<P> {
        check.configure(|config| config.model.assumed_card = Some(card.clone()))
    }
    let card = Lamport::card(&Default::default(), 2);
    let check = || of::<Lamport>(2).always(MutualExclusion::new());
    assert_eq!(assuming(check().fifo(), &card).run().judgement(), Judgement::Holds);
    assert_eq!(check().run().judgement(), Judgement::Violated, "no card was assumed");
    for (beyond, description) in [
        (check(), "lamport: the channels reorder, and its card says: needs channels in order"),
        (check().fifo().max_losses(1), "messages are lost, and its card says"),
        (check().fifo().max_crashes(1), "a process crashes, and its card says"),
        (check().fifo().partitioning(P1), "a partition loses messages, and its card says"),
        (check().fifo().initially_down(P1), "a process is down from the start, and its card says"),
    ] {
        let refused = assuming(beyond, &card).try_run();
        let refused = refused.expect_err("the check exceeds the card").to_string();
        assert!(refused.contains(description), "{refused}");
    }
    let card = RicartAgrawala::card(&Default::default(), 2);
    let duplicating = of::<RicartAgrawala>(2).max_duplicates(1);
    assert!(assuming(duplicating, &card).try_run().is_ok());
}

#[test]
fn rejects_invalid_checks_with_message() {
    let refused = |check: Check<Textbook>| check.try_run().expect_err("invalid check");
    let none = refused(Check::new(0));
    assert_eq!(none, CheckError::Size { size: 0, max: 31 });
    assert_eq!(none.to_string(), "invalid number of processes 0: expected 1 to 31");
    let entries = refused(Check::new(3).request_limits([1, 1]));
    assert_eq!(entries.to_string(), "invalid number of entries 2: expected one per process, of 3");
    let down = refused(Check::new(2).initially_down([ProcessId(2)]));
    assert_eq!(down.to_string(), "unknown process P3: the group has 2 processes");
    let faults = refused(Check::new(2).max_losses(32));
    assert!(faults.to_string().ends_with("messages 32: expected at most 31"), "{faults}");
    let endless = refused(Check::new(2).request_limits(RequestLimit::Unbounded));
    assert!(endless.to_string().contains("shifting of timestamps"));
    let back = Check::new(2)
        .request_limits(RequestLimit::Unbounded)
        .reducing_by_timestamp_shifts()
        .max_crashes(1)
        .max_recoveries(1);
    assert_eq!(refused(back), CheckError::UnshiftedTimestamps);
    let order = Check::new(2)
        .request_limits(RequestLimit::Unbounded)
        .reducing_by_timestamp_shifts()
        .always(RequestOrder::new());
    assert_eq!(refused(order), CheckError::UnboundedOrder);
}

#[test]
fn shipped_algorithms_are_safe_and_live_for_three() {
    let lamport = of::<Lamport>(3).request_limits([2, 1, 0]).fifo();
    explored(lamport);
    explored(of::<RicartAgrawala>(3).request_limits([2, 1, 1]));
}

/// A state of the search has 32 bits for marks. The search needs one mark for each process, and one
/// for each monitor that judges the ends of runs.
#[test]
fn largest_group_has_room_for_promised_properties() {
    let check = |size| {
        let check = with::<RicartAgrawala>(size, Variants::none()).max_states(10).threads(1);
        let card = RicartAgrawala::card(&Variants::none(), size);
        let budget = || MessageBudget::from_cost(&card.messages).expect("an exact cost");
        let check = check.always(MutualExclusion::new()).always(Fencing::new());
        (check.always_and_at_end(budget()).check_starvation_freedom(), budget())
    };
    for size in [30, 31] {
        let report = check(size).0.try_run().expect("a valid check");
        assert_eq!(report.judgement(), Judgement::Incomplete, "{report}");
    }
    let (check, budget) = check(31);
    let error = check.always_and_at_end(budget).try_run().expect_err("33 marks");
    assert_eq!(error, CheckError::MonitorsOfEnds { monitors: 2, size: 31, max: 1 });
}
