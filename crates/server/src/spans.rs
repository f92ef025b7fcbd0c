//! Spans of a request: `receive` contains `propose`, which contains `commit` and `apply`.
//!
//! A span that no subscriber observes costs one comparison. Only the member that received the
//! request creates spans for it. If this member forwards a command to the leader, the leader
//! creates no spans for this command.

use tracing::{Span, debug_span};

/// Target of the spans, for filters.
pub const REQUEST_SPAN_TARGET: &str = "tenure::request";

/// Returns the span of a call, from the arrival of its headers to the beginning of its response.
pub(crate) fn receive_span(path: &str) -> Span {
    debug_span!(target: REQUEST_SPAN_TARGET, "receive", path)
}

/// Returns the span of a command, from its admission until its outcome is known or its proposal
/// fails. `bytes` is the length of the encoded command.
pub(crate) fn propose_span(bytes: usize) -> Span {
    debug_span!(target: REQUEST_SPAN_TARGET, "propose", bytes)
}

/// Returns the span from an attempt to propose a command until the command is committed. `propose`
/// is the parent of this span.
pub(crate) fn commit_span(propose: &Span) -> Span {
    debug_span!(target: REQUEST_SPAN_TARGET, parent: propose, "commit")
}

/// Returns the span in which this member executes a committed command.
pub(crate) fn apply_span(propose: &Span, index: u64, term: u64) -> Span {
    debug_span!(target: REQUEST_SPAN_TARGET, parent: propose, "apply", index, term)
}
