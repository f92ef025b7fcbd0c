//! Why a verdict can be trusted: it does not depend on threads, on fingerprints or on
//! reductions, and nothing is called `holds` that was cut off.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tenure_algorithms::mutex::{Lamport, RicartAgrawala};
use tenure_check::{Check, Entries, Judgement, Limit, Refusal, Report};
use tenure_core::monitors::{Fencing, MutualExclusion, Order};
use tenure_core::{Algorithm, Order as Channel, ProcessId};

use crate::among::of;
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

/// Everything in a report that must not depend on how the search was done.
fn essence(report: &Report) -> String {
    let mut report = report.clone();
    report.seconds = 0.0;
    let json = serde_json::to_string(&report).expect("a report is data");
    let stories: Vec<String> =
        report.counterexamples.iter().map(|found| found.story.to_string()).collect();
    json + &stories.concat()
}

#[test]
fn any_number_of_threads_gives_the_same_report() {
    for mistake in MISTAKES {
        let run = |threads| {
            let check = Check::<Textbook>::with(3, mistake).entries([2, 2, 1]).threads(threads);
            essence(&check.always(MutualExclusion::new()).starvation_free().run())
        };
        let one = run(1);
        assert_eq!(one, run(2), "{mistake:?}");
        assert_eq!(one, run(5), "{mistake:?}");
    }
}

#[test]
fn whole_states_and_fingerprints_agree() {
    for mistake in MISTAKES {
        let check = || {
            let check = Check::<Textbook>::with(3, mistake).losing(1).duplicating(1);
            check.entries([1, 1, 0]).always(MutualExclusion::new()).starvation_free()
        };
        let (hashed, exact) = (check().run(), check().exact().run());
        assert!(hashed.missed > 0.0 && exact.missed == 0.0);
        assert_eq!(essence(&hashed), essence(&exact), "{mistake:?}");
    }
}

#[test]
fn rebasing_changes_no_verdict_and_no_length_in_two_hundred_cases() {
    let mut cases = 0;
    for mistake in MISTAKES {
        for order in [Channel::Fifo, Channel::Reordered] {
            for (size, entries) in [
                (2, vec![1, 1]),
                (2, vec![2, 1]),
                (2, vec![3, 1]),
                (2, vec![2, 3]),
                (3, vec![1; 3]),
            ] {
                for (lost, doubled) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                    if size == 3 && lost + doubled > 0 {
                        continue;
                    }
                    let entries: Vec<Entries> =
                        entries.iter().copied().map(Entries::AtMost).collect();
                    let check = || {
                        let check =
                            Check::<Textbook>::with(size, mistake).channel(order).threads(1);
                        let check =
                            check.entries(entries.clone()).losing(lost).duplicating(doubled);
                        check
                            .always(MutualExclusion::new())
                            .always(Fencing::new())
                            .starvation_free()
                    };
                    let (plain, rebased) = (check().run(), check().rebasing().run());
                    let counts = (plain.states, rebased.states);
                    assert!(
                        counts.1 <= counts.0,
                        "{mistake:?} {order:?} {entries:?} {lost} {doubled} {counts:?}"
                    );
                    let case = (mistake, order, &entries, lost, doubled);
                    assert_eq!(verdicts(&plain), verdicts(&rebased), "{case:?}");
                    cases += 1;
                }
            }
        }
    }
    assert!(cases >= 200, "{cases} pairs of searches were compared");
}

#[test]
fn a_limit_makes_a_verdict_incomplete_and_never_holds() {
    let check =
        || Check::<Textbook>::of(3).entries(2).always(MutualExclusion::new()).starvation_free();
    let states = check().max_states(1_000).run();
    assert_eq!(states.judgement(), Judgement::Incomplete);
    assert_eq!(states.limit, Some(Limit::States));
    let memory = check().max_memory(1 << 16).run();
    assert_eq!((memory.judgement(), memory.limit), (Judgement::Incomplete, Some(Limit::Memory)));
    let time = check().max_time(std::time::Duration::ZERO).run();
    assert_eq!((time.judgement(), time.limit), (Judgement::Incomplete, Some(Limit::Time)));
    let stopped = check().stop_when(Arc::new(AtomicBool::new(true))).run();
    assert_eq!((stopped.judgement(), stopped.limit), (Judgement::Incomplete, Some(Limit::Stopped)));
}

/// The flag is raised when the last limit is being looked at: the search is over then, and what
/// takes as long as half of it is still to come.
#[test]
fn whoever_stops_a_search_is_not_kept_waiting_for_its_judgement() {
    let raised = Arc::new(AtomicBool::new(false));
    let check =
        Check::<Textbook>::of(3).entries(2).always(MutualExclusion::new()).starvation_free();
    let raise = raised.clone();
    let late = check.max_states(1_000).stop_when(raised).on_progress(move |progress| {
        raise.fetch_or(progress.states >= 1_000, Ordering::Relaxed);
    });
    let report = late.run();
    assert_eq!((report.judgement(), report.limit), (Judgement::Incomplete, Some(Limit::Stopped)));
    assert!(report.states >= 1_000, "what was seen is told");
}

#[test]
fn what_was_found_before_a_limit_stays_found() {
    let wrong = Check::<Textbook>::with(3, Mistake::NoTieBreakReply).entries(3);
    let report = wrong.always(MutualExclusion::new()).starvation_free().max_states(30_000).run();
    assert_eq!(report.of("mutual-exclusion"), Judgement::Violated);
    assert_eq!(report.judgement(), Judgement::Violated);
}

#[test]
fn a_check_that_assumes_a_card_is_refused_where_more_may_happen() {
    let card = Lamport::card(&Default::default(), 2);
    let check = || of::<Lamport>(2).always(MutualExclusion::new());
    assert_eq!(check().fifo().assuming(&card).run().judgement(), Judgement::Holds);
    assert_eq!(check().run().judgement(), Judgement::Violated, "nothing was assumed");
    for (beyond, says) in [
        (check(), "lamport: the channels reorder, and its card says: needs channels in order"),
        (check().fifo().losing(1), "messages are lost, and its card says"),
        (check().fifo().crashing(1), "a process crashes, and its card says"),
        (
            check().fifo().partitioning([ProcessId(0)]),
            "a partition loses messages, and its card says",
        ),
        (
            check().fifo().down([ProcessId(0)]),
            "a process is down from the start, and its card says",
        ),
    ] {
        let refused = beyond.assuming(&card).try_run().expect_err("it goes beyond").to_string();
        assert!(refused.contains(says), "{refused}");
    }
    let card = RicartAgrawala::card(&Default::default(), 2);
    assert!(of::<RicartAgrawala>(2).duplicating(1).assuming(&card).try_run().is_ok());
}

#[test]
fn checks_that_make_no_sense_are_refused_in_a_sentence() {
    let refused = |check: Check<Textbook>| check.try_run().expect_err("it makes no sense");
    let none = refused(Check::of(0));
    assert_eq!(none, Refusal::Size { size: 0, most: 31 });
    assert_eq!(none.to_string(), "a check takes 1 to 31 processes, not 0");
    let entries = refused(Check::of(3).entries([1, 1]));
    assert_eq!(entries.to_string(), "entries were given for 2 processes, where there are 3");
    let down = refused(Check::of(2).down([ProcessId(2)]));
    assert_eq!(down.to_string(), "P3 is not one of the 2 processes");
    let endless = refused(Check::of(2).entries(Entries::Unbounded));
    assert!(endless.to_string().contains("are not shifted"));
    let back = Check::of(2).entries(Entries::Unbounded).rebasing().crashing(1).recovering(1);
    assert_eq!(refused(back), Refusal::Unshifted);
    let order = Check::of(2).entries(Entries::Unbounded).rebasing().always(Order::new());
    assert_eq!(refused(order), Refusal::EndlessOrder);
}

#[test]
fn the_algorithms_that_ship_are_safe_and_live_for_three_with_two_entries_of_one() {
    let lamport = of::<Lamport>(3).entries([2, 1, 0]).fifo();
    lamport
        .always(MutualExclusion::new())
        .always(Fencing::new())
        .starvation_free()
        .run()
        .assert_holds();
    let ricart_agrawala = of::<RicartAgrawala>(3).entries([2, 1, 1]);
    let report =
        ricart_agrawala.always(MutualExclusion::new()).always(Fencing::new()).starvation_free();
    report.run().assert_holds();
}
