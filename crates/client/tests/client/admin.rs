//! Administrative calls with several endpoints.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tenure_client::{Admin, ClientError, ConnectOptions, User};
use tokio::time::sleep;

use crate::relay::{Relay, UnresponsiveEndpoint};
use crate::service::Service;

#[tokio::test]
async fn slow_response_is_returned_while_the_next_endpoint_connects() {
    let service = Service::start().await;
    let (relay, address) = Relay::start(&service.address).await;
    let unresponsive = UnresponsiveEndpoint::open().await;
    let endpoints = [&address, &unresponsive.address];
    let admin = Admin::new(endpoints, ConnectOptions::default()).expect("valid endpoints");
    admin.status().await.expect("a response");
    // Longer than the delay after which a read is also sent to the next endpoint.
    relay.delay.store(900, Ordering::Relaxed);
    let start = Instant::now();
    admin.status().await.expect("a response");
    // Connecting to the other endpoint takes until 2.75 s.
    assert!(start.elapsed() < Duration::from_millis(2_500), "{:?}", start.elapsed());
}

/// Starts a service that requires authentication, with this password of `root`.
async fn service_with_password(password: &str) -> Service {
    let service = Service::start().await;
    let user = format!(r#"{{"name":"root","password":"{password}"}}"#);
    let steps = [
        ("user/add", &*user),
        ("user/grant", r#"{"user":"root","role":"root"}"#),
        ("enable", "{}"),
    ];
    service.post_access(&steps).await;
    service
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_call_outlasts_rejection_by_next_endpoint() {
    let service = service_with_password("secret").await;
    let other = service_with_password("changed").await;
    let (relay, address) = Relay::start(&service.address).await;
    let options = ConnectOptions::default().user(User::new("root", "secret"));
    let admin = Admin::new([&address, &other.address], options.clone()).expect("valid endpoints");
    let first = admin.status().await.expect("a response");
    // Meanwhile the next endpoint rejects the password. After 2 s the connection counts as dead.
    relay.is_cut.store(true, Ordering::Relaxed);
    let restored = async {
        sleep(Duration::from_millis(1_600)).await;
        relay.is_cut.store(false, Ordering::Relaxed);
    };
    let (next, ()) = tokio::join!(admin.status(), restored);
    assert_eq!(next.expect("a response").id, first.id);
    // Without a pending call, a rejection is returned.
    let admin = Admin::new([&other.address], options).expect("a valid endpoint");
    let rejected = admin.status().await;
    assert!(matches!(rejected, Err(ClientError::Rejected { .. })), "{rejected:?}");
}
