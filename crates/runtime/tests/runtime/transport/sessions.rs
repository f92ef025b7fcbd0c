//! Messages to an ended session of a process never reach a later session of the process.

use std::time::Duration;

use tenure_core::ProcessId;
use tenure_runtime::transport::frame::{BootId, Frame, Introduction};
use tenure_runtime::transport::{Eviction, Listen, Mesh, MeshEvent, MeshSettings, RejectionReason};

use super::support::{
    P1, P2, Ports, RawPeer, TEST_TIMEOUT, boot, eventually, greeting, hello, message, pair,
    receive, receive_peer_down, receive_peer_up,
};

/// Process `stays` sends messages to `returns`, which is killed and boots again with session 2.
/// Asserts that no message for the old session reaches the new session.
async fn assert_no_message_crosses_sessions(stays: ProcessId, returns: ProcessId) {
    let mut ports = Ports::of(2);
    let nodes = pair(&mut ports).await;
    let [first, second] = nodes;
    let ((mesh, mut inbox), killed) = if stays == P1 { (first, second) } else { (second, first) };
    drop(killed);
    assert_eq!(receive_peer_down(&mut inbox, returns).await, 1);
    for _ in 0..10 {
        mesh.send(returns, b"for the dead".to_vec()).expect("room");
    }
    let (_returned, mut successor) = ports.start(returns, 2);
    assert_eq!(receive_peer_up(&mut inbox, returns).await, 2);
    mesh.send(returns, b"for the successor".to_vec()).expect("room");
    assert_eq!(receive(&mut successor).await, MeshEvent::PeerConnected { peer: stays, session: 1 });
    assert_eq!(message(&mut successor).await.2, b"for the successor");
    assert_eq!(mesh.status().counts().discarded, 10);
    assert_eq!(mesh.status().peers()[0].session, Some(2));
}

#[tokio::test]
async fn dialing_successor_receives_only_its_own_messages() {
    assert_no_message_crosses_sessions(P1, P2).await;
}

#[tokio::test]
async fn dialed_successor_receives_only_its_own_messages() {
    assert_no_message_crosses_sessions(P2, P1).await;
}

#[tokio::test]
async fn unacknowledged_messages_end_with_their_session() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let mut mute = RawPeer::join(ports.addresses[0], hello(P2, P1, 2)).await;
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 1);
    mesh.send(P2, b"under way".to_vec()).expect("room");
    mute.receive(|frame| assert!(matches!(frame, Frame::Data { number: 1, .. }), "{frame:?}"))
        .await;
    drop(mute);
    let (_second, mut successor) = ports.start(P2, 2);
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 2);
    mesh.send(P2, b"new".to_vec()).expect("room");
    assert_eq!(message(&mut successor).await.2, b"new");
    assert_eq!(mesh.status().counts().discarded, 1);
}

#[tokio::test]
async fn messages_before_peer_up_target_earlier_session() {
    let mut ports = Ports::of(2);
    let [(mesh, mut inbox), killed] = pair(&mut ports).await;
    killed.0.close(Duration::ZERO).await;
    let (_returned, mut successor) = ports.start(P2, 2);
    // The mesh knows of session 2, but the consumer has not received it.
    let view = mesh.status();
    eventually("session 2 is connected", || {
        let status = &view.peers()[0];
        status.session == Some(2) && status.is_connected
    })
    .await;
    mesh.send(P2, b"an answer to the dead".to_vec()).expect("room");
    eventually("the message is discarded", || view.counts().discarded == 1).await;
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 2);
    mesh.send(P2, b"hello again".to_vec()).expect("room");
    assert_eq!(message(&mut successor).await.2, b"hello again");
}

#[tokio::test]
async fn early_messages_reach_the_first_session() {
    let mut ports = Ports::of(2);
    let (mesh, _inbox) = ports.start(P1, 1);
    for byte in 0..10 {
        mesh.send(P2, vec![byte]).expect("room");
    }
    let (_second, mut inbox) = ports.start(P2, 7);
    for byte in 0..10 {
        assert_eq!(message(&mut inbox).await, (P1, 1, vec![byte]));
    }
}

/// The first boot of P2 completes the handshake and crashes before its first frame, so it is never
/// reported. The messages are for the session that is reported first.
#[tokio::test]
async fn early_messages_outlive_a_session_that_was_not_reported() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    mesh.send(P2, b"early".to_vec()).expect("room");
    let crashed = RawPeer::begin(ports.addresses[0], hello(P2, P1, 2)).await;
    let view = mesh.status();
    eventually("session 1 is adopted", || view.peers()[0].session == Some(1)).await;
    drop(crashed);
    let (_second, mut successor) = ports.start(P2, 2);
    assert_eq!(receive(&mut inbox).await, MeshEvent::PeerConnected { peer: P2, session: 2 });
    mesh.send(P2, b"later".to_vec()).expect("room");
    assert_eq!(message(&mut successor).await, (P1, 1, b"early".to_vec()));
    assert_eq!(message(&mut successor).await, (P1, 1, b"later".to_vec()));
    assert_eq!(view.counts().discarded, 0);
}

#[tokio::test]
async fn refuses_session_older_than_known() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let newer = Introduction { boot: boot(6), ..hello(P2, P1, 2) };
    let _newer = RawPeer::join(ports.addresses[0], newer).await;
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 6);
    let mut older = RawPeer::dial(ports.addresses[0]).await;
    older.send(&greeting(Introduction { boot: boot(5), ..hello(P2, P1, 2) })).await;
    assert_eq!(older.receive_refusal().await, RejectionReason::OldSession.code());
    assert_eq!(mesh.status().peers()[0].session, Some(6));
}

#[tokio::test]
async fn superseded_session_is_refused_at_once() {
    let mut ports = Ports::of(2);
    let (_mesh, mut inbox) = ports.start(P1, 1);
    let session = |session| Introduction { boot: boot(session), ..hello(P2, P1, 2) };
    let mut older = RawPeer::join(ports.addresses[0], session(5)).await;
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 5);
    let _newer = RawPeer::join(ports.addresses[0], session(6)).await;
    assert_eq!(older.receive_refusal().await, RejectionReason::OldSession.code());
    older.wait_closed().await;
}

#[tokio::test]
async fn refuses_second_boot_with_same_session() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let nonce = |nonce| Introduction { boot: BootId { session: 5, nonce }, ..hello(P2, P1, 2) };
    let mut original = RawPeer::join(ports.addresses[0], nonce(1)).await;
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 5);
    let mut copy = RawPeer::dial(ports.addresses[0]).await;
    copy.send(&greeting(nonce(2))).await;
    assert_eq!(copy.receive_refusal().await, RejectionReason::Twin.code());
    original.send(&Frame::Data { number: 1, received: 0, payload: b"undisturbed" }).await;
    assert_eq!(message(&mut inbox).await, (P2, 5, b"undisturbed".to_vec()));
    assert_eq!(mesh.status().counts().refused.get(&RejectionReason::Twin), Some(&1));
}

#[tokio::test]
async fn refuses_distant_session_without_recording_it() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let (_second, _other) = ports.start(P2, 7);
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 7);
    for session in [8 + (1 << 39), 1 << 40, u64::MAX] {
        let mut peer = RawPeer::dial(ports.addresses[0]).await;
        let far = Introduction { boot: boot(session), ..hello(P2, P1, 2) };
        peer.send(&greeting(far)).await;
        assert_eq!(peer.receive_refusal().await, RejectionReason::FarSession.code(), "{session}");
    }
    assert_eq!(mesh.status().peers()[0].session, Some(7));
}

/// Boots `returns` with session 9, and then again with session 1. `stays` has seen session 9.
/// Asserts that `returns` is evicted.
async fn outdated_session_is_evicted(stays: ProcessId, returns: ProcessId) {
    let mut ports = Ports::of(2);
    let (_mesh, mut inbox) = ports.start(stays, 1);
    let (newer, _other) = ports.start(returns, 9);
    assert_eq!(receive_peer_up(&mut inbox, returns).await, 9);
    drop(newer);
    assert_eq!(receive_peer_down(&mut inbox, returns).await, 9);
    let (_older, mut forgetful) = ports.start(returns, 1);
    let out = Eviction { by: stays, reason: RejectionReason::OldSession };
    assert_eq!(receive(&mut forgetful).await, MeshEvent::Evicted(out));
    assert_eq!(forgetful.try_receive(), None, "the eviction is reported once");
}

#[tokio::test]
async fn dialer_with_old_session_is_evicted() {
    outdated_session_is_evicted(P1, P2).await;
}

#[tokio::test]
async fn acceptor_with_old_session_is_evicted() {
    outdated_session_is_evicted(P2, P1).await;
}

#[tokio::test]
async fn older_of_two_nodes_of_one_process_is_evicted() {
    let mut ports = Ports::of(2);
    let (_mesh, mut inbox) = ports.start(P1, 1);
    let (_older, mut superseded) = ports.start(P2, 8);
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 8);
    assert_eq!(receive_peer_up(&mut superseded, P1).await, 1);
    let elsewhere = Listen::Address("127.0.0.1:0".parse().expect("an address"));
    let settings = MeshSettings { listen: elsewhere, ..ports.settings(P2, 9) };
    let (_newer, _) = Mesh::start(settings).expect("a mesh");
    let out = Eviction { by: P1, reason: RejectionReason::OldSession };
    let context = loop {
        match receive(&mut superseded).await {
            MeshEvent::Evicted(expelled) => break expelled,
            other => assert!(matches!(other, MeshEvent::PeerDisconnected { .. }), "{other:?}"),
        }
    };
    assert_eq!(context, out);
}

#[tokio::test]
async fn old_session_delivers_nothing_after_successor() {
    let mut ports = Ports::of(2);
    let (_mesh, mut inbox) = ports.start(P1, 1);
    let session = |session| Introduction { boot: boot(session), ..hello(P2, P1, 2) };
    let data = |payload| Frame::Data { number: 1, received: 0, payload };
    let mut older = RawPeer::join(ports.addresses[0], session(5)).await;
    assert_eq!(receive(&mut inbox).await, MeshEvent::PeerConnected { peer: P2, session: 5 });
    let mut newer = RawPeer::join(ports.addresses[0], session(6)).await;
    older.send(&data(b"too late")).await;
    newer.send(&data(b"in time")).await;
    assert_eq!(receive(&mut inbox).await, MeshEvent::PeerDisconnected { peer: P2, session: 5 });
    assert_eq!(receive(&mut inbox).await, MeshEvent::PeerConnected { peer: P2, session: 6 });
    let in_time = MeshEvent::Message { from: P2, session: 6, payload: b"in time".to_vec() };
    assert_eq!(receive(&mut inbox).await, in_time);
    older.wait_closed().await;
}

#[tokio::test]
async fn new_connection_replaces_dead_one() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let mut mute = RawPeer::join(ports.addresses[0], hello(P2, P1, 2)).await;
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 1);
    mesh.send(P2, b"again".to_vec()).expect("room");
    mute.receive(|frame| assert!(matches!(frame, Frame::Data { number: 1, .. }), "{frame:?}"))
        .await;
    // The old connection is still open, but its other end never reads again.
    let mut again = RawPeer::join(ports.addresses[0], hello(P2, P1, 2)).await;
    let repeated = Frame::Data { number: 1, received: 0, payload: b"again" };
    again.receive(|frame| assert_eq!(*frame, repeated)).await;
    mute.wait_closed().await;
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 1);
}

#[tokio::test]
async fn close_sends_goodbye_after_all_messages() {
    let mut ports = Ports::of(2);
    let [(mesh, mut inbox), (leaving, _open)] = pair(&mut ports).await;
    for byte in 0..100 {
        leaving.send(P1, vec![byte]).expect("room");
    }
    leaving.close(TEST_TIMEOUT).await;
    for byte in 0..100 {
        assert_eq!(message(&mut inbox).await, (P2, 1, vec![byte]));
    }
    assert_eq!(receive(&mut inbox).await, MeshEvent::PeerSessionEnded { peer: P2, session: 1 });
    assert_eq!(receive(&mut inbox).await, MeshEvent::PeerDisconnected { peer: P2, session: 1 });
    assert_eq!(mesh.status().counts().malformed, 0);
    // The next boot has another session.
    let (_again, _inbox) = ports.start(P2, 2);
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 2);
}

#[tokio::test]
async fn killed_node_sends_no_goodbye() {
    let mut ports = Ports::of(2);
    let [(_mesh, mut inbox), killed] = pair(&mut ports).await;
    drop(killed);
    assert_eq!(receive(&mut inbox).await, MeshEvent::PeerDisconnected { peer: P2, session: 1 });
}
