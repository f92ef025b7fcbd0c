//! Retry policy: the reaction to a failed request, and the pauses between attempts.

use std::time::Duration;

use tonic::{Code, Status};

use crate::error::ClientError;

/// Upper bound on the first pause between two attempts.
const MIN_BACKOFF: Duration = Duration::from_millis(1);

/// Upper bound on every pause between two attempts.
const MAX_BACKOFF: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryAction {
    /// Give up: every member would reject the request.
    Fail,
    /// Repeat the request on the same connection: the cause is temporary.
    Retry,
    /// Abandon the connection and repeat the request at another member.
    Failover,
}

/// Returns the reaction to a request that failed with `status`.
pub(crate) fn retry_action(status: &Status) -> RetryAction {
    // A status that the service sent has no source; a failure of the transport has one.
    let is_transport_error = std::error::Error::source(status).is_some();
    match status.code() {
        _ if is_transport_error => RetryAction::Failover,
        // The leader has rejected a change of the membership. Every member would forward the
        // request to this leader.
        Code::Unavailable if is_rejected_change(status.message()) => RetryAction::Fail,
        Code::ResourceExhausted => match is_temporary_limit(status.message()) {
            true => RetryAction::Retry,
            // The store is full, or the response is too long. Every member would repeat the
            // rejection.
            false => RetryAction::Fail,
        },
        Code::Unavailable => {
            let temporary = ["leader changed", "previous leader failure"];
            match temporary.iter().any(|cause| status.message().contains(cause)) {
                true => RetryAction::Retry,
                false => RetryAction::Failover,
            }
        }
        // After `Unauthenticated`, the new connection requests a new token.
        Code::DeadlineExceeded | Code::Cancelled | Code::Unauthenticated => RetryAction::Failover,
        _ => RetryAction::Fail,
    }
}

/// Returns true if `message` is the reason for which the leader rejects a change of the membership
/// with the code `Unavailable`.
fn is_rejected_change(message: &str) -> bool {
    let reasons = ["unhealthy cluster", "another membership change is in progress"];
    reasons.iter().any(|reason| message.contains(reason))
}

/// Returns true if the limit that a member has reached is temporary, so that a repeated request may
/// succeed soon. `message` is the message with which the member rejected the request.
fn is_temporary_limit(message: &str) -> bool {
    // The second message is that of `tenure serve` for a client that was suspended during the call.
    let temporary = ["too many requests", "dropped because the client stopped"];
    temporary.iter().any(|cause| message.contains(cause))
}

pub(crate) fn rejected_error(status: &Status) -> ClientError {
    ClientError::Rejected { code: status.code(), message: status.message().to_owned() }
}

/// Returns the status of a request to which a member did not respond in time.
pub(crate) fn no_response_status() -> Status {
    Status::deadline_exceeded("it does not respond")
}

/// Pauses between the attempts of a request, which grow up to [`MAX_BACKOFF`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    attempts: u32,
}

impl Backoff {
    /// Returns the next pause, a random duration from half of the current bound to the bound. Then
    /// doubles the bound.
    pub(crate) fn next_pause(&mut self) -> Duration {
        let bound = (MIN_BACKOFF * (1 << self.attempts.min(10))).min(MAX_BACKOFF);
        self.attempts += 1;
        bound.mul_f64(0.5 + 0.5 * fastrand::f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_failures_are_retried_and_rejections_are_not() {
        let actions = [
            (Status::unavailable("etcdserver: no leader"), RetryAction::Failover),
            (Status::unavailable("etcdserver: leader changed"), RetryAction::Retry),
            (Status::unavailable("etcdserver: unhealthy cluster"), RetryAction::Fail),
            (
                Status::unavailable("tenure: another membership change is in progress"),
                RetryAction::Fail,
            ),
            (Status::resource_exhausted("etcdserver: too many requests"), RetryAction::Retry),
            (
                Status::resource_exhausted("etcdserver: mvcc: database space exceeded"),
                RetryAction::Fail,
            ),
            (
                Status::resource_exhausted(
                    "tenure: response dropped because the client stopped reading",
                ),
                RetryAction::Retry,
            ),
            (Status::resource_exhausted("tenure: the response exceeds 64 MiB"), RetryAction::Fail),
            (Status::not_found("etcdserver: requested lease not found"), RetryAction::Fail),
            (Status::unknown("mutex: session is expired"), RetryAction::Fail),
        ];
        for (status, expected) in actions {
            assert_eq!(retry_action(&status), expected, "{status}");
        }
        let broken = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert_eq!(retry_action(&Status::from_error(broken.into())), RetryAction::Failover);
    }

    #[test]
    fn pauses_grow_to_a_bound() {
        let mut backoff = Backoff::default();
        let pauses: Vec<Duration> = (0..20).map(|_| backoff.next_pause()).collect();
        assert!(pauses[0] <= MIN_BACKOFF && pauses[19] >= MAX_BACKOFF / 2, "{pauses:?}");
        assert!(pauses.iter().all(|pause| *pause <= MAX_BACKOFF), "{pauses:?}");
    }
}
