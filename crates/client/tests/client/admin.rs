//! Administrative calls to a service with several endpoints.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tenure_client::{AdminClient, ClientError, Code, ConnectOptions, MemberStatus, User};
use tokio::time::sleep;

use crate::relay::{Relay, UnresponsiveEndpoint};
use crate::service::{Service, within};

#[tokio::test]
async fn slow_response_is_returned_while_the_next_endpoint_connects() {
    let service = Service::start().await;
    let (relay, address) = Relay::start(&service.address).await;
    let unresponsive = UnresponsiveEndpoint::open().await;
    let endpoints = [&address, &unresponsive.address];
    let admin = AdminClient::new(endpoints, ConnectOptions::default()).expect("valid endpoints");
    admin.status().await.expect("a response");
    // Longer than the delay after which a read is also sent to the next endpoint.
    relay.delay.store(900, Ordering::Relaxed);
    // The member responds after 0.9 s. The attempt to connect to the other endpoint fails only
    // after 2.75 s. A busy machine may delay some responses, so one response within 2.5 s is
    // enough.
    let mut shortest = Duration::MAX;
    for _ in 0..40 {
        let start = Instant::now();
        admin.status().await.expect("a response");
        shortest = shortest.min(start.elapsed());
        if shortest < Duration::from_millis(2_500) {
            return;
        }
    }
    panic!("the earliest response came after {shortest:?}");
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

/// Starts two services and a relay in front of each. Returns the services, the relays, and a client
/// whose endpoints are both relays. The first service accepts the password of the client, and the
/// second service rejects it.
async fn with_differing_passwords() -> ([Service; 2], [Arc<Relay>; 2], AdminClient) {
    let service = service_with_password("secret").await;
    let other = service_with_password("changed").await;
    let (relay, address) = Relay::start(&service.address).await;
    let (next, next_address) = Relay::start(&other.address).await;
    let options = ConnectOptions::default().user(User::new("root", "secret"));
    let admin = AdminClient::new([&address, &next_address], options).expect("valid endpoints");
    ([service, other], [relay, next], admin)
}

/// Waits until the second relay has forwarded a request. The service behind this relay rejects the
/// request. 300 ms later, makes the first relay forward data again.
async fn restore([relay, next]: &[Arc<Relay>; 2]) {
    within(async {
        while next.forwarded.load(Ordering::Relaxed) == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    sleep(Duration::from_millis(300)).await;
    relay.is_cut.store(false, Ordering::Relaxed);
}

/// Returns true if the response is that of the member `id`, or of any member if `id` is `None`.
/// Returns false if a member has rejected the call.
fn is_response(response: Result<MemberStatus, ClientError>, id: Option<u64>) -> bool {
    match response {
        Ok(status) => {
            assert!(id.is_none_or(|id| id == status.id), "{status:?}");
            true
        }
        Err(ClientError::Rejected { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Returns true if one of ten attempts succeeds.
async fn one_of_ten(attempt: impl AsyncFn() -> bool) -> bool {
    for _ in 0..10 {
        if attempt().await {
            return true;
        }
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_call_outlasts_rejection_by_next_endpoint() {
    // The client sends the request to the next endpoint after 0.75 s. After 2 s it abandons the
    // first connection. A busy machine may deliver the rejection after that.
    let is_returned = async || {
        let (_services, relays, admin) = with_differing_passwords().await;
        let first = admin.status().await.expect("a response");
        relays[0].is_cut.store(true, Ordering::Relaxed);
        let (next, ()) = tokio::join!(admin.status(), restore(&relays));
        is_response(next, Some(first.id))
    };
    assert!(one_of_ten(is_returned).await, "each rejection is returned");
    // If no other call is pending, the client returns the rejection.
    let other = service_with_password("changed").await;
    let options = ConnectOptions::default().user(User::new("root", "secret"));
    let admin = AdminClient::new([&other.address], options).expect("a valid endpoint");
    let rejected = admin.status().await;
    assert!(matches!(rejected, Err(ClientError::Rejected { .. })), "{rejected:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_connection_outlasts_rejection_by_next_endpoint() {
    let is_returned = async || {
        let (_services, relays, admin) = with_differing_passwords().await;
        relays[0].is_cut.store(true, Ordering::Relaxed);
        let (first, ()) = tokio::join!(admin.status(), restore(&relays));
        is_response(first, None)
    };
    assert!(one_of_ten(is_returned).await, "each rejection is returned");
}

#[tokio::test(flavor = "multi_thread")]
async fn rejection_is_returned_if_the_pending_call_fails() {
    let (_services, relays, admin) = with_differing_passwords().await;
    admin.status().await.expect("a response");
    relays[0].is_cut.store(true, Ordering::Relaxed);
    let failed = admin.status().await;
    let is_rejected =
        matches!(failed, Err(ClientError::Rejected { code: Code::InvalidArgument, .. }));
    assert!(is_rejected, "{failed:?}");
}

#[tokio::test]
async fn compaction_succeeds_although_its_response_is_lost() {
    let service = Service::start().await;
    let (relay, address) = Relay::start(&service.address).await;
    let endpoints = [&address, &service.address];
    let admin = AdminClient::new(endpoints, ConnectOptions::default()).expect("valid endpoints");
    for value in ["1", "2", "3"] {
        admin.put(b"a".to_vec(), value.into()).await.expect("a response");
    }
    let revision = service.revision().await;
    relay.drops_next_response.store(true, Ordering::Relaxed);
    within(admin.compact(revision)).await.expect("the history is removed");
    let again = within(admin.compact(revision)).await;
    assert!(matches!(again, Err(ClientError::Rejected { .. })), "{again:?}");
}

/// Sends changes that are already done, as after a first attempt without a response. The service
/// rejects each repetition. The client must then read the members, and find the change.
#[tokio::test]
async fn change_of_members_succeeds_although_its_response_is_lost() {
    let service = Service::start().await;
    let (relay, address) = Relay::start(&service.address).await;
    let endpoints = [&address, &service.address];
    let admin = AdminClient::new(endpoints, ConnectOptions::default()).expect("valid endpoints");
    let members = within(admin.members(true)).await.expect("a response");
    let (own, unknown) = (members[0].id, members[0].id ^ 1);
    // The member has a vote, and no member has the other identifier.
    for is_response_lost in [true, false] {
        let lose = || relay.drops_next_response.store(is_response_lost, Ordering::Relaxed);
        // After a lost response, the client uses the other endpoint.
        let admin =
            AdminClient::new(endpoints, ConnectOptions::default()).expect("valid endpoints");
        within(admin.status()).await.expect("a response");
        lose();
        let promoted = within(admin.promote_member(own)).await;
        let admin =
            AdminClient::new(endpoints, ConnectOptions::default()).expect("valid endpoints");
        within(admin.status()).await.expect("a response");
        lose();
        let removed = within(admin.remove_member(unknown)).await;
        for changed in [promoted, removed] {
            match is_response_lost {
                true => assert_eq!(changed.as_ref(), Ok(&members)),
                false => assert!(matches!(changed, Err(ClientError::Rejected { .. }))),
            }
        }
    }
}

/// A promotion that is not done fails: the learner has no vote.
#[tokio::test]
async fn promotion_of_unknown_member_fails_although_its_response_is_lost() {
    let service = Service::start().await;
    let (relay, address) = Relay::start(&service.address).await;
    let endpoints = [&address, &service.address];
    let admin = AdminClient::new(endpoints, ConnectOptions::default()).expect("valid endpoints");
    let members = within(admin.members(true)).await.expect("a response");
    relay.drops_next_response.store(true, Ordering::Relaxed);
    let promoted = within(admin.promote_member(members[0].id ^ 1)).await;
    assert!(matches!(promoted, Err(ClientError::Rejected { .. })), "{promoted:?}");
}
