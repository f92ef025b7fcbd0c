//! Embeds a member in a program: `cargo run -p tenure-server --example serve [FILE]`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use tenure_server::{Config, Server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = match std::env::args().nth(1) {
        Some(file) => Config::read(file.as_ref())?,
        None => Config::default(),
    };
    let server = Server::start(&config).await?;
    println!("serves clients at {}", server.client_addresses()[0]);
    Ok(server.serve(async { drop(tokio::signal::ctrl_c().await) }).await?)
}
