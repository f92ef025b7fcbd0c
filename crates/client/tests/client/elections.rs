//! Elections and observers.

use tenure_client::{ClientError, ElectionState, LossReason};

use crate::service::{Service, joined, within};

#[tokio::test]
async fn observer_sees_each_leader_and_the_vacancy() {
    let (service, [one, other]) = Service::with_sessions().await;
    let mut observer = service.client().await.election_observer("boss");
    let mut see = async || within(observer.next_state()).await.expect("news");
    assert_eq!(see().await, ElectionState::NoLeader);
    let leading = one.campaign("boss", "one").await.expect("the leadership");
    let led = |fence, key: &[u8], value: &str| ElectionState::Leader {
        key: key.to_vec(),
        value: value.into(),
        fence,
    };
    let (fence, key) = (leading.fence(), leading.key().to_vec());
    assert_eq!(see().await, led(fence, &key, "one"));
    leading.proclaim("one, still").await.expect("it is the leader");
    assert_eq!(see().await, led(fence, &key, "one, still"));
    let stands = tokio::spawn(async move { other.campaign("boss", "other").await });
    service.wait_for_keys(2).await;
    leading.resign().await.expect("resigned");
    let next = joined(stands).await.expect("elected");
    assert!(next.fence() > fence);
    assert_eq!(see().await, led(next.fence(), next.key(), "other"));
    let gone = r#"{"key":"Ym9zcy8=","range_end":"Ym9zczA="}"#;
    service.post("/v3/kv/deleterange", gone).await;
    assert_eq!(see().await, ElectionState::NoLeader);
    let refused = next.proclaim("other, still").await;
    assert_eq!(refused, Err(ClientError::Lost(LossReason::KeyDeleted)));
}
