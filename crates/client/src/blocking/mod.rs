//! Blocking form of the client, for programs without an asynchronous runtime. A call blocks the
//! calling thread until it returns.
//!
//! Each [`Client`] has a thread of its own, which renews sessions, receives events and completes
//! releases. The thread ends when the client and all values that it created are dropped, such as
//! sessions, guards, leaderships, barriers and observers. The last drop waits until the sessions
//! are closed, at most ten seconds.
//!
//! ```no_run
//! use std::time::Duration;
//! use tenure_client::blocking::Client;
//!
//! # fn write(fence: u64) {}
//! # fn main() -> Result<(), tenure_client::ClientError> {
//! let client = Client::connect(["http://127.0.0.1:2379"])?;
//! let session = client.session(Duration::from_secs(10))?;
//! if let Some(guard) = session.lock_within("nightly", Duration::from_secs(60))? {
//!     write(guard.fence());
//!     guard.release()?;
//! }
//! session.close()
//! # }
//! ```
//!
//! **Time limits.** A method whose name ends in `within` waits at most for the given time. If the
//! method waits in a queue, it leaves the queue when the time has passed. The other methods wait as
//! long as their asynchronous counterparts, whose documentation applies. A program cannot cancel a
//! call in any other way.
//!
//! **Lost locks.** No thread is interrupted when a lock is lost. Long work should compare the clock
//! with [`Guard::deadline`] between its steps, and pass [`Guard::fence`] to the resource.
//!
//! # Panics
//!
//! Methods that wait must not be called in an asynchronous task of tokio, because they would block
//! the thread that runs the task. In such a task, they panic with the message "Cannot start a
//! runtime from within a runtime". Use the asynchronous interface there, or
//! `tokio::task::spawn_blocking`. Dropping a value never panics. The last drop may block for up to
//! ten seconds, as described above.

mod background_runtime;
mod barrier;
mod client;
mod guard;
mod leadership;
mod multi_guard;
mod observer;
mod read_write;
mod semaphore;
mod session;

pub use barrier::{Barrier, DoubleBarrier, DoubleBarrierGuard};
pub use client::Client;
pub use guard::Guard;
pub use leadership::Leadership;
pub use multi_guard::MultiGuard;
pub use observer::ElectionObserver;
pub use semaphore::Semaphore;
pub use session::Session;
