//! Accepted and refused handshakes. A refused handshake does not disturb other peers.

use std::time::Duration;

use tenure_runtime::transport::frame::{Frame, Hello, HelloContent, Introduction};
use tenure_runtime::transport::{
    Listen, Mesh, MeshEvent, MeshLimits, MeshSettings, MeshStartError, PeerAuthentication,
    RejectionReason,
};

use super::support::{
    P1, P2, P3, Ports, RawPeer, assert_still_connected, boot, eventually, greeting, group, hello,
    limits, pair, receive, refused,
};

#[tokio::test]
async fn wrong_handshake_is_refused_without_harm() {
    let mut ports = Ports::of(3);
    let mut nodes = pair(&mut ports).await;
    let right = hello(P3, P1, 3);
    let opening = || HelloContent::Introduction(right.clone());
    let hello_with = Hello::new;
    let claim = |claim| hello_with(HelloContent::Introduction(claim));
    let wrong: Vec<(Hello<'_>, RejectionReason)> = vec![
        (claim(Introduction { cluster: "toast", ..right.clone() }), RejectionReason::WrongCluster),
        (claim(Introduction { group_size: 4, ..right.clone() }), RejectionReason::WrongGroupSize),
        (claim(Introduction { receiver: 1, ..right.clone() }), RejectionReason::WrongReceiver),
        (claim(Introduction { sender: 3, ..right.clone() }), RejectionReason::WrongSender),
        (claim(Introduction { sender: u32::MAX, ..right.clone() }), RejectionReason::WrongSender),
        (claim(Introduction { sender: 0, ..right.clone() }), RejectionReason::WrongSender),
        (claim(Introduction { boot: boot(0), ..right.clone() }), RejectionReason::OldSession),
        (
            claim(Introduction { boot: boot(u64::MAX), ..right.clone() }),
            RejectionReason::FarSession,
        ),
        (Hello { version: 3, ..hello_with(opening()) }, RejectionReason::NewerVersion),
        (Hello { version: 1, ..hello_with(opening()) }, RejectionReason::OlderVersion),
        (Hello { magic: *b"HTTP", ..hello_with(opening()) }, RejectionReason::Malformed),
        (hello_with(HelloContent::Exchange(&[9; 96])), RejectionReason::Unproven),
    ];
    for (hello, refusal) in wrong {
        let before = refused(&nodes[0].0.status(), refusal);
        let mut peer = RawPeer::dial(ports.addresses[0]).await;
        peer.send(&Frame::Hello(hello.clone())).await;
        assert_eq!(peer.receive_refusal().await, refusal.code(), "{hello:?}");
        peer.wait_closed().await;
        let view = nodes[0].0.status();
        eventually("the refusal is counted", || refused(&view, refusal) == before + 1).await;
        assert_still_connected(&mut nodes).await;
    }
    // A correct introduction is accepted.
    RawPeer::join(ports.addresses[0], right).await;
}

#[tokio::test]
async fn lower_process_does_not_dial_higher_one() {
    let mut ports = Ports::of(3);
    let (_mesh, _inbox) = ports.start(P2, 1);
    let mut peer = RawPeer::dial(ports.addresses[1]).await;
    peer.send(&greeting(hello(P1, P2, 3))).await;
    assert_eq!(peer.receive_refusal().await, RejectionReason::WrongSender.code());
}

#[tokio::test]
async fn malformed_handshake_closes_only_its_connection() {
    let mut ports = Ports::of(3);
    let mut nodes = pair(&mut ports).await;
    let view = nodes[0].0.status();
    let garbage: [&[u8]; 4] =
        [b"GET / HTTP/1.1\r\n\r\n", &[0xff; 64], &[4, 0, 0, 0, 9, 9, 9, 9], &[0, 0, 0, 0]];
    for (count, bytes) in (1..).zip(garbage) {
        let mut peer = RawPeer::dial(ports.addresses[0]).await;
        peer.send_bytes(bytes).await;
        peer.wait_closed().await;
        eventually("the refusal is counted", || {
            refused(&view, RejectionReason::Malformed) == count
        })
        .await;
        assert_still_connected(&mut nodes).await;
    }
}

#[tokio::test]
async fn refuses_future_version_by_number_alone() {
    let mut ports = Ports::of(2);
    let (_mesh, _inbox) = ports.start(P1, 1);
    let mut peer = RawPeer::dial(ports.addresses[0]).await;
    // Tag, magic number, version 300, and bytes that version 2 cannot decode.
    peer.send_bytes(b"\x09\0\0\0\0TNUR\xac\x02\xff\xff").await;
    let sentence = peer
        .receive(|frame| match frame {
            Frame::Refused(refused) => (refused.newest_version, refused.sentence.to_owned()),
            other => panic!("expected a refusal, received {other:?}"),
        })
        .await;
    assert_eq!(sentence.0, 2);
    assert!(sentence.1.contains("upgrade it first"), "{sentence:?}");
}

#[tokio::test]
async fn silent_connections_do_not_block_a_peer() {
    let mut ports = Ports::of(2);
    let handshake_timeout = Duration::from_secs(3600);
    let (mesh, mut inbox) =
        ports.start_with(P1, MeshLimits { max_handshakes: 4, handshake_timeout, ..limits() });
    let mut silent = Vec::new();
    for _ in 0..10 {
        silent.push(RawPeer::dial(ports.addresses[0]).await);
    }
    let (_second, _other) = ports.start(P2, 1);
    assert_eq!(receive(&mut inbox).await, MeshEvent::PeerConnected { peer: P2, session: 1 });
    let view = mesh.status();
    assert!(refused(&view, RejectionReason::CrowdedOut) >= 6, "{:?}", view.counts());
}

#[tokio::test]
async fn silent_connection_is_closed() {
    let mut ports = Ports::of(2);
    let (mesh, _inbox) = ports
        .start_with(P1, MeshLimits { handshake_timeout: Duration::from_millis(20), ..limits() });
    RawPeer::dial(ports.addresses[0]).await.wait_closed().await;
    let view = mesh.status();
    eventually("the refusal is counted", || refused(&view, RejectionReason::TooSlow) == 1).await;
}

#[tokio::test]
async fn public_address_requires_keys() {
    let mut ports = Ports::of(1);
    let mut start = |authentication| {
        let listen = Listen::Address("0.0.0.0:0".parse().expect("an address"));
        Mesh::start(MeshSettings { listen, authentication, ..ports.settings(P1, 1) })
    };
    let error = start(PeerAuthentication::LoopbackOnly).expect_err("no keys");
    assert!(matches!(error, MeshStartError::KeysRequired { .. }), "{error}");
    start(PeerAuthentication::Keys(group(1).remove(0))).expect("keys");
    start(PeerAuthentication::Unauthenticated).expect("an explicit choice");
}

#[tokio::test]
async fn public_bound_socket_requires_keys() {
    let mut settings = Ports::of(1).settings(P1, 1);
    let socket = std::net::TcpListener::bind("0.0.0.0:0").expect("a port");
    settings.listen = Listen::Listener(socket);
    let error = Mesh::start(settings).expect_err("no keys");
    assert!(matches!(error, MeshStartError::KeysRequired { .. }), "{error}");
}

#[tokio::test]
async fn port_in_use_is_reported() {
    let mut ports = Ports::of(1);
    let (_mesh, _inbox) = ports.start(P1, 1);
    let error = Mesh::start(ports.settings(P1, 2)).expect_err("the port is in use");
    assert!(matches!(error, MeshStartError::AddressTaken { .. }), "{error}");
    assert!(error.to_string().contains(&ports.addresses[0].to_string()), "{error}");
}
