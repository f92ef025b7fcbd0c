//! Lamport's lock with an unbounded number of requests. The search merges states that differ only
//! by a shift of all timestamps, so the number of states is finite.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::{Lamport, lamport};
use tenure_check::{RequestLimit, ViolationKind};
use tenure_core::monitors::Fencing;

use crate::by_service::{ServiceCheck, with};
use crate::catalogue::{safe_and_live, violates};
use crate::verdicts::{states, verdicts};

const SWITCHES: [Option<lamport::VariantId>; 8] = [
    None,
    Some(lamport::VariantId::AnyMessage),
    Some(lamport::VariantId::SuppressedReplies),
    Some(lamport::VariantId::IdsAsStamps),
    Some(lamport::VariantId::ClockOnlyOwnFirst),
    Some(lamport::VariantId::ClockOnlyOtherFirst),
    Some(lamport::VariantId::OwnRequestOnTop),
    Some(lamport::VariantId::ReplyFromAll),
];

fn lamport(size: u32, switch: Option<lamport::VariantId>) -> ServiceCheck<Lamport> {
    let variants = switch.into_iter().fold(Variants::none(), Variants::with);
    safe_and_live(with::<Lamport>(size, variants))
}

#[test]
#[ignore = "long: 5 s"]
fn stamp_shifts_keep_judgements_and_lengths() {
    let mut cases = 0;
    for switch in SWITCHES {
        for (fifo, lost, doubled) in [(true, 0, 0), (true, 1, 0), (true, 0, 1), (false, 0, 0)] {
            for entries in [[1, 0], [1, 1], [2, 1]] {
                let check = || {
                    let check = lamport(2, switch).request_limits(entries).always(Fencing::new());
                    let check = check.max_losses(lost).max_duplicates(doubled);
                    if fifo { check.fifo() } else { check }
                };
                let (plain, rebased) =
                    (check().run(), check().reducing_by_timestamp_shifts().run());
                let case = (switch, fifo, lost, doubled, entries);
                assert_eq!(verdicts(&plain), verdicts(&rebased), "{case:?}");
                assert!(rebased.states <= plain.states, "{case:?}");
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 96);
}

#[test]
fn endless_requests_starve_none() {
    let sound =
        [None, Some(lamport::VariantId::AnyMessage), Some(lamport::VariantId::SuppressedReplies)];
    for switch in sound {
        let check = lamport(2, switch)
            .request_limits(RequestLimit::Unbounded)
            .reducing_by_timestamp_shifts()
            .fifo();
        assert!(states(check) > 50, "{switch:?}");
    }
}

#[test]
fn missing_tie_break_deadlocks_with_endless_requests() {
    let other_first = lamport(2, Some(lamport::VariantId::ClockOnlyOtherFirst));
    let report = other_first
        .request_limits(RequestLimit::Unbounded)
        .reducing_by_timestamp_shifts()
        .fifo()
        .run();
    violates(&report, "starvation-freedom");
    let found = report.counterexample("starvation-freedom").expect("violated property");
    assert_eq!((found.step_count(), found.kind), (2, ViolationKind::Deadlock));
}
