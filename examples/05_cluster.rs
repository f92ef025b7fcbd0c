//! Uses a lock in your own service. Three nodes run in this process, to keep the example
//! self-contained. A service needs only the few lines of `serve`.
//!
//! `cargo run -p tenure --example 05_cluster`
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::error::Error;
use std::time::Duration;

use tenure::daemon::{Config, Node};

/// Starts a node, acquires a lock by name, uses it, and stops the node.
async fn serve(config: Config) -> Result<(), Box<dyn Error + Send + Sync>> {
    let node = Node::start(&config)?;
    let invoices = node.lock("invoices")?;
    for _ in 0..3 {
        let guard = invoices.acquire().await?;
        println!("{} holds the lock, fencing token {}", config.me(), guard.fence());
        tokio::select! {
            // Use the protected resource here, and pass the fencing token with every access.
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
            why = guard.lost() => println!("{} has lost the lock: {why}", config.me()),
        }
        drop(guard);
    }
    // Locks with different names are independent.
    let reports = node.lock("reports")?;
    if let Some(guard) = reports.acquire_within(Duration::from_secs(5)).await? {
        println!("{} writes a report, fencing token {}", config.me(), guard.fence());
    }
    // A node serves its peers as long as it runs; a real service does not stop here.
    tokio::time::sleep(Duration::from_millis(500)).await;
    Ok(node.stop().await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let directory = tempfile::tempdir()?;
    let addresses = addresses()?;
    let mut nodes = tokio::task::JoinSet::new();
    for me in 1..=3 {
        // A service takes these values from its own configuration, or the whole `Config` from a
        // file (`Config::read`; `tenure node --example` prints such a file).
        let config = Config::builder("example").cluster_addresses(me, &addresses);
        let config = config.directory(directory.path().join(me.to_string())).build()?;
        nodes.spawn(serve(config));
    }
    while let Some(ended) = nodes.join_next().await {
        ended??;
    }
    Ok(())
}

/// Returns three free addresses on this machine.
fn addresses() -> std::io::Result<Vec<String>> {
    let listeners = (0..3)
        .map(|_| std::net::TcpListener::bind("127.0.0.1:0"))
        .collect::<std::io::Result<Vec<_>>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.to_string())).collect()
}
