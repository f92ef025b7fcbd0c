//! Services with authentication.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_client::{
    AdminClient, Client, ClientError, Code, KeyChange, LossReason, RangeQuery, Session, User,
};
use tenure_server::Config;

use crate::relay::{Relay, SilentMember};
use crate::service::{Service, joined, json_string, spawn_with, within};

/// Starts a service that requires authentication. `bob` may read and write below `jobs/`.
async fn closed() -> Service {
    closed_with(Config::default()).await
}

async fn closed_with(config: Config) -> Service {
    let service = Service::with(config).await;
    enable_users(&service).await;
    service
}

async fn enable_users(service: &Service) {
    // The range from `jobs/` to `jobs0` contains all keys below `jobs/`.
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
}

async fn as_root(service: &Service, path: &str, body: &str) {
    let named = r#"{"name":"root","password":"secret"}"#;
    let response = service.post("/v3/auth/authenticate", named).await;
    let token = json_string(&response, "token").expect("a token");
    let response = service.post_as(path, body, token).await;
    assert!(response.contains(" 200 "), "{path}: {response}");
}

async fn session(service: &Service, user: User) -> Result<Session, ClientError> {
    // With this TTL, even a busy machine renews the session in time.
    session_for(Duration::from_secs(60), service, user).await
}

async fn session_for(ttl: Duration, service: &Service, user: User) -> Result<Session, ClientError> {
    let client = Client::connect_with([&service.address], user).await?;
    client.session(ttl).await
}

#[tokio::test(flavor = "multi_thread")]
async fn lock_outlives_its_token() {
    // Tokens expire after a second. The first renewal comes after eight seconds, when the first
    // token has expired.
    let service = closed_with(Config { auth_token_ttl: 1, ..Config::default() }).await;
    let session = session_for(Duration::from_secs(24), &service, User::new("bob", "one")).await;
    let guard = session.expect("a session").lock("jobs/nightly").await.expect("the lock");
    let mut deadlines = guard.deadline_changes();
    let first = deadlines.next().await.expect("the current deadline");
    let second = within(deadlines.next()).await.expect("a renewal");
    assert!(second > first);
    assert!(guard.deadline().is_some(), "the session is alive");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_a_user_continue_when_users_are_enabled() {
    let service = Service::with(Config::default()).await;
    let bob = || User::new("bob", "one");
    let [client, observer] = [(); 2].map(|()| Client::connect_with([&service.address], bob()));
    let (client, observer) = (client.await.expect("a client"), observer.await.expect("a client"));
    let admin = AdminClient::new([&service.address], bob()).expect("a client");
    let barrier = client.barrier("jobs/barrier");
    assert!(barrier.hold().await.expect("a response"));
    let query = RangeQuery { key: b"jobs/barrier".to_vec(), ..RangeQuery::default() };
    admin.range(query.clone()).await.expect("a response");
    enable_users(&service).await;
    // The connections have no token, so the service rejects their next requests.
    let mut changes = observer.key_changes(b"jobs/barrier", 1);
    assert!(matches!(within(changes.next()).await, KeyChange::Put { .. }));
    admin.range(query).await.expect("a response with a new token");
    admin.put(b"jobs/other".to_vec(), Vec::new()).await.expect("a response with a new token");
    barrier.release().await.expect("a response with a new token");
}

#[tokio::test]
async fn connecting_fails_if_no_member_responds_to_the_password() {
    let silent = SilentMember::start().await;
    let connecting = Client::connect_with([&silent.address], User::new("bob", "one"));
    let error = within(connecting).await.map(drop).expect_err("no response");
    assert!(matches!(error, ClientError::Unavailable { .. }), "{error}");
    assert!(silent.requests.load(Ordering::Relaxed) > 0, "the member received the password");
}

#[tokio::test(flavor = "multi_thread")]
async fn client_tries_next_member_if_one_does_not_respond_to_the_password() {
    let (service, silent) = (closed().await, SilentMember::start().await);
    // A client begins with a random endpoint. The test connects again until a client begins with
    // the silent member.
    let through_silent_member = async {
        loop {
            let before = silent.requests.load(Ordering::Relaxed);
            let endpoints = [&silent.address, &service.address];
            let connected = Client::connect_with(endpoints, User::new("bob", "one")).await;
            if connected.is_ok() && silent.requests.load(Ordering::Relaxed) > before {
                return;
            }
        }
    };
    within(through_silent_member).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_rights_are_rejected_with_status_code() {
    let service = closed().await;
    let code = |error| match error {
        ClientError::Rejected { code, .. } => code,
        other => panic!("{other}"),
    };
    let bob = session(&service, User::new("bob", "one")).await.expect("a session");
    let other = bob.lock("other").await.map(drop).expect_err("permission denied");
    assert_eq!(code(other), Code::PermissionDenied);
    let wrong =
        session(&service, User::new("bob", "two")).await.map(drop).expect_err("a wrong password");
    assert_eq!(code(wrong), Code::InvalidArgument);
    let anonymous = service.client().await.session(Duration::from_secs(2)).await;
    assert_eq!(
        code(anonymous.map(drop).expect_err("authentication is required")),
        Code::InvalidArgument
    );
}

/// All keys below `jobs/`, as a range in JSON with base64.
const JOBS: &str = r#"{"key":"am9icy8=","range_end":"am9iczA="}"#;

const NO_JOBS: &str = r#"{"name":"bob","role":"jobs"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn waiter_without_read_permission_fails() {
    let service = closed().await;
    let root = session(&service, User::new("root", "secret")).await.expect("a session");
    let bob = session_for(Duration::from_secs(600), &service, User::new("bob", "one")).await;
    let bob = bob.expect("a session");
    let lease = bob.id();
    let held = root.lock("jobs/nightly").await.expect("the lock");
    let waits = tokio::spawn(async move { bob.lock("jobs/nightly").await.map(drop) });
    service.wait_for_watchers(1).await;
    as_root(&service, "/v3/auth/user/revoke", NO_JOBS).await;
    held.release().await.expect("released");
    let response = joined(waits).await;
    assert!(matches!(response, Err(ClientError::Rejected { code: Code::PermissionDenied, .. })));
    // The queue entry of bob ends with his lease.
    as_root(&service, "/v3/lease/revoke", &format!(r#"{{"ID":"{lease}"}}"#)).await;
    within(root.lock("jobs/nightly")).await.expect("the lock").release().await.expect("released");
}

#[tokio::test(flavor = "multi_thread")]
async fn guard_without_read_permission_is_lost() {
    let service = closed().await;
    let bob = session(&service, User::new("bob", "one")).await.expect("a session");
    let guard = bob.lock("jobs/nightly").await.expect("the lock");
    let response = tokio::spawn(async move { guard.lost().await });
    service.wait_for_watchers(1).await;
    as_root(&service, "/v3/auth/user/revoke", NO_JOBS).await;
    as_root(&service, "/v3/kv/deleterange", JOBS).await;
    assert_eq!(joined(response).await, LossReason::AccessDenied);
    assert!(bob.deadline().is_some(), "the session is alive");
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_release_does_not_block_other_locks() {
    let service = closed().await;
    let bob = session(&service, User::new("bob", "one")).await.expect("a session");
    let guard = bob.lock("jobs/nightly").await.expect("the lock");
    let permission = r#"{"name":"other","perm":
        {"permType":"READWRITE","key":"b3RoZXIv","range_end":"b3RoZXIw"}}"#;
    as_root(&service, "/v3/auth/role/add", r#"{"name":"other"}"#).await;
    as_root(&service, "/v3/auth/role/grant", permission).await;
    as_root(&service, "/v3/auth/user/grant", r#"{"user":"bob","role":"other"}"#).await;
    as_root(&service, "/v3/auth/user/revoke", NO_JOBS).await;
    // A lease with a key that the user may not write cannot be attached to other keys.
    as_root(&service, "/v3/kv/deleterange", JOBS).await;
    drop(guard);
    within(bob.lock("other/daily")).await.expect("the lock").release().await.expect("released");
}

/// Loses the response to a request for a lock. The client cannot repeat the request, because the
/// service rejects its password for a while. The session continues, so the client must leave the
/// queue.
#[tokio::test(flavor = "multi_thread")]
async fn rejected_password_leaves_no_queue_entry() {
    let service = closed().await;
    let root = User::new("root", "secret");
    let admin = AdminClient::new([&service.address], root).expect("a client");
    let (key, range_end) = (b"jobs/".to_vec(), b"jobs0".to_vec());
    let jobs = RangeQuery { key, range_end, ..RangeQuery::default() };
    let keys = async || admin.range(jobs.clone()).await.expect("a response").keys.len();
    let (relay, address) = Relay::start(&service.address).await;
    let client = Client::connect_with([&address], User::new("bob", "one")).await;
    let bob = client.expect("a client").session(Duration::from_secs(60)).await.expect("a session");
    relay.delay.store(60_000, Ordering::Relaxed);
    let locks = spawn_with(&bob, |bob| async move { bob.lock("jobs/nightly").await.map(drop) });
    within(async { while keys().await == 0 {} }).await;
    let change = "/v3/auth/user/changepw";
    as_root(&service, change, r#"{"name":"bob","password":"two"}"#).await;
    within(relay.close_connections()).await;
    relay.delay.store(0, Ordering::Relaxed);
    let rejected = joined(locks).await;
    assert!(matches!(rejected, Err(ClientError::Rejected { .. })), "{rejected:?}");
    as_root(&service, change, r#"{"name":"bob","password":"one"}"#).await;
    within(async { while keys().await > 0 {} }).await;
    assert!(bob.deadline().is_some(), "the session is alive");
}

#[tokio::test(flavor = "multi_thread")]
async fn close_without_permission_fails() {
    let service = closed().await;
    let bob = session(&service, User::new("bob", "one")).await.expect("a session");
    let guard = bob.lock("jobs/nightly").await.expect("the lock");
    as_root(&service, "/v3/auth/user/revoke", NO_JOBS).await;
    let response = bob.close().await;
    assert!(matches!(response, Err(ClientError::Rejected { code: Code::PermissionDenied, .. })));
    assert_eq!(bob.loss_reason(), Some(LossReason::Closed));
    drop(guard);
    let other = session(&service, User::new("bob", "one")).await.expect("a session");
    as_root(&service, "/v3/lease/revoke", &format!(r#"{{"ID":"{}"}}"#, other.id())).await;
    assert_eq!(other.close().await, Ok(()), "the lease was revoked");
}
