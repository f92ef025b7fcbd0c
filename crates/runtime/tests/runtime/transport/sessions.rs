//! Sessions: what is meant for the dead stays with the dead.

use std::time::Duration;

use tenure_core::ProcessId;
use tenure_runtime::transport::frame::{Boot, Frame, Introduction};
use tenure_runtime::transport::{Expelled, Incoming, Listen, Mesh, Refusal, Settings};

use super::support::{
    HUNG, P1, P2, Ports, Stranger, boot, comes_up, eventually, goes_down, greeting, hello, message,
    pair, receive,
};

/// `stays` sends to `returns`, which is killed and comes back as session 2.
async fn a_successor_gets_only_its_own(stays: ProcessId, returns: ProcessId) {
    let mut ports = Ports::of(2);
    let nodes = pair(&mut ports).await;
    let [first, second] = nodes;
    let ((mesh, mut inbox), killed) = if stays == P1 { (first, second) } else { (second, first) };
    drop(killed);
    assert_eq!(goes_down(&mut inbox, returns).await, 1);
    for _ in 0..10 {
        mesh.send(returns, b"for the dead".to_vec()).expect("room");
    }
    let (_returned, mut successor) = ports.start(returns, 2);
    assert_eq!(comes_up(&mut inbox, returns).await, 2);
    mesh.send(returns, b"for the successor".to_vec()).expect("room");
    assert_eq!(receive(&mut successor).await, Incoming::PeerUp { peer: stays, session: 1 });
    assert_eq!(message(&mut successor).await.2, b"for the successor");
    assert_eq!(mesh.view().counts().discarded, 10);
    assert_eq!(mesh.view().peers()[0].session, Some(2));
}

#[tokio::test]
async fn a_successor_that_dials_gets_only_what_is_meant_for_it() {
    a_successor_gets_only_its_own(P1, P2).await;
}

#[tokio::test]
async fn a_successor_that_is_dialed_gets_only_what_is_meant_for_it() {
    a_successor_gets_only_its_own(P2, P1).await;
}

#[tokio::test]
async fn what_is_written_but_not_acknowledged_dies_with_the_session_it_was_for() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let mut mute = Stranger::join(ports.addresses[0], hello(P2, P1, 2)).await;
    assert_eq!(comes_up(&mut inbox, P2).await, 1);
    mesh.send(P2, b"under way".to_vec()).expect("room");
    mute.hear(|frame| assert!(matches!(frame, Frame::Data { number: 1, .. }), "{frame:?}")).await;
    drop(mute);
    let (_second, mut successor) = ports.start(P2, 2);
    assert_eq!(comes_up(&mut inbox, P2).await, 2);
    mesh.send(P2, b"new".to_vec()).expect("room");
    assert_eq!(message(&mut successor).await.2, b"new");
    assert_eq!(mesh.view().counts().discarded, 1);
}

#[tokio::test]
async fn a_consumer_that_has_not_heard_of_the_successor_does_not_mean_it() {
    let mut ports = Ports::of(2);
    let [(mesh, mut inbox), killed] = pair(&mut ports).await;
    killed.0.close(Duration::ZERO).await;
    let (_returned, mut successor) = ports.start(P2, 2);
    // The mesh knows of session 2, the consumer has not looked.
    let view = mesh.view();
    eventually("session 2 is connected", || {
        let status = &view.peers()[0];
        status.session == Some(2) && status.connected
    })
    .await;
    mesh.send(P2, b"an answer to the dead".to_vec()).expect("room");
    eventually("it is discarded", || view.counts().discarded == 1).await;
    assert_eq!(comes_up(&mut inbox, P2).await, 2);
    mesh.send(P2, b"hello again".to_vec()).expect("room");
    assert_eq!(message(&mut successor).await.2, b"hello again");
}

#[tokio::test]
async fn what_was_sent_before_anybody_was_there_reaches_the_first_session() {
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

#[tokio::test]
async fn an_old_session_is_refused_after_a_newer_one_was_seen() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let newer = Introduction { boot: boot(6), ..hello(P2, P1, 2) };
    let _newer = Stranger::join(ports.addresses[0], newer).await;
    assert_eq!(comes_up(&mut inbox, P2).await, 6);
    let mut older = Stranger::dial(ports.addresses[0]).await;
    older.say(&greeting(Introduction { boot: boot(5), ..hello(P2, P1, 2) })).await;
    assert_eq!(older.hear_refusal().await, Refusal::OldSession.code());
    assert_eq!(mesh.view().peers()[0].session, Some(6));
}

#[tokio::test]
async fn a_session_that_is_followed_by_another_is_told_so_at_once() {
    let mut ports = Ports::of(2);
    let (_mesh, mut inbox) = ports.start(P1, 1);
    let session = |session| Introduction { boot: boot(session), ..hello(P2, P1, 2) };
    let mut older = Stranger::join(ports.addresses[0], session(5)).await;
    assert_eq!(comes_up(&mut inbox, P2).await, 5);
    let _newer = Stranger::join(ports.addresses[0], session(6)).await;
    assert_eq!(older.hear_refusal().await, Refusal::OldSession.code());
    older.ends().await;
}

#[tokio::test]
async fn two_boots_of_one_session_are_told_apart_and_the_later_is_refused() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let nonce = |nonce| Introduction { boot: Boot { session: 5, nonce }, ..hello(P2, P1, 2) };
    let mut original = Stranger::join(ports.addresses[0], nonce(1)).await;
    assert_eq!(comes_up(&mut inbox, P2).await, 5);
    let mut copy = Stranger::dial(ports.addresses[0]).await;
    copy.say(&greeting(nonce(2))).await;
    assert_eq!(copy.hear_refusal().await, Refusal::Twin.code());
    original.say(&Frame::Data { number: 1, received: 0, payload: b"undisturbed" }).await;
    assert_eq!(message(&mut inbox).await, (P2, 5, b"undisturbed".to_vec()));
    assert_eq!(mesh.view().counts().refused.get(&Refusal::Twin), Some(&1));
}

#[tokio::test]
async fn a_session_from_the_far_future_is_refused_and_not_remembered() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let (_second, _other) = ports.start(P2, 7);
    assert_eq!(comes_up(&mut inbox, P2).await, 7);
    for session in [8 + (1 << 39), 1 << 40, u64::MAX] {
        let mut stranger = Stranger::dial(ports.addresses[0]).await;
        let far = Introduction { boot: boot(session), ..hello(P2, P1, 2) };
        stranger.say(&greeting(far)).await;
        assert_eq!(stranger.hear_refusal().await, Refusal::FarSession.code(), "{session}");
    }
    assert_eq!(mesh.view().peers()[0].session, Some(7));
}

/// `stays` has seen session 9 of `returns`, which comes back as an earlier one.
async fn one_that_forgot_is_out(stays: ProcessId, returns: ProcessId) {
    let mut ports = Ports::of(2);
    let (_mesh, mut inbox) = ports.start(stays, 1);
    let (newer, _other) = ports.start(returns, 9);
    assert_eq!(comes_up(&mut inbox, returns).await, 9);
    drop(newer);
    assert_eq!(goes_down(&mut inbox, returns).await, 9);
    let (_older, mut forgetful) = ports.start(returns, 1);
    let out = Expelled { by: stays, refusal: Refusal::OldSession };
    assert_eq!(receive(&mut forgetful).await, Incoming::Expelled(out));
    assert_eq!(forgetful.try_receive(), None, "it is told once");
}

#[tokio::test]
async fn one_that_dials_with_an_old_session_learns_that_it_is_out() {
    one_that_forgot_is_out(P1, P2).await;
}

#[tokio::test]
async fn one_that_is_dialed_with_an_old_session_learns_that_it_is_out() {
    one_that_forgot_is_out(P2, P1).await;
}

#[tokio::test]
async fn of_two_that_run_as_one_the_older_learns_that_it_is_out() {
    let mut ports = Ports::of(2);
    let (_mesh, mut inbox) = ports.start(P1, 1);
    let (_older, mut superseded) = ports.start(P2, 8);
    assert_eq!(comes_up(&mut inbox, P2).await, 8);
    assert_eq!(comes_up(&mut superseded, P1).await, 1);
    let elsewhere = Listen::Address("127.0.0.1:0".parse().expect("an address"));
    let settings = Settings { listen: elsewhere, ..ports.settings(P2, 9) };
    let (_newer, _) = Mesh::start(settings).expect("a mesh");
    let out = Expelled { by: P1, refusal: Refusal::OldSession };
    let told = loop {
        match receive(&mut superseded).await {
            Incoming::Expelled(expelled) => break expelled,
            other => assert!(matches!(other, Incoming::PeerDown { .. }), "{other:?}"),
        }
    };
    assert_eq!(told, out);
}

#[tokio::test]
async fn nothing_of_an_old_session_is_delivered_after_its_successor_came_up() {
    let mut ports = Ports::of(2);
    let (_mesh, mut inbox) = ports.start(P1, 1);
    let session = |session| Introduction { boot: boot(session), ..hello(P2, P1, 2) };
    let say = |payload| Frame::Data { number: 1, received: 0, payload };
    let mut older = Stranger::join(ports.addresses[0], session(5)).await;
    assert_eq!(receive(&mut inbox).await, Incoming::PeerUp { peer: P2, session: 5 });
    let mut newer = Stranger::join(ports.addresses[0], session(6)).await;
    older.say(&say(b"too late")).await;
    newer.say(&say(b"in time")).await;
    assert_eq!(receive(&mut inbox).await, Incoming::PeerDown { peer: P2, session: 5 });
    assert_eq!(receive(&mut inbox).await, Incoming::PeerUp { peer: P2, session: 6 });
    let in_time = Incoming::Message { from: P2, session: 6, payload: b"in time".to_vec() };
    assert_eq!(receive(&mut inbox).await, in_time);
    older.ends().await;
}

#[tokio::test]
async fn a_new_connection_of_the_same_session_takes_the_place_of_a_dead_one() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = ports.start(P1, 1);
    let mut mute = Stranger::join(ports.addresses[0], hello(P2, P1, 2)).await;
    assert_eq!(comes_up(&mut inbox, P2).await, 1);
    mesh.send(P2, b"again".to_vec()).expect("room");
    mute.hear(|frame| assert!(matches!(frame, Frame::Data { number: 1, .. }), "{frame:?}")).await;
    // The old connection still stands, and nobody will ever read from it.
    let mut again = Stranger::join(ports.addresses[0], hello(P2, P1, 2)).await;
    let repeated = Frame::Data { number: 1, received: 0, payload: b"again" };
    again.hear(|frame| assert_eq!(*frame, repeated)).await;
    mute.ends().await;
    assert_eq!(comes_up(&mut inbox, P2).await, 1);
}

#[tokio::test]
async fn whoever_closes_in_order_says_goodbye_behind_everything_else() {
    let mut ports = Ports::of(2);
    let [(mesh, mut inbox), (leaving, _open)] = pair(&mut ports).await;
    for byte in 0..100 {
        leaving.send(P1, vec![byte]).expect("room");
    }
    leaving.close(HUNG).await;
    for byte in 0..100 {
        assert_eq!(message(&mut inbox).await, (P2, 1, vec![byte]));
    }
    assert_eq!(receive(&mut inbox).await, Incoming::PeerLeft { peer: P2, session: 1 });
    assert_eq!(receive(&mut inbox).await, Incoming::PeerDown { peer: P2, session: 1 });
    assert_eq!(mesh.view().counts().malformed, 0);
    // Its next session is another.
    let (_again, _inbox) = ports.start(P2, 2);
    assert_eq!(comes_up(&mut inbox, P2).await, 2);
}

#[tokio::test]
async fn whoever_is_killed_says_nothing() {
    let mut ports = Ports::of(2);
    let [(_mesh, mut inbox), killed] = pair(&mut ports).await;
    drop(killed);
    assert_eq!(receive(&mut inbox).await, Incoming::PeerDown { peer: P2, session: 1 });
}
