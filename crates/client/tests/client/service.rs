//! A member for a test.

use std::time::Duration;

use tempfile::TempDir;
use tenure_client::{Client, LossReason, Session};
use tenure_server::{Config, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Time limit of a step that must succeed, long enough for a busy machine.
pub(crate) const STEP_TIMEOUT: Duration = Duration::from_secs(20);

/// Waits for a step that must succeed.
pub(crate) async fn within<T>(step: impl Future<Output = T>) -> T {
    timeout(STEP_TIMEOUT, step).await.expect("in time")
}

/// Waits until a session ends because its lease was revoked.
pub(crate) async fn revoked(session: &Session) {
    assert_eq!(within(session.lost()).await, LossReason::LeaseEnded);
}

/// Returns true if a claim ended with its lease. A watch may show the deletion of the key before
/// the next renewal fails.
pub(crate) const fn is_revoked(reason: LossReason) -> bool {
    matches!(reason, LossReason::LeaseEnded | LossReason::KeyDeleted)
}

/// Waits for the result of a task that must succeed.
pub(crate) async fn joined<T>(task: JoinHandle<T>) -> T {
    within(task).await.expect("no panic")
}

/// A member in this process. It runs as long as the tokio runtime.
pub(crate) struct Service {
    pub(crate) address: String,
    _folder: TempDir,
}

impl Service {
    pub(crate) async fn start() -> Service {
        Service::with(Config::default()).await
    }

    /// Starts a member with this configuration.
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

    /// Posts JSON, and returns the HTTP response including its headers.
    pub(crate) async fn post(&self, path: &str, body: &str) -> String {
        self.post_as(path, body, "").await
    }

    /// Posts JSON with a token, and returns the HTTP response.
    pub(crate) async fn post_as(&self, path: &str, body: &str, token: &str) -> String {
        let (length, shown) = (body.len(), format!("authorization: {token}\r\n"));
        let shown = if token.is_empty() { "" } else { &shown };
        let head = format!("POST {path} HTTP/1.0\r\n{shown}content-length: {length}\r\n\r\n");
        self.response(&(head + body)).await
    }

    /// Creates users and permissions by these requests, one after the other. Each step has a path
    /// and a body.
    pub(crate) async fn post_access(&self, steps: &[(&str, &str)]) {
        for (path, body) in steps {
            let response = self.post(&format!("/v3/auth/{path}"), body).await;
            assert!(response.contains(" 200 "), "{path}: {response}");
        }
    }

    /// Returns the number of watches at the member.
    pub(crate) async fn watchers(&self) -> usize {
        let response = self.response("GET /metrics HTTP/1.0\r\n\r\n").await;
        let count = response.lines().find_map(|line| line.strip_prefix("tenure_watchers "));
        count.and_then(|count| count.parse().ok()).expect("a number")
    }

    async fn response(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).await.expect("it listens");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).await.expect("an answer");
        response
    }

    /// Returns the number of keys in the store.
    pub(crate) async fn keys(&self) -> usize {
        self.all_keys_json().await.matches("\"create_revision\"").count()
    }

    /// Waits until the store has this many keys.
    pub(crate) async fn wait_for_keys(&self, count: usize) {
        let mut found = 0;
        let counted = async {
            while {
                found = self.keys().await;
                found != count
            } {}
        };
        let result = timeout(STEP_TIMEOUT, counted).await;
        assert!(result.is_ok(), "the store has {found} keys instead of {count}");
    }

    /// Writes a key without a lease. The key is given in base64.
    pub(crate) async fn put(&self, key: &str) {
        let response = self.post("/v3/kv/put", &format!(r#"{{"key":"{key}"}}"#)).await;
        assert!(response.contains(" 200 "), "{response}");
    }

    /// Deletes a key, which is given in base64.
    pub(crate) async fn delete(&self, key: &str) {
        let response = self.post("/v3/kv/deleterange", &format!(r#"{{"key":"{key}"}}"#)).await;
        assert!(response.contains(" 200 "), "{response}");
    }

    /// Revokes the lease of a session, as an operator can.
    pub(crate) async fn revoke(&self, session: &Session) {
        let request = format!(r#"{{"ID":"{}"}}"#, session.id());
        let response = self.post("/v3/lease/revoke", &request).await;
        assert!(response.contains(" 200 "), "{response}");
    }

    /// Returns the revision of the store.
    pub(crate) async fn revision(&self) -> u64 {
        let response = self.all_keys_json().await;
        json_string(&response, "revision").and_then(|it| it.parse().ok()).expect("a revision")
    }

    pub(crate) async fn all_keys_json(&self) -> String {
        self.post("/v3/kv/range", r#"{"key":"AA==","range_end":"AA=="}"#).await
    }
}

/// Returns the first string field with this name in a JSON response.
pub(crate) fn json_string<'a>(response: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = response.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next()
}
