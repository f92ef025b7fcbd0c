//! A lock alone cannot stop a late write. Fencing tokens can.
//!
//! A process enters the critical section and is then stopped for a long time: its machine is
//! suspended, or the garbage collector runs. Meanwhile, the other processes suspect a crash, and
//! the next process enters. When the stopped process resumes, it believes that it is still inside.
//! Without fencing tokens, its late write destroys an update. With fencing tokens, the resource
//! rejects the write.
//!
//! `cargo run -p tenure --example 06_fencing`
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use tenure::core::{Fence, ProcessId};
use tenure::daemon::resource::{CounterClient, CounterServer};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    for fenced in [false, true] {
        let server = CounterServer::start(2, None).await?;
        let mut sleeper = CounterClient::connect(server.address(), ProcessId(0)).await?;
        let mut other = CounterClient::connect(server.address(), ProcessId(1)).await?;
        let fence = |number| fenced.then_some(Fence(number, 0));

        let read = sleeper.get(fence(1)).await?.expect("the first access");
        // The sleeper is stopped here. The others suspect it, and the next process enters.
        let value = other.get(fence(2)).await?.expect("a later token");
        other.put(fence(2), value + 1).await?.expect("a later token");
        // The sleeper resumes and believes that it is still inside.
        let outcome = sleeper.put(fence(1), read + 1).await?;

        let found = other.get(fence(2)).await?.expect("still the latest token");
        println!("{}", if fenced { "With fences:" } else { "Without fences:" });
        match outcome {
            Ok(()) => println!("    the late write was accepted; 2 updates, counter = {found}"),
            Err(error) => println!("    the late write was {error}; counter = {found}"),
        }
    }
    Ok(())
}
