//! Queues are bounded, and a stalled peer does not delay other peers for long.

use std::time::Duration;

use tenure_runtime::transport::frame::Frame;
use tenure_runtime::transport::{MeshLimits, SendError};
use tokio::time::timeout;

use super::support::{
    P1, P2, P3, Ports, RawPeer, TEST_TIMEOUT, eventually, hello, limits, message, message_from,
    pair, receive_peer_up,
};

#[tokio::test]
async fn queue_for_missing_peer_is_bounded() {
    let mut ports = Ports::of(3);
    let (mesh, _inbox) = ports.start_with(P1, MeshLimits { max_queued_messages: 10, ..limits() });
    let outcomes: Vec<_> = (0..15).map(|byte| mesh.send(P2, vec![byte])).collect();
    assert!(outcomes[..10].iter().all(Result::is_ok), "{outcomes:?}");
    assert!(outcomes[10..].iter().all(|full| *full == Err(SendError::Full { to: P2 })));
    assert_eq!(mesh.status().counts().overflowed, 5);
    assert!(mesh.accepts_user_requests(), "a disconnected peer delays no sender");
    // The oldest messages were kept.
    let (_second, mut inbox) = ports.start(P2, 1);
    for byte in 0..10 {
        assert_eq!(message(&mut inbox).await.2, [byte]);
    }
}

#[tokio::test]
async fn unacknowledged_messages_block_until_acknowledged() {
    let mut ports = Ports::of(3);
    let (mesh, mut inbox) = ports.start_with(
        P1,
        MeshLimits {
            max_queued_messages: 10,
            half_full_timeout: Duration::from_secs(3600),
            ..limits()
        },
    );
    let mut slow = RawPeer::join(ports.addresses[0], hello(P3, P1, 3)).await;
    assert_eq!(receive_peer_up(&mut inbox, P3).await, 1);
    (0..6).for_each(|byte| mesh.send(P3, vec![byte]).expect("room"));
    assert!(!mesh.accepts_user_requests(), "more than half of the queue is in use");
    for number in 1..=6 {
        slow.receive(|frame| match frame {
            Frame::Data { number: actual, .. } => assert_eq!(*actual, number),
            other => panic!("expected a message, received {other:?}"),
        })
        .await;
    }
    let acknowledge = async { slow.send(&Frame::Acknowledge { received: 1 }).await };
    let (room, ()) = tokio::join!(timeout(TEST_TIMEOUT, mesh.wait_until_accepting()), acknowledge);
    room.expect("room comes with the acknowledgement");
    assert!(mesh.accepts_user_requests());
}

#[tokio::test]
async fn stalled_peer_blocks_for_limited_time() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start_with(
        P1,
        MeshLimits {
            max_queued_messages: 10,
            half_full_timeout: Duration::from_millis(10),
            ..limits()
        },
    );
    let _mute = RawPeer::join(ports.addresses[0], hello(P2, P1, 2)).await;
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 1);
    (0..10).for_each(|byte| mesh.send(P2, vec![byte]).expect("room"));
    timeout(TEST_TIMEOUT, mesh.wait_until_accepting()).await.expect("the stall timeout passes");
    assert_eq!(mesh.send(P2, vec![10]), Err(SendError::Full { to: P2 }));
}

#[tokio::test]
async fn half_full_peer_has_no_room_for_requests() {
    let mut ports = Ports::of(3);
    let (mesh, mut inbox) = ports.start_with(
        P1,
        MeshLimits { max_queued_messages: 10, half_full_timeout: Duration::ZERO, ..limits() },
    );
    let view = mesh.status();
    assert!(!view.has_room_for(P2), "P2 is not connected");
    let mut slow = RawPeer::join(ports.addresses[0], hello(P2, P1, 3)).await;
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 1);
    (0..5).for_each(|byte| mesh.send(P2, vec![byte]).expect("room"));
    assert!(view.has_room_for(P2));
    mesh.send(P2, vec![5]).expect("room");
    assert!(!view.has_room_for(P2), "more than half of the queue is in use");
    assert!(mesh.accepts_user_requests(), "the peer delays no other message");
    for _ in 0..6 {
        slow.receive(|_| ()).await;
    }
    slow.send(&Frame::Acknowledge { received: 6 }).await;
    eventually("there is room again", || view.has_room_for(P2)).await;
}

#[tokio::test]
async fn lost_peer_delays_no_sender() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start_with(
        P1,
        MeshLimits {
            max_queued_messages: 10,
            half_full_timeout: Duration::from_secs(3600),
            ..limits()
        },
    );
    let mute = RawPeer::join(ports.addresses[0], hello(P2, P1, 2)).await;
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 1);
    (0..10).for_each(|byte| mesh.send(P2, vec![byte]).expect("room"));
    assert!(!mesh.accepts_user_requests());
    let go = async { drop(mute) };
    let (room, ()) = tokio::join!(timeout(TEST_TIMEOUT, mesh.wait_until_accepting()), go);
    room.expect("there is room when the peer is lost");
}

#[tokio::test]
async fn slow_consumer_delays_its_peer_without_loss() {
    const COUNT: u32 = 5000;
    let mut ports = Ports::of(3);
    let (_first, mut inbox) =
        ports.start_with(P1, MeshLimits { max_incoming_messages: 4, ..limits() });
    let (second, mut other) = ports.start_with(
        P2,
        MeshLimits {
            max_queued_messages: 100,
            half_full_timeout: Duration::from_secs(3600),
            ..limits()
        },
    );
    assert_eq!(receive_peer_up(&mut other, P1).await, 1);
    let mut sent = 0_u32;
    while second.accepts_user_requests() {
        second.send(P1, sent.to_le_bytes().to_vec()).expect("room");
        sent += 1;
    }
    // Exactly half of the queue is used, although the consumer receives nothing.
    let view = second.status();
    eventually("the peer is blocked", || view.peers()[0].held_messages >= 46).await;
    let send = async {
        for number in sent..COUNT {
            timeout(TEST_TIMEOUT, second.wait_until_accepting())
                .await
                .expect("there is room as the peer receives");
            second.send(P1, number.to_le_bytes().to_vec()).expect("room");
        }
    };
    let receive = async {
        for number in 0..COUNT {
            assert_eq!(message(&mut inbox).await.2, number.to_le_bytes());
        }
    };
    tokio::join!(send, receive);
    assert_eq!(view.counts().overflowed, 0);
}

#[tokio::test]
async fn flooding_peer_does_not_stall_others() {
    let mut ports = Ports::of(3);
    let mut nodes = pair(&mut ports).await;
    let mut flood = RawPeer::join(ports.addresses[0], hello(P3, P1, 3)).await;
    let noise = tokio::spawn(async move {
        let payload = vec![0; 64 << 10];
        for number in 1..=200 {
            flood.send(&Frame::Data { number, received: 0, payload: &payload }).await;
        }
        flood
    });
    let [first, second] = &mut nodes;
    for byte in 0..100 {
        // P3 never reads the messages, and its socket cannot buffer all of them.
        let _ = first.0.send(P3, vec![byte; 100 << 10]);
        second.0.send(P1, vec![byte]).expect("room");
        assert_eq!(message_from(&mut first.1, P2).await, [byte]);
        first.0.send(P2, vec![byte]).expect("room");
        assert_eq!(message(&mut second.1).await.2, [byte]);
    }
    noise.abort();
}
