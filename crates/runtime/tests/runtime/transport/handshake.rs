//! Who is let in, who is not, and that whoever is not disturbs nobody.

use std::time::Duration;

use tenure_runtime::transport::frame::{Frame, Hello, Introduction, Opening};
use tenure_runtime::transport::{
    Incoming, Limits, Listen, Mesh, MeshError, Refusal, Settings, Trust,
};

use super::support::{
    P1, P2, P3, Ports, Stranger, boot, eventually, greeting, group, hello, limits, pair, receive,
    refused, still_talk,
};

#[tokio::test]
async fn whoever_says_something_wrong_is_told_and_closed_and_peers_go_on() {
    let mut ports = Ports::of(3);
    let mut nodes = pair(&mut ports).await;
    let right = hello(P3, P1, 3);
    let opening = || Opening::Introduction(right.clone());
    let say = Hello::with;
    let claim = |claim| say(Opening::Introduction(claim));
    let wrong: Vec<(Hello<'_>, Refusal)> = vec![
        (claim(Introduction { cluster: "toast", ..right.clone() }), Refusal::WrongCluster),
        (claim(Introduction { group_size: 4, ..right.clone() }), Refusal::WrongGroupSize),
        (claim(Introduction { receiver: 1, ..right.clone() }), Refusal::WrongReceiver),
        (claim(Introduction { sender: 3, ..right.clone() }), Refusal::WrongSender),
        (claim(Introduction { sender: u32::MAX, ..right.clone() }), Refusal::WrongSender),
        (claim(Introduction { sender: 0, ..right.clone() }), Refusal::WrongSender),
        (claim(Introduction { boot: boot(0), ..right.clone() }), Refusal::OldSession),
        (claim(Introduction { boot: boot(u64::MAX), ..right.clone() }), Refusal::FarSession),
        (Hello { version: 3, ..say(opening()) }, Refusal::NewerVersion),
        (Hello { version: 1, ..say(opening()) }, Refusal::OlderVersion),
        (Hello { magic: *b"HTTP", ..say(opening()) }, Refusal::Malformed),
        (say(Opening::Exchange(&[9; 96])), Refusal::Unproven),
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
    stranger.say(&greeting(hello(P1, P2, 3))).await;
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
    // Tag, magic, version 300, and then nothing that version 2 could make sense of.
    stranger.say_bytes(b"\x09\0\0\0\0TNUR\xac\x02\xff\xff").await;
    let sentence = stranger
        .hear(|frame| match frame {
            Frame::Refused(refused) => (refused.newest_version, refused.sentence.to_owned()),
            other => panic!("a refusal was expected, not {other:?}"),
        })
        .await;
    assert_eq!(sentence.0, 2);
    assert!(sentence.1.contains("upgrade it first"), "{sentence:?}");
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
async fn an_address_that_others_can_reach_demands_keys() {
    let mut ports = Ports::of(1);
    let mut start = |trust| {
        let listen = Listen::Address("0.0.0.0:0".parse().expect("an address"));
        Mesh::start(Settings { listen, trust, ..ports.settings(P1, 1) })
    };
    let error = start(Trust::Machine).expect_err("no keys");
    assert!(matches!(error, MeshError::KeysRequired { .. }), "{error}");
    start(Trust::Keys(group(1).remove(0))).expect("keys");
    start(Trust::Anybody).expect("somebody who wants it so");
}

#[tokio::test]
async fn a_bound_socket_that_others_can_reach_demands_keys_too() {
    let mut settings = Ports::of(1).settings(P1, 1);
    let socket = std::net::TcpListener::bind("0.0.0.0:0").expect("a port");
    settings.listen = Listen::Listener(socket);
    let error = Mesh::start(settings).expect_err("no keys");
    assert!(matches!(error, MeshError::KeysRequired { .. }), "{error}");
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let mut ports = Ports::of(1);
    let (_mesh, _inbox) = ports.start(P1, 1);
    let error = Mesh::start(ports.settings(P1, 2)).expect_err("the port is taken");
    assert!(matches!(error, MeshError::AddressTaken { .. }), "{error}");
    assert!(error.to_string().contains(&ports.addresses[0].to_string()), "{error}");
}
