//! Keys: nobody is taken for another, and nothing is changed on the way.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_core::ProcessId;
use tenure_runtime::transport::{
    Expelled, GroupKeys, Inbox, Incoming, Keyring, Keys, Mesh, MeshError, PrivateKey, PublicKey,
    Refusal, Settings, Trust,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use super::support::{
    P1, P2, P3, Ports, Stranger, comes_up, eventually, goes_down, greeting, group, hello, message,
    receive, refused, still_talk,
};

fn start(ports: &mut Ports, me: ProcessId, keys: &Keyring) -> (Mesh, Inbox) {
    let settings = Settings { trust: Trust::Keys(keys.clone()), ..ports.settings(me, 1) };
    Mesh::start(settings).expect("a mesh")
}

/// P1 and P2, who know each other by `keys`.
async fn sealed_pair(ports: &mut Ports, keys: &[Keyring]) -> [(Mesh, Inbox); 2] {
    let (mut first, mut second) = (start(ports, P1, &keys[0]), start(ports, P2, &keys[1]));
    assert_eq!(receive(&mut first.1).await, Incoming::PeerUp { peer: P2, session: 1 });
    assert_eq!(receive(&mut second.1).await, Incoming::PeerUp { peer: P1, session: 1 });
    [first, second]
}

fn private(count: usize) -> Vec<PrivateKey> {
    (0..count).map(|_| PrivateKey::generate().expect("entropy")).collect()
}

/// The keys of `me`, as it believes that the group has them.
fn keys(me: ProcessId, mine: &PrivateKey, of: &[PublicKey]) -> Keyring {
    let group = GroupKeys::new(of.iter().map(|key| vec![*key]).collect()).expect("keys");
    Keys::new(me, mine.clone(), group).expect("it lists its own key").into()
}

#[tokio::test]
async fn peers_with_keys_talk_whatever_the_length() {
    let mut ports = Ports::of(2);
    let mut nodes = sealed_pair(&mut ports, &group(2)).await;
    still_talk(&mut nodes).await;
    let [(first, _), (_, inbox)] = &mut nodes;
    for length in [0, 1, 65_535, 65_536, 500_000] {
        first.send(P2, vec![7; length]).expect("room");
        assert_eq!(message(inbox).await, (P1, 1, vec![7; length]));
    }
}

#[tokio::test]
async fn whoever_has_no_listed_key_is_told_nothing_and_changes_nothing() {
    let mut ports = Ports::of(3);
    let listed = group(3);
    let mut nodes = sealed_pair(&mut ports, &listed).await;
    let mine = private(3);
    let public: Vec<PublicKey> = mine.iter().map(PrivateKey::public).collect();
    let (impostor, _inbox) = start(&mut ports, P3, &keys(P3, &mine[2], &public));
    let view = nodes[0].0.view();
    eventually("it is refused", || refused(&view, Refusal::Unproven) > 1).await;
    let peers = impostor.view().peers();
    assert!(peers.iter().all(|peer| !peer.connected && peer.session.is_none()), "{peers:?}");
    assert_eq!(nodes[0].0.view().peers()[1].session, None);
    still_talk(&mut nodes).await;
}

#[tokio::test]
async fn whoever_does_not_use_keys_is_refused_by_whoever_does_and_the_other_way_round() {
    let mut ports = Ports::of(2);
    let (mesh, mut inbox) = start(&mut ports, P1, &group(2)[0]);
    // Right in all but the proof, wrong in all but the version: the answer is the same.
    for claim in [hello(P2, P1, 2), hello(P3, P3, 9)] {
        let mut stranger = Stranger::dial(ports.addresses[0]).await;
        stranger.say(&greeting(claim)).await;
        assert_eq!(stranger.hear_refusal().await, Refusal::Unproven.code());
        stranger.ends().await;
    }
    assert_eq!(inbox.try_receive(), None);
    drop(mesh);

    let mut ports = Ports::of(2);
    let (_plain, _inbox) = ports.start(P1, 1);
    let (sealed, mut inbox) = start(&mut ports, P2, &group(2)[1]);
    let view = sealed.view();
    eventually("it is refused", || view.peers()[0].error.is_some()).await;
    assert_eq!(inbox.try_receive(), None, "and what anybody can say expels nobody");
}

#[tokio::test]
async fn a_member_that_claims_to_be_another_is_refused() {
    let mut ports = Ports::of(3);
    let private = private(3);
    let public: Vec<PublicKey> = private.iter().map(PrivateKey::public).collect();
    let listed: Vec<Keyring> =
        [P1, P2, P3].iter().map(|me| keys(*me, &private[me.index()], &public)).collect();
    let mut nodes = sealed_pair(&mut ports, &listed).await;
    // P2's own key, in a list by which it is P3's.
    let swapped = keys(P3, &private[1], &[public[0], public[2], public[1]]);
    let (impostor, _inbox) = start(&mut ports, P3, &swapped);
    let view = nodes[0].0.view();
    eventually("it is refused", || refused(&view, Refusal::WrongSender) > 0).await;
    assert!(!impostor.view().peers()[0].connected);
    still_talk(&mut nodes).await;
    // The name is still free for whose it is.
    impostor.close(Duration::ZERO).await;
    let (_third, mut inbox) = start(&mut ports, P3, &listed[2]);
    assert_eq!(comes_up(&mut inbox, P1).await, 1);
}

#[tokio::test]
async fn keys_are_those_of_the_group() {
    let mut ports = Ports::of(3);
    let settings = ports.settings(P1, 1);
    let trust = Trust::Keys(group(2).remove(0));
    let error = Mesh::start(Settings { trust, ..settings }).expect_err("a key is missing");
    assert!(matches!(error, MeshError::KeysOfAnother { keys: 2, size: 3 }), "{error}");
}

#[tokio::test]
async fn a_key_is_exchanged_for_another_while_all_run() {
    let mut ports = Ports::of(2);
    let private = private(3);
    let public: Vec<PublicKey> = private.iter().map(PrivateKey::public).collect();
    let with = |me: ProcessId, mine: usize, second: &[usize]| -> Keys {
        let second = second.iter().map(|of| public[*of]).collect();
        let of = GroupKeys::new(vec![vec![public[0]], second]).expect("keys");
        Keys::new(me, private[mine].clone(), of).expect("it lists its own key")
    };
    let (first, second) = (Keyring::from(with(P1, 0, &[1])), Keyring::from(with(P2, 1, &[1])));
    let [(mesh, mut inbox), one] = sealed_pair(&mut ports, &[first.clone(), second]).await;
    first.replace(with(P1, 0, &[1, 2]));
    drop(one);
    assert_eq!(goes_down(&mut inbox, P2).await, 1);
    let another = Keyring::from(with(P2, 2, &[1, 2]));
    let settings = Settings { trust: Trust::Keys(another), ..ports.settings(P2, 2) };
    let (_two, mut other) = Mesh::start(settings).expect("a mesh");
    assert_eq!(comes_up(&mut inbox, P2).await, 2);
    mesh.send(P2, b"with the new key".to_vec()).expect("room");
    assert_eq!(message(&mut other).await.2, b"with the new key");
}

#[tokio::test]
async fn a_dialer_tries_each_key_that_its_peer_may_have() {
    let mut ports = Ports::of(2);
    let private = private(3);
    let public: Vec<PublicKey> = private.iter().map(PrivateKey::public).collect();
    let of = GroupKeys::new(vec![vec![public[0], public[2]], vec![public[1]]]).expect("keys");
    let with = |me, mine: usize| {
        Keyring::from(Keys::new(me, private[mine].clone(), of.clone()).expect("a listed key"))
    };
    let (_first, mut inbox) = start(&mut ports, P1, &with(P1, 2));
    let (_second, _other) = start(&mut ports, P2, &with(P2, 1));
    assert_eq!(comes_up(&mut inbox, P2).await, 1);
}

#[tokio::test]
async fn a_peer_of_another_cluster_learns_that_it_is_out_when_most_say_so() {
    let mut ports = Ports::of(3);
    let keys = group(3);
    let mut nodes = sealed_pair(&mut ports, &keys).await;
    let trust = Trust::Keys(keys[2].clone());
    let other = Settings { cluster: "toast".into(), trust, ..ports.settings(P3, 1) };
    let (_third, mut inbox) = Mesh::start(other).expect("a mesh");
    let Incoming::Expelled(Expelled { refusal, .. }) = receive(&mut inbox).await else {
        panic!("it is out")
    };
    assert_eq!(refusal, Refusal::WrongCluster);
    // One of three is mistaken: the two others stay what they are.
    still_talk(&mut nodes).await;
    assert!(nodes.iter_mut().all(|(_, inbox)| inbox.try_receive().is_none()));
}

/// Somebody on the way between P2 and P1, who does something to what P2 says.
struct Middle {
    address: SocketAddr,
    /// What P2 said over the connection that was made last, as it travelled.
    heard: Arc<Mutex<Vec<u8>>>,
    /// What is done to the next bytes that P2 says.
    deed: Arc<Mutex<Deed>>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Deed {
    #[default]
    Nothing,
    /// A bit is turned round.
    Flip,
    /// What was said last is said again.
    Repeat,
    /// What is said now is left out.
    LeaveOut,
}

impl Middle {
    async fn before(target: SocketAddr) -> Middle {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (heard, deed) = (Arc::default(), Arc::default());
        let middle = Middle { address, heard, deed };
        let (heard, deed) = (middle.heard.clone(), middle.deed.clone());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = TcpStream::connect(target).await else { continue };
                let ((from, back), (answers, to)) = (near.into_split(), far.into_split());
                heard.lock().expect("no panic").clear();
                tokio::spawn(carry(answers, back, Arc::default(), Arc::default()));
                tokio::spawn(carry(from, to, heard.clone(), deed.clone()));
            }
        });
        middle
    }

    fn does(&self, deed: Deed) {
        *self.deed.lock().expect("no panic") = deed;
    }

    fn is_done(&self) -> bool {
        matches!(*self.deed.lock().expect("no panic"), Deed::Nothing)
    }

    fn heard(&self) -> Vec<u8> {
        self.heard.lock().expect("no panic").clone()
    }
}

async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    heard: Arc<Mutex<Vec<u8>>>,
    deed: Arc<Mutex<Deed>>,
) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        let said = &mut bytes[..length];
        heard.lock().expect("no panic").extend_from_slice(said);
        let deed = std::mem::take(&mut *deed.lock().expect("no panic"));
        let mut carried = said.to_vec();
        match deed {
            Deed::Nothing => {}
            Deed::Flip => carried[length - 1] ^= 1,
            Deed::Repeat => carried.extend_from_slice(said),
            Deed::LeaveOut => carried.clear(),
        }
        if to.write_all(&carried).await.is_err() {
            return;
        }
    }
}

/// P1 and P2, with somebody between them.
async fn meddled(keys: Option<&[Keyring]>) -> ([(Mesh, Inbox); 2], Middle) {
    let mut ports = Ports::of(2);
    let middle = Middle::before(ports.addresses[0]).await;
    let trust = |of: usize| keys.map_or(Trust::Machine, |keys| Trust::Keys(keys[of].clone()));
    let first = Settings { trust: trust(0), ..ports.settings(P1, 1) };
    let mut first = Mesh::start(first).expect("a mesh");
    let mut second = Settings { trust: trust(1), ..ports.settings(P2, 1) };
    second.addresses[0] = middle.address.to_string();
    let mut second = Mesh::start(second).expect("a mesh");
    comes_up(&mut first.1, P2).await;
    comes_up(&mut second.1, P1).await;
    ([first, second], middle)
}

#[tokio::test]
async fn what_is_said_cannot_be_read_on_the_way_but_without_keys_it_can() {
    const WORDS: &[u8] = b"the fence of the next entry";
    let keys = group(2);
    for sealed in [true, false] {
        let (mut nodes, middle) = meddled(sealed.then_some(&keys)).await;
        nodes[1].0.send(P1, WORDS.to_vec()).expect("room");
        assert_eq!(message(&mut nodes[0].1).await.2, WORDS);
        let heard = middle.heard();
        let read = heard.windows(WORDS.len()).any(|bytes| bytes == WORDS);
        let named = heard.windows(4).any(|bytes| bytes == b"test");
        assert_eq!((read, named), (!sealed, !sealed));
    }
}

#[tokio::test]
async fn what_is_changed_repeated_or_left_out_on_the_way_ends_the_connection_and_comes_again() {
    let keys = group(2);
    let (mut nodes, middle) = meddled(Some(&keys)).await;
    for (count, deed) in (1..).zip([Deed::Flip, Deed::Repeat, Deed::LeaveOut]) {
        middle.does(deed);
        nodes[1].0.send(P1, vec![count, 0]).expect("room");
        // What is left out is noticed by what comes behind it.
        eventually("it is done", || middle.is_done()).await;
        nodes[1].0.send(P1, vec![count, 1]).expect("room");
        for number in 0..2 {
            assert_eq!(message(&mut nodes[0].1).await.2, [count, number], "{deed:?}");
        }
        let view = nodes[0].0.view();
        eventually("it is noticed", || view.counts().malformed == u64::from(count)).await;
        assert_eq!(view.counts().duplicates, 0, "{deed:?}");
    }
}

/// The negative control: without keys, the same hand changes what is delivered.
#[tokio::test]
async fn without_keys_what_is_changed_on_the_way_is_believed() {
    let (mut nodes, middle) = meddled(None).await;
    middle.does(Deed::Flip);
    nodes[1].0.send(P1, b"grant 2".to_vec()).expect("room");
    assert_eq!(message(&mut nodes[0].1).await.2, b"grant 3");
}

#[tokio::test]
async fn a_whole_connection_that_was_overheard_cannot_be_repeated() {
    let keys = group(2);
    let (mut nodes, middle) = meddled(Some(&keys)).await;
    nodes[1].0.send(P1, b"once".to_vec()).expect("room");
    assert_eq!(message(&mut nodes[0].1).await.2, b"once");
    let view = nodes[0].0.view();
    let address = nodes[0].0.address();
    let mut again = Stranger::dial(address).await;
    again.say_bytes(&middle.heard()).await;
    again.ends().await;
    eventually("it is refused", || refused(&view, Refusal::Unproven) == 1).await;
    assert_eq!(nodes[0].1.try_receive(), None, "and the connection that stands stays");
    still_talk(&mut nodes).await;
}
