//! Overhead of the mesh compared with plain TCP. The benchmark exchanges the same messages
//! alternately over the mesh and over plain TCP.
//!
//! `cargo bench -p tenure-runtime --bench ping` prints the median round trip of each.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use tenure_core::ProcessId;
use tenure_runtime::transport::{Inbox, Listen, Mesh, MeshEvent, MeshSettings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PAYLOAD: usize = 32;
const ROUNDS: usize = 10_000;
const REPETITIONS: usize = 7;

#[derive(Clone, Copy, Debug)]
enum Threads {
    One,
    Many,
}

impl Threads {
    fn runtime(self) -> tokio::runtime::Runtime {
        let mut builder = match self {
            Threads::One => tokio::runtime::Builder::new_current_thread(),
            Threads::Many => tokio::runtime::Builder::new_multi_thread(),
        };
        builder.worker_threads(2).enable_all().build().expect("a runtime")
    }
}

fn main() {
    for threads in [Threads::One, Threads::Many] {
        let (mut raw, mut mesh) = (Vec::new(), Vec::new());
        for _ in 0..REPETITIONS {
            raw.extend(bare_round_trips(threads));
            mesh.extend(mesh_round_trips(threads));
        }
        let (raw, mesh) = (median(raw), median(mesh));
        let ratio = mesh.as_secs_f64() / raw.as_secs_f64();
        println!("runtime {threads:?}: bare TCP {raw:?}, mesh {mesh:?}, ratio {ratio:.2}");
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn bare_round_trips(threads: Threads) -> Vec<Duration> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    listener.set_nonblocking(true).expect("a socket of tokio");
    let echo = thread::spawn(move || {
        threads.runtime().block_on(async {
            // The server runs in a separate task, as in a node.
            tokio::spawn(bare_echo(listener)).await.expect("an echo").expect("a connection");
        });
    });
    let times = threads
        .runtime()
        .block_on(async { tokio::spawn(bare_ping(address)).await.expect("a task") })
        .expect("a connection");
    echo.join().expect("an echo");
    times
}

async fn bare_echo(listener: TcpListener) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (mut stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 16 << 10];
    loop {
        let length = stream.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..length]).await?;
    }
}

async fn bare_ping(address: SocketAddr) -> io::Result<Vec<Duration>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 16 << 10];
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        stream.write_all(&[7; PAYLOAD]).await?;
        let mut length = 0;
        while length < PAYLOAD {
            length += stream.read(&mut buffer).await?;
        }
        times.push(started.elapsed());
    }
    Ok(times)
}

fn mesh_round_trips(threads: Threads) -> Vec<Duration> {
    let listeners = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
    let addresses: Vec<String> = listeners
        .iter()
        .map(|listener| listener.local_addr().expect("an address").to_string())
        .collect();
    let [first, second] = listeners;
    let others = addresses.clone();
    let echo = thread::spawn(move || {
        threads.runtime().block_on(async {
            let echo = mesh_echo(settings(1, second, others));
            tokio::spawn(echo).await.expect("an echo");
        });
    });
    let times = threads.runtime().block_on(async {
        let ping = mesh_ping(settings(0, first, addresses));
        tokio::spawn(ping).await.expect("a ping")
    });
    echo.join().expect("an echo");
    times
}

fn settings(me: u32, listener: TcpListener, addresses: Vec<String>) -> MeshSettings {
    MeshSettings::on_loopback("bench", ProcessId(me), 1, addresses, Listen::Listener(listener))
}

async fn mesh_echo(settings: MeshSettings) {
    let (mesh, mut inbox) = Mesh::start(settings).expect("a mesh");
    while let Some(incoming) = inbox.receive().await {
        match incoming {
            MeshEvent::Message { from, payload, .. } => mesh.send(from, payload).expect("room"),
            MeshEvent::PeerDisconnected { .. } => return,
            MeshEvent::PeerConnected { .. }
            | MeshEvent::PeerSessionEnded { .. }
            | MeshEvent::Evicted(_) => {}
        }
    }
}

async fn mesh_ping(settings: MeshSettings) -> Vec<Duration> {
    let (mesh, mut inbox) = Mesh::start(settings).expect("a mesh");
    assert!(
        matches!(inbox.receive().await, Some(MeshEvent::PeerConnected { .. })),
        "the peer comes up"
    );
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        mesh.send(ProcessId(1), vec![7; PAYLOAD]).expect("room");
        message(&mut inbox).await;
        times.push(started.elapsed());
    }
    mesh.close(Duration::from_secs(1)).await;
    times
}

async fn message(inbox: &mut Inbox) {
    match inbox.receive().await {
        Some(MeshEvent::Message { .. }) => {}
        other => panic!("expected a message, received {other:?}"),
    }
}
