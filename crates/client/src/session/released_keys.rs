//! Released keys that a delayed copy of a request may create again.
//!
//! If a request for a lock has no response, the client repeats it, perhaps at another member. The
//! first copy may wait in a connection for as long as a partition lasts. If it arrives after the
//! release of the lock, it creates the key again. No guard owns this key, and the session would
//! renew its lease, so the key would block the lock.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_etcd::etcdserverpb as rpc;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use crate::error::ClientError;
use crate::requests;
use crate::session::lease_keeper::SessionState;
use crate::transport::REQUEST_TIMEOUT;
use crate::transport::channel::Channel;

/// Pauses before the checks that follow a release. The last pause is repeated until the session
/// ends.
const CHECK_PAUSES: [Duration; 3] =
    [Duration::from_secs(3), Duration::from_secs(12), Duration::from_secs(30)];

/// Keys that a session has released and that may appear again. While there are such keys, a
/// background task deletes those that exist. This value does not keep the session alive.
#[derive(Debug)]
pub(crate) struct ReleasedKeys {
    channel: Arc<Channel>,
    lease: i64,
    state: watch::Receiver<SessionState>,
    pauses: [Duration; 3],
    /// The keys. Each claim has a key of its own, so no claim uses these keys again. A copy of a
    /// request may be arbitrarily old, so the keys stay here until the session ends.
    keys: Mutex<BTreeSet<Vec<u8>>>,
    added: Notify,
}

impl ReleasedKeys {
    pub(crate) fn new(
        channel: Arc<Channel>,
        lease: i64,
        state: watch::Receiver<SessionState>,
    ) -> ReleasedKeys {
        let (keys, added) = (Mutex::default(), Notify::new());
        ReleasedKeys { channel, lease, state, pauses: CHECK_PAUSES, keys, added }
    }

    /// Adds keys that the session has released. The first call starts the background task.
    pub(crate) fn add(
        self: &Arc<Self>,
        released: impl IntoIterator<Item = Vec<u8>>,
        runtime: &Handle,
    ) {
        let mut keys = self.lock();
        let is_first = keys.is_empty();
        keys.extend(released);
        drop(keys);
        match is_first {
            true => drop(runtime.spawn(self.clone().check_until_session_ends())),
            false => self.added.notify_one(),
        }
    }

    async fn check_until_session_ends(self: Arc<Self>) {
        let mut state = self.state.clone();
        let has_ended = state.wait_for(|state| !matches!(state, SessionState::Active { .. }));
        tokio::select! {
            _ = has_ended => {}
            () = self.check_repeatedly() => {}
        }
    }

    async fn check_repeatedly(&self) {
        let (mut checks, mut next) = (0, Instant::now() + self.pauses[0]);
        loop {
            tokio::select! {
                () = self.added.notified() => {
                    // A stream of releases does not postpone the next check.
                    (checks, next) = (0, next.min(Instant::now() + self.pauses[0]));
                }
                () = sleep_until(next) => {
                    // If no member responds, the next check repeats the attempt.
                    let _ = self.delete_existing().await;
                    checks = (checks + 1).min(self.pauses.len() - 1);
                    next = Instant::now() + self.pauses[checks];
                }
            }
        }
    }

    /// Deletes the keys that exist. Each has a transaction of its own, because the user may have
    /// lost the right to write one of them.
    async fn delete_existing(&self) -> Result<(), ClientError> {
        for key in self.find_existing().await? {
            match self.channel.transact_idempotent(requests::delete_txn(&key, 0)).await {
                Ok(_) | Err(ClientError::Rejected { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the keys that exist. Reads the keys of the lease: unlike the released keys, these do
    /// not become more and more. If the service rejects this request, returns all released keys.
    async fn find_existing(&self) -> Result<Vec<Vec<u8>>, ClientError> {
        let request = rpc::LeaseTimeToLiveRequest { id: self.lease, keys: true };
        let path = "/etcdserverpb.Lease/LeaseTimeToLive";
        let deadline = Instant::now() + REQUEST_TIMEOUT;
        let lease: Result<rpc::LeaseTimeToLiveResponse, _> =
            self.channel.call_idempotent(path, request, deadline).await;
        let released = self.lock();
        match lease {
            Ok(lease) => Ok(lease.keys.into_iter().filter(|key| released.contains(key)).collect()),
            // The user may not read one of the keys, or the response is too long.
            Err(ClientError::Rejected { .. }) => Ok(released.iter().cloned().collect()),
            Err(error) => Err(error),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Vec<u8>>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;
    use crate::client::Client;
    use crate::lock::transactions::read_keys_txn;
    use crate::session::release::PendingRelease;
    use crate::test_member::start_member;

    const STEP_TIMEOUT: Duration = Duration::from_secs(120);

    /// Releases a claim and its candidate's record. Then creates both keys again and again, as
    /// delayed copies of the request do.
    #[tokio::test]
    async fn released_keys_are_deleted_whenever_they_reappear() {
        let (_folder, address) = start_member().await;
        let client = Client::connect([&address]).await.expect("a connection");
        let session = client.session(Duration::from_secs(60)).await.expect("a session");
        let (channel, state) = (session.channel().clone(), session.shared.state.clone());
        let released_keys = Arc::new(ReleasedKeys {
            pauses: [Duration::from_millis(5); 3],
            ..ReleasedKeys::new(channel.clone(), session.id(), state.clone())
        });
        let keys = [b"a/1.1".to_vec(), b"a#election/candidate-1.1".to_vec()];
        let other = b"a/1".to_vec();
        let release = PendingRelease::new(
            channel.clone(),
            state,
            keys[0].clone(),
            0,
            Some(released_keys.clone()),
        );
        release
            .with_record_key(Some(keys[1].clone()))
            .finish_in_background(false, &Handle::current());
        let existing = async || {
            let read = read_keys_txn(&[&keys[..], std::slice::from_ref(&other)].concat());
            let response = channel.transact_idempotent(read).await.expect("a response");
            requests::key_values(&response).map(|kv| kv.key.clone()).collect::<Vec<_>>()
        };
        for _ in 0..6 {
            let put = |key: &Vec<u8>| requests::op(requests::put(key, Vec::new(), session.id()));
            let success = keys.iter().chain([&other]).map(put).collect();
            let create = rpc::TxnRequest { success, ..Default::default() };
            channel.transact_idempotent(create).await.expect("a response");
            let deleted = async { while existing().await.len() > 1 {} };
            timeout(STEP_TIMEOUT, deleted).await.expect("the released keys are deleted");
            assert_eq!(existing().await, std::slice::from_ref(&other));
        }
        // The background task ends with the session, and does not keep it alive.
        let task = Arc::downgrade(&released_keys);
        drop((released_keys, session));
        let ended = async {
            while task.strong_count() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(STEP_TIMEOUT, ended).await.expect("the session ends");
        assert_eq!(existing().await, Vec::<Vec<u8>>::new());
    }
}
