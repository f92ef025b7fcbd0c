//! Queues are bounded, and a peer that does not move holds up nobody for long.

use std::time::Duration;

use tenure_runtime::transport::frame::Frame;
use tenure_runtime::transport::{Mesh, SendError};
use tokio::time::timeout;

use super::support::{
    HUNG, P1, P2, P3, Ports, Stranger, comes_up, eventually, hello, message, message_from, pair,
};

#[tokio::test]
async fn what_waits_for_a_peer_that_never_came_is_bounded() {
    let mut ports = Ports::of(3);
    let mut settings = ports.settings(P1, 1);
    settings.limits.queue_frames = 10;
    let (mesh, _inbox) = Mesh::start(settings).expect("a mesh");
    let outcomes: Vec<_> = (0..15).map(|byte| mesh.send(P2, vec![byte])).collect();
    assert!(outcomes[..10].iter().all(Result::is_ok), "{outcomes:?}");
    assert!(outcomes[10..].iter().all(|full| *full == Err(SendError::Full { to: P2 })));
    assert_eq!(mesh.view().counts().overflowed, 5);
    assert!(mesh.has_room(), "whoever is not connected holds up nobody");
    // The oldest were kept.
    let (_second, mut inbox) = ports.start(P2, 1);
    for byte in 0..10 {
        assert_eq!(message(&mut inbox).await.2, [byte]);
    }
}

#[tokio::test]
async fn a_peer_that_acknowledges_nothing_is_felt_and_then_forgiven() {
    let mut ports = Ports::of(3);
    let mut settings = ports.settings(P1, 1);
    settings.limits.queue_frames = 10;
    settings.limits.patience = Duration::from_secs(3600);
    let (mesh, mut inbox) = Mesh::start(settings).expect("a mesh");
    let mut slow = Stranger::join(ports.addresses[0], hello(P3, P1, 3)).await;
    assert_eq!(comes_up(&mut inbox, P3).await, 1);
    (0..6).for_each(|byte| mesh.send(P3, vec![byte]).expect("room"));
    assert!(!mesh.has_room(), "more than half is in use");
    for number in 1..=6 {
        slow.hear(|frame| match frame {
            Frame::Data { number: heard, .. } => assert_eq!(*heard, number),
            other => panic!("a message was expected, not {other:?}"),
        })
        .await;
    }
    let acknowledge = async { slow.say(&Frame::Acknowledge { received: 1 }).await };
    let (room, ()) = tokio::join!(timeout(HUNG, mesh.room()), acknowledge);
    room.expect("room comes with the acknowledgement");
    assert!(mesh.has_room());
}

#[tokio::test]
async fn patience_with_a_peer_that_does_not_move_ends() {
    let mut ports = Ports::of(2);
    let mut settings = ports.settings(P1, 1);
    settings.limits.queue_frames = 10;
    settings.limits.patience = Duration::from_millis(10);
    let (mesh, mut inbox) = Mesh::start(settings).expect("a mesh");
    let _mute = Stranger::join(ports.addresses[0], hello(P2, P1, 2)).await;
    assert_eq!(comes_up(&mut inbox, P2).await, 1);
    (0..10).for_each(|byte| mesh.send(P2, vec![byte]).expect("room"));
    timeout(HUNG, mesh.room()).await.expect("patience ends");
    assert_eq!(mesh.send(P2, vec![10]), Err(SendError::Full { to: P2 }));
}

#[tokio::test]
async fn a_peer_that_goes_holds_up_nobody() {
    let mut ports = Ports::of(2);
    let mut settings = ports.settings(P1, 1);
    settings.limits.queue_frames = 10;
    settings.limits.patience = Duration::from_secs(3600);
    let (mesh, mut inbox) = Mesh::start(settings).expect("a mesh");
    let mute = Stranger::join(ports.addresses[0], hello(P2, P1, 2)).await;
    assert_eq!(comes_up(&mut inbox, P2).await, 1);
    (0..10).for_each(|byte| mesh.send(P2, vec![byte]).expect("room"));
    assert!(!mesh.has_room());
    let go = async { drop(mute) };
    let (room, ()) = tokio::join!(timeout(HUNG, mesh.room()), go);
    room.expect("room comes when the peer goes");
}

#[tokio::test]
async fn a_consumer_that_does_not_receive_slows_its_peer_and_loses_nothing() {
    const COUNT: u32 = 5000;
    let mut ports = Ports::of(3);
    let mut settings = ports.settings(P1, 1);
    settings.limits.incoming_frames = 4;
    let (_first, mut inbox) = Mesh::start(settings).expect("a mesh");
    let mut settings = ports.settings(P2, 1);
    settings.limits.queue_frames = 100;
    settings.limits.patience = Duration::from_secs(3600);
    let (second, mut other) = Mesh::start(settings).expect("a mesh");
    assert_eq!(comes_up(&mut other, P1).await, 1);
    let mut sent = 0_u32;
    while second.has_room() {
        second.send(P1, sent.to_le_bytes().to_vec()).expect("room");
        sent += 1;
    }
    // Half the queue, and not one more, without anybody receiving.
    let view = second.view();
    eventually("the peer stands still", || view.peers()[0].held_frames >= 46).await;
    let send = async {
        for number in sent..COUNT {
            timeout(HUNG, second.room()).await.expect("room comes as the peer receives");
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
async fn a_peer_that_floods_and_never_reads_does_not_stall_the_others() {
    let mut ports = Ports::of(3);
    let mut nodes = pair(&mut ports).await;
    let mut flood = Stranger::join(ports.addresses[0], hello(P3, P1, 3)).await;
    let noise = tokio::spawn(async move {
        let payload = vec![0; 64 << 10];
        for number in 1..=200 {
            flood.say(&Frame::Data { number, received: 0, payload: &payload }).await;
        }
        flood
    });
    let [first, second] = &mut nodes;
    for byte in 0..100 {
        // Much more than its socket holds, and it will never take it.
        let _ = first.0.send(P3, vec![byte; 100 << 10]);
        second.0.send(P1, vec![byte]).expect("room");
        assert_eq!(message_from(&mut first.1, P2).await, [byte]);
        first.0.send(P2, vec![byte]).expect("room");
        assert_eq!(message(&mut second.1).await.2, [byte]);
    }
    noise.abort();
}
