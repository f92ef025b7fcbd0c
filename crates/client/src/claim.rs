//! A claim: a key in the queue of a lock or an election, which counts while its session lives.

use std::future::Future;
use std::pin::Pin;

use tenure_etcd::etcdserverpb as rpc;
use tenure_session::{Seen, Waiter, Wish};
use tokio::time::{Instant, sleep};
use tonic::Code;

use crate::client::PATIENCE;
use crate::error::{ClientError, Lost};
use crate::leaving::Leaving;
use crate::line::Pauses;
use crate::session::Session;
use crate::txn;
use crate::watching::{News, Watching};

pub(crate) const TXN: &str = "/etcdserverpb.KV/Txn";

/// Upper bound on the keys of one look, if they were created in different revisions.
const MOST_LOOKED_AT: i64 = 1024;

/// A claim that is first in its queue.
#[derive(Debug)]
pub(crate) struct Claim {
    session: Session,
    key: Vec<u8>,
    fence: u64,
    /// Whether its key may be put once more.
    is_doubtful: bool,
    is_left: bool,
}

impl Claim {
    pub(crate) const fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    pub(crate) const fn fence(&self) -> u64 {
        self.fence
    }

    /// Gives another value to it; says whether it is there.
    pub(crate) async fn put(&self, value: Vec<u8>) -> Result<(), ClientError> {
        let asked = txn::put_own(&self.key, self.fence, value, self.session.id());
        if let Some(lost) = self.session.ended() {
            return Err(lost.into());
        }
        let put = self.session.client().line.ask(TXN, asked, Instant::now() + PATIENCE).await?;
        match put {
            rpc::TxnResponse { succeeded: true, .. } => Ok(()),
            rpc::TxnResponse { .. } => Err(Lost::Deleted.into()),
        }
    }

    /// Gives it up. That goes on when nobody waits any more.
    pub(crate) async fn leave(mut self) -> Result<(), ClientError> {
        let leaving = self.leaving();
        let deleted = leaving.delete().await;
        self.is_left = true;
        leaving.go_on(deleted.is_ok(), self.session.runtime());
        deleted
    }

    fn leaving(&self) -> Leaving {
        Leaving::of(&self.session, self.key.clone(), self.fence, self.is_doubtful)
    }

    /// Waits until it is over, with its session or by somebody who deletes its key.
    pub(crate) async fn lost(&self) -> Lost {
        tokio::select! {
            biased;
            lost = self.session.lost() => lost,
            lost = self.key_lost() => self.session.ended().unwrap_or(lost),
        }
    }

    /// Waits until its key is not there any more, or may not be seen.
    async fn key_lost(&self) -> Lost {
        let line = &self.session.client().line;
        let mut pauses = Pauses::default();
        let mut from = self.fence + 1;
        loop {
            let mut watching = Watching::key(line.clone(), &self.key, from);
            loop {
                match watching.next().await {
                    News::Deleted(gone) if gone.key == self.key => return Lost::Deleted,
                    News::Deleted(_) | News::Put(_) | News::Released => {}
                    News::Forgotten | News::Refused | News::Broken => break,
                }
            }
            // It may have been deleted in what is forgotten, or in what may not be seen.
            match self.look().await {
                Ok(seen) if seen.own != Some(self.fence) => return Lost::Deleted,
                Ok(seen) => from = seen.revision + 1,
                Err(ClientError::Refused { code: Code::PermissionDenied, .. }) => {
                    return Lost::Denied;
                }
                Err(_) => {}
            }
            sleep(pauses.next()).await;
        }
    }

    /// Reads its key.
    async fn look(&self) -> Result<Seen<Vec<u8>>, ClientError> {
        let line = &self.session.client().line;
        let asked = txn::look(&self.key, None);
        let answer = line.ask(TXN, asked, Instant::now() + PATIENCE).await?;
        Ok(own(&answer, &self.key))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.is_left {
            self.session.left().add(self.leaving(), self.session.runtime());
        }
    }
}

/// What an answer has of a key, when nothing else was asked.
fn own(answer: &rpc::TxnResponse, key: &[u8]) -> Seen<Vec<u8>> {
    txn::seen(answer, key, "", i64::MAX).unwrap_or(Seen { revision: 0, own: None, ahead: None })
}

/// What of whoever is ahead is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// That they have released the lock, or else that their key is deleted.
    Released,
    /// That their key is deleted, so that nobody who looks finds somebody else inside.
    Deleted,
}

/// Queues, and waits for its turn.
pub(crate) async fn wait(
    session: &Session,
    name: &str,
    value: Vec<u8>,
    until: Until,
) -> Result<Claim, ClientError> {
    let key = session.new_key(name);
    let asked = txn::enqueue(name, &key, value, session.id());
    let left = session.left().take();
    let mut place = Place::ask(session, name, key, asked, left, until);
    let lost = tokio::select! {
        biased;
        lost = session.lost() => lost,
        fence = place.wait() => {
            let fence = fence?;
            // It counts from a moment at which the session was alive.
            match session.ended() {
                None => return Ok(place.into_claim(fence)),
                Some(lost) => lost,
            }
        }
    };
    Err(lost.into())
}

/// Queues if nobody is in the queue.
pub(crate) async fn attempt(
    session: &Session,
    name: &str,
    value: Vec<u8>,
) -> Result<Option<Claim>, ClientError> {
    let key = session.new_key(name);
    let asked = txn::enqueue_alone(name, &key, value.clone(), session.id());
    // Nothing is left along with it: whether anybody is there is looked at before all else.
    let mut place = Place::ask(session, name, key, asked, Vec::new(), Until::Deleted);
    let queued = tokio::select! {
        biased;
        lost = session.lost() => return Err(lost.into()),
        queued = place.queued() => queued?,
    };
    if let Some(lost) = session.ended() {
        return Err(lost.into());
    }
    if let Some(fence) = queued.seen.own {
        return Ok(Some(place.into_claim(fence)));
    }
    place.is_there = place.is_doubtful;
    // What was there may be keys of other locks only, whose names begin with this one.
    let newest = look_ahead(session, name, &place.key, 0, 0);
    let seen = tokio::select! {
        biased;
        lost = session.lost() => return Err(lost.into()),
        seen = newest => seen?,
    };
    if seen.ahead.is_some() { Ok(None) } else { attempt_beside(session, name, value).await }
}

/// Queues beside keys of other locks; leaves the queue again if another session is ahead in it.
async fn attempt_beside(
    session: &Session,
    name: &str,
    value: Vec<u8>,
) -> Result<Option<Claim>, ClientError> {
    let key = session.new_key(name);
    let asked = txn::enqueue(name, &key, value, session.id());
    let mut place = Place::ask(session, name, key, asked, Vec::new(), Until::Deleted);
    let begun = tokio::select! {
        biased;
        lost = session.lost() => return Err(lost.into()),
        begun = place.begin() => begun?,
    };
    match (begun.1, session.ended()) {
        (_, Some(lost)) => Err(lost.into()),
        (Some(Wish::Enter { fence }), None) => Ok(Some(place.into_claim(fence))),
        (Some(Wish::Gone), None) => {
            place.is_there = place.is_doubtful;
            Err(Lost::Deleted.into())
        }
        _ => Ok(None),
    }
}

/// What came of queueing.
struct Queued {
    seen: Seen<Vec<u8>>,
    /// Whether the look was of the moment in which the key was put, and shows who is next ahead.
    is_new: bool,
}

/// Also whether it was asked more than once, so that it may be done once more, whatever was
/// answered.
type Queueing = Pin<Box<dyn Future<Output = (Result<Queued, ClientError>, bool)> + Send>>;

/// A place in a queue, which is left when this is dropped.
struct Place {
    session: Session,
    name: String,
    key: Vec<u8>,
    /// It goes on when nobody waits any more, so that it is known what there is to delete.
    queueing: Option<Queueing>,
    waiter: Waiter<Vec<u8>>,
    until: Until,
    pauses: Pauses,
    /// Whether its key is there, or may be.
    is_there: bool,
    /// Whether its key may be put once more.
    is_doubtful: bool,
}

impl Place {
    fn ask(
        session: &Session,
        name: &str,
        key: Vec<u8>,
        asked: rpc::TxnRequest,
        left: Vec<Leaving>,
        until: Until,
    ) -> Place {
        let queueing = Box::pin(queue(session.clone(), name.to_owned(), key.clone(), asked, left));
        Place {
            session: session.clone(),
            name: name.to_owned(),
            key,
            queueing: Some(queueing),
            waiter: Waiter::new(),
            until,
            pauses: Pauses::default(),
            is_there: true,
            is_doubtful: false,
        }
    }

    /// What the service said when this queued.
    async fn queued(&mut self) -> Result<Queued, ClientError> {
        let queueing = self.queueing.as_mut().expect("who queues is asked once what came of it");
        let (queued, is_doubtful) = queueing.await;
        self.queueing = None;
        self.is_there = queued.is_ok() || is_doubtful;
        self.is_doubtful = is_doubtful;
        queued
    }

    /// Queues and looks who is ahead. Returns the creation of its key and what to do.
    async fn begin(&mut self) -> Result<(u64, Option<Wish<Vec<u8>>>), ClientError> {
        let Queued { seen, is_new } = self.queued().await?;
        let own = seen.own.unwrap_or(0);
        // Only where the key is new it was said who is ahead.
        let wish = if is_new { self.waiter.seen(seen) } else { self.look(own, 0).await? };
        Ok((own, wish))
    }

    /// Waits until it is first, and says by which fence.
    async fn wait(&mut self) -> Result<u64, ClientError> {
        let (own, mut wish) = self.begin().await?;
        loop {
            wish = match wish {
                Some(Wish::Enter { fence }) => return Ok(fence),
                Some(Wish::Gone) => {
                    self.is_there = self.is_doubtful;
                    return Err(self.session.ended().unwrap_or(Lost::Deleted).into());
                }
                Some(Wish::Look { since }) => self.look(own, since).await?,
                Some(Wish::Watch { key, from }) => self.watch(own, key, from).await,
                None => self.waiter.again(),
            };
        }
    }

    /// Looks at the queue as it is; or as it was in a revision or later, if that is given, for
    /// which the member that has told of it need ask nobody.
    async fn look(&mut self, own: u64, since: u64) -> Result<Option<Wish<Vec<u8>>>, ClientError> {
        let most = own.saturating_sub(1);
        let mut seen = look_ahead(&self.session, &self.name, &self.key, most, since).await?;
        // Of a key that was put once more it was not asked who is ahead.
        seen.own = seen.own.filter(|found| *found == own);
        Ok(self.waiter.seen(seen))
    }

    /// Watches whoever is ahead until they are gone.
    async fn watch(&mut self, own: u64, key: Vec<u8>, from: u64) -> Option<Wish<Vec<u8>>> {
        let line = self.session.client().line.clone();
        loop {
            let mut watching = Watching::key(line.clone(), &key, from);
            if self.until == Until::Released {
                watching = watching.for_who_waits(&self.key, own);
            }
            loop {
                match watching.next().await {
                    News::Released => {
                        if let Some(wish) = self.waiter.released(&key) {
                            return Some(wish);
                        }
                    }
                    News::Deleted(gone) => {
                        let revision = txn::unsigned(gone.mod_revision);
                        if let Some(wish) = self.waiter.deleted(&gone.key, revision) {
                            self.pauses = Pauses::default();
                            return Some(wish);
                        }
                    }
                    News::Put(_) => {}
                    News::Forgotten => return self.waiter.forgotten(),
                    News::Refused => {
                        sleep(self.pauses.next()).await;
                        return self.waiter.forgotten();
                    }
                    News::Broken => break,
                }
            }
            sleep(self.pauses.next()).await;
        }
    }

    fn into_claim(mut self, fence: u64) -> Claim {
        self.is_there = false;
        let (session, key) = (self.session.clone(), std::mem::take(&mut self.key));
        Claim { session, key, fence, is_doubtful: self.is_doubtful, is_left: false }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_there {
            return;
        }
        let (session, key) = (self.session.clone(), std::mem::take(&mut self.key));
        let (queueing, mut is_doubtful) = (self.queueing.take(), self.is_doubtful);
        let runtime = session.runtime().clone();
        runtime.spawn(async move {
            if let Some(queueing) = queueing {
                is_doubtful = queueing.await.1;
            }
            Leaving::of(&session, key, 0, is_doubtful).go_on(false, session.runtime());
        });
    }
}

/// Looks for the newest key of a queue, created in the revision `most` or before (0: of all)
/// and for a key of its own; in the queue as it was in the revision `since` or later, if that is
/// not 0.
///
/// Below the name there may be keys of other locks, so that several reads may be needed. They need
/// not be of one revision: what is ahead of a key only becomes less, so what one read has shown to
/// be no key of this queue stays none.
async fn look_ahead(
    session: &Session,
    name: &str,
    key: &[u8],
    mut most: u64,
    since: u64,
) -> Result<Seen<Vec<u8>>, ClientError> {
    let line = &session.client().line;
    let mut limit = 1;
    loop {
        let now = txn::look(key, Some(txn::Part { name, most, limit }));
        let asked = if since > 0 { txn::as_far_as_known(now) } else { now };
        let answer = match line.ask(TXN, asked, Instant::now() + PATIENCE).await {
            Ok(answer) => answer,
            Err(ClientError::Silence { .. }) => continue,
            // The response would be too long.
            Err(ClientError::Refused { code, .. })
                if limit > 1 && [Code::OutOfRange, Code::ResourceExhausted].contains(&code) =>
            {
                limit /= 2;
                continue;
            }
            Err(error) => return Err(error),
        };
        match txn::seen(&answer, key, name, limit) {
            Ok(seen) => return Ok(seen),
            Err(oldest) => {
                // So many may have been created in one revision.
                let is_stuck = oldest == most;
                limit = if is_stuck { limit * 2 } else { (limit * 4).min(MOST_LOOKED_AT) };
                most = oldest;
            }
        }
    }
}

/// Puts a key into a queue, however long that takes while its session lives; and deletes those that
/// the session has left.
async fn queue(
    session: Session,
    name: String,
    key: Vec<u8>,
    asked: rpc::TxnRequest,
    left: Vec<Leaving>,
) -> (Result<Queued, ClientError>, bool) {
    let (mut tries, mut more_tries) = (0, 0);
    let released: Vec<_> = left.iter().map(Leaving::released).collect();
    let (with_left, has_left) = (txn::behind(&asked, &released), !released.is_empty());
    let mut queued = put(&session, with_left, &mut tries).await;
    left.into_iter().for_each(|it| it.go_on(queued.is_ok(), session.runtime()));
    // It may be what was left that is refused.
    if has_left && matches!(queued, Err(ClientError::Refused { .. })) {
        queued = put(&session, asked, &mut more_tries).await;
    }
    let mut queued = queued.map(|answer| match txn::seen(&answer, &key, &name, 1) {
        Ok(seen) => Queued { is_new: txn::is_new(&answer, &key), seen },
        Err(_) => Queued { is_new: false, seen: own(&answer, &key) },
    });
    let is_doubtful = tries.max(more_tries) > 1;
    // It was put before others that came meanwhile, and once more now.
    if is_doubtful && matches!(&queued, Ok(Queued { seen: Seen { own: None, .. }, .. })) {
        let look = put(&session, txn::look(&key, None), &mut more_tries).await;
        queued = look.map(|answer| Queued { seen: own(&answer, &key), is_new: false });
    }
    (queued, is_doubtful)
}

/// Asks for it however long that takes while the session lives.
async fn put(
    session: &Session,
    asked: rpc::TxnRequest,
    tries: &mut u32,
) -> Result<rpc::TxnResponse, ClientError> {
    let line = &session.client().line;
    loop {
        let deadline = Instant::now() + PATIENCE;
        match line.ask_counting(TXN, asked.clone(), deadline, tries).await {
            Err(ClientError::Silence { .. }) if session.ended().is_none() => {}
            answer => return answer,
        }
    }
}
