//! Method `Observe` of the election service: streams the current leader, and each change.

use std::sync::Arc;

use tenure_store::{Bytes, EventKind, KeyValue, WatchFilter};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Response, Status};

use crate::auth::caller::Caller;
use crate::log::state::{WatchStreamSignal, WatcherId};
use crate::rpc::convert;
use crate::rpc::election::{candidate_span, current_leader};
use crate::rpc::error::RpcError;
use crate::rpc::{ResponseSender, spawn_response_stream};
use tenure_etcd::v3electionpb as rpc;

const OBSERVE: &str = "/v3electionpb.Election/Observe";

/// Upper bound on the events at which one read of the history ends. The state is locked during the
/// read.
const MAX_EVENTS_PER_SCAN: usize = 1000;

/// Streams the current leader of an election, each value that the leader proclaims, and each next
/// leader. Sends nothing while the election has no leader.
pub(crate) async fn observe(
    caller: Caller,
    request: rpc::LeaderRequest,
) -> Result<Response<ReceiverStream<Result<rpc::LeaderResponse, Status>>>, RpcError> {
    let name = Bytes::from(request.name);
    let observed = spawn_response_stream(|responses| Observer::new(caller, name, responses).run());
    Ok(Response::new(observed))
}

struct Observer {
    caller: Caller,
    name: Bytes,
    signal: Arc<WatchStreamSignal>,
    watcher: WatcherId,
    responses: ResponseSender<rpc::LeaderResponse>,
    /// Leader that was sent last; `None` while the election has no leader.
    leader: Option<Arc<KeyValue>>,
}

/// Next step of an observer.
enum NextStep {
    /// Read the current leader from the store.
    ReadLeader,
    /// Read the next events from the history.
    ReadEvents,
    /// Wait for an event.
    Wait,
}

impl Observer {
    fn new(caller: Caller, name: Bytes, responses: ResponseSender<rpc::LeaderResponse>) -> Self {
        let signal = Arc::default();
        let watcher = caller.with_state(|state| state.subscribe(&candidate_span(&name), &signal));
        Observer { caller, name, signal, watcher, responses, leader: None }
    }

    async fn run(mut self) {
        if let Err(error) = self.follow().await {
            let status = self.caller.record_rejection(OBSERVE, &error);
            let _ = self.responses.send(Err(status)).await;
        }
    }

    /// Sends the current leader, each value that it proclaims, and each later leader, until the
    /// client closes the stream or loses the right to read the election. Skips leaders that were
    /// replaced within one revision or whose events were compacted.
    async fn follow(&mut self) -> Result<(), RpcError> {
        // This observer counts already.
        if self.caller.with_state(|state| state.has_too_many_watchers()) {
            return Err(RpcError::TOO_MANY_REQUESTS);
        }
        self.caller.wait_linearizable().await.map_err(|_| RpcError::NO_LEADER)?;
        self.check_read()?;
        let mut next = NextStep::ReadLeader;
        let mut from = 0;
        loop {
            // The right to read the election may have been revoked.
            self.check_read()?;
            let mut leaders = Vec::new();
            match next {
                NextStep::ReadEvents => (leaders, next) = self.next_leaders(&mut from),
                NextStep::ReadLeader => {
                    let (revision, now) = current_leader(&self.caller, &self.name).await?;
                    leaders.extend(now.clone().filter(|_| now != self.leader));
                    self.leader = now;
                    (from, next) = (revision + 1, NextStep::ReadEvents);
                }
                NextStep::Wait => {
                    drop(self.signal.wait_and_take_pending().await);
                    next = NextStep::ReadEvents;
                }
            }
            for kv in leaders {
                if self.send(kv).await.is_err() {
                    return Ok(());
                }
            }
        }
    }

    fn check_read(&self) -> Result<(), RpcError> {
        self.caller.check_access(|access, principal| {
            access.authorize_read(principal, &candidate_span(&self.name))
        })
    }

    /// Reads a batch of events from the revision `from` on, and sets `from` to the revision at
    /// which the next batch begins. Returns the new leaders according to these events, in order,
    /// and the next step. Stores the last leader in `self.leader`.
    fn next_leaders(&mut self, from: &mut u64) -> (Vec<Arc<KeyValue>>, NextStep) {
        let watch = WatchFilter {
            span: candidate_span(&self.name),
            start_revision: *from,
            ..WatchFilter::default()
        };
        let past = self.caller.with_state(|state| {
            let is_new = *from <= state.store.revision();
            is_new.then(|| state.store.past_events(&watch, *from, MAX_EVENTS_PER_SCAN))
        });
        let mut leaders = Vec::new();
        let past = match past {
            None => return (leaders, NextStep::Wait),
            // The history was compacted: skip to the current leader.
            Some(Err(_)) => return (leaders, NextStep::ReadLeader),
            Some(Ok(past)) => past,
        };
        for event in past.events {
            let is_leaders = self.leader.as_ref().is_some_and(|it| it.key == event.kv.key);
            match event.kind {
                EventKind::Put if is_leaders || self.leader.is_none() => {
                    self.leader = Some(event.kv.clone());
                    leaders.push(event.kv);
                }
                EventKind::Delete if is_leaders => {
                    // As at etcd, leaders that were replaced within one revision are skipped.
                    self.leader = None;
                    return (leaders, NextStep::ReadLeader);
                }
                EventKind::Put | EventKind::Delete => {}
            }
        }
        *from = past.next_revision;
        (leaders, NextStep::ReadEvents)
    }

    async fn send(&self, kv: Arc<KeyValue>) -> Result<(), ()> {
        let header = self.caller.current_response_header();
        let response = rpc::LeaderResponse { header, kv: Some(convert::kv(&kv)) };
        self.responses.send(Ok(response)).await.map_err(|_| ())
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.caller
            .with_state(|state| state.unsubscribe(&candidate_span(&self.name), self.watcher));
    }
}

#[cfg(test)]
mod tests {
    use tenure_store::{Command, Delete, KeySpan, Put, Txn, TxnOperation};

    use super::*;
    use crate::test_member::{TestCall, TestMember};

    fn put(key: &str) -> TxnOperation {
        TxnOperation::Put(Put { key: key.into(), ..Put::default() })
    }

    fn delete(key: &str) -> TxnOperation {
        TxnOperation::Delete(Delete { span: KeySpan::single(key), prev_kv: false })
    }

    fn txn(success: Vec<TxnOperation>) -> Command {
        Command::Txn(Txn { success, ..Txn::default() })
    }

    async fn next(call: &mut TestCall<rpc::LeaderResponse>) -> (Vec<u8>, i64) {
        let response = call.next_response().await.expect("a response").expect("another response");
        let kv = response.kv.expect("a leader");
        (kv.key, kv.mod_revision)
    }

    async fn observe_first_leader(member: &TestMember) -> TestCall<rpc::LeaderResponse> {
        member.execute(txn(vec![put("e/0")])).await;
        let mut call = member.call(OBSERVE).await;
        call.send(&rpc::LeaderRequest { name: b"e".to_vec() }).await;
        call.end_requests();
        assert_eq!(next(&mut call).await, (b"e/0".to_vec(), 2));
        call
    }

    #[tokio::test]
    async fn new_leader_is_reported_once() {
        let member = TestMember::start();
        let mut call = observe_first_leader(&member).await;
        member.execute(txn(vec![delete("e/0"), put("e/1")])).await;
        assert_eq!(next(&mut call).await, (b"e/1".to_vec(), 3));
        member.execute(txn(vec![put("e/2"), delete("e/1")])).await;
        assert_eq!(next(&mut call).await, (b"e/2".to_vec(), 4));
        member.execute(txn(vec![delete("e/2")])).await;
        member.execute(txn(vec![put("e/1")])).await;
        assert_eq!(next(&mut call).await, (b"e/1".to_vec(), 6));
    }

    #[tokio::test]
    async fn slow_reader_receives_only_the_current_leader() {
        let member = TestMember::start();
        let mut call = observe_first_leader(&member).await;
        // The observer cannot run meanwhile: this task blocks the only thread and holds the lock.
        member.member.with_state(|state| {
            for index in 0..5000 {
                let (old, new) = (format!("e/{index}"), format!("e/{}", index + 1));
                let at = tenure_store::LogPosition { index: 1000 + index, term: 1 };
                let change = txn(vec![put(&new), delete(&old)]);
                let done = state.apply(at, &tenure_store::Principal::Member, change);
                assert!(done.result.is_ok(), "{done:?}");
            }
        });
        assert_eq!(next(&mut call).await, (b"e/5000".to_vec(), 5002));
        member.member.with_state(|state| {
            let at = tenure_store::LogPosition { index: 10_000, term: 1 };
            let done = state.apply(at, &tenure_store::Principal::Member, txn(vec![put("e/5000")]));
            assert!(done.result.is_ok(), "{done:?}");
        });
        assert_eq!(next(&mut call).await, (b"e/5000".to_vec(), 5003));
    }
}
