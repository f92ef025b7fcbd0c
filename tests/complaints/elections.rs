//! Tests of complaints 15 to 18, 21 and 25: elections with several leaders, or with none.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tenure_client::{CampaignOptions, ClientError, ElectionState, LossReason};

use crate::server::{
    ENDING, LONG, Server, at_the_same_time, in_time, servers, until, with_clients_at_each_server,
};

/// After a restart of the service, at most one candidate leads. The restart is either quick, or
/// longer than the lease of the leader.
#[test]
fn complaint_15_restart_of_the_service_leaves_one_leader() {
    at_the_same_time([(true, LONG), (false, ENDING)], |(is_short, ttl)| {
        with_clients_at_each_server(async |server| {
            restart_leaves_one_leader(server, is_short, ttl).await;
        });
    });
}

async fn restart_leaves_one_leader(mut server: Server, is_short: bool, ttl: Duration) {
    let (other, one) = (server.session(LONG).await, server.session(ttl).await);
    let leading = one.campaign("a", "one").await.expect("elected");
    let waiting = other.clone();
    let waits = tokio::spawn(async move { waiting.campaign("a", "other").await });
    until("the other candidate is in the queue", || server.has_claim(&other));
    server.kill();
    if !is_short {
        in_time(leading.lost()).await;
    }
    server.restart();
    if is_short {
        // After a response, the client of the second candidate has noticed the restart.
        let guard = in_time(other.lock("b")).await.expect("the lock");
        in_time(guard.release()).await.expect("released");
        let leases = server.queue().into_iter().map(|claim| claim["lease"].clone());
        let claims = [&one, &other].map(|session| Value::from(session.id().to_string()));
        assert_eq!(leases.collect::<Vec<_>>(), claims, "{}: both claims remain", server.name());
        assert!(!waits.is_finished(), "{}: two lead", server.name());
        in_time(leading.resign()).await.expect("resigned");
    } else {
        assert_eq!(leading.deadline(), None, "{}: it lost the leadership", server.name());
        drop(leading);
    }
    let next = in_time(waits).await.expect("no panic").expect("elected");
    assert!(next.deadline().is_some());
    next.resign().await.expect("resigned");
}

/// If the session of a waiting candidate ends, its campaign ends with an error, at the latest at
/// the next renewal.
#[tokio::test(flavor = "multi_thread")]
async fn complaint_16_campaign_ends_with_its_session() {
    for server in servers() {
        let (one, other) = (server.session(LONG).await, server.session(5 * ENDING).await);
        let leading = one.campaign("a", "one").await.expect("elected");
        let lease = Value::from(other.id().to_string());
        let waits = tokio::spawn(async move { other.campaign("a", "other").await });
        until("both are in the queue", || server.queue().len() == 2);
        server.revoke(&lease);
        let ended = in_time(waits).await.expect("no panic").expect_err("its session has ended");
        let reason = |error: &ClientError| match error {
            ClientError::Lost(reason) => Some(*reason),
            _ => None,
        };
        let expected = [LossReason::LeaseEnded, LossReason::KeyDeleted];
        assert!(reason(&ended).is_some_and(|it| expected.contains(&it)), "{ended:?}");
        assert!(server.has_claim(&one), "{}: the leader still leads", server.name());
        drop(leading);
    }
}

/// Two candidates campaign in an election without a leader, and one of them wins. The observer must
/// report the winner, and never the candidate that waits.
#[test]
fn complaint_16_observer_reports_leaders_only() {
    with_clients_at_each_server(async |server| {
        let mut observer = server.client().await.election_observer("a");
        let mut last = 0;
        for _ in 0..20 {
            let state = in_time(observer.next_state()).await.expect("a state");
            assert_eq!(state, ElectionState::NoLeader, "{}", server.name());
            let (one, other) = (server.session(LONG).await, server.session(LONG).await);
            let campaigns = (one.campaign("a", "one"), other.campaign("a", "other"));
            let (first, behind) = tokio::select! {
                first = campaigns.0 => (first.expect("elected"), other.clone()),
                first = campaigns.1 => (first.expect("elected"), one.clone()),
            };
            let waits = tokio::spawn(async move { behind.campaign("a", "behind").await });
            until("both are in the queue", || server.queue().len() == 2);
            let state = in_time(observer.next_state()).await.expect("a state");
            let ElectionState::Leader { fence, .. } = state else { panic!("{state:?}") };
            assert_eq!(fence, first.fence(), "{}: it never led", server.name());
            assert!(fence > last);
            last = fence;
            waits.abort();
            assert!(waits.await.is_err(), "it never leads");
            until("one is in the queue", || server.queue().len() == 1);
            first.resign().await.expect("resigned");
        }
    });
}

/// If the lease of a leader has expired, a client that starts afterwards acquires the lock at once.
/// The client does not have to wait for the length of a second lease.
#[test]
fn complaint_17_expired_lease_is_not_awaited_again() {
    with_clients_at_each_server(async |server| {
        let line = "elect --ttl 3s --grace 100ms a";
        let (mut leader, _) = server.running(line, "echo up; exec sleep 600");
        leader.kill();
        until("the lease has expired", || server.queue().is_empty());
        let session = server.session(LONG).await;
        let guard = session.try_lock("a").await.expect("a response");
        assert!(guard.is_some(), "{}: it is free without a wait", server.name());
    });
}

#[test]
fn complaint_18_cut_off_leader_learns_of_its_loss() {
    with_clients_at_each_server(async |server| {
        let session = server.session(ENDING).await;
        let leading = session.campaign("a", "one").await.expect("elected");
        server.signal(Signal::STOP);
        assert_eq!(in_time(leading.lost()).await, LossReason::NotRenewed, "{}", server.name());
        assert_eq!(leading.deadline(), None);
        server.signal(Signal::CONT);
    });
}

#[test]
fn complaint_21_client_survives_a_restart_of_all_members() {
    with_clients_at_each_server(async |mut server| {
        let client = server.client().await;
        let session = client.session(LONG).await.expect("a session");
        let guard = session.lock("a").await.expect("the lock");
        server.kill();
        server.restart();
        assert!(server.has_claim(&session), "{}: the lease and the claim remain", server.name());
        in_time(guard.release()).await.expect("released");
        let again = in_time(session.lock("a")).await.expect("the lock");
        drop(again);
        let other = in_time(client.session(LONG)).await.expect("a session");
        in_time(other.lock("b")).await.expect("the lock").release().await.expect("released");
    });
}

/// A leader hands over its leadership to another candidate before any lease expires. The processes
/// of the old and the new leader both continue.
#[tokio::test(flavor = "multi_thread")]
async fn complaint_25_leadership_passes_on_without_a_restart() {
    for server in servers() {
        let mut sessions = vec![("one", server.session(LONG).await)];
        sessions.push(("other", server.session(LONG).await));
        let campaign = |at: usize| {
            let (identity, session) = sessions[at].clone();
            async move { session.campaign_with("a", CampaignOptions::new(identity)).await }
        };
        let mut leading = campaign(0).await.expect("elected");
        for turn in 1..=4 {
            let next = turn % 2;
            let waits = tokio::spawn(campaign(next));
            until("both are in the queue", || server.queue().len() == 2);
            let fence = leading.fence();
            let identity = sessions[next].0;
            in_time(leading.transfer_to(identity)).await.expect("transferred");
            leading = in_time(waits).await.expect("no panic").expect("elected");
            assert!(leading.fence() > fence, "{}", server.name());
        }
        assert!(sessions.iter().all(|(_, session)| session.loss_reason().is_none()));
    }
}
