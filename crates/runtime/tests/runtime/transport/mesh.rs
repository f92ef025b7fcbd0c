//! Basic operation of a mesh, and protocol violations by authenticated peers.

use std::time::Duration;

use tenure_runtime::transport::frame::{Frame, Introduction};
use tenure_runtime::transport::{Mesh, MeshEvent, MeshLimits, MeshStartError, SendError};

use super::support::{
    P1, P2, P3, Ports, RawPeer, TEST_TIMEOUT, assert_still_connected, boot, eventually, greeting,
    hello, limits, message, pair, receive_peer_down, receive_peer_up,
};

#[tokio::test]
async fn all_processes_reach_each_other() {
    let mut ports = Ports::of(5);
    let ids: Vec<_> = (0..5).map(tenure_core::ProcessId).collect();
    let mut nodes: Vec<_> = ids.iter().map(|me| ports.start(*me, 1)).collect();
    for from in &ids {
        for to in ids.iter().filter(|to| *to != from) {
            let payload = format!("{from} to {to}").into_bytes();
            nodes[from.index()].0.send(*to, payload).expect("room");
        }
    }
    for to in &ids {
        let mut received = Vec::new();
        for _ in 0..4 {
            let (from, _, payload) = message(&mut nodes[to.index()].1).await;
            assert_eq!(payload, format!("{from} to {to}").into_bytes());
            received.push(from);
        }
        received.sort_unstable();
        assert!(
            received.iter().eq(ids.iter().filter(|from| *from != to)),
            "{to} received {received:?}"
        );
    }
}

#[tokio::test]
async fn violation_closes_only_its_connection() {
    let mut ports = Ports::of(3);
    let mut nodes = pair(&mut ports).await;
    let view = nodes[0].0.status();
    let data = |number, received| {
        let mut bytes = Vec::new();
        Frame::Data { number, received, payload: b"x" }.encode(&mut bytes);
        bytes
    };
    let mut out_of_place = Vec::new();
    greeting(hello(P3, P1, 3)).encode(&mut out_of_place);
    let violations = [
        ("a gap", data(2, 0)),
        ("a gap later on", [data(1, 0), data(9, 0)].concat()),
        ("an acknowledgement of nothing", data(1, 1)),
        ("garbage", vec![3, 0, 0, 0, 0xff, 0xff, 0xff]),
        ("a length without end", vec![0xff, 0xff, 0xff, 0xff]),
        ("a second hello", out_of_place),
    ];
    for (count, (violation, bytes)) in (1..).zip(violations) {
        let session_of_its_own = Introduction { boot: boot(count), ..hello(P3, P1, 3) };
        let mut peer = RawPeer::join(ports.addresses[0], session_of_its_own).await;
        peer.send_bytes(&bytes).await;
        peer.wait_closed().await;
        eventually(violation, || view.counts().malformed == count).await;
        assert_still_connected(&mut nodes).await;
    }
}

#[tokio::test]
async fn rejects_data_before_first_acknowledgement() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let mut peer = RawPeer::begin(ports.addresses[0], hello(P2, P1, 2)).await;
    peer.send(&Frame::Data { number: 1, received: 0, payload: b"too early" }).await;
    peer.wait_closed().await;
    let view = mesh.status();
    eventually("the violation is counted", || view.counts().malformed == 1).await;
    assert_eq!(inbox.try_receive(), None);
}

#[tokio::test]
async fn duplicate_message_is_delivered_once() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let mut peer = RawPeer::join(ports.addresses[0], hello(P2, P1, 2)).await;
    for number in [1, 1, 2, 1, 2, 3] {
        let payload = [u8::try_from(number).expect("a small number")];
        peer.send(&Frame::Data { number, received: 0, payload: &payload }).await;
    }
    for byte in 1..=3 {
        assert_eq!(message(&mut inbox).await.2, [byte]);
    }
    assert_eq!(inbox.try_receive(), None);
    assert_eq!(mesh.status().counts().duplicates, 3);
}

#[tokio::test]
async fn many_messages_are_acknowledged_at_once() {
    let mut ports = Ports::of(2);
    let (_first, mut inbox) = ports
        .start_with(P1, MeshLimits { acknowledge_delay: Duration::from_secs(3600), ..limits() });
    let (second, _other) = ports.start(P2, 1);
    for byte in 0..100 {
        second.send(P1, vec![byte]).expect("room");
    }
    for byte in 0..100 {
        assert_eq!(message(&mut inbox).await.2, [byte]);
    }
    let view = second.status();
    eventually("most are acknowledged", || view.peers()[0].held_messages < 64).await;
}

#[tokio::test]
async fn rejects_message_above_maximum_length() {
    let mut ports = Ports::of(2);
    let limit = limits().max_payload_bytes();
    let [first, mut second] = pair(&mut ports).await;
    first.0.send(P2, vec![7; limit]).expect("it fits");
    let (_, _, payload) = message(&mut second.1).await;
    assert!(payload.len() == limit && payload.iter().all(|byte| *byte == 7));
    let too_long = SendError::TooLong { length: limit + 1, limit };
    assert_eq!(first.0.send(P2, vec![7; limit + 1]), Err(too_long));
}

#[tokio::test]
async fn process_is_not_its_own_peer() {
    let (mesh, _inbox) = Ports::of(2).start(P1, 1);
    assert_eq!(mesh.send(P1, vec![]), Err(SendError::NotAPeer { to: P1 }));
    assert_eq!(mesh.send(P3, vec![]), Err(SendError::NotAPeer { to: P3 }));
}

#[tokio::test]
async fn close_delivers_sent_messages_first() {
    let mut ports = Ports::of(2);
    let [first, mut second] = pair(&mut ports).await;
    for number in 0..1000_u32 {
        first.0.send(P2, number.to_le_bytes().to_vec()).expect("room");
    }
    let receive = async {
        for number in 0..1000_u32 {
            assert_eq!(message(&mut second.1).await.2, number.to_le_bytes());
        }
        assert_eq!(receive_peer_down(&mut second.1, P1).await, 1);
    };
    tokio::join!(first.0.close(TEST_TIMEOUT), receive);
}

#[tokio::test]
async fn close_ends_in_time_despite_silent_peer() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let _mute = RawPeer::join(ports.addresses[0], hello(P2, P1, 2)).await;
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 1);
    mesh.send(P2, b"never acknowledged".to_vec()).expect("room");
    mesh.close(Duration::from_millis(10)).await;
    assert_eq!(inbox.receive().await, None);
}

#[tokio::test]
async fn port_is_free_after_close() {
    let mut ports = Ports::of(1);
    let (mesh, mut inbox) = ports.start(P1, 1);
    mesh.close(TEST_TIMEOUT).await;
    assert_eq!(inbox.receive().await, None);
    ports.start(P1, 2);
}

#[tokio::test]
async fn lost_peer_is_reported_with_status() {
    let mut ports = Ports::of(2);
    let [(mesh, mut inbox), second] = pair(&mut ports).await;
    let status = &mesh.status().peers()[0];
    assert!(status.is_connected && status.connected_at.is_some(), "{status:?}");
    drop(second);
    assert_eq!(receive_peer_down(&mut inbox, P2).await, 1);
    let status = &mesh.status().peers()[0];
    assert!(!status.is_connected && status.error.is_some(), "{status:?}");
    assert_eq!((status.peer, status.session), (P2, Some(1)));
}

#[tokio::test]
async fn unreachable_peer_appears_in_status() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P2, 1);
    let settings = ports.settings(P1, 1);
    drop(settings);
    let view = mesh.status();
    eventually("dials fail", || view.counts().failed_dials >= 2).await;
    assert!(view.peers()[0].error.is_some());
    assert_eq!(inbox.try_receive(), None);
    let (_first, _) = ports.start(P1, 1);
    assert_eq!(receive_peer_up(&mut inbox, P1).await, 1);
}

#[tokio::test]
async fn rejects_invalid_settings() {
    let mut ports = Ports::of(1);
    let mut settings = ports.settings(P1, 0);
    assert!(matches!(Mesh::start(settings), Err(MeshStartError::InvalidSession { session: 0 })));
    settings = ports.settings(P1, 1);
    settings.me = P2;
    assert!(matches!(Mesh::start(settings), Err(MeshStartError::NotInGroup { me: P2, size: 1 })));
    settings = ports.settings(P1, 1);
    settings.cluster = String::new();
    assert!(matches!(Mesh::start(settings), Err(MeshStartError::ClusterName { length: 0 })));
    settings = ports.settings(P1, 1);
    settings.limits.max_queued_messages = 0;
    let error = Mesh::start(settings).expect_err("a useless limit");
    assert!(error.to_string().contains("max_queued_messages"), "{error}");
}

#[tokio::test]
async fn many_messages_share_one_write() {
    let mut ports = Ports::of(2);
    let [first, mut second] = pair(&mut ports).await;
    let before = first.0.status().counts();
    for byte in 0..100 {
        first.0.send(P2, vec![byte]).expect("room");
    }
    for byte in 0..100 {
        assert_eq!(message(&mut second.1).await.2, [byte]);
    }
    let after = first.0.status().counts();
    assert_eq!(after.messages_sent - before.messages_sent, 100);
    // On one thread the link runs only after all messages were sent.
    assert_eq!(after.writes - before.writes, 1);
    assert!(matches!(second.1.try_receive(), None | Some(MeshEvent::PeerConnected { .. })));
}
