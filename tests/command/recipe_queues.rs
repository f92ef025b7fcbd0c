//! Tests of `tenure locks` with read/write locks and semaphores.

use std::time::Duration;

use serde_json::{Value, json};
use tenure_client::{Client, Session};

use crate::hold::until;
use crate::member::Member;
use crate::shell::{data, text};

/// Starts a member, and calls `work` with three sessions and the options that select the member.
fn with_sessions<T>(work: impl AsyncFnOnce(&Member, [Session; 3], &str) -> T) -> T {
    let folder = tempfile::tempdir().expect("a folder");
    let member = Member::start_in(folder.path());
    let at = format!("--endpoints http://{}", member.address);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut sessions = Vec::new();
        for _ in 0..3 {
            let client = Client::connect([format!("http://{}", member.address)]).await;
            let session = client.expect("a client").session(Duration::from_secs(60)).await;
            sessions.push(session.expect("a session"));
        }
        let sessions = sessions.try_into().expect("three sessions");
        work(&member, sessions, &at).await
    })
}

/// Returns the locks that `tenure locks` lists. An element consists of the name and the kind of a
/// lock, and of the numbers of its holders and waiters.
fn listed(at: &str) -> Vec<(Value, Value, usize, Value)> {
    let locks = data(&format!("locks ls {at}"), 0)["locks"].as_array().expect("locks").clone();
    let held = |lock: &Value| lock["holders"].as_array().map_or(0, Vec::len);
    let row = |lock: Value| {
        let held = held(&lock);
        (lock["name"].clone(), lock["recipe"].clone(), held, lock["waiting"].clone())
    };
    locks.into_iter().map(row).collect()
}

/// The prefix `NAME/` selects all keys of a lock, so it selects the lock as a whole.
#[test]
fn prefix_with_a_slash_lists_whole_queues() {
    with_sessions(async |_, [one, two, three], at| {
        let _permit = one.semaphore("s", 2).await.expect("a semaphore").acquire().await;
        let _other = two.semaphore("s", 2).await.expect("it exists").acquire().await;
        let _first = one.read_lock("a").await.expect("the lock");
        let _second = two.read_lock("a").await.expect("the lock");
        let writer = tokio::spawn(async move { three.write_lock("a").await.map(drop) });
        until(|| queue("a", at).len() == 3);
        let expected = [(json!("a"), json!("read-write"), 2, json!(1))];
        assert_eq!(listed(&format!("a/ {at}")), expected);
        let expected = [(json!("s"), json!("semaphore"), 2, json!(0))];
        assert_eq!(listed(&format!("s/ {at}")), expected);
        writer.abort();
    });
}

fn queue(name: &str, at: &str) -> Vec<(Value, Value)> {
    let lock = data(&format!("locks queue {name} {at}"), 0);
    let queue = lock["queue"].as_array().expect("claims").clone();
    queue.into_iter().map(|claim| (claim["share"].clone(), claim["inside"].clone())).collect()
}

#[test]
fn readers_and_writers_of_a_lock_are_one_queue() {
    with_sessions(async |_, [one, two, three], at| {
        let _first = one.read_lock("a").await.expect("the lock");
        let _second = two.read_lock("a").await.expect("the lock");
        let writer = tokio::spawn(async move { three.write_lock("a").await.map(drop) });
        until(|| queue("a", at).len() == 3);
        assert_eq!(listed(at), [(json!("a"), json!("read-write"), 2, json!(1))]);
        let claim = |share: &str, inside: bool| (json!(share), json!(inside));
        let expected = [claim("shared", true), claim("shared", true), claim("exclusive", false)];
        assert_eq!(queue("a", at), expected);
        assert_eq!(queue("a/write", at), expected, "a folder is no lock of its own");
        let why = text(&format!("locks why a {at}"), 0);
        assert!(why.contains("waits at position 3"), "{why}");
        assert!(text(&format!("locks ls {at}"), 0).contains("a (read/write)"));
        writer.abort();
    });
}

#[test]
fn claims_on_a_semaphore_have_their_weights() {
    with_sessions(async |_, [one, two, three], at| {
        let first = one.semaphore("s", 3).await.expect("a semaphore");
        let _two_permits = first.acquire_many(2).await.expect("permits");
        let _last = two.semaphore("s", 3).await.expect("it exists").acquire().await;
        let waits = tokio::spawn(async move {
            three.semaphore("s", 3).await.expect("it exists").acquire_many(2).await.map(drop)
        });
        until(|| queue("s", at).len() == 3);
        assert_eq!(listed(at), [(json!("s"), json!("semaphore"), 2, json!(1))]);
        let claim = |share: &str, inside: bool| (json!(share), json!(inside));
        let expected = [
            claim("slots-3-weight-2", true),
            claim("slots-3", true),
            claim("slots-3-weight-2", false),
        ];
        assert_eq!(queue("s", at), expected);
        waits.abort();
    });
}

/// Control experiment: ordinary locks with the names `a/read` and `s/permits` are listed as
/// ordinary locks. Their keys look like those of a read/write lock `a` and of a semaphore `s`.
#[test]
fn locks_with_names_of_folders_stay_locks() {
    with_sessions(async |member, [one, ..], at| {
        let _permits = one.lock("s/permits").await.expect("the lock");
        // The keys `a/read/1a` and `a/read/1b`, of two commands.
        for (id, key) in [(26, "YS9yZWFkLzFh"), (27, "YS9yZWFkLzFi")] {
            member.ask("/v3/lease/grant", &json!({ "TTL": 60, "ID": id }));
            member.ask("/v3/kv/put", &json!({ "key": key, "lease": id, "value": "eA==" }));
        }
        let expected = [
            (json!("a/read"), json!("lock"), 1, json!(1)),
            (json!("s/permits"), json!("lock"), 1, json!(0)),
        ];
        assert_eq!(listed(at), expected);
    });
}
