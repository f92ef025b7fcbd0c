//! Tests of periodic progress notifications.

use tenure_store::{Command, Principal, Put};
use tokio::sync::mpsc;

use super::*;
use crate::test_member::TestMember;

type Responses = mpsc::Receiver<Result<rpc::WatchResponse, Status>>;

/// Returns a stream with watchers of the keys `a` and `b`, which want progress notifications, and
/// of the key `c`, which wants none. Their watch IDs are 0, 1 and 2.
async fn stream_with_watchers(member: &TestMember) -> (WatchStream, Responses) {
    let (responses, receiver) = mpsc::channel(100);
    let mut stream = WatchStream {
        caller: Caller::new(member.member.clone(), Principal::Anonymous),
        responses,
        signal: Arc::default(),
        watchers: HashMap::new(),
        client_ids: HashMap::new(),
        next_id: 0,
    };
    for (key, progress_notify) in [("a", true), ("b", true), ("c", false)] {
        let key = key.into();
        let create = rpc::WatchCreateRequest { key, progress_notify, ..Default::default() };
        assert!(stream.create_watcher(create).await.is_ok());
    }
    (stream, receiver)
}

async fn put(member: &TestMember, key: &str) -> i64 {
    let outcome = member.execute(Command::Put(Put { key: key.into(), ..Put::default() })).await;
    signed(outcome.revision)
}

/// Returns the responses that were sent since the last call, in the order of their watch IDs: for
/// each one the watch ID, the revision in its header, and the number of its events.
fn sent(responses: &mut Responses) -> Vec<(i64, i64, usize)> {
    let mut sent = Vec::new();
    while let Ok(response) = responses.try_recv() {
        let response = response.expect("a response");
        let revision = response.header.map_or(0, |header| header.revision);
        sent.push((response.watch_id, revision, response.events.len()));
    }
    sent.sort_unstable();
    sent
}

#[tokio::test]
async fn busy_watcher_receives_no_progress_notification() {
    let member = TestMember::start();
    let (mut stream, mut responses) = stream_with_watchers(&member).await;
    assert_eq!(sent(&mut responses).len(), 3, "the watchers were created");
    assert!(stream.send_progress().await.is_ok());
    assert_eq!(sent(&mut responses), [(0, 1, 0), (1, 1, 0)]);

    // The first event is sent before the tick, and the second one at the tick.
    for is_sent_before in [true, false] {
        let revision = put(&member, "a").await;
        if is_sent_before {
            assert!(stream.flush().await.is_ok());
        }
        assert!(stream.send_progress().await.is_ok());
        assert_eq!(sent(&mut responses), [(0, revision, 1), (1, revision, 0)]);
    }

    // Events of the other keys do not make the first watcher busy.
    let revision = put(&member, "c").await;
    assert!(stream.send_progress().await.is_ok());
    assert_eq!(sent(&mut responses), [(0, revision, 0), (1, revision, 0), (2, revision, 1)]);
}
