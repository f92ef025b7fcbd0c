//! Keys authenticate peers and protect messages in transit.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_core::ProcessId;
use tenure_runtime::transport::{
    Eviction, GroupPublicKeys, Inbox, Mesh, MeshEvent, MeshSettings, MeshStartError, NodeKeys,
    PeerAuthentication, PrivateKey, PublicKey, RejectionReason, ReplaceableKeys,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use super::support::{
    P1, P2, P3, Ports, RawPeer, assert_still_connected, eventually, greeting, group, hello,
    message, receive, receive_peer_down, receive_peer_up, refused,
};

fn start(ports: &mut Ports, me: ProcessId, keys: &ReplaceableKeys) -> (Mesh, Inbox) {
    let settings = MeshSettings {
        authentication: PeerAuthentication::Keys(keys.clone()),
        ..ports.settings(me, 1)
    };
    Mesh::start(settings).expect("a mesh")
}

async fn sealed_pair(ports: &mut Ports, keys: &[ReplaceableKeys]) -> [(Mesh, Inbox); 2] {
    let (mut first, mut second) = (start(ports, P1, &keys[0]), start(ports, P2, &keys[1]));
    assert_eq!(receive(&mut first.1).await, MeshEvent::PeerConnected { peer: P2, session: 1 });
    assert_eq!(receive(&mut second.1).await, MeshEvent::PeerConnected { peer: P1, session: 1 });
    [first, second]
}

fn key_pairs(count: usize) -> (Vec<PrivateKey>, Vec<PublicKey>) {
    let private = || PrivateKey::generate().expect("entropy");
    (0..count).map(|_| private()).map(|key| (key.clone(), key.public())).unzip()
}

fn keys(me: ProcessId, mine: &PrivateKey, of: &[PublicKey]) -> ReplaceableKeys {
    let group = GroupPublicKeys::new(of.iter().map(|key| vec![*key]).collect()).expect("keys");
    NodeKeys::new(me, mine.clone(), group).expect("it lists its own key").into()
}

#[tokio::test]
async fn peers_with_keys_exchange_messages_of_any_length() {
    let mut ports = Ports::of(2);
    let mut nodes = sealed_pair(&mut ports, &group(2)).await;
    assert_still_connected(&mut nodes).await;
    let [(first, _), (_, inbox)] = &mut nodes;
    for length in [0, 1, 65_535, 65_536, 500_000] {
        first.send(P2, vec![7; length]).expect("room");
        assert_eq!(message(inbox).await, (P1, 1, vec![7; length]));
    }
}

#[tokio::test]
async fn unlisted_key_is_refused_without_effects() {
    let mut ports = Ports::of(3);
    let listed = group(3);
    let mut nodes = sealed_pair(&mut ports, &listed).await;
    let (mine, public) = key_pairs(3);
    let (impostor, _inbox) = start(&mut ports, P3, &keys(P3, &mine[2], &public));
    let view = nodes[0].0.status();
    eventually("the connection is refused", || refused(&view, RejectionReason::Unproven) > 1).await;
    let peers = impostor.status().peers();
    assert!(peers.iter().all(|peer| !peer.is_connected && peer.session.is_none()), "{peers:?}");
    assert_eq!(nodes[0].0.status().peers()[1].session, None);
    assert_still_connected(&mut nodes).await;
}

#[tokio::test]
async fn nodes_with_and_without_keys_refuse_each_other() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = start(&mut ports, P1, &group(2)[0]);
    // The first claim lacks only the proof, and the second claim is wrong in all fields. Both
    // receive the same response.
    for claim in [hello(P2, P1, 2), hello(P3, P3, 9)] {
        let mut peer = RawPeer::dial(ports.addresses[0]).await;
        peer.send(&greeting(claim)).await;
        assert_eq!(peer.receive_refusal().await, RejectionReason::Unproven.code());
        peer.wait_closed().await;
    }
    assert_eq!(inbox.try_receive(), None);
    drop(mesh);

    let mut ports = Ports::of(2);
    let (_plain, _inbox) = ports.start(P1, 1);
    let (sealed, mut inbox) = start(&mut ports, P2, &group(2)[1]);
    let view = sealed.status();
    eventually("the connection is refused", || view.peers()[0].error.is_some()).await;
    assert_eq!(inbox.try_receive(), None, "an unauthenticated refusal evicts no node");
}

#[tokio::test]
async fn refuses_member_that_claims_another_identity() {
    let mut ports = Ports::of(3);
    let (private, public) = key_pairs(3);
    let listed: Vec<ReplaceableKeys> =
        [P1, P2, P3].iter().map(|me| keys(*me, &private[me.index()], &public)).collect();
    let mut nodes = sealed_pair(&mut ports, &listed).await;
    // P2's own key, in a list that assigns it to P3.
    let swapped = keys(P3, &private[1], &[public[0], public[2], public[1]]);
    let (impostor, _inbox) = start(&mut ports, P3, &swapped);
    let view = nodes[0].0.status();
    eventually("the connection is refused", || refused(&view, RejectionReason::WrongSender) > 0)
        .await;
    assert!(!impostor.status().peers()[0].is_connected);
    assert_still_connected(&mut nodes).await;
    // The real P3 can still connect.
    impostor.close(Duration::ZERO).await;
    let (_third, mut inbox) = start(&mut ports, P3, &listed[2]);
    assert_eq!(receive_peer_up(&mut inbox, P1).await, 1);
}

#[tokio::test]
async fn rejects_keys_of_another_group_size() {
    let mut ports = Ports::of(3);
    let settings = ports.settings(P1, 1);
    let authentication = PeerAuthentication::Keys(group(2).remove(0));
    let error =
        Mesh::start(MeshSettings { authentication, ..settings }).expect_err("a key is missing");
    assert!(matches!(error, MeshStartError::KeyCountMismatch { keys: 2, size: 3 }), "{error}");
}

#[tokio::test]
async fn replaces_key_at_run_time() {
    let mut ports = Ports::of(2);
    let (private, public) = key_pairs(3);
    let with = |me: ProcessId, mine: usize, second: &[usize]| -> NodeKeys {
        let second = second.iter().map(|of| public[*of]).collect();
        let of = GroupPublicKeys::new(vec![vec![public[0]], second]).expect("keys");
        NodeKeys::new(me, private[mine].clone(), of).expect("it lists its own key")
    };
    let (first, second) =
        (ReplaceableKeys::from(with(P1, 0, &[1])), ReplaceableKeys::from(with(P2, 1, &[1])));
    let [(mesh, mut inbox), one] = sealed_pair(&mut ports, &[first.clone(), second]).await;
    first.replace(with(P1, 0, &[1, 2]));
    drop(one);
    assert_eq!(receive_peer_down(&mut inbox, P2).await, 1);
    let another = ReplaceableKeys::from(with(P2, 2, &[1, 2]));
    let settings =
        MeshSettings { authentication: PeerAuthentication::Keys(another), ..ports.settings(P2, 2) };
    let (_two, mut other) = Mesh::start(settings).expect("a mesh");
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 2);
    mesh.send(P2, b"with the new key".to_vec()).expect("room");
    assert_eq!(message(&mut other).await.2, b"with the new key");
}

#[tokio::test]
async fn dialer_tries_each_key_of_its_peer() {
    let mut ports = Ports::of(2);
    let (private, public) = key_pairs(3);
    let of = GroupPublicKeys::new(vec![vec![public[0], public[2]], vec![public[1]]]).expect("keys");
    let with = |me, mine: usize| {
        ReplaceableKeys::from(
            NodeKeys::new(me, private[mine].clone(), of.clone()).expect("a listed key"),
        )
    };
    let (_first, mut inbox) = start(&mut ports, P1, &with(P1, 2));
    let (_second, _other) = start(&mut ports, P2, &with(P2, 1));
    assert_eq!(receive_peer_up(&mut inbox, P2).await, 1);
}

#[tokio::test]
async fn majority_of_mismatched_peers_evicts_node() {
    let mut ports = Ports::of(3);
    let keys = group(3);
    let mut nodes = sealed_pair(&mut ports, &keys).await;
    let authentication = PeerAuthentication::Keys(keys[2].clone());
    let other = MeshSettings { cluster: "toast".into(), authentication, ..ports.settings(P3, 1) };
    let (_third, mut inbox) = Mesh::start(other).expect("a mesh");
    let MeshEvent::Evicted(Eviction { reason, .. }) = receive(&mut inbox).await else {
        panic!("expected an eviction")
    };
    assert_eq!(reason, RejectionReason::WrongCluster);
    // Only one of three is misconfigured, so the other two continue.
    assert_still_connected(&mut nodes).await;
    assert!(nodes.iter_mut().all(|(_, inbox)| inbox.try_receive().is_none()));
}

/// Proxy between P2 and P1 that can tamper with the data of P2.
struct TamperingProxy {
    address: SocketAddr,
    received: Arc<Mutex<Vec<u8>>>,
    tampering: Arc<Mutex<Tampering>>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Tampering {
    #[default]
    Nothing,
    Flip,
    Repeat,
    LeaveOut,
}

impl TamperingProxy {
    async fn start(target: SocketAddr) -> TamperingProxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (received, tampering) = (Arc::default(), Arc::default());
        let proxy = TamperingProxy { address, received, tampering };
        let (received, tampering) = (proxy.received.clone(), proxy.tampering.clone());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = TcpStream::connect(target).await else { continue };
                let ((from, back), (answers, to)) = (near.into_split(), far.into_split());
                received.lock().expect("the lock is not poisoned").clear();
                tokio::spawn(forward(answers, back, Arc::default(), Arc::default()));
                tokio::spawn(forward(from, to, received.clone(), tampering.clone()));
            }
        });
        proxy
    }

    fn tamper(&self, tampering: Tampering) {
        *self.tampering.lock().expect("the lock is not poisoned") = tampering;
    }

    fn is_done(&self) -> bool {
        matches!(*self.tampering.lock().expect("the lock is not poisoned"), Tampering::Nothing)
    }

    fn received(&self) -> Vec<u8> {
        self.received.lock().expect("the lock is not poisoned").clone()
    }
}

async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    received: Arc<Mutex<Vec<u8>>>,
    tampering: Arc<Mutex<Tampering>>,
) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        let data = &mut bytes[..length];
        received.lock().expect("the lock is not poisoned").extend_from_slice(data);
        let tampering = std::mem::take(&mut *tampering.lock().expect("the lock is not poisoned"));
        let mut carried = data.to_vec();
        match tampering {
            Tampering::Nothing => {}
            Tampering::Flip => carried[length - 1] ^= 1,
            Tampering::Repeat => carried.extend_from_slice(data),
            Tampering::LeaveOut => carried.clear(),
        }
        if to.write_all(&carried).await.is_err() {
            return;
        }
    }
}

async fn tampered_pair(keys: Option<&[ReplaceableKeys]>) -> ([(Mesh, Inbox); 2], TamperingProxy) {
    let mut ports = Ports::of(2);
    let proxy = TamperingProxy::start(ports.addresses[0]).await;
    let authentication = |of: usize| {
        keys.map_or(PeerAuthentication::LoopbackOnly, |keys| {
            PeerAuthentication::Keys(keys[of].clone())
        })
    };
    let first = MeshSettings { authentication: authentication(0), ..ports.settings(P1, 1) };
    let mut first = Mesh::start(first).expect("a mesh");
    let mut second = MeshSettings { authentication: authentication(1), ..ports.settings(P2, 1) };
    second.addresses[0] = proxy.address.to_string();
    let mut second = Mesh::start(second).expect("a mesh");
    receive_peer_up(&mut first.1, P2).await;
    receive_peer_up(&mut second.1, P1).await;
    ([first, second], proxy)
}

#[tokio::test]
async fn only_keys_hide_messages_in_transit() {
    const WORDS: &[u8] = b"the fence of the next entry";
    let keys = group(2);
    for sealed in [true, false] {
        let (mut nodes, proxy) = tampered_pair(sealed.then_some(&keys)).await;
        nodes[1].0.send(P1, WORDS.to_vec()).expect("room");
        assert_eq!(message(&mut nodes[0].1).await.2, WORDS);
        let received = proxy.received();
        let read = received.windows(WORDS.len()).any(|bytes| bytes == WORDS);
        let named = received.windows(4).any(|bytes| bytes == b"test");
        assert_eq!((read, named), (!sealed, !sealed));
    }
}

#[tokio::test]
async fn tampering_closes_connection_and_messages_are_repeated() {
    let keys = group(2);
    let (mut nodes, proxy) = tampered_pair(Some(&keys)).await;
    for (count, tampering) in (1..).zip([Tampering::Flip, Tampering::Repeat, Tampering::LeaveOut]) {
        proxy.tamper(tampering);
        nodes[1].0.send(P1, vec![count, 0]).expect("room");
        // If a message is omitted, only the next message reveals it.
        eventually("the manipulation is done", || proxy.is_done()).await;
        nodes[1].0.send(P1, vec![count, 1]).expect("room");
        for number in 0..2 {
            assert_eq!(message(&mut nodes[0].1).await.2, [count, number], "{tampering:?}");
        }
        let view = nodes[0].0.status();
        eventually("the manipulation is detected", || view.counts().malformed == u64::from(count))
            .await;
        assert_eq!(view.counts().duplicates, 0, "{tampering:?}");
    }
}

/// Control experiment: without keys, a proxy changes a message in transit, and the receiver
/// delivers the changed message.
#[tokio::test]
async fn tampering_succeeds_without_keys() {
    let (mut nodes, proxy) = tampered_pair(None).await;
    proxy.tamper(Tampering::Flip);
    nodes[1].0.send(P1, b"grant 2".to_vec()).expect("room");
    assert_eq!(message(&mut nodes[0].1).await.2, b"grant 3");
}

#[tokio::test]
async fn replayed_connection_is_refused() {
    let keys = group(2);
    let (mut nodes, proxy) = tampered_pair(Some(&keys)).await;
    nodes[1].0.send(P1, b"once".to_vec()).expect("room");
    assert_eq!(message(&mut nodes[0].1).await.2, b"once");
    let view = nodes[0].0.status();
    let address = nodes[0].0.address();
    let mut again = RawPeer::dial(address).await;
    again.send_bytes(&proxy.received()).await;
    again.wait_closed().await;
    eventually("the connection is refused", || refused(&view, RejectionReason::Unproven) == 1)
        .await;
    assert_eq!(nodes[0].1.try_receive(), None, "the existing connection continues");
    assert_still_connected(&mut nodes).await;
}
