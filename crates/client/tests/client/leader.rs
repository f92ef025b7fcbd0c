//! How a client of three members chooses the member to which it connects.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tenure_client::{AdminClient, Client, ClientError, ConnectOptions, Session, User};
use tenure_server::Config;
use tokio::time::{sleep, timeout};

use crate::relay::Relay;
use crate::service::{STEP_TIMEOUT, Service, json_string, within};

/// TTL of the sessions. A session renews its lease after a third of this time. A busy machine may
/// renew it late.
const TTL: Duration = Duration::from_secs(20);

/// Three members, each behind a relay.
struct Cluster {
    members: Vec<Service>,
    relays: Vec<Arc<Relay>>,
    endpoints: Vec<String>,
}

impl Cluster {
    /// Starts three members, of which the first leads. The first member stays the leader even on a
    /// busy machine: it does not step down, and the other members cannot elect another leader.
    async fn start() -> Cluster {
        let names = ["a", "b", "c"];
        let peers =
            names.map(|name| format!("{name}=http://{}", tenure_runtime::ports::reserve_address()));
        let mut cluster =
            Cluster { members: Vec::new(), relays: Vec::new(), endpoints: Vec::new() };
        // Only the last member starts an election. The other members would wait for an hour.
        for (name, election_timeout) in names.into_iter().zip([3_600_000, 3_600_000, 250]) {
            let initial_cluster = Some(peers.join(","));
            let named = Config { name: name.into(), ..Config::default() };
            let config = Config { initial_cluster, election_timeout, ..named };
            let member = Service::with(config).await;
            let (relay, endpoint) = Relay::start(&member.address).await;
            cluster.members.push(member);
            cluster.relays.push(relay);
            cluster.endpoints.push(endpoint);
        }
        cluster.transfer_to(0).await;
        cluster
    }

    async fn transfer_to(&self, next: usize) {
        let status = self.members[next].post("/v3/maintenance/status", "{}").await;
        let id = json_string(&status, "member_id").expect("a member id");
        let request = format!(r#"{{"targetID":"{id}"}}"#);
        let moved = async {
            let mut leads = self.leader().await;
            while leads != next {
                self.members[leads].post("/v3/maintenance/transfer-leadership", &request).await;
                leads = self.leader().await;
            }
        };
        within(moved).await;
    }

    /// Returns the index of the leader, once all members agree on it.
    async fn leader(&self) -> usize {
        let agreed = async {
            loop {
                let (mut members, mut leaders) = (Vec::new(), Vec::new());
                for member in &self.members {
                    let status = member.post("/v3/maintenance/status", "{}").await;
                    members.push(json_string(&status, "member_id").map(str::to_owned));
                    leaders.push(json_string(&status, "leader").map(str::to_owned));
                }
                let leader_index =
                    members.iter().position(|it| leaders.iter().all(|led| led == it));
                if let Some(leader_index) = leader_index {
                    return leader_index;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        within(agreed).await
    }

    async fn client(&self, access: impl Into<ConnectOptions>) -> Client {
        Client::connect_with(&self.endpoints, access).await.expect("a connection")
    }

    async fn session(&self, access: impl Into<ConnectOptions>) -> Session {
        let client = self.client(access).await;
        client.session(TTL).await.expect("a session")
    }

    async fn members_used(&self, session: &Session) -> Vec<usize> {
        let counts = || self.relays.iter().map(|it| it.forwarded.load(Ordering::Relaxed));
        let before: Vec<usize> = counts().collect();
        for _ in 0..3 {
            session.lock("a").await.expect("the lock").release().await.expect("released");
        }
        let used = counts().zip(before).enumerate().filter(|(_, (now, before))| now > before);
        used.map(|(place, _)| place).collect()
    }

    async fn wait_moved_to(&self, place: usize, session: &Session) {
        let moved = async { while self.members_used(session).await != [place] {} };
        timeout(STEP_TIMEOUT, moved)
            .await
            .unwrap_or_else(|_| panic!("the session moves to {place}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_move_to_the_leader_and_its_successor() {
    let cluster = Cluster::start().await;
    let leader_index = cluster.leader().await;
    let sessions = [
        cluster.session(ConnectOptions::default()).await,
        cluster.session(ConnectOptions::default()).await,
    ];
    for session in &sessions {
        cluster.wait_moved_to(leader_index, session).await;
    }
    let next = (leader_index + 1) % 3;
    cluster.transfer_to(next).await;
    // The next renewal reveals the new leader.
    for session in &sessions {
        cluster.wait_moved_to(next, session).await;
        assert!(session.deadline().is_some(), "the session is alive");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn user_is_authenticated_at_the_leader() {
    let cluster = Cluster::start().await;
    let leader_index = cluster.leader().await;
    let steps = [
        ("user/add", r#"{"name":"root","password":"secret"}"#),
        ("user/grant", r#"{"user":"root","role":"root"}"#),
        ("enable", "{}"),
    ];
    cluster.members[leader_index].post_access(&steps).await;
    for _ in 0..3 {
        let session = cluster.session(User::new("root", "secret")).await;
        cluster.wait_moved_to(leader_index, &session).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_member_option_keeps_the_first_member() {
    let cluster = Cluster::start().await;
    let leader_index = cluster.leader().await;
    for _ in 0..30 {
        let session = cluster.session(ConnectOptions::default().any_member()).await;
        // Without the option `any_member`, a session moves to the leader at the latest after its
        // first renewal.
        let mut deadlines = session.deadline_changes();
        for _ in 0..2 {
            within(deadlines.next()).await.expect("the session is alive");
        }
        if cluster.members_used(&session).await != [leader_index] {
            return;
        }
    }
    panic!("none of thirty sessions started at a follower, which has a probability of 10^-14");
}

/// Makes the relay in front of the leader stop forwarding, while its connections stay open. The
/// session must then be renewed at another member.
#[tokio::test(flavor = "multi_thread")]
async fn session_outlives_a_silent_leader() {
    let cluster = Cluster::start().await;
    let leader_index = cluster.leader().await;
    let session = cluster.session(ConnectOptions::default()).await;
    cluster.wait_moved_to(leader_index, &session).await;
    let guard = session.lock("b").await.expect("the lock");
    let mut deadlines = guard.deadline_changes();
    cluster.relays[leader_index].is_cut.store(true, Ordering::Relaxed);
    let cut = Instant::now();
    let other = cluster.members_used(&session).await;
    assert_ne!(other, [leader_index]);
    // A deadline is at most one TTL later than the sending of its renewal. So a later deadline
    // belongs to a renewal after the cut.
    let renewed =
        async { while deadlines.next().await.expect("the session is alive") <= cut + TTL {} };
    within(renewed).await;
    // The other members still reach the silent leader.
    assert_eq!(cluster.leader().await, leader_index);
}

/// Changes the members twice: removes a member, and adds it as a learner. The response to each
/// request is lost, and another member rejects the repeated request.
#[tokio::test(flavor = "multi_thread")]
async fn membership_change_succeeds_although_its_response_is_lost() {
    let cluster = Cluster::start().await;
    let relay = &cluster.relays[0];
    let losing_next_response = async || {
        let endpoints = [&cluster.endpoints[0], &cluster.members[1].address];
        let admin =
            AdminClient::new(endpoints, ConnectOptions::default()).expect("valid endpoints");
        let members = admin.members(true).await.expect("a response");
        relay.drops_next_response.store(true, Ordering::Relaxed);
        (admin, members)
    };
    let (admin, members) = losing_next_response().await;
    let last = members.into_iter().find(|it| it.name == "c").expect("a member");
    let left = within(admin.remove_member(last.id)).await.expect("it is removed");
    assert!(left.len() == 2 && left.iter().all(|it| it.id != last.id), "{left:?}");
    let [url] = &last.peer_urls[..] else { panic!("{last:?}") };
    let (admin, _) = losing_next_response().await;
    let now = within(admin.add_member(url, true)).await.expect("it is added");
    assert!(now.iter().any(|it| it.id == last.id && it.is_learner), "{now:?}");
    // A request is rejected if the service rejects its first attempt.
    relay.drops_next_response.store(false, Ordering::Relaxed);
    let rejected = within(admin.add_member(url, true)).await;
    assert!(matches!(rejected, Err(ClientError::Rejected { .. })), "{rejected:?}");
}
