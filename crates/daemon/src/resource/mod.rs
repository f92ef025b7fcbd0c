//! Counter that a lock protects. The counter has its own server.
//!
//! Each process increments the counter with a read, an addition and a write: the textbook race.
//! Under a lock no update is lost. A process may continue after it has lost the lock. The server
//! then rejects its outdated fencing token.
//!
//! Both [`get`](CounterClient::get) and [`put`](CounterClient::put) record the highest token that
//! the counter has seen. Both are rejected with a lower token. If only `put` checked tokens,
//! updates would be lost: an old holder could write between the read and the write of a new holder.
//!
//! ```
//! use tenure_core::{Fence, ProcessId};
//! use tenure_daemon::resource::{CounterClient, CounterServer, FenceRejected};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let server = CounterServer::start(2, None).await?;
//! let mut old = CounterClient::connect(server.address(), ProcessId(0)).await?;
//! let mut new = CounterClient::connect(server.address(), ProcessId(1)).await?;
//!
//! let value = old.get(Some(Fence(1, 0))).await?.expect("accepted");
//! new.get(Some(Fence(2, 0))).await?.expect("accepted");
//! let outcome = old.put(Some(Fence(1, 0)), value + 1).await?;
//! assert_eq!(outcome, Err(FenceRejected { highest: Fence(2, 0) }));
//! # std::io::Result::Ok(()) })?;
//! # std::io::Result::Ok(())
//! ```

mod client;
mod counter;
mod server;
mod wire;

pub use client::{CounterClient, FenceRejected};
pub use counter::CounterStats;
pub use server::{CounterServer, DelayedRead};
