//! Preferred candidates, and transfers of a leadership.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use tenure_client::{
    AdminClient, CampaignOptions, Client, ClientError, ConnectOptions, ElectionState, Leadership,
    LossReason, Session,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::service::{Service, joined, spawn_with, within};
use crate::workplace::Workplace;

/// Time that a leader takes to stop its work. A transfer must wait for the end of the work.
/// Otherwise, two leaders would work at the same time.
const STOPPING: Duration = Duration::from_millis(50);

/// Starts a candidacy, and waits until it is in the queue.
async fn waiting(
    client: &Client,
    session: &Session,
    identity: &str,
    priority: i32,
) -> JoinHandle<Result<Leadership, ClientError>> {
    let (session, options) = (session.clone(), CampaignOptions::new(identity).priority(priority));
    let campaign = tokio::spawn(async move { session.campaign_with("boss", options).await });
    within(async {
        while !order(client).await.iter().any(|it| it == identity) {
            assert!(!campaign.is_finished(), "{identity}");
        }
    })
    .await;
    campaign
}

async fn lead(session: &Session, identity: &str) -> Leadership {
    let options = CampaignOptions::new(identity);
    session.campaign_with("boss", options).await.expect("elected")
}

async fn elected(campaign: JoinHandle<Result<Leadership, ClientError>>) -> Leadership {
    joined(campaign).await.expect("elected")
}

async fn order(client: &Client) -> Vec<String> {
    let candidates = client.identified_candidates("boss").await.expect("a response");
    candidates.into_iter().map(|it| it.identity).collect()
}

#[tokio::test]
async fn nominated_candidate_leads_after_resignation() {
    let (service, sessions) = Service::with_sessions::<3>().await;
    let client = service.client().await;
    let first = lead(&sessions[0], "one").await;
    let other = waiting(&client, &sessions[1], "two", 0).await;
    let third = waiting(&client, &sessions[2], "three", 0).await;
    assert_eq!(order(&client).await, ["one", "two", "three"]);

    let nominated = within(first.nominate("three")).await.expect("it waits");
    assert_eq!(nominated.identity, "three");
    assert_eq!(order(&client).await, ["one", "three", "two"]);
    assert!(!third.is_finished() && !other.is_finished(), "the former leader still leads");
    let fence = first.fence();
    first.resign().await.expect("resigned");
    let third = elected(third).await;
    assert!(third.fence() > fence);
    assert!(!other.is_finished());

    let unknown = third.transfer_to("one").await.expect_err("`one` does not wait");
    assert_eq!(unknown.error, ClientError::UnknownCandidate { identity: "one".into() });
    let third = unknown.leadership.expect("the leadership continues");
    let fence = third.fence();
    within(third.transfer_to("two")).await.expect("transferred");
    let other = elected(other).await;
    assert!(other.fence() > fence);
    drop(other);
    service.wait_for_keys(0).await;
}

#[tokio::test]
async fn priority_orders_waiting_candidates() {
    let service = Service::start().await;
    let client = service.client().await;
    let leader = service.session().await;
    let leader = leader.campaign("boss", "ordinary").await.expect("elected");
    let (mut sessions, mut campaigns) = (Vec::new(), Vec::new());
    for (identity, priority) in [("low", -1), ("normal", 0), ("high", 5), ("middle", 3)] {
        let session = service.session().await;
        campaigns.push((identity, waiting(&client, &session, identity, priority).await));
        sessions.push(session);
    }
    let expected = ["high", "middle", "normal", "low"];
    within(async { while order(&client).await != expected {} }).await;
    let requested = within(leader.wait_until_transfer_due()).await.expect("a candidate");
    assert_eq!((&requested.identity[..], requested.priority), ("high", 5));

    let mut observer = client.election_observer("boss");
    let mut leader = leader;
    for identity in expected {
        let fence = leader.fence();
        leader.resign().await.expect("resigned");
        let place = campaigns.iter().position(|(it, _)| *it == identity).expect("a candidate");
        leader = elected(campaigns.remove(place).1).await;
        assert!(leader.fence() > fence);
        let seen = async {
            while !matches!(observer.next_state().await.expect("a state"),
                ElectionState::Leader { value, fence, .. }
                    if value == identity.as_bytes() && fence == leader.fence())
            {}
        };
        within(seen).await;
    }
}

/// A request that names the leader changes no leader. It takes precedence over an earlier request
/// for another candidate, and over the priorities of candidates.
#[tokio::test]
async fn request_for_the_leader_keeps_the_leader() {
    let (service, sessions) = Service::with_sessions::<3>().await;
    let client = service.client().await;
    let leader = lead(&sessions[0], "one").await;
    let other = waiting(&client, &sessions[1], "two", 0).await;
    let high = waiting(&client, &sessions[2], "high", 9).await;
    within(client.request_transfer("boss", "two")).await.expect("it waits");
    assert_eq!(within(leader.wait_until_transfer_due()).await.expect("it waits").identity, "two");

    let named = within(client.request_transfer("boss", "one")).await.expect("it leads");
    assert_eq!((named.identity.as_str(), named.fence), ("one", leader.fence()));
    let unwanted = timeout(Duration::from_millis(100), leader.wait_until_transfer_due()).await;
    assert!(unwanted.is_err(), "{unwanted:?}");
    assert!(!other.is_finished() && !high.is_finished(), "the leader still leads");

    // A later request for the other candidate takes effect.
    within(client.request_transfer("boss", "two")).await.expect("it waits");
    assert_eq!(within(leader.wait_until_transfer_due()).await.expect("it waits").identity, "two");
    leader.resign().await.expect("resigned");
    elected(other).await.resign().await.expect("resigned");
}

#[tokio::test]
async fn preferred_candidate_behind_ordinary_one_waits_for_it() {
    let (service, sessions) = Service::with_sessions::<3>().await;
    let client = service.client().await;
    let first = lead(&sessions[0], "one").await;
    let keys = service.keys().await;
    let ordinary =
        spawn_with(&sessions[1], |it| async move { it.campaign("boss", "ordinary").await });
    within(async { while service.keys().await == keys {} }).await;
    let high = waiting(&client, &sessions[2], "high", 9).await;
    within(first.transfer_to("high")).await.expect("an ordinary candidate is not awaited");
    let ordinary = elected(ordinary).await;
    assert!(!high.is_finished(), "there is one leader");
    ordinary.resign().await.expect("resigned");
    elected(high).await.resign().await.expect("resigned");
}

#[tokio::test]
async fn absent_claim_is_not_preferred() {
    let (service, sessions) = Service::with_sessions::<3>().await;
    let client = service.client().await;
    let first = lead(&sessions[0], "one").await;
    let high = waiting(&client, &sessions[1], "high", 9).await;
    assert_eq!(within(first.wait_until_transfer_due()).await.expect("it waits").identity, "high");
    // Another program deletes the claim, and not the record.
    let candidates = client.identified_candidates("boss").await.expect("a response");
    let admin =
        AdminClient::new([&service.address], ConnectOptions::default()).expect("an endpoint");
    let deleted = admin.delete_lock_claim(&candidates[1].key, candidates[1].fence).await;
    assert_eq!(deleted, Ok(true));
    assert_eq!(order(&client).await, ["one"]);
    let unknown = client.request_transfer("boss", "high").await.map(drop);
    assert_eq!(unknown, Err(ClientError::UnknownCandidate { identity: "high".into() }));

    let middle = waiting(&client, &sessions[2], "middle", 5).await;
    assert_eq!(within(first.wait_until_transfer_due()).await.expect("it waits").identity, "middle");
    first.resign().await.expect("resigned");
    elected(middle).await.resign().await.expect("resigned");
    let removed = joined(high).await.map(drop);
    assert_eq!(removed, Err(ClientError::Lost(LossReason::KeyDeleted)));
    service.wait_for_keys(0).await;
}

/// Deletes the claim of a leader that waits for a transfer. The leader's record remains.
#[tokio::test]
async fn waiting_leader_notices_deletion_of_its_claim() {
    let (service, [session]) = Service::with_sessions().await;
    let leadership = lead(&session, "one").await;
    let waits = async { leadership.wait_until_transfer_due().await.map(drop) };
    let deletes = async {
        service.wait_for_watchers(1).await;
        service.post("/v3/kv/deleterange", r#"{"key":"Ym9zcy8=","range_end":"Ym9zczA="}"#).await;
    };
    let (waited, ()) = within(async { tokio::join!(waits, deletes) }).await;
    assert_eq!(waited, Err(ClientError::Lost(LossReason::KeyDeleted)));
}

#[tokio::test]
async fn cancelled_candidacy_leaves_no_keys() {
    let (service, [one, other]) = Service::with_sessions().await;
    let client = service.client().await;
    let first = lead(&one, "one").await;
    let keys = service.keys().await;
    for wait in [0, 1, 30] {
        let campaign = other.campaign_with("boss", CampaignOptions::new("two"));
        assert!(timeout(Duration::from_millis(wait), campaign).await.is_err());
        service.wait_for_keys(keys).await;
    }
    // The candidacy is cancelled while its candidate yields.
    let third = service.session().await;
    for _ in 0..5 {
        let low = waiting(&client, &other, "low", 0).await;
        let high = waiting(&client, &third, "high", 1).await;
        low.abort();
        high.abort();
        service.wait_for_keys(keys).await;
    }
    drop(first);
    service.wait_for_keys(0).await;
}

/// Runs a candidate in a loop. The candidate becomes leader, works until the service asks it to
/// stop, and takes some time to stop. Then it becomes a candidate again.
async fn run_candidate(
    session: Session,
    identity: String,
    place: Arc<Workplace>,
    overlaps: mpsc::UnboundedSender<String>,
) {
    loop {
        let leadership = lead(&session, &identity).await;
        let fence = leadership.fence();
        let ended = leadership.lead(async |mut stop| {
            let work = place.start(&identity, fence);
            if let Err(error) = &work {
                overlaps.send(format!("{identity}: {error}")).expect("the test listens");
            }
            stop.successor().await;
            sleep(STOPPING / 10).await;
        });
        ended.await.expect("the session is alive");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_random_transfers_never_overlap() {
    const CANDIDATES: usize = 4;
    let service = Service::start().await;
    let (client, place) = (service.client().await, Arc::new(Workplace::new()));
    let (overlaps, mut found) = mpsc::unbounded_channel();
    let mut candidates = Vec::new();
    for index in 0..CANDIDATES {
        let (session, place) = (service.session().await, place.clone());
        let run = run_candidate(session, format!("host-{index}"), place, overlaps.clone());
        candidates.push(tokio::spawn(run));
    }
    let mut observer = client.election_observer("boss");
    let mut random = fastrand::Rng::with_seed(48);
    let mut leader = usize::MAX;
    for _ in 0..50 {
        let next = (0..CANDIDATES).filter(|it| *it != leader).collect::<Vec<_>>();
        let next = next[random.usize(..next.len())];
        let identity = format!("host-{next}");
        let transfer = async {
            // The request fails until the former leader takes part again.
            while client.request_transfer("boss", &identity).await.is_err() {}
            while !matches!(observer.next_state().await.expect("a state"),
                ElectionState::Leader { value, .. } if value == identity.as_bytes())
            {}
        };
        within(transfer).await;
        leader = next;
    }
    candidates.iter().for_each(JoinHandle::abort);
    assert_eq!(found.try_recv().ok(), None, "two leaders work at once");
    let record = place.record();
    // The record has fewer entries than there were transfers: a candidate does no work if a
    // transfer is requested before its work starts.
    assert!(record.len() >= CANDIDATES, "{record:?}");
    assert!(record.is_sorted_by(|(_, one), (_, other)| one < other), "fences grow: {record:?}");
    for candidate in candidates {
        let ended = candidate.await.expect_err("it runs until it is aborted");
        assert!(ended.is_cancelled(), "{ended}");
    }
}

/// Hands leadership over to a second client. The second client then tries to start its work.
/// Returns the result of this attempt. If `stops_before` is true, the first leader stops its work
/// before it resigns. If `stops_before` is false, the first leader stops its work only after the
/// attempt.
async fn hand_over(place: &Workplace, stops_before: bool) -> std::io::Result<()> {
    let (service, [one, other]) = Service::with_sessions().await;
    let client = service.client().await;
    let first = lead(&one, "one").await;
    let next = waiting(&client, &other, "two", 1).await;
    let work = place.start("one", first.fence()).expect("no other leader works");
    within(first.wait_until_transfer_due()).await.expect("`two` is preferred");
    let stops = async {
        sleep(STOPPING).await;
        drop(work);
    };
    if stops_before {
        stops.await;
        first.resign().await.expect("resigned");
        let next = elected(next).await;
        place.start("two", next.fence()).map(drop)
    } else {
        first.resign().await.expect("resigned");
        let next = elected(next).await;
        let started = place.start("two", next.fence()).map(drop);
        stops.await;
        started
    }
}

#[tokio::test]
async fn overlap_is_detected_if_leader_resigns_before_it_stops() {
    let place = Workplace::new();
    hand_over(&place, true).await.expect("the former leader has stopped");
    let overlap = hand_over(&place, false).await.expect_err("the former leader still works");
    assert_eq!(overlap.kind(), ErrorKind::AlreadyExists);
}

#[tokio::test]
async fn work_is_dropped_when_leadership_is_lost() {
    let service = Service::start().await;
    let (session, place) = (service.session().await, Workplace::new());
    let leadership = lead(&session, "one").await;
    let (fence, started) = (leadership.fence(), tokio::sync::Notify::new());
    let led = leadership.lead(async |_| {
        let _work = place.start("one", fence).expect("no other leader works");
        started.notify_one();
        std::future::pending::<()>().await;
    });
    let deletes = async {
        started.notified().await;
        service.post("/v3/kv/deleterange", r#"{"key":"Ym9zcy8=","range_end":"Ym9zczA="}"#).await;
    };
    let (led, ()) = within(async { tokio::join!(led, deletes) }).await;
    assert_eq!(led, Err(LossReason::KeyDeleted));
    place.start("two", fence + 1).map(drop).expect("the work was dropped");
}
