//! A member for a test.

use std::time::Duration;

use tempfile::TempDir;
use tenure_client::{Client, Session};
use tenure_server::{Config, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Long enough for anything that is to happen.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A member on this machine, for as long as its runtime.
pub(crate) struct Service {
    pub(crate) address: String,
    _folder: TempDir,
}

impl Service {
    pub(crate) async fn start() -> Service {
        Service::with(Config::default()).await
    }

    /// One with these settings.
    pub(crate) async fn with(config: Config) -> Service {
        let folder = tempfile::tempdir().expect("a folder");
        let config = Config {
            data_dir: Some(folder.path().join("data")),
            listen_client_urls: "http://127.0.0.1:0".into(),
            ..config
        };
        let server = Server::start(&config).await.expect("a member");
        let address = server.addresses()[0].to_string();
        tokio::spawn(server.run(std::future::pending()));
        Service { address, _folder: folder }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect([&self.address]).await.expect("a connection")
    }

    pub(crate) async fn session(&self) -> Session {
        self.client().await.session(Duration::from_secs(10)).await.expect("a session")
    }

    /// What it says to something that is posted as JSON.
    pub(crate) async fn post(&self, path: &str, body: &str) -> String {
        self.post_as(path, body, "").await
    }

    /// The same to somebody who shows a token.
    pub(crate) async fn post_as(&self, path: &str, body: &str, token: &str) -> String {
        let (length, shown) = (body.len(), format!("authorization: {token}\r\n"));
        let shown = if token.is_empty() { "" } else { &shown };
        let head = format!("POST {path} HTTP/1.0\r\n{shown}content-length: {length}\r\n\r\n");
        self.told(&(head + body)).await
    }

    /// Has users and rights set up, one after the other.
    pub(crate) async fn post_access(&self, steps: &[(&str, &str)]) {
        for (path, body) in steps {
            let told = self.post(&format!("/v3/auth/{path}"), body).await;
            assert!(told.contains(" 200 "), "{path}: {told}");
        }
    }

    /// How many watch.
    pub(crate) async fn watchers(&self) -> usize {
        let told = self.told("GET /metrics HTTP/1.0\r\n\r\n").await;
        let count = told.lines().find_map(|line| line.strip_prefix("tenure_watchers "));
        count.and_then(|count| count.parse().ok()).expect("a number")
    }

    async fn told(&self, asked: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).await.expect("it listens");
        stream.write_all(asked.as_bytes()).await.expect("it reads");
        let mut told = String::new();
        stream.read_to_string(&mut told).await.expect("an answer");
        told
    }

    /// How many keys there are.
    pub(crate) async fn keys(&self) -> usize {
        self.everything().await.matches("\"create_revision\"").count()
    }

    /// The revision of the store.
    pub(crate) async fn revision(&self) -> u64 {
        let told = self.everything().await;
        said(&told, "revision").and_then(|it| it.parse().ok()).expect("a revision")
    }

    async fn everything(&self) -> String {
        self.post("/v3/kv/range", r#"{"key":"AA==","range_end":"AA=="}"#).await
    }
}

/// What an answer in JSON has first under a name.
pub(crate) fn said<'a>(told: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = told.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next()
}
