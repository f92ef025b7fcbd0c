//! Watching keys at whichever member answers.

use std::collections::VecDeque;
use std::sync::Arc;

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::watch_request::RequestUnion;
use tenure_etcd::frames;
use tenure_etcd::mvccpb::event::EventType;
use tenure_etcd::mvccpb::{Event, KeyValue};
use tokio::time::{Instant, timeout};
use tonic::Status;

use crate::client::PATIENCE;
use crate::connection::{Answers, Connection};
use crate::error::ClientError;
use crate::line::{Fate, Line, TRY, fate};

/// What has happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum News {
    /// A key has a value.
    Put(KeyValue),
    /// This key is not there any more; it has no value, and the revision is that of the deletion.
    Deleted(KeyValue),
    /// Whoever held a lock by the key that is watched claims it no longer. It is deleted soon.
    Released,
    /// It is not known any more what happened from where it was watched.
    Forgotten,
    /// The service will not have it watched, now or any longer. Who looks is told why.
    Refused,
    /// The member says nothing more. Another may.
    Broken,
}

type Open = (Arc<Connection>, Answers<rpc::WatchResponse>);

/// Somebody who watches.
pub(crate) struct Watching {
    line: Arc<Line>,
    asked: rpc::WatchCreateRequest,
    open: Option<Open>,
    told: VecDeque<News>,
}

impl Watching {
    /// Of one key, from a revision on.
    pub(crate) fn key(line: Arc<Line>, key: &[u8], from: u64) -> Self {
        Self::span(line, (key.to_vec(), Vec::new()), from)
    }

    /// For whoever waits behind the key that is watched: they are told when that is released, as
    /// long as their own key is there. Only `tenure serve` knows of that.
    pub(crate) fn for_who_waits(mut self, key: &[u8], create_revision: u64) -> Self {
        let create_revision = i64::try_from(create_revision).unwrap_or(i64::MAX);
        self.asked.waiting = Some(rpc::Waiting { key: key.to_vec(), create_revision });
        self
    }

    /// Of all keys from one up to another.
    pub(crate) fn span(line: Arc<Line>, (key, range_end): (Vec<u8>, Vec<u8>), from: u64) -> Self {
        let start_revision = i64::try_from(from).unwrap_or(i64::MAX);
        let asked =
            rpc::WatchCreateRequest { key, range_end, start_revision, ..Default::default() };
        Watching { line, asked, open: None, told: VecDeque::new() }
    }

    /// Waits for the next that happens. After [`News::Refused`] and [`News::Broken`] it begins
    /// again behind what it has told, after [`News::Forgotten`] behind what is forgotten.
    pub(crate) async fn next(&mut self) -> News {
        loop {
            if let Some(news) = self.told.pop_front() {
                return news;
            }
            if let Err(news) = self.listen().await {
                self.open = None;
                return news;
            }
        }
    }

    /// Takes one answer.
    async fn listen(&mut self) -> Result<(), News> {
        if self.open.is_none() {
            let connection = self.line.connection(Instant::now() + PATIENCE).await;
            let connection = connection.map_err(|error| match error {
                ClientError::Refused { .. } => News::Refused,
                _ => News::Broken,
            })?;
            let create = RequestUnion::CreateRequest(self.asked.clone());
            let asked = rpc::WatchRequest { request_union: Some(create) };
            let following = connection.follow("/etcdserverpb.Watch/Watch", frames::written(&asked));
            let answers = timeout(TRY, following).await;
            let silent = |_| Status::deadline_exceeded("it did not answer");
            let answers = answers.map_err(silent).and_then(|answers| answers);
            self.open = Some((connection.clone(), answers.map_err(|it| broken(&connection, &it))?));
        }
        let Some((connection, answers)) = &mut self.open else { return Ok(()) };
        let answer = tokio::select! {
            answer = answers.next() => answer,
            () = connection.left() => return Err(News::Broken),
        };
        match answer {
            Ok(Some(rpc::WatchResponse { canceled: true, compact_revision, .. })) => {
                if compact_revision <= 0 {
                    return Err(News::Refused);
                }
                self.asked.start_revision = self.asked.start_revision.max(compact_revision);
                Err(News::Forgotten)
            }
            Ok(Some(answer)) => {
                self.told.extend(answer.events.into_iter().filter_map(news));
                if let Some(News::Put(kv) | News::Deleted(kv)) = self.told.back() {
                    let next = kv.mod_revision.saturating_add(1);
                    self.asked.start_revision = self.asked.start_revision.max(next);
                }
                if answer.released > 0 {
                    self.told.push_back(News::Released);
                }
                Ok(())
            }
            Ok(None) => Err(News::Broken),
            Err(status) => Err(broken(connection, &status)),
        }
    }
}

fn broken(connection: &Connection, status: &Status) -> News {
    match fate(status) {
        Fate::Refused => News::Refused,
        Fate::Again => News::Broken,
        Fate::Elsewhere => {
            connection.leave();
            News::Broken
        }
    }
}

fn news(event: Event) -> Option<News> {
    let is_deleted = event.r#type() == EventType::Delete;
    let kv = event.kv?;
    Some(if is_deleted { News::Deleted(kv) } else { News::Put(kv) })
}
