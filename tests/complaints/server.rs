//! A server for a test, as a process of its own: `tenure serve` or etcd.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tenure_client::{Client, Session};

use crate::etcd::Etcd;
use crate::killed::Killed;
use crate::process_state::state_of;
use crate::suspended::wait_suspended;

pub(crate) const LIMIT: Duration = Duration::from_secs(180);

/// Time to live of a lease that is meant to expire during a test. It is longer than the minimum,
/// because a busy machine may delay the client.
pub(crate) const ENDING: Duration = Duration::from_secs(3);

/// Time to live of a lease that a client renews. The test takes longer than this time. A busy
/// machine may renew the lease late.
pub(crate) const RENEWED: Duration = Duration::from_secs(12);

/// Time to live of a lease that does not expire during a test.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// A server with one member. The server ends when this value is dropped.
pub(crate) struct Server {
    child: Killed,
    etcd: Option<Etcd>,
    client: SocketAddr,
    peer: SocketAddr,
    folder: TempDir,
}

/// Starts `tenure serve` and, if it is installed, etcd. Returns the servers.
pub(crate) fn servers() -> Vec<Server> {
    let etcd = Etcd::find().map(|etcd| Server::start(Some(etcd)));
    std::iter::once(Server::tenure()).chain(etcd).collect()
}

/// Runs a test at all [`servers`] at the same time, to save time. Most tests only wait for a lease
/// to expire.
pub(crate) fn at_each_server(test: impl Fn(Server) + Sync) {
    at_the_same_time(servers(), test);
}

/// Runs a test for all `cases` at the same time.
pub(crate) fn at_the_same_time<T: Send>(
    cases: impl IntoIterator<Item = T>,
    test: impl Fn(T) + Sync,
) {
    let test = &test;
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || test(case));
        }
    });
}

/// Runs an asynchronous test at all [`servers`] at the same time, each with its own runtime.
pub(crate) fn with_clients_at_each_server(test: impl AsyncFn(Server) + Sync) {
    at_each_server(|server| block_on(test(server)));
}

/// Runs a part of a test in its own runtime.
pub(crate) fn block_on(part: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(part);
}

impl Server {
    pub(crate) fn tenure() -> Server {
        Server::start(None)
    }

    pub(crate) fn start(etcd: Option<Etcd>) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let [client, peer] = [(); 2].map(|()| tenure_runtime::ports::reserve_address());
        let child = spawn(folder.path(), etcd.as_ref(), client, peer);
        let server = Server { child, etcd, client, peer, folder };
        server.wait_ready();
        server
    }

    pub(crate) fn name(&self) -> &str {
        self.etcd.as_ref().map_or("tenure", |_| "etcd")
    }

    /// Returns the version of etcd; `None` for `tenure serve`.
    pub(crate) fn etcd_version(&self) -> Option<&str> {
        self.etcd.as_ref().map(|etcd| &*etcd.version)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.client)
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(&self.child, signal);
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub(crate) fn restart(&mut self) {
        self.child = spawn(self.folder.path(), self.etcd.as_ref(), self.client, self.peer);
        self.wait_ready();
    }

    fn wait_ready(&self) {
        until(self.name(), || {
            self.try_post("/v3/lease/leases", &json!({})).is_some_and(|it| it.0 == 200)
        });
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.try_post(path, body).unwrap_or_else(|| panic!("{} does not respond", self.name()))
    }

    pub(crate) fn post_as(&self, token: &str, path: &str, body: &Value) -> (u16, Value) {
        post_as(token, self.client, path, body).expect("a response")
    }

    fn try_post(&self, path: &str, body: &Value) -> Option<(u16, Value)> {
        post(self.client, path, body)
    }

    /// Repeats a request that changes nothing until it succeeds, and returns the response.
    fn read(&self, path: &str, body: &Value) -> Value {
        let mut response = Value::Null;
        until("a response", || match self.try_post(path, body) {
            Some((200, found)) => {
                response = found;
                true
            }
            _ => false,
        });
        response
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.client
    }

    pub(crate) fn leases(&self) -> usize {
        self.read("/v3/lease/leases", &json!({}))["leases"].as_array().map_or(0, Vec::len)
    }

    /// Grants a lease that no client renews. Returns its ID as JSON.
    pub(crate) fn grant(&self, ttl: Duration) -> Value {
        self.post("/v3/lease/grant", &json!({ "TTL": ttl.as_secs() })).1["ID"].clone()
    }

    pub(crate) fn has_lease(&self, id: &Value) -> bool {
        let leases = self.read("/v3/lease/leases", &json!({}))["leases"].clone();
        leases.as_array().into_iter().flatten().any(|lease| lease["ID"] == *id)
    }

    pub(crate) fn revoke(&self, id: &Value) {
        let (status, response) = self.post("/v3/lease/revoke", &json!({ "ID": id }));
        assert_eq!(status, 200, "{response}");
    }

    /// Returns true if a session has a key in the queue of the lock or election `a`.
    pub(crate) fn has_claim(&self, session: &Session) -> bool {
        let lease = session.id().to_string();
        self.queue().iter().any(|claim| claim["lease"] == *lease)
    }

    /// Returns the keys in the queue of the lock or election `a`, the oldest first.
    pub(crate) fn queue(&self) -> Vec<Value> {
        // All keys below `a/`: the range from `a/` to `a0`.
        let range = json!({ "key": "YS8=", "range_end": "YTA=", "sort_target": "CREATE" });
        self.read("/v3/kv/range", &range)["kvs"].as_array().cloned().unwrap_or_default()
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect([self.url()]).await.expect("a client")
    }

    pub(crate) async fn session(&self, ttl: Duration) -> Session {
        self.client().await.session(ttl).await.expect("a session")
    }

    /// Returns a command that runs `tenure` with the subcommand and options in `line`. `tenure`
    /// runs the shell script `script` while it holds the lock or leads.
    pub(crate) fn wrapper(&self, line: &str, script: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command
            .args(line.split(' '))
            .args(["--endpoints", &self.url(), "--", "sh", "-c", script])
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs `tenure` with a shell script as its command, and waits until both have ended. Returns
    /// the exit status of `tenure`.
    pub(crate) fn run(&self, line: &str, script: &str) -> Option<i32> {
        let wrapper = self.wrapper(line, script).spawn().expect("the command starts");
        Killed(wrapper).wait_with_output().status.code()
    }

    /// Starts `tenure` with a shell script as its command, and waits until the script has printed a
    /// line. Returns the process of `tenure` and the line.
    pub(crate) fn running(&self, line: &str, script: &str) -> (Wrapper, String) {
        let mut child = Killed(self.wrapper(line, script).spawn().expect("the command starts"));
        let line = child.first_line();
        (Wrapper(child), line)
    }
}

fn spawn(folder: &Path, etcd: Option<&Etcd>, client: SocketAddr, peer: SocketAddr) -> Killed {
    let (client, peer) = (format!("http://{client}"), format!("http://{peer}"));
    let mut command = match etcd {
        None => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
            command.args(["serve", "--listen-client-urls", &client]);
            command
        }
        Some(etcd) => {
            let mut command = Command::new(&etcd.program);
            command
                .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
                .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
                .args(["--initial-cluster", &format!("default={peer}")]);
            command
        }
    };
    command.arg("--data-dir").arg(folder.join("data"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Killed(command.spawn().expect("the command starts"))
}

/// Sends a JSON request. Returns the HTTP status and the response; `None` if the connection fails.
pub(crate) fn post(address: SocketAddr, path: &str, body: &Value) -> Option<(u16, Value)> {
    post_as("", address, path, body)
}

fn post_as(token: &str, address: SocketAddr, path: &str, body: &Value) -> Option<(u16, Value)> {
    let token = match token {
        "" => String::new(),
        token => format!("authorization: {token}\r\n"),
    };
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(LIMIT)).ok()?;
    let (body, length) = (body.to_string(), body.to_string().len());
    let head = format!("POST {path} HTTP/1.0\r\nhost: {address}\r\n{token}");
    write!(stream, "{head}content-length: {length}\r\n\r\n{body}").ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).ok()?;
    let (head, body) = response.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).unwrap_or(Value::Null)))
}

/// A running `tenure lock` or `tenure elect`, which is killed when this value is dropped.
pub(crate) struct Wrapper(Killed);

impl Wrapper {
    pub(crate) fn signal(&self, signal: Signal) {
        send(&self.0, signal);
    }

    /// Kills the process, as the system does when memory is short.
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Waits until the process has ended. Returns the exit status, and the text on standard error.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        let mut status: Option<ExitStatus> = None;
        until("the end of a command", || {
            status = self.0.try_wait().expect("a child");
            status.is_some()
        });
        let mut message = String::new();
        if let Some(mut stderr) = self.0.stderr.take() {
            stderr.read_to_string(&mut message).expect("text");
        }
        (status.and_then(|status| status.code()), message)
    }
}

/// Sends a signal to a child process. After SIGSTOP, waits until the child is suspended.
pub(crate) fn send(child: &Child, signal: Signal) {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("an identifier");
    // Ignores an error, because the process may have ended.
    let _ = kill_process(id, signal);
    if signal == Signal::STOP {
        wait_suspended(child.id());
    }
}

pub(crate) fn is_running(id: &str) -> bool {
    state_of(format!("/proc/{id}")).is_some_and(|state| state != 'Z')
}

/// Waits until `holds` returns true. After the time limit, panics with `condition`.
#[track_caller]
pub(crate) fn until(condition: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < LIMIT, "timed out: {condition}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits for a future. Panics if it does not complete within the time limit.
#[track_caller]
pub(crate) fn in_time<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let caller = std::panic::Location::caller();
    async move {
        match tokio::time::timeout(LIMIT, future).await {
            Ok(output) => output,
            Err(_) => panic!("timed out at {caller}"),
        }
    }
}
