//! Helpers for the tests of monitors.

use crate::monitor::{Monitor, Observation};
use crate::process::ProcessId;

/// Returns true if no event violates the property. Each element of `events` holds the number of the
/// process, from 0, and the event.
pub(super) fn holds_for_events<C, E>(mut monitor: impl Monitor<C, E>, events: &[(u32, E)]) -> bool {
    let mut judged =
        events.iter().map(|(at, event)| monitor.observe(ProcessId(*at), Observation::Event(event)));
    judged.all(|it| it.is_ok())
}
