//! Who is let in, who is not, and that whoever is not disturbs nobody.

use std::time::Duration;

use tenure_runtime::transport::frame::{Frame, Hello};
use tenure_runtime::transport::{
    Inbox, Incoming, Limits, Listen, Mesh, MeshError, Refusal, Secret, View,
};

use super::support::{
    P1, P2, P3, Ports, Stranger, comes_up, eventually, hello, limits, message, pair, receive,
    still_talk,
};

/// How often `refusal` happened.
fn refused(view: &View, refusal: Refusal) -> u64 {
    view.counts().refused.get(&refusal).copied().unwrap_or(0)
}

#[tokio::test]
async fn whoever_says_something_wrong_is_told_and_closed_and_peers_go_on() {
    let mut ports = Ports::of(3);
    let mut nodes = pair(&mut ports).await;
    let right = hello(P3, P1, 3);
    let wrong: Vec<(Hello<'_>, Refusal)> = vec![
        (Hello { cluster: "toast", ..right.clone() }, Refusal::WrongCluster),
        (Hello { group_size: 4, ..right.clone() }, Refusal::WrongGroupSize),
        (Hello { receiver: 1, ..right.clone() }, Refusal::WrongReceiver),
        (Hello { sender: 3, ..right.clone() }, Refusal::WrongSender),
        (Hello { sender: u32::MAX, ..right.clone() }, Refusal::WrongSender),
        (Hello { sender: 0, ..right.clone() }, Refusal::WrongSender),
        (Hello { session: 0, ..right.clone() }, Refusal::OldSession),
        (Hello { version: 2, ..right.clone() }, Refusal::NewerVersion),
        (Hello { version: 0, ..right.clone() }, Refusal::OlderVersion),
        (Hello { magic: *b"HTTP", ..right.clone() }, Refusal::Malformed),
    ];
    for (hello, refusal) in wrong {
        let before = refused(&nodes[0].0.view(), refusal);
        let mut stranger = Stranger::dial(ports.addresses[0]).await;
        stranger.say(&Frame::Hello(hello.clone())).await;
        assert_eq!(stranger.hear_refusal().await, refusal.code(), "{hello:?}");
        stranger.ends().await;
        let view = nodes[0].0.view();
        eventually("it is counted", || refused(&view, refusal) == before + 1).await;
        still_talk(&mut nodes).await;
    }
    // The same in all but the mistakes is welcome.
    Stranger::join(ports.addresses[0], right).await;
}

#[tokio::test]
async fn a_lower_process_does_not_dial_a_higher_one() {
    let mut ports = Ports::of(3);
    let (_mesh, _inbox) = ports.start(P2, 1);
    let mut stranger = Stranger::dial(ports.addresses[1]).await;
    stranger.say(&Frame::Hello(hello(P1, P2, 3))).await;
    assert_eq!(stranger.hear_refusal().await, Refusal::WrongSender.code());
}

#[tokio::test]
async fn bytes_that_are_no_handshake_close_the_connection_and_no_other() {
    let mut ports = Ports::of(3);
    let mut nodes = pair(&mut ports).await;
    let view = nodes[0].0.view();
    let garbage: [&[u8]; 4] =
        [b"GET / HTTP/1.1\r\n\r\n", &[0xff; 64], &[4, 0, 0, 0, 9, 9, 9, 9], &[0, 0, 0, 0]];
    for (count, bytes) in (1..).zip(garbage) {
        let mut stranger = Stranger::dial(ports.addresses[0]).await;
        stranger.say_bytes(bytes).await;
        stranger.ends().await;
        eventually("it is counted", || refused(&view, Refusal::Malformed) == count).await;
        still_talk(&mut nodes).await;
    }
}

#[tokio::test]
async fn a_future_version_is_refused_though_nothing_but_its_number_is_known() {
    let mut ports = Ports::of(2);
    let (_mesh, _inbox) = ports.start(P1, 1);
    let mut stranger = Stranger::dial(ports.addresses[0]).await;
    // Tag, magic, version 300, and then nothing that version 1 could make sense of.
    stranger.say_bytes(b"\x09\0\0\0\0TNUR\xac\x02\xff\xff").await;
    let sentence = stranger
        .hear(|frame| match frame {
            Frame::Refused(refused) => (refused.newest_version, refused.sentence.to_owned()),
            other => panic!("a refusal was expected, not {other:?}"),
        })
        .await;
    assert_eq!(sentence.0, 1);
    assert!(sentence.1.contains("upgrade it first"), "{sentence:?}");
}

/// Starts `me` with a secret.
fn start(ports: &mut Ports, me: tenure_core::ProcessId, secret: Option<&str>) -> (Mesh, Inbox) {
    let secret = secret.map(|secret| Secret::new(secret).expect("long enough"));
    let settings = tenure_runtime::transport::Settings { secret, ..ports.settings(me, 1) };
    Mesh::start(settings).expect("a mesh")
}

#[tokio::test]
async fn a_shared_secret_lets_peers_in_and_keeps_the_others_out() {
    let mut ports = Ports::of(3);
    let (first, mut inbox) = start(&mut ports, P1, Some("correct horse battery"));
    let (second, mut other) = start(&mut ports, P2, Some("correct horse battery"));
    assert_eq!(comes_up(&mut inbox, P2).await, 1);
    assert_eq!(comes_up(&mut other, P1).await, 1);

    let (third, _third_inbox) = start(&mut ports, P3, Some("incorrect horse battery"));
    let view = third.view();
    eventually("both are refused", || {
        view.peers().iter().all(|peer| peer.error.as_ref().is_some_and(|e| e.contains("secret")))
    })
    .await;
    assert!(view.peers().iter().all(|peer| !peer.connected && peer.session.is_none()));

    first.send(P2, b"still here".to_vec()).expect("room");
    assert_eq!(message(&mut other).await, (P1, 1, b"still here".to_vec()));
    drop(second);
}

#[tokio::test]
async fn whoever_cannot_prove_the_secret_is_refused_and_changes_nothing() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = start(&mut ports, P1, Some("correct horse battery"));
    for proof in [None, Some([0; 32])] {
        let claim = Hello { session: 99, ..hello(P2, P1, 2) };
        let mut stranger = Stranger::begin(ports.addresses[0], claim).await;
        stranger.say(&Frame::Proven { proof }).await;
        assert_eq!(stranger.hear_refusal().await, Refusal::Unproven.code());
        stranger.ends().await;
    }
    let view = mesh.view();
    eventually("both are counted", || refused(&view, Refusal::Unproven) == 2).await;
    assert_eq!(inbox.try_receive(), None);
    // Session 99 was only claimed: the real session 1 is not old.
    let (_second, _other) = start(&mut ports, P2, Some("correct horse battery"));
    assert_eq!(receive(&mut inbox).await, Incoming::PeerUp { peer: P2, session: 1 });
}

#[tokio::test]
async fn a_node_with_a_secret_does_not_believe_one_without() {
    let mut ports = Ports::of(2);
    let (_first, _inbox) = start(&mut ports, P1, None);
    let (second, _other) = start(&mut ports, P2, Some("correct horse battery"));
    let view = second.view();
    eventually("the dialer refuses", || {
        view.peers()[0].error.as_ref().is_some_and(|error| error.contains("secret"))
    })
    .await;
}

#[tokio::test]
async fn silent_connections_do_not_keep_a_peer_out() {
    let mut ports = Ports::of(2);
    let mut settings = ports.settings(P1, 1);
    settings.limits = Limits { handshakes: 4, handshake: Duration::from_secs(3600), ..limits() };
    let (mesh, mut inbox) = Mesh::start(settings).expect("a mesh");
    let mut silent = Vec::new();
    for _ in 0..10 {
        silent.push(Stranger::dial(ports.addresses[0]).await);
    }
    let (_second, _other) = ports.start(P2, 1);
    assert_eq!(receive(&mut inbox).await, Incoming::PeerUp { peer: P2, session: 1 });
    let view = mesh.view();
    assert!(refused(&view, Refusal::CrowdedOut) >= 6, "{:?}", view.counts());
}

#[tokio::test]
async fn a_silent_connection_is_closed_in_the_end() {
    let mut ports = Ports::of(2);
    let mut settings = ports.settings(P1, 1);
    settings.limits.handshake = Duration::from_millis(20);
    let (mesh, _inbox) = Mesh::start(settings).expect("a mesh");
    Stranger::dial(ports.addresses[0]).await.ends().await;
    let view = mesh.view();
    eventually("it is counted", || refused(&view, Refusal::TooSlow) == 1).await;
}

#[tokio::test]
async fn an_address_that_others_can_reach_demands_a_secret() {
    let mut ports = Ports::of(1);
    let open = || Listen::Address("0.0.0.0:0".parse().expect("an address"));
    let mut settings = ports.settings(P1, 1);
    settings.listen = open();
    let error = Mesh::start(settings).expect_err("no secret");
    assert!(matches!(error, MeshError::SecretRequired { .. }), "{error}");
    let mut settings = ports.settings(P1, 1);
    settings.listen = open();
    settings.secret = Some(Secret::new("correct horse battery").expect("long enough"));
    Mesh::start(settings).expect("a secret");
}

#[tokio::test]
async fn a_bound_socket_that_others_can_reach_demands_a_secret_too() {
    let mut settings = Ports::of(1).settings(P1, 1);
    let socket = std::net::TcpListener::bind("0.0.0.0:0").expect("a port");
    settings.listen = Listen::Listener(socket);
    let error = Mesh::start(settings).expect_err("no secret");
    assert!(matches!(error, MeshError::SecretRequired { .. }), "{error}");
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let mut ports = Ports::of(1);
    let (_mesh, _inbox) = ports.start(P1, 1);
    let error = Mesh::start(ports.settings(P1, 2)).expect_err("the port is taken");
    assert!(matches!(error, MeshError::AddressTaken { .. }), "{error}");
    assert!(error.to_string().contains(&ports.addresses[0].to_string()), "{error}");
}
