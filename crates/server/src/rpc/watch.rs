//! Watching: the changes since a revision, and each as it happens.
//!
//! Nothing is kept for a client but where it is: what it is to be told is read from the store's
//! history when it is able to take it. Who is too slow for that is told that what they missed is
//! forgotten.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tenure_store::{Bytes, Forgotten, Span, Store, Watch};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use crate::caller::Caller;
use crate::convert::{self, signed, unsigned};
use crate::refusal::Refusal;
use crate::router::as_etcd_says;
use crate::state::{News, Signal, State, WatcherId};
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::watch_create_request::FilterType;
use tenure_etcd::etcdserverpb::watch_request::RequestUnion;
use tenure_etcd::frames::Messages;

/// How many answers wait for a client at most. The next is read from the store when this one is
/// taken, and not before.
const AHEAD: usize = 1;

/// How many changes one answer has, or a few more.
const MOST: usize = 1000;

/// How many bytes of keys and values one answer has, or one revision more.
const MOST_BYTES: usize = 32 << 10;

/// How many watchers one stream has at most.
const WATCHERS: usize = 10_000;

/// The number that no watcher has.
const NOBODY: i64 = -1;

type Answers = mpsc::Sender<Result<rpc::WatchResponse, Status>>;

/// The client is gone.
struct Gone;

pub(crate) fn watch(
    member: Caller,
    asked: Messages<rpc::WatchRequest>,
) -> ReceiverStream<Result<rpc::WatchResponse, Status>> {
    let (answers, receiver) = mpsc::channel(AHEAD);
    tokio::spawn(async move {
        let gone = answers.clone();
        let session = Session {
            member,
            answers,
            signal: Arc::default(),
            watchers: HashMap::new(),
            numbers: HashMap::new(),
            next_id: 0,
        };
        tokio::select! {
            () = gone.closed() => {}
            _ = session.run(asked) => {}
        }
    });
    ReceiverStream::new(receiver)
}

/// One stream of a client, with all its watchers.
struct Session {
    member: Caller,
    answers: Answers,
    signal: Arc<Signal>,
    /// By the numbers that the client knows.
    watchers: HashMap<i64, Watcher>,
    /// Those numbers, by the member's.
    numbers: HashMap<WatcherId, i64>,
    next_id: i64,
}

struct Watcher {
    watch: Watch,
    at: WatcherId,
    /// The first revision that was not told.
    next: u64,
    wants_progress: bool,
    /// Who waits behind the key, if somebody does.
    waiting: Option<rpc::Waiting>,
}

impl Session {
    async fn run(mut self, mut asked: Messages<rpc::WatchRequest>) -> Result<(), Gone> {
        let mut progress = interval(self.member.plan.bounds.progress_interval);
        progress.set_missed_tick_behavior(MissedTickBehavior::Delay);
        progress.tick().await;
        let mut is_open = true;
        loop {
            tokio::select! {
                request = asked.message(), if is_open => match request {
                    Ok(Some(request)) => self.serve(request).await?,
                    Ok(None) => is_open = false,
                    Err(status) => {
                        let _ = self.answers.send(Err(as_etcd_says(status))).await;
                        return Err(Gone);
                    }
                },
                dirty = self.signal.wait() => self.catch_up(dirty, u64::MAX).await?,
                _ = progress.tick() => self.tell_progress().await?,
            }
        }
    }

    async fn serve(&mut self, request: rpc::WatchRequest) -> Result<(), Gone> {
        match request.request_union {
            Some(RequestUnion::CreateRequest(asked)) => self.create(asked).await,
            Some(RequestUnion::CancelRequest(asked)) => {
                let Some(watcher) = self.watchers.remove(&asked.watch_id) else { return Ok(()) };
                self.forget(&watcher);
                let watch_id = asked.watch_id;
                self.send(rpc::WatchResponse { watch_id, canceled: true, ..self.blank() }).await
            }
            Some(RequestUnion::ProgressRequest(_)) => {
                let header = self.told_up_to().await?;
                let progress =
                    rpc::WatchResponse { header, watch_id: NOBODY, ..Default::default() };
                self.send(progress).await
            }
            None => Ok(()),
        }
    }

    async fn create(&mut self, asked: rpc::WatchCreateRequest) -> Result<(), Gone> {
        let watch = watch_of(&asked);
        if let Some(cancel_reason) = self.refusal(asked.watch_id, &watch) {
            let refusal = rpc::WatchResponse {
                watch_id: NOBODY,
                created: true,
                canceled: true,
                cancel_reason,
                ..self.blank()
            };
            return self.send(refusal).await;
        }
        // What a member was told long ago is no news, and it may not know yet that it was.
        if watch.start_revision == 0
            && let Err(refused) = self.member.is_back().await
        {
            let _ = self.answers.send(Err(refused.into())).await;
            return Err(Gone);
        }
        let id = match asked.watch_id {
            0 => self.free_id(),
            given => given,
        };
        let (at, revision) = self
            .member
            .look(|state| (state.subscribe(&watch.span, &self.signal), state.store.revision()));
        let next = if watch.start_revision == 0 { revision + 1 } else { watch.start_revision };
        self.numbers.insert(at, id);
        let (wants_progress, waiting) = (asked.progress_notify, asked.waiting);
        self.watchers.insert(id, Watcher { watch, at, next, wants_progress, waiting });
        let header = self.member.header(revision);
        let created = rpc::WatchResponse {
            header,
            watch_id: id,
            created: true,
            ..rpc::WatchResponse::default()
        };
        self.send(created).await?;
        self.deliver(id, u64::MAX).await
    }

    /// Why somebody may not watch under a number that they gave, if they may not.
    fn refusal(&self, id: i64, watch: &Watch) -> Option<String> {
        if let Err(refused) = self.member.is_named().and_then(|()| may_see(&self.member, watch)) {
            self.member.refusals.note(Status::from(refused.clone()).code());
            return Some(refused.in_words_of_grpc());
        }
        let why = match () {
            () if is_empty(&watch.span) => "mvcc: watcher range is empty",
            () if id != 0 && self.watchers.contains_key(&id) => {
                "mvcc: duplicate watch ID provided on the WatchStream"
            }
            () if self.watchers.len() >= WATCHERS => "etcdserver: too many requests",
            () => return None,
        };
        Some(why.into())
    }

    fn free_id(&mut self) -> i64 {
        while self.watchers.contains_key(&self.next_id) {
            self.next_id += 1;
        }
        self.next_id += 1;
        self.next_id - 1
    }

    /// Something has happened to these: they are told of it, up to a revision.
    async fn catch_up(&mut self, dirty: HashMap<WatcherId, News>, last: u64) -> Result<(), Gone> {
        let known =
            dirty.into_iter().filter_map(|(at, news)| Some((*self.numbers.get(&at)?, news)));
        let mut known: VecDeque<(i64, News)> = known.collect();
        while let Some((id, News { since, released })) = known.pop_front() {
            if let Some(fence) = released {
                self.tell_released(id, fence).await?;
            }
            let Some(revision) = since else { continue };
            if let Some(watcher) = self.watchers.get_mut(&id) {
                // Nothing of it has happened between.
                watcher.next = watcher.next.max(revision);
                self.deliver(id, last).await?;
            }
        }
        Ok(())
    }

    /// Tells who waits that the one ahead of them claims nothing any more, if their own key is
    /// still there, and they may see both: else they wait for nothing, and will see that
    /// themselves.
    async fn tell_released(&mut self, watch_id: i64, fence: u64) -> Result<(), Gone> {
        let Some(watcher) = self.watchers.get(&watch_id) else { return Ok(()) };
        let Some(waiting) = &watcher.waiting else { return Ok(()) };
        let own = Span::one(waiting.key.as_slice());
        let is_next = self.member.read(
            |access, asker| {
                access.may_read(asker, &watcher.watch.span)?;
                access.may_read(asker, &own)
            },
            |store| Ok(is_next(store, &watcher.watch.span, waiting, fence)),
        );
        if is_next != Ok(true) {
            return Ok(());
        }
        let released = signed(fence);
        self.send(rpc::WatchResponse { watch_id, released, ..self.blank() }).await
    }

    /// Tells all watchers what they were not told. Says of what: who begins to watch behind that
    /// misses nothing.
    async fn told_up_to(&mut self) -> Result<Option<rpc::ResponseHeader>, Gone> {
        let look = |state: &mut State| (state.store.revision(), self.signal.take());
        let (revision, dirty) = self.member.look(look);
        // What happens meanwhile is told behind it.
        self.catch_up(dirty, revision).await?;
        Ok(self.member.header(revision))
    }

    /// Tells a watcher all that it was not told, up to a revision.
    async fn deliver(&mut self, id: i64, last: u64) -> Result<(), Gone> {
        let answers = self.answers.clone();
        loop {
            let room = answers.reserve().await.map_err(|_| Gone)?;
            let Some(watcher) = self.watchers.get_mut(&id) else { return Ok(()) };
            // A right may be taken away, and a token revoked.
            if let Err(refused) = may_see(&self.member, &watcher.watch) {
                self.watchers.remove(&id).iter().for_each(|it| self.forget(it));
                let cancel_reason = refused.in_words_of_grpc();
                let blank = self.blank();
                let over =
                    rpc::WatchResponse { watch_id: id, canceled: true, cancel_reason, ..blank };
                room.send(Ok(over));
                return Ok(());
            }
            let missed = self.member.look(|state| missed(&state.store, watcher, last));
            let answer = match missed {
                Ok((revision, events)) if events.is_empty() => {
                    if watcher.next > revision {
                        return Ok(());
                    }
                    continue;
                }
                Ok((revision, events)) => rpc::WatchResponse {
                    header: self.member.header(revision),
                    watch_id: id,
                    events: events.iter().map(convert::event).collect(),
                    ..rpc::WatchResponse::default()
                },
                Err(Forgotten { first }) => {
                    if let Some(watcher) = self.watchers.remove(&id) {
                        self.forget(&watcher);
                    }
                    rpc::WatchResponse {
                        watch_id: id,
                        canceled: true,
                        compact_revision: signed(first),
                        ..self.blank()
                    }
                }
            };
            room.send(Ok(answer));
        }
    }

    async fn tell_progress(&mut self) -> Result<(), Gone> {
        let wanting = self.watchers.iter().filter(|(_, it)| it.wants_progress);
        let ids: Vec<i64> = wanting.map(|(id, _)| *id).collect();
        let header = self.told_up_to().await?;
        for watch_id in ids.into_iter().filter(|id| self.watchers.contains_key(id)) {
            self.send(rpc::WatchResponse { header, watch_id, ..Default::default() }).await?;
        }
        Ok(())
    }

    fn forget(&mut self, watcher: &Watcher) {
        self.numbers.remove(&watcher.at);
        self.member.look(|state| state.unsubscribe(&watcher.watch.span, watcher.at));
    }

    fn blank(&self) -> rpc::WatchResponse {
        rpc::WatchResponse { header: self.member.header_now(), ..rpc::WatchResponse::default() }
    }

    async fn send(&self, answer: rpc::WatchResponse) -> Result<(), Gone> {
        self.answers.send(Ok(answer)).await.map_err(|_| Gone)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let watchers = std::mem::take(&mut self.watchers);
        watchers.values().for_each(|watcher| self.forget(watcher));
    }
}

fn may_see(member: &Caller, watch: &Watch) -> Result<(), Refusal> {
    member.may(|access, asker| access.may_read(asker, &watch.span))
}

/// The next changes that a watcher was not told up to a revision, and the revision of the store if
/// that is less.
fn missed(
    store: &Store,
    watcher: &mut Watcher,
    last: u64,
) -> Result<(u64, Vec<tenure_store::Event>), Forgotten> {
    let revision = store.revision().min(last);
    if watcher.next > revision {
        return Ok((revision, Vec::new()));
    }
    let replay = store.replay(&watcher.watch, watcher.next, MOST)?;
    let (mut events, mut bytes) = (replay.events, 0);
    events.truncate(events.partition_point(|event| event.revision() <= revision));
    watcher.next = replay.next.min(revision + 1);
    let is_too_much = |at: &usize| {
        let begins = *at > 0 && events[at - 1].revision() < events[*at].revision();
        let is_full = begins && bytes >= MOST_BYTES;
        bytes += events[*at].kv.weight() + events[*at].prev.as_ref().map_or(0, |it| it.weight());
        is_full
    };
    if let Some(end) = (0..events.len()).find(is_too_much) {
        watcher.next = events[end].revision();
        events.truncate(end);
    }
    Ok((revision, events))
}

/// Whether somebody waits behind the key that was made in this revision, and both are there.
fn is_next(store: &Store, ahead: &Span, waiting: &rpc::Waiting, fence: u64) -> bool {
    let made = |key: &[u8]| store.get(key).map(|kv| kv.create_revision);
    let own = unsigned(waiting.create_revision);
    let is_behind = ahead.end.is_empty() && fence < own;
    is_behind && made(&ahead.key) == Some(fence) && made(&waiting.key) == Some(own)
}

/// Whether no key can be one of these.
fn is_empty(Span { key, end }: &Span) -> bool {
    !end.is_empty() && end[..] != *b"\0" && key >= end
}

/// An empty key means the first one there can be, as for etcd.
fn watch_of(asked: &rpc::WatchCreateRequest) -> Watch {
    let key = if asked.key.is_empty() { &b"\0"[..] } else { &asked.key };
    Watch {
        span: Span { key: Bytes::from(key), end: Bytes::from(asked.range_end.as_slice()) },
        start_revision: unsigned(asked.start_revision),
        prev_kv: asked.prev_kv,
        no_put: asked.filters().any(|it| it == FilterType::Noput),
        no_delete: asked.filters().any(|it| it == FilterType::Nodelete),
    }
}

#[cfg(test)]
mod tests {
    use tenure_store::{Command, Put};

    use super::*;
    use crate::alone::{Alone, Call};

    const WATCH: &str = "/etcdserverpb.Watch/Watch";

    async fn ask(call: &Call<rpc::WatchResponse>, asked: RequestUnion) {
        call.ask(&rpc::WatchRequest { request_union: Some(asked) }).await;
    }

    async fn next(call: &mut Call<rpc::WatchResponse>) -> rpc::WatchResponse {
        call.next().await.expect("an answer").expect("more")
    }

    fn create(key: &str, range_end: &str) -> rpc::WatchCreateRequest {
        let (key, range_end) = (key.into(), range_end.into());
        rpc::WatchCreateRequest { key, range_end, ..Default::default() }
    }

    #[tokio::test]
    async fn what_progress_says_was_told_was_told_before() {
        let alone = Alone::start();
        let mut call = alone.call(WATCH).await;
        for key in ["a", "b"] {
            ask(&call, RequestUnion::CreateRequest(create(key, ""))).await;
            assert!(next(&mut call).await.created);
        }
        for _ in 0..100 {
            let put = |key: &str| Command::Put(Put { key: key.into(), ..Put::default() });
            alone.does(put("a")).await;
            let revision = signed(alone.does(put("b")).await.revision);
            let progress = rpc::WatchProgressRequest::default();
            ask(&call, RequestUnion::ProgressRequest(progress)).await;
            let mut told = Vec::new();
            loop {
                let answer = next(&mut call).await;
                if answer.watch_id == NOBODY {
                    assert_eq!(answer.header.expect("a header").revision, revision);
                    break;
                }
                told.extend(answer.events.into_iter().filter_map(|event| event.kv));
            }
            told.sort_by_key(|kv| kv.mod_revision);
            let told: Vec<i64> = told.into_iter().map(|kv| kv.mod_revision).collect();
            assert_eq!(told, [revision - 1, revision]);
        }
    }

    /// Who watches the key `1`: behind which of the keys it waits, with a creation, if it does.
    async fn watching(alone: &Alone, waiting: Option<(&str, i64)>) -> Call<rpc::WatchResponse> {
        let waiting =
            waiting.map(|(key, create_revision)| rpc::Waiting { key: key.into(), create_revision });
        let mut call = alone.call(WATCH).await;
        let asked = rpc::WatchCreateRequest { waiting, ..create("1", "") };
        ask(&call, RequestUnion::CreateRequest(asked)).await;
        assert!(next(&mut call).await.created);
        call
    }

    /// A transaction that would delete the key `1` if that were there in a revision in which it
    /// was not, and says that a lock was held by it.
    async fn release(alone: &Alone, released: i64) {
        let compare = rpc::Compare {
            key: "1".into(),
            target: rpc::compare::CompareTarget::Create.into(),
            target_union: Some(rpc::compare::TargetUnion::CreateRevision(99)),
            ..Default::default()
        };
        let delete = rpc::DeleteRangeRequest { key: "1".into(), released, ..Default::default() };
        let delete = rpc::request_op::Request::RequestDeleteRange(delete);
        let success = vec![rpc::RequestOp { request: Some(delete) }];
        let txn = rpc::TxnRequest { compare: vec![compare], success, ..Default::default() };
        let mut call: Call<rpc::TxnResponse> = alone.call("/etcdserverpb.KV/Txn").await;
        call.ask(&txn).await;
        call.end();
        assert!(!call.next().await.expect("an answer").expect("one").succeeded);
    }

    #[tokio::test]
    async fn who_waits_is_told_of_a_release_whatever_becomes_of_the_entry() {
        let alone = Alone::start();
        let put = |key: &str| Command::Put(Put { key: key.into(), ..Put::default() });
        let made = signed(alone.does(put("1")).await.revision);
        let own = signed(alone.does(put("2")).await.revision);
        let mut waits = watching(&alone, Some(("2", own))).await;
        let others = [
            // It does not wait, its key is another by now, it is not there, it is not behind.
            watching(&alone, None).await,
            watching(&alone, Some(("2", own - 1))).await,
            watching(&alone, Some(("3", own))).await,
            watching(&alone, Some(("1", made))).await,
        ];
        // Of a key that was there before, and of whoever held nothing.
        release(&alone, made - 1).await;
        release(&alone, 0).await;
        release(&alone, made).await;
        let told = next(&mut waits).await;
        assert_eq!((told.released, told.events.len()), (made, 0));
        let deleted = signed(alone.does(put("1")).await.revision);
        for mut call in others.into_iter().chain([waits]) {
            let told = next(&mut call).await;
            let revisions = told.events.iter().filter_map(|event| event.kv.as_ref());
            let revisions: Vec<i64> = revisions.map(|kv| kv.mod_revision).collect();
            assert_eq!((told.released, revisions), (0, vec![deleted]));
        }
    }

    #[tokio::test]
    async fn what_no_key_can_be_in_is_not_watched() {
        let alone = Alone::start();
        let mut call = alone.call(WATCH).await;
        for (key, end) in [("b", "a"), ("a", "a")] {
            ask(&call, RequestUnion::CreateRequest(create(key, end))).await;
            let told = next(&mut call).await;
            assert_eq!((told.created, told.canceled, told.watch_id), (true, true, NOBODY));
            assert_eq!(told.cancel_reason, "mvcc: watcher range is empty");
        }
        for (id, (key, end)) in (0..).zip([("a", ""), ("b", "\0"), ("a", "b"), ("", "\0")]) {
            ask(&call, RequestUnion::CreateRequest(create(key, end))).await;
            let told = next(&mut call).await;
            assert_eq!((told.canceled, told.watch_id), (false, id), "{key:?}..{end:?}");
        }
    }

    #[tokio::test]
    async fn what_was_there_before_counts_as_what_an_answer_has() {
        let alone = Alone::start();
        for length in [20_000, 20_000, 20_000, 0, 0] {
            let put = Put { key: "a".into(), value: vec![0; length].into(), ..Put::default() };
            alone.does(Command::Put(put)).await;
        }
        let mut call = alone.call(WATCH).await;
        let asked = rpc::WatchCreateRequest { start_revision: 3, prev_kv: true, ..create("a", "") };
        ask(&call, RequestUnion::CreateRequest(asked)).await;
        assert!(next(&mut call).await.created);
        for count in [1, 1, 2] {
            assert_eq!(next(&mut call).await.events.len(), count);
        }
    }
}
