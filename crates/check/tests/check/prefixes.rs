//! Tests of steps that are prescribed before the search.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::Lamport;

use crate::by_service::{after, with};

/// Steps among which the test chooses. The kind of a message selects it on a reordering link.
const STEPS: [&str; 10] = [
    "enter p1",
    "enter p2",
    "exit p1",
    "exit p2",
    "deliver p1→p2 request",
    "deliver p1→p2 reply",
    "deliver p1→p2 release",
    "deliver p2→p1 request",
    "deliver p2→p1 reply",
    "deliver p2→p1 release",
];

/// Returns true if the steps in `prefix` are possible.
fn is_possible(prefix: &str, shifts: bool) -> bool {
    let check = with::<Lamport>(2, Variants::none()).request_limits(3).max_states(1);
    let check = if shifts { check.reducing_by_timestamp_shifts() } else { check };
    after(check, prefix).try_run().is_ok()
}

/// A reordering link sorts its messages by their content, which the reduction changes. The selected
/// message is the same nevertheless.
#[test]
fn timestamp_shifts_keep_the_selected_messages() {
    let mut prefixes = vec![String::new()];
    let mut compared = 0;
    for _ in 0..8 {
        let mut longer = Vec::new();
        for prefix in &prefixes {
            for step in STEPS {
                let candidate = format!("{prefix}{step}; ");
                let possible = is_possible(&candidate, false);
                assert_eq!(is_possible(&candidate, true), possible, "{candidate}");
                compared += 1;
                if possible {
                    longer.push(candidate);
                }
            }
        }
        // The number of prefixes would grow without bound.
        prefixes = longer.split_off(longer.len().saturating_sub(40));
    }
    assert!(compared > 1000, "{compared} prefixes");
}
