//! Administrative calls with several endpoints.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tenure_client::{Admin, ConnectOptions};

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
