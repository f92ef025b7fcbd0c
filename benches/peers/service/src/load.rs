//! Load: clients that acquire and release locks as fast as possible.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::side::{Access, Claimant, Side};

/// A row of the table: a number of clients and of locks.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub name: &'static str,
    pub clients: usize,
    /// True if each client has its own lock.
    pub is_apart: bool,
    pub access: Access,
    /// Promised throughput as a multiple of the throughput of etcd; `None` without a promise.
    pub bar: Option<f64>,
}

pub const LOADS: [Load; 7] = [
    row("one lock, 2 clients", 2, false, Some(20.0)),
    row("one lock, 8 clients", 8, false, Some(10.0)),
    row("one lock, 64 clients", 64, false, Some(5.0)),
    row("one client, alone", 1, true, Some(1.5)),
    row("64 locks, a client each", 64, true, Some(5.0)),
    Load {
        access: Access::ReadWrite,
        ..row("read/write lock, 16 clients, a tenth of the cycles writes", 16, false, None)
    },
    Load {
        access: Access::Permits(4),
        ..row("semaphore of 4 permits, 16 clients", 16, false, None)
    },
];

const fn row(name: &'static str, clients: usize, is_apart: bool, bar: Option<f64>) -> Load {
    Load { name, clients, is_apart, access: Access::Exclusive, bar }
}

impl Load {
    /// Returns the number of cycles of acquisition and release per second, during a period.
    pub async fn rate(
        &self,
        side: Side,
        members: &[SocketAddr],
        leader: usize,
        long: Duration,
    ) -> f64 {
        let lock = fastrand::u32(..);
        let is_over = Arc::new(AtomicBool::new(false));
        let done = Arc::new(AtomicU64::new(0));
        let mut claimants = Vec::new();
        for client in 0..self.clients {
            let name = match self.is_apart {
                true => format!("bench/{lock}/{client}"),
                false => format!("bench/{lock}"),
            };
            // `first` is the leader for the first client. Clients of `tenure-client` know all
            // members and try `first` before the others. All other clients know only `first`.
            let first = (leader + client) % members.len();
            let (members, first) = match side {
                Side::TenureReleased | Side::TenureDropped => (members, first),
                _ => (&members[first..=first], 0),
            };
            let claimant = Claimant::start(side, members, first, &name).await;
            claimants.push(claimant.with_access(self.access, client).await);
        }
        let mut tasks = Vec::new();
        for mut claimant in claimants {
            let (is_over, done) = (is_over.clone(), done.clone());
            tasks.push(tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    claimant.cycle_until_success().await;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        sleep(long / 8).await;
        let (before, started) = (done.load(Ordering::Relaxed), Instant::now());
        sleep(long).await;
        let cycles = done.load(Ordering::Relaxed) - before;
        let rate = cycles as f64 / started.elapsed().as_secs_f64();
        is_over.store(true, Ordering::Relaxed);
        for task in tasks {
            task.await.expect("a client ends");
        }
        rate
    }
}
