//! A lock in your own service. Three nodes run in this process so that the example needs no
//! other; each is started by the ten lines of `serve`, which is all that a service needs.
//!
//! `cargo run --example 05_cluster`
#![allow(clippy::print_stdout, reason = "an example is here to print")]

use std::error::Error;

use tenure::daemon::{Config, Node};

/// The ten lines: start a node, take the lock, use it, leave.
async fn serve(config: Config) -> Result<(), Box<dyn Error + Send + Sync>> {
    let node = Node::start(&config)?;
    node.leadership.elect()?;
    for _ in 0..3 {
        let guard = node.lock.enter().await?;
        println!("{} is inside, with fence {}", config.me(), guard.fence());
        // Here: use what the lock protects, and hand it the fence with every access.
        drop(guard);
    }
    // A node serves its peers as long as it runs; a real service never stops here.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    Ok(node.stop().await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let directory = tempfile::tempdir()?;
    let addresses = addresses()?;
    let mut nodes = tokio::task::JoinSet::new();
    for me in 1..=3 {
        // In a service this file is written by hand; `tenure node --example` prints one.
        let path = directory.path().join(format!("node-{me}.toml"));
        let state = directory.path().join(format!("state-{me}"));
        let text = format!(
            "version = 1\n[cluster]\nname = \"example\"\nme = {me}\naddresses = {addresses:?}\n\
             [store]\ndirectory = {state:?}\n"
        );
        std::fs::write(&path, text)?;
        nodes.spawn(serve(Config::read(&path)?));
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
