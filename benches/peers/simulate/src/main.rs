//! Compares Tenure's simulator with turmoil and madsim, in one table: two processes exchange a
//! message again and again.
//!
//! `cargo run --release` in this directory. Each tool plays ping-pong in its own idiom over its own
//! simulated network: turmoil over TCP streams, madsim over its endpoints. turmoil and madsim
//! simulate whole programs with sockets and tasks. Tenure simulates state machines. The figures
//! show the cost of that difference.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tenure_core::{Effects, Group, ProcessId, Protocol, labelled};
use tenure_sim::{Distribution, MonitoringSettings, Settings, Simulation};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn main() {
    let tenure = best(|| tenure(4_000_000, MonitoringSettings::default()));
    let bare = best(|| tenure_bare(4_000_000));
    let turmoil = best(|| turmoil(200_000));
    let madsim = best(|| madsim(200_000));
    println!("ping-pong between two processes, messages per second\n");
    println!("{:<34}{:>14}{:>12}", "", "messages/s", "tenure is");
    let row = |name: &str, speed: f64| {
        println!("{name:<34}{speed:>14.0}{:>11.1}×", tenure / speed);
    };
    row("tenure-sim, judged and counted", tenure);
    row("tenure-sim, watching nothing", bare);
    row("turmoil 0.7, TCP", turmoil);
    row("madsim 0.2, endpoints", madsim);
}

/// Returns the better of two runs, in messages per second.
fn best(run: impl Fn() -> u64) -> f64 {
    let once = || {
        let start = Instant::now();
        let messages = run();
        messages as f64 / start.elapsed().as_secs_f64()
    };
    once().max(once())
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Player {
    left: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Ball { number: u64 },
}
labelled!(Message, Application, Ball => "ball");

impl Protocol for Player {
    type Config = u32;
    type Command = ();
    type Event = ();
    type Message = Message;
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, left: &u32, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        if group.me() == ProcessId(0) {
            fx.send(ProcessId(1), Message::Ball { number: 0 });
        }
        Player { left: *left }
    }

    fn stable(&self) {}

    fn on_command(&mut self, (): (), _: &mut impl Effects<Self>) {}

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let Message::Ball { number } = message;
        if self.left > 0 {
            self.left -= 1;
            fx.send(from, Message::Ball { number: number + 1 });
        }
    }
}

fn tenure_bare(messages: u64) -> u64 {
    tenure(messages, MonitoringSettings::NOTHING)
}

fn tenure(messages: u64, monitoring: MonitoringSettings) -> u64 {
    let mut settings = Settings::new(2);
    settings.network.latency = Distribution::between_time_units(1, 2).into();
    settings.monitoring = monitoring;
    let each = u32::try_from(messages / 2).expect("a valid count");
    let report = Simulation::<Player>::new(each, settings).run().expect("valid settings");
    report.metrics.sent
}

fn turmoil(messages: u64) -> u64 {
    let mut simulation = turmoil::Builder::new()
        .simulation_duration(Duration::from_secs(1_000_000))
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(Duration::from_millis(2))
        .build();
    simulation.host("pong", || async {
        let listener = turmoil::net::TcpListener::bind(("0.0.0.0", 99)).await?;
        let (mut stream, _) = listener.accept().await?;
        let mut ball = [0; 8];
        while stream.read_exact(&mut ball).await.is_ok() {
            stream.write_all(&ball).await?;
        }
        Ok(())
    });
    let count = Arc::new(AtomicU64::new(0));
    let counted = count.clone();
    simulation.client("ping", async move {
        let mut stream = turmoil::net::TcpStream::connect(("pong", 99)).await?;
        let mut ball = [0; 8];
        for _ in 0..messages / 2 {
            stream.write_all(&ball).await?;
            stream.read_exact(&mut ball).await?;
            counted.fetch_add(2, Ordering::Relaxed);
        }
        Ok(())
    });
    simulation.run().expect("turmoil ran");
    count.load(Ordering::Relaxed)
}

fn madsim(messages: u64) -> u64 {
    let runtime = madsim::runtime::Runtime::with_seed_and_config(1, madsim::Config::default());
    let (one, two): (SocketAddr, SocketAddr) =
        ("10.0.0.1:1".parse().expect("an address"), "10.0.0.2:1".parse().expect("an address"));
    let ping = runtime.create_node().ip(one.ip()).build();
    let pong = runtime.create_node().ip(two.ip()).build();
    runtime.block_on(async move {
        let server = pong.spawn(async move {
            let endpoint = madsim::net::Endpoint::bind(two).await.expect("bound");
            let mut ball = [0; 8];
            for _ in 0..messages / 2 {
                let (_, from) = endpoint.recv_from(1, &mut ball).await.expect("received");
                endpoint.send_to(from, 1, &ball).await.expect("sent");
            }
        });
        let client = ping.spawn(async move {
            madsim::time::sleep(Duration::from_secs(1)).await;
            let endpoint = madsim::net::Endpoint::bind(one).await.expect("bound");
            let mut ball = [0; 8];
            for _ in 0..messages / 2 {
                endpoint.send_to(two, 1, &ball).await.expect("sent");
                endpoint.recv_from(1, &mut ball).await.expect("received");
            }
        });
        client.await.expect("the client ends");
        server.await.expect("the server ends");
    });
    messages
}
