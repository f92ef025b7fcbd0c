//! Services where everybody says who they are.

use std::time::Duration;

use tenure_client::{Client, ClientError, Code, Session, User};
use tenure_server::Config;
use tokio::time::timeout;

use crate::service::Service;

/// One where `bob` may do anything below `jobs/`, and a token counts for a second.
async fn closed() -> Service {
    let service = Service::with(Config { auth_token_ttl: 1, ..Config::default() }).await;
    // From `jobs/` up to `jobs0`.
    let permission = r#"{"name":"jobs","perm":
        {"permType":"READWRITE","key":"am9icy8=","range_end":"am9iczA="}}"#;
    for (path, body) in [
        ("user/add", r#"{"name":"root","password":"secret"}"#),
        ("user/grant", r#"{"user":"root","role":"root"}"#),
        ("user/add", r#"{"name":"bob","password":"one"}"#),
        ("role/add", r#"{"name":"jobs"}"#),
        ("role/grant", permission),
        ("user/grant", r#"{"user":"bob","role":"jobs"}"#),
        ("enable", "{}"),
    ] {
        let told = service.post(&format!("/v3/auth/{path}"), body).await;
        assert!(told.contains(" 200 "), "{path}: {told}");
    }
    service
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
