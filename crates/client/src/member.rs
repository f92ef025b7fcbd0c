//! A member for tests of what nobody sees from outside.

use tempfile::TempDir;
use tenure_server::{Config, Server};

/// Starts one, which is there as long as the runtime: where its data are, and where it listens.
pub(crate) async fn member() -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let config = Config {
        data_dir: Some(folder.path().join("data")),
        listen_client_urls: "http://127.0.0.1:0".into(),
        ..Config::default()
    };
    let server = Server::start(&config).await.expect("a member");
    let address = server.addresses()[0].to_string();
    tokio::spawn(server.run(std::future::pending()));
    (folder, address)
}
