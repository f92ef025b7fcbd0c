//! Services where everybody says who they are.

use std::time::Duration;

use tenure_client::{Client, ClientError, Code, Lost, Session, User};
use tenure_server::Config;
use tokio::time::timeout;

use crate::service::{SOON, Service, said};

/// One where `bob` may do anything below `jobs/`, and a token counts for a second.
async fn closed() -> Service {
    let service = Service::with(Config { auth_token_ttl: 1, ..Config::default() }).await;
    // From `jobs/` up to `jobs0`.
    let permission = r#"{"name":"jobs","perm":
        {"permType":"READWRITE","key":"am9icy8=","range_end":"am9iczA="}}"#;
    let steps = [
        ("user/add", r#"{"name":"root","password":"secret"}"#),
        ("user/grant", r#"{"user":"root","role":"root"}"#),
        ("user/add", r#"{"name":"bob","password":"one"}"#),
        ("role/add", r#"{"name":"jobs"}"#),
        ("role/grant", permission),
        ("user/grant", r#"{"user":"bob","role":"jobs"}"#),
        ("enable", "{}"),
    ];
    service.post_access(&steps).await;
    service
}

/// Something that only `root` may have done.
async fn as_root(service: &Service, path: &str, body: &str) {
    let named = r#"{"name":"root","password":"secret"}"#;
    let told = service.post("/v3/auth/authenticate", named).await;
    let token = said(&told, "token").expect("a token");
    let told = service.post_as(path, body, token).await;
    assert!(told.contains(" 200 "), "{path}: {told}");
}

async fn session(service: &Service, user: User) -> Result<Session, ClientError> {
    let client = Client::connect_as([&service.address], user).await?;
    client.session(Duration::from_secs(2)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_outlives_the_token_that_it_was_taken_with() {
    let service = closed().await;
    let session = session(&service, User::new("bob", "one")).await.expect("a session");
    let guard = session.lock("jobs/nightly").await.expect("the lock");
    // Longer than the lease, so that it was renewed when the first token had expired.
    let lost = timeout(Duration::from_millis(2500), guard.lost()).await;
    assert!(lost.is_err(), "{lost:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_is_refused_by_code() {
    let service = closed().await;
    let code = |error| match error {
        ClientError::Refused { code, .. } => code,
        other => panic!("{other}"),
    };
    let bob = session(&service, User::new("bob", "one")).await.expect("a session");
    let other = bob.lock("other").await.map(drop).expect_err("no right");
    assert_eq!(code(other), Code::PermissionDenied);
    let wrong =
        session(&service, User::new("bob", "two")).await.map(drop).expect_err("a wrong one");
    assert_eq!(code(wrong), Code::InvalidArgument);
    let nobody = service.client().await.session(Duration::from_secs(2)).await;
    assert_eq!(code(nobody.map(drop).expect_err("no name")), Code::InvalidArgument);
}

/// All keys below `jobs/`.
const JOBS: &str = r#"{"key":"am9icy8=","range_end":"am9iczA="}"#;

const NO_JOBS: &str = r#"{"name":"bob","role":"jobs"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_see_the_queue_any_more_waits_no_longer() {
    let service = closed().await;
    let root = session(&service, User::new("root", "secret")).await.expect("a session");
    let bob = session(&service, User::new("bob", "one")).await.expect("a session");
    let held = root.lock("jobs/nightly").await.expect("the lock");
    let waits = tokio::spawn(async move { bob.lock("jobs/nightly").await.map(drop) });
    timeout(SOON, async { while service.watchers().await == 0 {} }).await.expect("it waits");
    as_root(&service, "/v3/auth/user/revoke", NO_JOBS).await;
    held.release().await.expect("released");
    let told = timeout(SOON, waits).await.expect("in time").expect("no panic");
    assert!(matches!(told, Err(ClientError::Refused { code: Code::PermissionDenied, .. })));
    // Bob's place is left with his lease.
    let next = timeout(SOON, root.lock("jobs/nightly")).await.expect("in time");
    next.expect("the lock").release().await.expect("released");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_see_their_key_any_more_does_not_go_on() {
    let service = closed().await;
    let bob = session(&service, User::new("bob", "one")).await.expect("a session");
    let guard = bob.lock("jobs/nightly").await.expect("the lock");
    let told = tokio::spawn(async move { guard.lost().await });
    timeout(SOON, async { while service.watchers().await == 0 {} }).await.expect("it watches");
    as_root(&service, "/v3/auth/user/revoke", NO_JOBS).await;
    as_root(&service, "/v3/kv/deleterange", JOBS).await;
    assert_eq!(timeout(SOON, told).await.expect("in time").expect("no panic"), Lost::Denied);
    assert!(bob.deadline().is_some(), "the session goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_given_up_any_more_is_in_the_way_of_no_other_lock() {
    let service = closed().await;
    let bob = session(&service, User::new("bob", "one")).await.expect("a session");
    let guard = bob.lock("jobs/nightly").await.expect("the lock");
    let permission = r#"{"name":"other","perm":
        {"permType":"READWRITE","key":"b3RoZXIv","range_end":"b3RoZXIw"}}"#;
    as_root(&service, "/v3/auth/role/add", r#"{"name":"other"}"#).await;
    as_root(&service, "/v3/auth/role/grant", permission).await;
    as_root(&service, "/v3/auth/user/grant", r#"{"user":"bob","role":"other"}"#).await;
    as_root(&service, "/v3/auth/user/revoke", NO_JOBS).await;
    // A lease with a key that may not be written is good for no other.
    as_root(&service, "/v3/kv/deleterange", JOBS).await;
    drop(guard);
    let other = timeout(SOON, bob.lock("other/daily")).await.expect("in time");
    other.expect("the lock").release().await.expect("released");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_end_a_lease_any_more_is_told_so() {
    let service = closed().await;
    let bob = session(&service, User::new("bob", "one")).await.expect("a session");
    let guard = bob.lock("jobs/nightly").await.expect("the lock");
    as_root(&service, "/v3/auth/user/revoke", NO_JOBS).await;
    let told = bob.close().await;
    assert!(matches!(told, Err(ClientError::Refused { code: Code::PermissionDenied, .. })));
    assert_eq!(bob.ended(), Some(Lost::Closed));
    drop(guard);
    let other = session(&service, User::new("bob", "one")).await.expect("a session");
    as_root(&service, "/v3/lease/revoke", &format!(r#"{{"ID":"{}"}}"#, other.id())).await;
    assert_eq!(other.close().await, Ok(()), "it is gone");
}
