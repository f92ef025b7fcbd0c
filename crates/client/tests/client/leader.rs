//! Which of three members is asked.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_client::{Access, Client, Session, User};
use tenure_server::Config;
use tokio::time::{sleep, timeout};

use crate::relay::Relay;
use crate::service::{SOON, Service, said};

/// Three members, and what a client comes to each of them by.
struct Three {
    members: Vec<Service>,
    relays: Vec<Arc<Relay>>,
    endpoints: Vec<String>,
}

impl Three {
    async fn start() -> Three {
        let names = ["a", "b", "c"];
        let peers = names.map(|name| format!("{name}=http://{}", tenure_ports::reserved()));
        let mut three = Three { members: Vec::new(), relays: Vec::new(), endpoints: Vec::new() };
        for name in names {
            let initial_cluster = Some(peers.join(","));
            // Nobody else leads because this machine has much to do.
            let election_timeout = 1_000;
            let named = Config { name: name.into(), ..Config::default() };
            let config = Config { initial_cluster, election_timeout, ..named };
            let member = Service::with(config).await;
            let (relay, endpoint) = Relay::start(&member.address).await;
            three.members.push(member);
            three.relays.push(relay);
            three.endpoints.push(endpoint);
        }
        three
    }

    /// The number of the one that leads, when all say the same.
    async fn leader(&self) -> usize {
        let agreed = async {
            loop {
                let (mut members, mut leaders) = (Vec::new(), Vec::new());
                for member in &self.members {
                    let status = member.post("/v3/maintenance/status", "{}").await;
                    members.push(said(&status, "member_id").map(str::to_owned));
                    leaders.push(said(&status, "leader").map(str::to_owned));
                }
                let leads = members.iter().position(|it| leaders.iter().all(|led| led == it));
                if let Some(leads) = leads {
                    return leads;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(SOON, agreed).await.expect("a leader")
    }

    async fn client(&self, access: impl Into<Access>) -> Client {
        Client::connect_as(&self.endpoints, access).await.expect("a connection")
    }

    async fn session(&self, access: impl Into<Access>) -> Session {
        let client = self.client(access).await;
        client.session(Duration::from_secs(3)).await.expect("a session")
    }

    /// Whom a session asks for locks.
    async fn asked(&self, session: &Session) -> Vec<usize> {
        let counts = || self.relays.iter().map(|it| it.asked.load(Ordering::Relaxed));
        let before: Vec<usize> = counts().collect();
        for _ in 0..3 {
            session.lock("a").await.expect("the lock").release().await.expect("released");
        }
        let asked = counts().zip(before).enumerate().filter(|(_, (now, before))| now > before);
        asked.map(|(place, _)| place).collect()
    }

    /// Waits until it asks only this one.
    async fn moves_to(&self, place: usize, session: &Session) {
        let moved = async { while self.asked(session).await != [place] {} };
        timeout(SOON, moved).await.unwrap_or_else(|_| panic!("it goes to {place}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_leads_is_asked_and_whoever_leads_next() {
    let three = Three::start().await;
    let leads = three.leader().await;
    let sessions = [three.session(Access::default()).await, three.session(Access::default()).await];
    for session in &sessions {
        three.moves_to(leads, session).await;
    }
    let next = (leads + 1) % 3;
    let status = three.members[next].post("/v3/maintenance/status", "{}").await;
    let id = said(&status, "member_id").expect("its number");
    let asked = format!(r#"{{"targetID":"{id}"}}"#);
    let told = three.members[leads].post("/v3/maintenance/transfer-leadership", &asked).await;
    assert!(told.contains(" 200 "), "{told}");
    assert_eq!(three.leader().await, next);
    // They hear of it with their next renewals.
    for session in &sessions {
        three.moves_to(next, session).await;
        assert!(session.deadline().is_some(), "it goes on");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_known_to_the_leader_as_well() {
    let three = Three::start().await;
    let leads = three.leader().await;
    let steps = [
        ("user/add", r#"{"name":"root","password":"secret"}"#),
        ("user/grant", r#"{"user":"root","role":"root"}"#),
        ("enable", "{}"),
    ];
    three.members[leads].post_access(&steps).await;
    for _ in 0..3 {
        let session = three.session(User::new("root", "secret")).await;
        three.moves_to(leads, &session).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_wants_any_member_stays_where_they_are() {
    let three = Three::start().await;
    let leads = three.leader().await;
    for _ in 0..30 {
        let session = three.session(Access::default().any_member()).await;
        // By then another would have gone to the leader.
        sleep(Duration::from_millis(200)).await;
        if three.asked(&session).await != [leads] {
            return;
        }
    }
    panic!("of thirty one comes to another member, but for once in 10^14 times");
}

/// It neither breaks off nor says anything.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_outlives_a_leader_that_is_silent_to_it() {
    let three = Three::start().await;
    let leads = three.leader().await;
    let session = three.session(Access::default()).await;
    three.moves_to(leads, &session).await;
    let guard = session.lock("b").await.expect("the lock");
    three.relays[leads].is_cut.store(true, Ordering::Relaxed);
    let other = three.asked(&session).await;
    assert_ne!(other, [leads]);
    assert!(timeout(Duration::from_secs(4), guard.lost()).await.is_err(), "longer than its lease");
    // To all others it is not.
    assert_eq!(three.leader().await, leads);
}
