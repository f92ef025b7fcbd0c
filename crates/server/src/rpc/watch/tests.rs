//! Tests of watch streams.

use tenure_store::{Command, LogPosition, Principal, Put, Txn, TxnOperation};

use super::*;
use crate::config::Config;
use crate::log::state::{MAX_WATCHED_RANGES, MAX_WATCHER_BYTES};
use crate::test_member::{TestCall, TestMember};

async fn ask(call: &TestCall<rpc::WatchResponse>, request: RequestUnion) {
    call.send(&rpc::WatchRequest { request_union: Some(request) }).await;
}

async fn next(call: &mut TestCall<rpc::WatchResponse>) -> rpc::WatchResponse {
    call.next_response().await.expect("a response").expect("another response")
}

fn create(key: &str, range_end: &str) -> rpc::WatchCreateRequest {
    let (key, range_end) = (key.into(), range_end.into());
    rpc::WatchCreateRequest { key, range_end, ..Default::default() }
}

#[tokio::test]
async fn progress_follows_all_events_that_it_covers() {
    let member = TestMember::start();
    let mut call = member.call(WATCH).await;
    for key in ["a", "b"] {
        ask(&call, RequestUnion::CreateRequest(create(key, ""))).await;
        assert!(next(&mut call).await.created);
    }
    for _ in 0..100 {
        let put = |key: &str| Command::Put(Put { key: key.into(), ..Put::default() });
        member.execute(put("a")).await;
        let revision = signed(member.execute(put("b")).await.revision);
        let progress = rpc::WatchProgressRequest::default();
        ask(&call, RequestUnion::ProgressRequest(progress)).await;
        let mut received = Vec::new();
        loop {
            let response = next(&mut call).await;
            if response.watch_id == NO_WATCHER {
                assert_eq!(response.header.expect("a header").revision, revision);
                break;
            }
            received.extend(response.events.into_iter().filter_map(|event| event.kv));
        }
        received.sort_by_key(|kv| kv.mod_revision);
        let received: Vec<i64> = received.into_iter().map(|kv| kv.mod_revision).collect();
        assert_eq!(received, [revision - 1, revision]);
    }
}

/// Watches the key `1`. `waiting` is the key and the creation revision of a claim that waits
/// for the key `1`; `None` if the client waits for no lock.
async fn watching(
    member: &TestMember,
    waiting: Option<(&str, i64)>,
) -> TestCall<rpc::WatchResponse> {
    let waiting =
        waiting.map(|(key, create_revision)| rpc::WaiterKey { key: key.into(), create_revision });
    let mut call = member.call(WATCH).await;
    let create = rpc::WatchCreateRequest { waiting, ..create("1", "") };
    ask(&call, RequestUnion::CreateRequest(create)).await;
    assert!(next(&mut call).await.created);
    call
}

/// Executes a transaction that announces the release of a lock. The condition of the
/// transaction is false, so the key `1`, which holds the lock, is not deleted.
async fn release(member: &TestMember, released: i64) {
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
    let mut call: TestCall<rpc::TxnResponse> = member.call("/etcdserverpb.KV/Txn").await;
    call.send(&txn).await;
    call.end_requests();
    assert!(!call.next_response().await.expect("a response").expect("one").succeeded);
}

#[tokio::test]
async fn waiter_is_notified_of_release_before_its_commit() {
    let member = TestMember::start();
    let put = |key: &str| Command::Put(Put { key: key.into(), ..Put::default() });
    let made = signed(member.execute(put("1")).await.revision);
    let own = signed(member.execute(put("2")).await.revision);
    let mut waits = watching(&member, Some(("2", own))).await;
    let others = [
        // The first client does not wait. The key of the second client was created again. The
        // key of the third client is missing. The key of the fourth client is the holder's own
        // key.
        watching(&member, None).await,
        watching(&member, Some(("2", own - 1))).await,
        watching(&member, Some(("3", own))).await,
        watching(&member, Some(("1", made))).await,
    ];
    // Releases of an earlier key, and of no key.
    release(&member, made - 1).await;
    release(&member, 0).await;
    release(&member, made).await;
    let received = next(&mut waits).await;
    assert_eq!((received.released, received.events.len()), (made, 0));
    let deleted = signed(member.execute(put("1")).await.revision);
    for mut call in others.into_iter().chain([waits]) {
        let received = next(&mut call).await;
        let revisions = received.events.iter().filter_map(|event| event.kv.as_ref());
        let revisions: Vec<i64> = revisions.map(|kv| kv.mod_revision).collect();
        assert_eq!((received.released, revisions), (0, vec![deleted]));
    }
}

#[tokio::test]
async fn watcher_with_continuous_events_delays_no_request() {
    let member = TestMember::start();
    let mut call = member.call(WATCH).await;
    ask(&call, RequestUnion::CreateRequest(create("a", ""))).await;
    assert!(next(&mut call).await.created);
    // The stream cannot run during a put: this task blocks the only thread.
    let put = |index| {
        let command = Command::Put(Put { key: "a".into(), ..Put::default() });
        let at = LogPosition { index, term: 1 };
        let done = member.member.with_state(|state| state.apply(at, &Principal::Member, command));
        assert!(done.result.is_ok(), "{done:?}");
    };
    put(1_000_000);
    assert_eq!(next(&mut call).await.events.len(), 1);
    put(1_000_001);
    let cancel = rpc::WatchCancelRequest { watch_id: 0 };
    ask(&call, RequestUnion::CancelRequest(cancel)).await;
    // Each time when the stream can send its next response, there is another event.
    for index in 1_000_002.. {
        if next(&mut call).await.canceled {
            return;
        }
        assert!(index < 1_001_000, "the request is not handled");
        put(index);
    }
}

#[tokio::test]
async fn rejects_watch_of_empty_range() {
    let member = TestMember::start();
    let mut call = member.call(WATCH).await;
    for (key, end) in [("b", "a"), ("a", "a")] {
        ask(&call, RequestUnion::CreateRequest(create(key, end))).await;
        let received = next(&mut call).await;
        let state = (received.created, received.canceled, received.watch_id);
        assert_eq!(state, (true, true, NO_WATCHER));
        assert_eq!(received.cancel_reason, "mvcc: watcher range is empty");
    }
    for (id, (key, end)) in (0..).zip([("a", ""), ("b", "\0"), ("a", "b"), ("", "\0")]) {
        ask(&call, RequestUnion::CreateRequest(create(key, end))).await;
        let received = next(&mut call).await;
        assert_eq!((received.canceled, received.watch_id), (false, id), "{key:?}..{end:?}");
    }
}

#[tokio::test]
async fn rejects_ranges_above_the_limit() {
    let member = TestMember::start();
    for number in 0..MAX_WATCHED_RANGES {
        let span = KeySpan { key: "a".into(), end: format!("c{number}").as_str().into() };
        member.member.with_state(|state| state.subscribe(&span, &Arc::default()));
    }
    let mut call = member.call(WATCH).await;
    for (end, reason) in [("d", "etcdserver: too many requests"), ("c0", ""), ("b", "")] {
        ask(&call, RequestUnion::CreateRequest(create("a", end))).await;
        assert_eq!(next(&mut call).await.cancel_reason, reason, "{end:?}");
    }
    assert_eq!(member.member.rejections.counts_by_code().collect::<Vec<_>>(), [(8, 1)]);
}

#[tokio::test]
async fn rejects_watchers_above_the_memory_limit() {
    const LENGTH: usize = 1 << 20;
    let member = TestMember::start();
    // The watchers share the memory of one key, and each of them counts it.
    let span = KeySpan::single(vec![b'k'; LENGTH]);
    let ids: Vec<_> = (1..MAX_WATCHER_BYTES / LENGTH)
        .map(|_| member.member.with_state(|state| state.subscribe(&span, &Arc::default())))
        .collect();
    let mut call = member.call(WATCH).await;
    let (short, long) = ("a", "b".repeat(LENGTH));
    for (key, reason) in [(&long[..], "etcdserver: too many requests"), (short, "")] {
        ask(&call, RequestUnion::CreateRequest(create(key, ""))).await;
        assert_eq!(next(&mut call).await.cancel_reason, reason);
    }
    member.member.with_state(|state| state.unsubscribe(&span, ids[0]));
    ask(&call, RequestUnion::CreateRequest(create(&long, ""))).await;
    assert_eq!(next(&mut call).await.cancel_reason, "");
}

#[tokio::test]
async fn previous_values_count_towards_response_size() {
    let member = TestMember::start();
    for length in [20_000, 20_000, 20_000, 0, 0] {
        let put = Put { key: "a".into(), value: vec![0; length].into(), ..Put::default() };
        member.execute(Command::Put(put)).await;
    }
    let mut call = member.call(WATCH).await;
    let create = rpc::WatchCreateRequest { start_revision: 3, prev_kv: true, ..create("a", "") };
    ask(&call, RequestUnion::CreateRequest(create)).await;
    assert!(next(&mut call).await.created);
    for count in [1, 1, 2] {
        assert_eq!(next(&mut call).await.events.len(), count);
    }
}

#[tokio::test]
async fn large_revision_is_sent_in_fragments_if_requested() {
    let config = Config { max_request_bytes: 8 << 10, ..Config::default() };
    let member = TestMember::start_with(config);
    let put = |number: usize| {
        let (key, value) = (format!("a{number}").as_str().into(), vec![0; 100_000].into());
        TxnOperation::Put(Put { key, value, ..Put::default() })
    };
    let success = (0..8).map(put).collect();
    let written = member.member.propose(Command::Txn(Txn { success, ..Txn::default() })).await;
    assert!(written.expect("an outcome").result.is_ok());
    let mut call = member.call(WATCH).await;
    // The limit of a response is 520 KiB. All events have the same revision.
    for (fragment, expected) in [(false, vec![(8, false)]), (true, vec![(5, true), (3, false)])] {
        let create = rpc::WatchCreateRequest { start_revision: 2, fragment, ..create("a", "b") };
        ask(&call, RequestUnion::CreateRequest(create)).await;
        assert!(next(&mut call).await.created);
        for expected in expected {
            let response = next(&mut call).await;
            assert_eq!((response.events.len(), response.fragment), expected);
        }
    }
}
