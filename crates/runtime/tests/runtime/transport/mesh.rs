//! What proven peers may do to each other, and the plain life of a mesh.

use std::time::Duration;

use tenure_runtime::transport::frame::{Frame, Introduction};
use tenure_runtime::transport::{Incoming, Mesh, MeshError, SendError};

use super::support::{
    HUNG, P1, P2, P3, Ports, Stranger, boot, comes_up, eventually, goes_down, greeting, hello,
    message, pair, still_talk,
};

#[tokio::test]
async fn every_process_reaches_every_other() {
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
        let mut heard = Vec::new();
        for _ in 0..4 {
            let (from, _, payload) = message(&mut nodes[to.index()].1).await;
            assert_eq!(payload, format!("{from} to {to}").into_bytes());
            heard.push(from);
        }
        heard.sort_unstable();
        assert!(heard.iter().eq(ids.iter().filter(|from| *from != to)), "{to} heard {heard:?}");
    }
}

#[tokio::test]
async fn a_peer_that_breaks_the_rules_is_closed_and_no_other() {
    let mut ports = Ports::of(3);
    let mut nodes = pair(&mut ports).await;
    let view = nodes[0].0.view();
    let data = |number, received| {
        let mut bytes = Vec::new();
        Frame::Data { number, received, payload: b"x" }.encode(&mut bytes);
        bytes
    };
    let mut out_of_place = Vec::new();
    greeting(hello(P3, P1, 3)).encode(&mut out_of_place);
    let breaches = [
        ("a gap", data(2, 0)),
        ("a gap later on", [data(1, 0), data(9, 0)].concat()),
        ("an acknowledgement of nothing", data(1, 1)),
        ("garbage", vec![3, 0, 0, 0, 0xff, 0xff, 0xff]),
        ("a length without end", vec![0xff, 0xff, 0xff, 0xff]),
        ("a second hello", out_of_place),
    ];
    for (count, (what, bytes)) in (1..).zip(breaches) {
        let session_of_its_own = Introduction { boot: boot(count), ..hello(P3, P1, 3) };
        let mut peer = Stranger::join(ports.addresses[0], session_of_its_own).await;
        peer.say_bytes(&bytes).await;
        peer.ends().await;
        eventually(what, || view.counts().malformed == count).await;
        still_talk(&mut nodes).await;
    }
}

#[tokio::test]
async fn nothing_is_believed_before_it_was_said_what_was_received() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let mut peer = Stranger::begin(ports.addresses[0], hello(P2, P1, 2)).await;
    peer.say(&Frame::Data { number: 1, received: 0, payload: b"too early" }).await;
    peer.ends().await;
    let view = mesh.view();
    eventually("it is counted", || view.counts().malformed == 1).await;
    assert_eq!(inbox.try_receive(), None);
}

#[tokio::test]
async fn a_message_that_comes_twice_is_delivered_once() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let mut peer = Stranger::join(ports.addresses[0], hello(P2, P1, 2)).await;
    for number in [1, 1, 2, 1, 2, 3] {
        let payload = [u8::try_from(number).expect("a small number")];
        peer.say(&Frame::Data { number, received: 0, payload: &payload }).await;
    }
    for byte in 1..=3 {
        assert_eq!(message(&mut inbox).await.2, [byte]);
    }
    assert_eq!(inbox.try_receive(), None);
    assert_eq!(mesh.view().counts().duplicates, 3);
}

#[tokio::test]
async fn much_that_is_received_is_acknowledged_without_waiting() {
    let mut ports = Ports::of(2);
    let mut settings = ports.settings(P1, 1);
    settings.limits.acknowledge_after = Duration::from_secs(3600);
    let (_first, mut inbox) = Mesh::start(settings).expect("a mesh");
    let (second, _other) = ports.start(P2, 1);
    for byte in 0..100 {
        second.send(P1, vec![byte]).expect("room");
    }
    for byte in 0..100 {
        assert_eq!(message(&mut inbox).await.2, [byte]);
    }
    let view = second.view();
    eventually("most are acknowledged", || view.peers()[0].held_frames < 64).await;
}

#[tokio::test]
async fn the_longest_message_arrives_and_a_longer_one_is_refused() {
    let mut ports = Ports::of(2);
    let limit = super::support::limits().longest_payload();
    let [first, mut second] = pair(&mut ports).await;
    first.0.send(P2, vec![7; limit]).expect("it fits");
    let (_, _, payload) = message(&mut second.1).await;
    assert!(payload.len() == limit && payload.iter().all(|byte| *byte == 7));
    let too_long = SendError::TooLong { length: limit + 1, limit };
    assert_eq!(first.0.send(P2, vec![7; limit + 1]), Err(too_long));
}

#[tokio::test]
async fn nobody_is_a_peer_of_its_own() {
    let (mesh, _inbox) = Ports::of(2).start(P1, 1);
    assert_eq!(mesh.send(P1, vec![]), Err(SendError::NotAPeer { to: P1 }));
    assert_eq!(mesh.send(P3, vec![]), Err(SendError::NotAPeer { to: P3 }));
}

#[tokio::test]
async fn closing_lets_everything_sent_arrive_first() {
    let mut ports = Ports::of(2);
    let [first, mut second] = pair(&mut ports).await;
    for number in 0..1000_u32 {
        first.0.send(P2, number.to_le_bytes().to_vec()).expect("room");
    }
    let receive = async {
        for number in 0..1000_u32 {
            assert_eq!(message(&mut second.1).await.2, number.to_le_bytes());
        }
        assert_eq!(goes_down(&mut second.1, P1).await, 1);
    };
    tokio::join!(first.0.close(HUNG), receive);
}

#[tokio::test]
async fn closing_ends_in_time_though_a_peer_does_not_answer() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let _mute = Stranger::join(ports.addresses[0], hello(P2, P1, 2)).await;
    assert_eq!(comes_up(&mut inbox, P2).await, 1);
    mesh.send(P2, b"never acknowledged".to_vec()).expect("room");
    mesh.close(Duration::from_millis(10)).await;
    assert_eq!(inbox.receive().await, None);
}

#[tokio::test]
async fn a_port_is_free_again_after_closing() {
    let mut ports = Ports::of(1);
    let (mesh, mut inbox) = ports.start(P1, 1);
    mesh.close(HUNG).await;
    assert_eq!(inbox.receive().await, None);
    ports.start(P1, 2);
}

#[tokio::test]
async fn a_peer_that_goes_is_told_and_its_state_can_be_read() {
    let mut ports = Ports::of(2);
    let [(mesh, mut inbox), second] = pair(&mut ports).await;
    let status = &mesh.view().peers()[0];
    assert!(status.connected && status.connected_at.is_some(), "{status:?}");
    drop(second);
    assert_eq!(goes_down(&mut inbox, P2).await, 1);
    let status = &mesh.view().peers()[0];
    assert!(!status.connected && status.error.is_some(), "{status:?}");
    assert_eq!((status.peer, status.session), (P2, Some(1)));
}

#[tokio::test]
async fn an_unreachable_peer_is_no_error_but_can_be_seen() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P2, 1);
    let settings = ports.settings(P1, 1);
    drop(settings);
    let view = mesh.view();
    eventually("dials fail", || view.counts().failed_dials >= 2).await;
    assert!(view.peers()[0].error.is_some());
    assert_eq!(inbox.try_receive(), None);
    let (_first, _) = ports.start(P1, 1);
    assert_eq!(comes_up(&mut inbox, P1).await, 1);
}

#[tokio::test]
async fn mistakes_in_the_settings_are_told() {
    let mut ports = Ports::of(1);
    let mut settings = ports.settings(P1, 0);
    assert!(matches!(Mesh::start(settings), Err(MeshError::NoSession { session: 0 })));
    settings = ports.settings(P1, 1);
    settings.me = P2;
    assert!(matches!(Mesh::start(settings), Err(MeshError::NotInGroup { me: P2, size: 1 })));
    settings = ports.settings(P1, 1);
    settings.cluster = String::new();
    assert!(matches!(Mesh::start(settings), Err(MeshError::ClusterName { length: 0 })));
    settings = ports.settings(P1, 1);
    settings.limits.queue_frames = 0;
    let error = Mesh::start(settings).expect_err("a useless limit");
    assert!(error.to_string().contains("queue_frames"), "{error}");
}

#[tokio::test]
async fn many_messages_share_a_write() {
    let mut ports = Ports::of(2);
    let [first, mut second] = pair(&mut ports).await;
    let before = first.0.view().counts();
    for byte in 0..100 {
        first.0.send(P2, vec![byte]).expect("room");
    }
    for byte in 0..100 {
        assert_eq!(message(&mut second.1).await.2, [byte]);
    }
    let after = first.0.view().counts();
    assert_eq!(after.messages_sent - before.messages_sent, 100);
    // On one thread the link runs only after all were sent.
    assert_eq!(after.writes - before.writes, 1);
    assert!(matches!(second.1.try_receive(), None | Some(Incoming::PeerUp { .. })));
}
