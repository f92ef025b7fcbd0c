//! Who leads an election, told whenever that changes.

use std::sync::Arc;

use tenure_store::{Bytes, KeyValue, Kind, Watch};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use crate::caller::Caller;
use crate::convert;
use crate::refusal::Refusal;
use crate::rpc::election::{below, head};
use crate::state::{Signal, WatcherId};
use tenure_etcd::v3electionpb as rpc;

/// How many answers wait for a client at most.
const AHEAD: usize = 1;

/// How many changes are looked at while nobody else has the store.
const MOST: usize = 1000;

/// Tells who leads now, each of their proclamations, and who leads when they do no longer; nothing
/// while there is nobody.
pub(crate) fn observe(
    member: Caller,
    asked: rpc::LeaderRequest,
) -> ReceiverStream<Result<rpc::LeaderResponse, Status>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    tokio::spawn(async move {
        let gone = sender.clone();
        let observer = Observer::new(member, Bytes::from(asked.name), sender);
        tokio::select! {
            () = gone.closed() => {}
            () = observer.run() => {}
        }
    });
    ReceiverStream::new(receiver)
}

struct Observer {
    member: Caller,
    name: Bytes,
    signal: Arc<Signal>,
    watcher: WatcherId,
    answers: mpsc::Sender<Result<rpc::LeaderResponse, Status>>,
    /// Who leads, as was told last.
    leader: Option<Arc<KeyValue>>,
}

impl Observer {
    fn new(
        member: Caller,
        name: Bytes,
        answers: mpsc::Sender<Result<rpc::LeaderResponse, Status>>,
    ) -> Self {
        let signal = Arc::default();
        let watcher = member.look(|state| state.subscribe(&below(&name), &signal));
        Observer { member, name, signal, watcher, answers, leader: None }
    }

    async fn run(mut self) {
        if self.member.confirm().await.is_err() {
            let _ = self.answers.send(Err(Refusal::NO_LEADER.into())).await;
            return;
        }
        if let Err(refused) = self.may_see() {
            let _ = self.answers.send(Err(refused.into())).await;
            return;
        }
        let (mut next, now) =
            self.member.look(|state| (state.store.revision() + 1, head(&state.store, &self.name)));
        self.leader.clone_from(&now);
        if self.tell(now).await.is_err() {
            return;
        }
        loop {
            // A right may be taken away.
            if let Err(refused) = self.may_see() {
                let _ = self.answers.send(Err(refused.into())).await;
                return;
            }
            let (news, from) = self.look(next);
            for kv in news {
                if self.tell(Some(kv)).await.is_err() {
                    return;
                }
            }
            match from {
                Some(from) => next = from,
                None => drop(self.signal.wait().await),
            }
        }
    }

    fn may_see(&self) -> Result<(), Refusal> {
        self.member.may(|access, asker| access.may_read(asker, &below(&self.name)))
    }

    /// Some of what is to be told from a revision on, and from where to look next; nothing where
    /// there is no more by now.
    fn look(&mut self, from: u64) -> (Vec<Arc<KeyValue>>, Option<u64>) {
        let member = self.member.clone();
        let state = member.shared.lock();
        let store = &state.store;
        let watch = Watch { span: below(&self.name), start_revision: from, ..Watch::default() };
        if from > store.revision() {
            return (Vec::new(), None);
        }
        let mut news = Vec::new();
        let Ok(replay) = store.replay(&watch, from, MOST) else {
            // Too late for what was between: who leads now is told.
            let now = head(store, &self.name).filter(|now| Some(now) != self.leader.as_ref());
            self.leader.clone_from(&now);
            news.extend(now);
            return (news, Some(store.revision() + 1));
        };
        for event in replay.events {
            let is_leaders = self.leader.as_ref().is_some_and(|it| it.key == event.kv.key);
            match event.kind {
                Kind::Put if is_leaders || self.leader.is_none() => {
                    self.leader = Some(event.kv.clone());
                    news.push(event.kv);
                }
                Kind::Delete if is_leaders => {
                    // As in etcd: of who led for a moment between nothing is told.
                    self.leader = head(store, &self.name);
                    news.extend(self.leader.clone());
                    return (news, Some(store.revision() + 1));
                }
                Kind::Put | Kind::Delete => {}
            }
        }
        (news, Some(replay.next))
    }

    async fn tell(&self, kv: Option<Arc<KeyValue>>) -> Result<(), ()> {
        let Some(kv) = kv else { return Ok(()) };
        let header = self.member.header_now();
        let answer = rpc::LeaderResponse { header, kv: Some(convert::kv(&kv)) };
        self.answers.send(Ok(answer)).await.map_err(|_| ())
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.member.look(|state| state.unsubscribe(&below(&self.name), self.watcher));
    }
}

#[cfg(test)]
mod tests {
    use tenure_store::{Command, Delete, Operation, Put, Span, Txn};

    use super::*;
    use crate::alone::{Alone, Call};

    fn put(key: &str) -> Operation {
        Operation::Put(Put { key: key.into(), ..Put::default() })
    }

    fn delete(key: &str) -> Operation {
        Operation::Delete(Delete { span: Span::one(key), prev_kv: false })
    }

    fn txn(success: Vec<Operation>) -> Command {
        Command::Txn(Txn { success, ..Txn::default() })
    }

    async fn next(call: &mut Call<rpc::LeaderResponse>) -> (Vec<u8>, i64) {
        let told = call.next().await.expect("an answer").expect("more");
        let kv = told.kv.expect("a leader");
        (kv.key, kv.mod_revision)
    }

    async fn observed(alone: &Alone) -> Call<rpc::LeaderResponse> {
        alone.does(txn(vec![put("e/0")])).await;
        let mut call = alone.call("/v3electionpb.Election/Observe").await;
        call.ask(&rpc::LeaderRequest { name: b"e".to_vec() }).await;
        call.end();
        assert_eq!(next(&mut call).await, (b"e/0".to_vec(), 2));
        call
    }

    #[tokio::test]
    async fn a_new_leader_is_told_once_however_it_came_to_lead() {
        let alone = Alone::start();
        let mut call = observed(&alone).await;
        alone.does(txn(vec![delete("e/0"), put("e/1")])).await;
        assert_eq!(next(&mut call).await, (b"e/1".to_vec(), 3));
        alone.does(txn(vec![put("e/2"), delete("e/1")])).await;
        assert_eq!(next(&mut call).await, (b"e/2".to_vec(), 4));
        alone.does(txn(vec![delete("e/2")])).await;
        alone.does(txn(vec![put("e/1")])).await;
        assert_eq!(next(&mut call).await, (b"e/1".to_vec(), 6));
    }

    #[tokio::test]
    async fn who_reads_late_is_told_who_leads_then_and_not_all_who_did_between() {
        let alone = Alone::start();
        let mut call = observed(&alone).await;
        // Nothing is looked at meanwhile: this has the only thread, and the store.
        alone.member.look(|state| {
            for index in 0..5000 {
                let (old, new) = (format!("e/{index}"), format!("e/{}", index + 1));
                let at = tenure_store::At { index: 1000 + index, term: 1 };
                let change = txn(vec![put(&new), delete(&old)]);
                let done = state.apply(at, &tenure_store::Asker::Member, change);
                assert!(done.answer.is_ok(), "{done:?}");
            }
        });
        assert_eq!(next(&mut call).await, (b"e/5000".to_vec(), 5002));
        alone.member.look(|state| {
            let at = tenure_store::At { index: 10_000, term: 1 };
            let done = state.apply(at, &tenure_store::Asker::Member, txn(vec![put("e/5000")]));
            assert!(done.answer.is_ok(), "{done:?}");
        });
        assert_eq!(next(&mut call).await, (b"e/5000".to_vec(), 5003));
    }
}
