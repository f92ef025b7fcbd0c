//! Spans of the crate `tracing`.

use std::time::Duration;

use tracing::Span;
use tracing::field::Empty;

use crate::session::Session;

/// Returns the span of a session's background task.
pub(crate) fn session(lease: i64, ttl: Duration) -> Span {
    tracing::info_span!("session", lease = format_args!("{lease:x}"), ttl = ttl.as_secs())
}

/// Returns the span of a wait in the queue of a lock or an election. `name` is that of the queue.
pub(crate) fn acquire(session: &Session, name: &str) -> Span {
    let lease = session.id();
    tracing::info_span!("acquire", name, lease = format_args!("{lease:x}"), fence = Empty)
}

/// Returns the span of a candidacy.
pub(crate) fn campaign(session: &Session, name: &str) -> Span {
    let lease = session.id();
    tracing::info_span!("campaign", name, lease = format_args!("{lease:x}"), fence = Empty)
}

/// Records the fencing token in the span of a wait that has succeeded.
pub(crate) fn acquired(span: &Span, fence: u64) {
    span.record("fence", fence);
    tracing::debug!(parent: span, "acquired");
}
