//! A member for unit tests.

use tempfile::TempDir;
use tenure_server::{Config, Server};

/// Starts a member that runs as long as the tokio runtime. Returns its data directory and its
/// address.
pub(crate) async fn start_member() -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let config = Config {
        data_dir: Some(folder.path().join("data")),
        listen_client_urls: "http://127.0.0.1:0".into(),
        ..Config::default()
    };
    let server = Server::start(&config).await.expect("a member");
    let address = server.client_addresses()[0].to_string();
    tokio::spawn(server.serve(std::future::pending()));
    (folder, address)
}
