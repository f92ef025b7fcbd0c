//! A member for a test.

use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tenure_client::{Client, LossReason, Session};
use tenure_server::{Config, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::relay::Relay;

/// Maximum duration of a step of a test. It is long enough for a busy machine.
pub(crate) const STEP_TIMEOUT: Duration = Duration::from_secs(120);

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// TTL of a session that must not expire during a test. It is long enough for a busy machine, which
/// may renew the session late.
const LONG_TTL: Duration = Duration::from_secs(60);

/// TTL of a session in a test that waits for the session's next renewal.
pub(crate) const RENEWED_TTL: Duration = Duration::from_secs(8);

/// Returns the result of a step of a test. Panics if the step takes longer than [`STEP_TIMEOUT`].
#[track_caller]
pub(crate) fn within<T>(step: impl Future<Output = T>) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        let result = timeout(STEP_TIMEOUT, step).await;
        result.unwrap_or_else(|_| panic!("not in time: {caller}"))
    }
}

pub(crate) async fn revoked(session: &Session) {
    assert_eq!(within(session.lost()).await, LossReason::LeaseEnded);
}

/// Returns true if the client may report `reason` after its lease was revoked. If the next renewal
/// fails first, the client reports the end of the lease. If the watch responds first, the client
/// reports the deletion of the key.
pub(crate) const fn is_revoked(reason: LossReason) -> bool {
    matches!(reason, LossReason::LeaseEnded | LossReason::KeyDeleted)
}

/// Returns the result of a task. Panics if the task panics, or takes longer than [`STEP_TIMEOUT`].
#[track_caller]
pub(crate) fn joined<T>(task: JoinHandle<T>) -> impl Future<Output = T> {
    let ended = within(task);
    async { ended.await.expect("no panic") }
}

pub(crate) fn spawn_with<T: Clone, F>(
    handle: &T,
    work: impl FnOnce(T) -> F,
) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    tokio::spawn(work(handle.clone()))
}

/// A member that runs inside the process of the test. It stops when the tokio runtime stops.
pub(crate) struct Service {
    pub(crate) address: String,
    _folder: TempDir,
}

impl Service {
    pub(crate) async fn start() -> Service {
        Service::with(Config::default()).await
    }

    pub(crate) async fn with(config: Config) -> Service {
        let folder = tempfile::tempdir().expect("a folder");
        let config = Config {
            data_dir: Some(folder.path().join("data")),
            listen_client_urls: "http://127.0.0.1:0".into(),
            ..config
        };
        let server = Server::start(&config).await.expect("a member");
        let address = server.client_addresses()[0].to_string();
        tokio::spawn(server.serve(std::future::pending()));
        Service { address, _folder: folder }
    }

    /// Starts a member and `N` clients with one session each. The sessions have a long TTL.
    pub(crate) async fn with_sessions<const N: usize>() -> (Service, [Session; N]) {
        Service::with_sessions_of(LONG_TTL).await
    }

    /// Starts a member and `N` clients with one session each. The TTL of the sessions is `ttl`.
    pub(crate) async fn with_sessions_of<const N: usize>(ttl: Duration) -> (Service, [Session; N]) {
        let service = Service::start().await;
        let mut sessions = Vec::new();
        for _ in 0..N {
            sessions.push(service.client().await.session(ttl).await.expect("a session"));
        }
        (service, sessions.try_into().expect("one for each"))
    }

    /// Starts a member and a relay to it, and a session through the relay. `ttl` is in seconds.
    pub(crate) async fn with_relay(ttl: u64) -> (Service, Arc<Relay>, Session) {
        let service = Service::start().await;
        let (relay, address) = Relay::start(&service.address).await;
        let client = connected(&address).await;
        let session = client.session(Duration::from_secs(ttl)).await.expect("a session");
        (service, relay, session)
    }

    pub(crate) async fn client(&self) -> Client {
        connected(&self.address).await
    }

    pub(crate) async fn session(&self) -> Session {
        self.client().await.session(LONG_TTL).await.expect("a session")
    }

    /// Returns the HTTP response including its headers.
    pub(crate) async fn post(&self, path: &str, body: &str) -> String {
        self.post_as(path, body, "").await
    }

    pub(crate) async fn post_ok(&self, path: &str, body: &str) {
        let response = self.post(path, body).await;
        assert!(response.contains(" 200 "), "{path}: {response}");
    }

    pub(crate) async fn post_as(&self, path: &str, body: &str, token: &str) -> String {
        let (length, shown) = (body.len(), format!("authorization: {token}\r\n"));
        let shown = if token.is_empty() { "" } else { &shown };
        let head = format!("POST {path} HTTP/1.0\r\n{shown}content-length: {length}\r\n\r\n");
        self.response(&(head + body)).await
    }

    /// Posts requests that create users and permissions, one after the other. Each element of
    /// `steps` is the path and the body of one request.
    pub(crate) async fn post_access(&self, steps: &[(&str, &str)]) {
        for (path, body) in steps {
            self.post_ok(&format!("/v3/auth/{path}"), body).await;
        }
    }

    #[track_caller]
    pub(crate) fn wait_for_watchers(&self, least: usize) -> impl Future<Output = ()> {
        within(async move {
            while self.watchers().await < least {
                sleep(POLL_INTERVAL).await;
            }
        })
    }

    pub(crate) async fn watchers(&self) -> usize {
        let response = self.response("GET /metrics HTTP/1.0\r\n\r\n").await;
        let count = response.lines().find_map(|line| line.strip_prefix("tenure_watchers "));
        count.and_then(|count| count.parse().ok()).expect("a number")
    }

    async fn response(&self, request: &str) -> String {
        http_response(&self.address, request).await
    }

    pub(crate) async fn keys(&self) -> usize {
        self.all_keys_json().await.matches("\"create_revision\"").count()
    }

    pub(crate) async fn wait_for_keys(&self, count: usize) {
        let mut found = 0;
        let counted = async {
            while {
                found = self.keys().await;
                found != count
            } {
                sleep(POLL_INTERVAL).await;
            }
        };
        let result = timeout(STEP_TIMEOUT, counted).await;
        assert!(result.is_ok(), "the store has {found} keys instead of {count}");
    }

    /// Writes a key without a lease. The key is given in base64.
    pub(crate) async fn put(&self, key: &str) {
        self.post_ok("/v3/kv/put", &format!(r#"{{"key":"{key}"}}"#)).await;
    }

    /// Deletes a key, which is given in base64.
    pub(crate) async fn delete(&self, key: &str) {
        self.post_ok("/v3/kv/deleterange", &format!(r#"{{"key":"{key}"}}"#)).await;
    }

    pub(crate) async fn revoke(&self, session: &Session) {
        self.post_ok("/v3/lease/revoke", &format!(r#"{{"ID":"{}"}}"#, session.id())).await;
    }

    pub(crate) async fn revision(&self) -> u64 {
        let response = self.all_keys_json().await;
        json_string(&response, "revision").and_then(|it| it.parse().ok()).expect("a revision")
    }

    pub(crate) async fn all_keys_json(&self) -> String {
        self.post("/v3/kv/range", r#"{"key":"AA==","range_end":"AA=="}"#).await
    }
}

/// Sends an HTTP request, and returns the response including its headers.
pub(crate) async fn http_response(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).await.expect("an answer");
    response
}

/// Returns a client of the member at this address. A busy machine may need several attempts.
async fn connected(address: &str) -> Client {
    let connecting = async {
        loop {
            if let Ok(client) = Client::connect([address]).await {
                return client;
            }
            sleep(POLL_INTERVAL).await;
        }
    };
    within(connecting).await
}

/// Returns the value of the first JSON string field with this name. Returns `None` if the response
/// has no such field.
pub(crate) fn json_string<'a>(response: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = response.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next()
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |group: &[u8]| {
        let [a, b, c] = [0, 1, 2].map(|index| group.get(index).map_or(0, |byte| u32::from(*byte)));
        let bits = a << 16 | b << 8 | c;
        let digit = |index: usize| match index <= group.len() {
            true => char::from(DIGITS[(bits >> (18 - 6 * index)) as usize & 63]),
            false => '=',
        };
        [0, 1, 2, 3].map(digit)
    };
    bytes.chunks(3).flat_map(group).collect()
}
