//! Administrative calls to a service with several endpoints.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tenure_client::{Admin, ClientError, Code, ConnectOptions, User};
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

/// Starts a service that requires authentication. `password` is the password of `root`.
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

/// Returns two services, of which the second rejects the password, a relay in front of the first
/// one, and a client of both.
async fn with_differing_passwords() -> (Service, Service, Arc<Relay>, Admin) {
    let service = service_with_password("secret").await;
    let other = service_with_password("changed").await;
    let (relay, address) = Relay::start(&service.address).await;
    let options = ConnectOptions::default().user(User::new("root", "secret"));
    let admin = Admin::new([&address, &other.address], options).expect("valid endpoints");
    (service, other, relay, admin)
}

/// Makes the relay forward data again after this time.
async fn restore(relay: &Relay, after: Duration) {
    sleep(after).await;
    relay.is_cut.store(false, Ordering::Relaxed);
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_call_outlasts_rejection_by_next_endpoint() {
    let (_service, other, relay, admin) = with_differing_passwords().await;
    let first = admin.status().await.expect("a response");
    // The next endpoint is asked after 0.75 s. After 2 s the connection counts as dead.
    relay.is_cut.store(true, Ordering::Relaxed);
    let (next, ()) = tokio::join!(admin.status(), restore(&relay, Duration::from_millis(1_400)));
    assert_eq!(next.expect("a response").id, first.id);
    // Without a pending call, a rejection is returned.
    let options = ConnectOptions::default().user(User::new("root", "secret"));
    let admin = Admin::new([&other.address], options).expect("a valid endpoint");
    let rejected = admin.status().await;
    assert!(matches!(rejected, Err(ClientError::Rejected { .. })), "{rejected:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_connection_outlasts_rejection_by_next_endpoint() {
    let (_service, _other, relay, admin) = with_differing_passwords().await;
    relay.is_cut.store(true, Ordering::Relaxed);
    let (first, ()) = tokio::join!(admin.status(), restore(&relay, Duration::from_millis(1_000)));
    first.expect("a response");
}

#[tokio::test(flavor = "multi_thread")]
async fn rejection_is_returned_if_the_pending_call_fails() {
    let (_service, _other, relay, admin) = with_differing_passwords().await;
    admin.status().await.expect("a response");
    relay.is_cut.store(true, Ordering::Relaxed);
    let failed = admin.status().await;
    let is_rejected =
        matches!(failed, Err(ClientError::Rejected { code: Code::InvalidArgument, .. }));
    assert!(is_rejected, "{failed:?}");
}
