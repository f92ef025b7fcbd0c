//! A lock in your own service. Three nodes run in this process so that the example needs no
//! other; each is started by the few lines of `serve`, which is all that a service needs.
//!
//! `cargo run -p tenure --example 05_cluster`
#![allow(clippy::print_stdout, reason = "an example is here to print")]

use std::error::Error;
use std::time::Duration;

use tenure::daemon::{Config, Node};

/// Start a node, take a lock by its name, use it, leave.
async fn serve(config: Config) -> Result<(), Box<dyn Error + Send + Sync>> {
    let node = Node::start(&config)?;
    let invoices = node.lock("invoices")?;
    for _ in 0..3 {
        let guard = invoices.enter().await?;
        println!("{} is inside, with fence {}", config.me(), guard.fence());
        tokio::select! {
            // Here: use what the lock protects, and hand it the fence with every access.
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
            why = guard.lost() => println!("{} is put out: {why}", config.me()),
        }
        drop(guard);
    }
    // Another name is another lock: whoever is inside of the one keeps nobody out of the other.
    let reports = node.lock("reports")?;
    if let Some(guard) = reports.enter_within(Duration::from_secs(5)).await? {
        println!("{} writes a report, with fence {}", config.me(), guard.fence());
    }
    // A node serves its peers as long as it runs; a real service never stops here.
    tokio::time::sleep(Duration::from_millis(500)).await;
    Ok(node.stop().await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let directory = tempfile::tempdir()?;
    let addresses = addresses()?;
    let mut nodes = tokio::task::JoinSet::new();
    for me in 1..=3 {
        // In a service these come from its own configuration, or all of it from a file
        // (`Config::read`; `tenure node --example` prints one).
        let config = Config::builder("example").node(me, &addresses);
        let config = config.directory(directory.path().join(me.to_string())).build()?;
        nodes.spawn(serve(config));
    }
    while let Some(ended) = nodes.join_next().await {
        ended??;
    }
    Ok(())
}

/// Three ports that are free now.
fn addresses() -> std::io::Result<Vec<String>> {
    let listeners = (0..3)
        .map(|_| std::net::TcpListener::bind("127.0.0.1:0"))
        .collect::<std::io::Result<Vec<_>>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.to_string())).collect()
}
