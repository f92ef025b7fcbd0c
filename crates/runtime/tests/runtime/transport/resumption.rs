//! Sessions survive connections that break at any byte.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_runtime::transport::{Inbox, Mesh};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::support::{P1, P2, Ports, message, receive_peer_up};

/// A proxy that cuts its connections after a random number of bytes in either direction.
struct CuttingProxy {
    address: SocketAddr,
    cuts: Arc<AtomicU64>,
    _task: JoinSet<()>,
}

impl CuttingProxy {
    async fn before(target: SocketAddr, seed: u64, most_bytes: u64) -> CuttingProxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let cuts = Arc::new(AtomicU64::new(0));
        let counter = cuts.clone();
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut task = JoinSet::new();
        task.spawn(async move {
            loop {
                let (near, _) = listener.accept().await.expect("a connection");
                let (there, back) = (rng.u64(0..most_bytes), rng.u64(0..most_bytes));
                forward(near, target, there, back).await;
                counter.fetch_add(1, Ordering::Relaxed);
            }
        });
        CuttingProxy { address, cuts, _task: task }
    }
}

/// Connects to `target`. Forwards at most `there` bytes from `near` to `target`, and at most `back`
/// bytes from `target` to `near`. Closes both connections when one of these limits is reached.
async fn forward(mut near: TcpStream, target: SocketAddr, mut there: u64, mut back: u64) {
    let Ok(mut far) = TcpStream::connect(target).await else { return };
    let (mut here, mut yonder) = ([0; 512], [0; 512]);
    loop {
        let (mut to_far, mut to_near) = (0, 0);
        tokio::select! {
            read = near.read(&mut here) => to_far = read.unwrap_or(0) as u64,
            read = far.read(&mut yonder) => to_near = read.unwrap_or(0) as u64,
        }
        let (out, home) = (to_far.min(there) as usize, to_near.min(back) as usize);
        let written = far.write_all(&here[..out]).await.and(near.write_all(&yonder[..home]).await);
        (there, back) = (there - out as u64, back - home as u64);
        if written.is_err() || out + home == 0 || there == 0 || back == 0 {
            return;
        }
    }
}

/// Sends `count` numbered messages to `peer`, whenever there is room. Receives `count` messages at
/// the same time.
async fn exchange((mesh, inbox): &mut (Mesh, Inbox), peer: tenure_core::ProcessId, count: u32) {
    let (mut sent, mut received) = (0_u32, 0_u32);
    while sent < count || received < count {
        // A few at a time, so that both directions have messages in flight at each cut.
        for _ in 0..10 {
            if sent < count {
                let length = 4 + (sent as usize * 7) % 60;
                let mut payload = sent.to_le_bytes().to_vec();
                payload.resize(length, 0xaa);
                mesh.send(peer, payload).expect("room");
                sent += 1;
            }
        }
        for _ in 0..10.min(count - received) {
            let (from, session, payload) = message(inbox).await;
            assert_eq!((from, session), (peer, 1));
            let number = u32::from_le_bytes(payload[..4].try_into().expect("a number"));
            assert_eq!(number, received, "a message was lost, repeated or reordered");
            received += 1;
        }
    }
}

async fn messages_survive_cuts(seed: u64) {
    let mut ports = Ports::of(2);
    let scissors = CuttingProxy::before(ports.addresses[0], seed, 4000).await;
    let mut first = ports.start(P1, 1);
    let mut settings = ports.settings(P2, 1);
    settings.addresses[0] = scissors.address.to_string();
    let mut second = Mesh::start(settings).expect("a mesh");
    tokio::join!(exchange(&mut first, P2, 1500), exchange(&mut second, P1, 1500));
    let cuts = scissors.cuts.load(Ordering::Relaxed);
    assert!(cuts > 10, "only {cuts} cuts");
    assert!(first.0.status().counts().reconnections > 5, "{:?}", first.0.status().counts());
    assert_eq!(first.0.status().counts().malformed, 0);
    assert_eq!(second.0.status().counts().malformed, 0);
    assert_eq!(first.0.status().counts().discarded, 0);
    assert_eq!(first.0.status().counts().messages_received, 1500);
}

#[tokio::test]
async fn broken_connections_lose_and_repeat_no_message() {
    let seed = match std::env::var("TENURE_SEED") {
        Ok(seed) => seed.parse().expect("TENURE_SEED is a number"),
        Err(_) => u64::from(std::process::id()),
    };
    for seed in [1, 2, seed] {
        let replay = format!("replay with TENURE_SEED={seed}");
        let run = tokio::spawn(messages_survive_cuts(seed)).await;
        assert!(run.is_ok(), "{replay}");
    }
}

#[tokio::test]
async fn messages_sent_while_disconnected_arrive() {
    let mut ports = Ports::of(2);
    let scissors = CuttingProxy::before(ports.addresses[0], 3, 700).await;
    let mut settings = ports.settings(P2, 1);
    settings.addresses[0] = scissors.address.to_string();
    let mut second = Mesh::start(settings).expect("a mesh");
    let mut first = ports.start(P1, 1);
    assert_eq!(receive_peer_up(&mut first.1, P2).await, 1);
    tokio::join!(exchange(&mut first, P2, 100), exchange(&mut second, P1, 100));
}
