//! What a lock cannot do alone, and what the fence does about it.
//!
//! A process enters, is stopped for longer than the others are willing to wait (a suspended
//! machine, a long pause of a garbage collector), and wakes up believing that it is still inside.
//! Without fences its late write destroys an update; with fences the resource refuses it.
//!
//! `cargo run -p tenure --example 06_fencing`
#![allow(clippy::print_stdout, reason = "an example is here to print")]

use tenure::core::{Fence, ProcessId};
use tenure::daemon::resource::{Client, Server};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    for fenced in [false, true] {
        let server = Server::start(2, None).await?;
        let mut sleeper = Client::connect(server.address(), ProcessId(0)).await?;
        let mut other = Client::connect(server.address(), ProcessId(1)).await?;
        let fence = |number| fenced.then_some(Fence(number, 0));

        let read = sleeper.get(fence(1)).await?.expect("the first to come");
        // The sleeper is stopped here. The others suspect it, and the next one enters.
        let value = other.get(fence(2)).await?.expect("a later fence");
        other.put(fence(2), value + 1).await?.expect("a later fence");
        // The sleeper wakes up, still inside as far as it knows.
        let outcome = sleeper.put(fence(1), read + 1).await?;

        let found = other.get(fence(2)).await?.expect("still the latest fence");
        println!("{}", if fenced { "With fences:" } else { "Without fences:" });
        match outcome {
            Ok(()) => println!("    the late write was accepted; 2 updates, counter = {found}"),
            Err(refused) => println!("    the late write was {refused}; counter = {found}"),
        }
    }
    Ok(())
}
