//! The last failure of each endpoint, for error messages.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tonic::Status;

/// Last failure of each endpoint since a member served a request.
#[derive(Debug, Default)]
pub(crate) struct EndpointFailures(Mutex<Vec<EndpointFailure>>);

#[derive(Debug)]
struct EndpointFailure {
    /// Address of the endpoint, as `host:port`.
    address: String,
    reason: String,
}

impl EndpointFailures {
    /// Records the failure of the endpoint with this address. Replaces the earlier failure of the
    /// endpoint.
    pub(crate) fn record(&self, address: &str, status: &Status) {
        let reason = status.message().to_owned();
        let mut failures = self.lock();
        match failures.iter_mut().find(|known| known.address == address) {
            Some(known) => known.reason = reason,
            None => failures.push(EndpointFailure { address: address.to_owned(), reason }),
        }
    }

    /// Removes all failures, because a member has served a request.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// Returns the reasons of all failures, without addresses. Returns `None` if there is no
    /// failure.
    pub(crate) fn reasons(&self) -> Option<String> {
        self.join(|it| it.reason.clone())
    }

    /// Returns the reasons of all failures, each with the address of its endpoint. Returns `None`
    /// if there is no failure.
    pub(crate) fn reasons_with_addresses(&self) -> Option<String> {
        self.join(|it| format!("{}: {}", it.address, it.reason))
    }

    fn join(&self, describe: impl Fn(&EndpointFailure) -> String) -> Option<String> {
        let failures: Vec<String> = self.lock().iter().map(describe).collect();
        (!failures.is_empty()).then(|| failures.join("; "))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<EndpointFailure>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_failure_of_each_endpoint_is_kept_until_a_success() {
        let failures = EndpointFailures::default();
        assert_eq!(failures.reasons_with_addresses(), None);
        for (address, reason) in [("a:1", "no leader"), ("b:1", "refused"), ("a:1", "no answer")] {
            failures.record(address, &Status::unavailable(reason));
        }
        let described = failures.reasons_with_addresses();
        assert_eq!(described.as_deref(), Some("a:1: no answer; b:1: refused"));
        assert_eq!(failures.reasons().as_deref(), Some("no answer; refused"));
        failures.clear();
        assert_eq!(failures.reasons(), None);
    }
}
