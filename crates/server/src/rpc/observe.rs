//! Who leads an election, told whenever that changes.

use std::sync::Arc;

use tenure_store::{Bytes, KeyValue, Kind, Store, Watch};
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

/// How many changes are looked at between two answers.
const MOST: usize = 1000;

/// Tells who leads now, each of their proclamations, and each new leader; nothing while there is
/// none.
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
        let (mut next, now) = self
            .member
            .look(|state| (state.store.revision() + 1, head(&state.store, &self.name, 0)));
        self.leader.clone_from(&now);
        if self.tell(now).await.is_err() {
            return;
        }
        loop {
            self.signal.wait().await;
            // A right may be taken away.
            if let Err(refused) = self.may_see() {
                let _ = self.answers.send(Err(refused.into())).await;
                return;
            }
            let (news, from) = self.look(next);
            next = from;
            for kv in news {
                if self.tell(Some(kv)).await.is_err() {
                    return;
                }
            }
        }
    }

    fn may_see(&self) -> Result<(), Refusal> {
        self.member.may(|access, asker| access.may_read(asker, &below(&self.name)))
    }

    /// What is to be told from a revision on, and from where to look next.
    fn look(&mut self, from: u64) -> (Vec<Arc<KeyValue>>, u64) {
        let member = self.member.clone();
        let state = member.shared.lock();
        let store = &state.store;
        let watch = Watch { span: below(&self.name), start_revision: from, ..Watch::default() };
        let mut news = Vec::new();
        let mut next = from;
        while next <= store.revision() {
            let Ok(replay) = store.replay(&watch, next, MOST) else {
                // Too late for what was between: who leads now is told.
                let now =
                    head(store, &self.name, 0).filter(|now| Some(now) != self.leader.as_ref());
                self.leader.clone_from(&now);
                news.extend(now);
                return (news, store.revision() + 1);
            };
            next = replay.next;
            for event in replay.events {
                self.see(store, &event, &mut news);
            }
        }
        (news, next)
    }

    fn see(&mut self, store: &Store, event: &tenure_store::Event, news: &mut Vec<Arc<KeyValue>>) {
        let is_leaders = self.leader.as_ref().is_some_and(|it| it.key == event.kv.key);
        match event.kind {
            Kind::Put if is_leaders || self.leader.is_none() => {
                self.leader = Some(event.kv.clone());
                news.push(event.kv.clone());
            }
            Kind::Delete if is_leaders => {
                self.leader = head(store, &self.name, event.revision());
                news.extend(self.leader.clone());
            }
            Kind::Put | Kind::Delete => {}
        }
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
