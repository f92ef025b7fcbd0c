//! The counter that a lock protects, in a server of its own.
//!
//! Everybody increments it by an unprotected read, add, write: the three instructions of the
//! textbooks' race. Under a lock no update gets lost; what a process does that still believes
//! in a lock it has lost, the server refuses by its fence.
//!
//! Both [`get`](Client::get) and [`put`](Client::put) raise the highest fence seen, and both are
//! refused when theirs is lower. A check at `put` alone would lose updates: an old holder could
//! put after a new one has got, and before the new one puts.
//!
//! ```
//! use tenure_core::{Fence, ProcessId};
//! use tenure_daemon::resource::{Client, Refused, Server};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let server = Server::start(2, None).await?;
//! let mut old = Client::connect(server.address(), ProcessId(0)).await?;
//! let mut new = Client::connect(server.address(), ProcessId(1)).await?;
//!
//! let value = old.get(Some(Fence(1, 0))).await?.expect("nobody came later");
//! new.get(Some(Fence(2, 0))).await?.expect("nobody came later");
//! let outcome = old.put(Some(Fence(1, 0)), value + 1).await?;
//! assert_eq!(outcome, Err(Refused { highest: Fence(2, 0) }));
//! # std::io::Result::Ok(()) })?;
//! # std::io::Result::Ok(())
//! ```

mod client;
mod counter;
mod server;
mod wire;

pub use client::{Client, Refused};
pub use counter::Tally;
pub use server::{Holder, Server};
