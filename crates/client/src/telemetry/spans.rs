//! Spans of the crate `tracing`.

use std::time::Duration;

use tracing::Span;
use tracing::field::Empty;

use crate::session::Session;

pub(crate) fn session(lease: i64, ttl: Duration) -> Span {
    tracing::info_span!("session", lease = format_args!("{lease:x}"), ttl = ttl.as_secs())
}

/// Returns the span of a wait in a queue. `name` is the name of the lock or election.
pub(crate) fn acquire(session: &Session, name: &str) -> Span {
    let lease = session.id();
    tracing::info_span!("acquire", name, lease = format_args!("{lease:x}"), fence = Empty)
}

pub(crate) fn campaign(session: &Session, name: &str) -> Span {
    let lease = session.id();
    tracing::info_span!("campaign", name, lease = format_args!("{lease:x}"), fence = Empty)
}

pub(crate) fn record_acquired(span: &Span, fence: u64) {
    span.record("fence", fence);
    tracing::debug!(parent: span, "acquired");
}
