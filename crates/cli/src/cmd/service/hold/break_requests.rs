//! Requests by which other clients ask this client to give up a lock or a leadership.
//! `tenure locks break` writes such a request into the holder's key.

use std::future::Future;

use tenure_client::{Client, KeyChange};
use tokio::task::JoinSet;

use super::held::HeldClaims;
use crate::cmd::service::client_description::ClientDescription;

/// Receiver of requests to give up the locks or the leadership that this process holds.
#[derive(Debug)]
pub(super) struct BreakRequests {
    watches: JoinSet<String>,
}

impl BreakRequests {
    /// Watches the keys of the locks or of the leadership in `held`. A write by another client to
    /// one of these keys requests that this process give up the lock or the leadership.
    ///
    /// For locks, `own` is the value that this process stores in the keys. A write of any other
    /// value is a request. For a leadership, `own` is `None`, and every write is a request, even if
    /// it does not change the value.
    pub(super) fn watch(client: &Client, held: &HeldClaims, own: Option<&[u8]>) -> BreakRequests {
        let mut watches = JoinSet::new();
        for (key, fence) in held.claims() {
            let mut changes = client.key_changes(key, fence + 1);
            let own = own.map(<[u8]>::to_vec);
            watches.spawn(async move {
                loop {
                    match changes.next().await {
                        KeyChange::Put { value, .. } if Some(&value) != own.as_ref() => {
                            return describe(&value);
                        }
                        // The loss of the key is detected elsewhere.
                        KeyChange::Put { .. }
                        | KeyChange::Deleted { .. }
                        | KeyChange::HistoryCompacted => {}
                    }
                }
            });
        }
        BreakRequests { watches }
    }

    pub(super) fn none() -> BreakRequests {
        BreakRequests { watches: JoinSet::new() }
    }

    /// Waits until another client requests the end of a lock or leadership, or until `other`
    /// completes. Returns the reason why this process must give up its locks or its leadership.
    /// Dropping the future loses no request.
    pub(super) async fn next_break_reason_or(
        &mut self,
        mut other: impl Future<Output = String> + Unpin,
    ) -> String {
        loop {
            tokio::select! {
                Some(request) = self.watches.join_next() => {
                    if let Ok(reason) = request {
                        return reason;
                    }
                }
                reason = &mut other => return reason,
            }
        }
    }
}

fn describe(value: &[u8]) -> String {
    match ClientDescription::decode(value).and_then(|client| client.breaker()) {
        Some(breaker) => format!("{breaker} broke it"),
        None => "another client broke it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_names_the_breaker() {
        let [holder, breaker] =
            ["report.sh", "tenure"].map(|it| ClientDescription::of_this_process(it.into()));
        let value = holder.with_breaker(&breaker).encode();
        assert_eq!(describe(&value), format!("{breaker} broke it"));
        assert_eq!(describe(b"host-7"), "another client broke it");
        assert_eq!(describe(&holder.encode()), "another client broke it");
    }
}
