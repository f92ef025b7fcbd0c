//! Member in a separate process, and a client that sends JSON to it.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tempfile::TempDir;
use tenure_server::{Config, Server};

use crate::suspended::wait_suspended;

/// Environment variable that makes this test program run as a member. Its value is the path of the
/// configuration file.
const CONFIG_VARIABLE: &str = "TENURE_TEST_MEMBER";

const DIAL_PEERS_VARIABLE: &str = "TENURE_TEST_DIALED";

const DESCRIPTORS_VARIABLE: &str = "TENURE_TEST_DESCRIPTORS";

pub(crate) const EVICTED_STATUS: i32 = 5;

/// Longest time for which a test waits for a response or an effect. Long enough for a busy machine.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(180);

const READY_LINE: &str = "serves clients at ";

/// Member in a separate process, which is killed on drop.
pub(crate) struct Member {
    process: Child,
    /// Standard output of the process. This field keeps the pipe open, because the test harness in
    /// the process writes to it at the end.
    _out: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
    /// Second address at which the member serves clients, if it has one.
    #[cfg(feature = "tls")]
    pub(crate) second: Option<SocketAddr>,
}

impl Member {
    pub(crate) fn single() -> (Files, Member) {
        Member::configured("")
    }

    /// Starts a single member with these additional lines in its configuration file.
    pub(crate) fn configured(lines: &str) -> (Files, Member) {
        let files = Files::configured(1, lines);
        let member = files.start(0);
        (files, member)
    }

    pub(crate) fn cluster() -> (Files, Vec<Member>) {
        let files = Files::of(3);
        let members = files.start_all();
        (files, members)
    }

    /// Starts a member with the configuration file `file`, and waits until it listens. The process
    /// may have at most `descriptors` file descriptors. `dialed` contains the addresses at which
    /// the member dials other members: `NAME=HOST:PORT`, separated by commas.
    pub(crate) fn start(file: &Path, descriptors: u64, dialed: &str) -> Member {
        let mut process = spawn(file, descriptors, dialed);
        let mut out = BufReader::new(process.stdout.take().expect("its output"));
        let mut lines = out.by_ref().lines().map_while(Result::ok);
        let served = lines.find_map(|line| Some(line.split_once(READY_LINE)?.1.to_owned()));
        let served = served.expect("a member that serves");
        let mut addresses = served.split(' ').map(|it| it.parse().expect("an address"));
        let address = addresses.next().expect("an address");
        Member {
            process,
            _out: out,
            address,
            #[cfg(feature = "tls")]
            second: addresses.next(),
        }
    }

    pub(crate) fn start_failing(file: &Path) -> i32 {
        exit_status(&mut spawn(file, 1024, ""))
    }

    pub(crate) fn wait_exit(mut self) -> i32 {
        exit_status(&mut self.process)
    }

    pub(crate) fn kill(mut self) {
        self.crash();
    }

    pub(crate) fn crash(&mut self) {
        self.process.kill().expect("a process that runs");
        self.process.wait().expect("a process that was killed");
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a signal: `STOP`, `CONT`, `TERM`. After `STOP`, waits until the member is suspended.
    pub(crate) fn signal(&self, name: &str) {
        let (signal, id) = (format!("-{name}"), self.process.id().to_string());
        assert!(Command::new("kill").args([&signal, &id]).status().expect("kill").success());
        if name == "STOP" {
            wait_suspended(self.process.id());
        }
    }

    /// Stops the member with the signal TERM, and checks that the process exits successfully.
    pub(crate) fn terminate(mut self) {
        self.signal("TERM");
        assert!(self.process.wait().expect("a process that ends").success());
    }

    /// Sends a request until it succeeds, and returns the response.
    pub(crate) fn ask(&self, path: &str, body: &Value) -> Value {
        self.ask_until(path, body, |status| status == 200).1
    }

    /// Repeats a request while the member responds with 503, because it has no leader. Returns the
    /// HTTP status and the body of the final response.
    pub(crate) fn decided(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask_until(path, body, |status| status != 503)
    }

    fn ask_until(&self, path: &str, body: &Value, is_final: fn(u16) -> bool) -> (u16, Value) {
        let until = Instant::now() + TIME_LIMIT;
        loop {
            match post(self.address, path, body) {
                Some((status, answer)) if is_final(status) => return (status, answer),
                other => {
                    let body: String = body.to_string().chars().take(200).collect();
                    assert!(Instant::now() < until, "{path} {body}: {other:?}");
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn status(&self) -> Value {
        self.ask("/v3/maintenance/status", &json!({}))
    }

    pub(crate) fn id(&self) -> Value {
        self.status()["header"]["member_id"].take()
    }

    pub(crate) fn is_leader(&self) -> bool {
        let status = self.status();
        status["leader"] == status["header"]["member_id"]
    }

    pub(crate) fn claims(&self, name: &str) -> usize {
        let (key, end) = (base64(&format!("{name}/")), base64(&format!("{name}0")));
        let found = self.ask("/v3/kv/range", &json!({ "key": key, "range_end": end }));
        found["count"].as_str().map_or(0, |count| count.parse().expect("a number"))
    }

    #[track_caller]
    pub(crate) fn wait_for_claims(&self, name: &str, count: usize) {
        eventually("the claims are queued", || self.claims(name) == count);
    }

    pub(crate) fn put(&self, key: &str, value: &str) -> Value {
        self.ask("/v3/kv/put", &json!({ "key": base64(key), "value": base64(value) }))
    }

    /// Returns the value of a key, in base64. Returns `None` if the key does not exist.
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        let found = self.ask("/v3/kv/range", &json!({ "key": base64(key) }));
        found.pointer("/kvs/0/value").map(|it| it.as_str().expect("base64").to_owned())
    }
}

fn spawn(file: &Path, descriptors: u64, dialed: &str) -> Child {
    let program = std::env::current_exe().expect("this program");
    Command::new(program)
        .args(["member::run_member", "--exact", "--ignored", "--nocapture"])
        .env(CONFIG_VARIABLE, file)
        .env(DESCRIPTORS_VARIABLE, descriptors.to_string())
        .env(DIAL_PEERS_VARIABLE, dialed)
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .expect("a process")
}

fn exit_status(process: &mut Child) -> i32 {
    let until = Instant::now() + TIME_LIMIT;
    while Instant::now() < until {
        if let Some(status) = process.try_wait().expect("a process") {
            return status.code().expect("a status");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = process.kill();
    panic!("the process does not exit");
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
#[ignore = "a member for other tests, which start it"]
fn run_member() {
    let Some(file) = std::env::var_os(CONFIG_VARIABLE) else { return };
    let most = std::env::var(DESCRIPTORS_VARIABLE).expect("a number").parse().ok();
    let limit = Rlimit { current: most, ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).expect("fewer descriptors");
    let mut config = Config::read(Path::new(&file)).expect("a configuration");
    config.dial_peers = std::env::var(DIAL_PEERS_VARIABLE).ok().filter(|dialed| !dialed.is_empty());
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    let ended = runtime.block_on(async {
        let server = Server::start(&config).await?;
        let mut out = std::io::stdout();
        let addresses: Vec<String> =
            server.client_addresses().iter().map(ToString::to_string).collect();
        writeln!(out, "{READY_LINE}{}", addresses.join(" ")).expect("an open pipe");
        let term = tokio::signal::unix::SignalKind::terminate();
        let mut term = tokio::signal::unix::signal(term).expect("signals");
        let stop = async {
            term.recv().await;
        };
        server.serve(stop).await
    });
    match ended {
        Err(why) if why.is_eviction() => {
            eprintln!("{why}");
            std::process::exit(EVICTED_STATUS);
        }
        ended => ended.expect("a successful run"),
    }
    // The parent does not read the report of the test harness.
    std::process::exit(0);
}

/// Directory with the configuration files of some members.
pub(crate) struct Files {
    folder: TempDir,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) peers: Vec<SocketAddr>,
}

impl Files {
    /// Writes the configuration files of `size` members, named `a`, `b`, …
    pub(crate) fn of(size: usize) -> Files {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let names = ["a", "b", "c", "d", "e"];
        let peers: Vec<SocketAddr> =
            (0..size).map(|_| tenure_runtime::ports::reserve_address()).collect();
        let members = names.iter().zip(&peers).map(|(name, peer)| format!("{name}=http://{peer}"));
        let members: Vec<String> = members.collect();
        let write = |name: &&str| {
            let file = folder.path().join(format!("{name}.toml"));
            let data = folder.path().join(name);
            let mut text = format!(
                "name = {name:?}\ndata-dir = {data:?}\ninitial-cluster = {:?}\n\
                 listen-client-urls = \"http://127.0.0.1:0\"\nsnapshot-count = 20\n",
                members.join(",")
            );
            if size == 1 {
                // A single member elects itself at once. The long timeout only extends the time
                // limit of its requests, which includes the time for elections.
                text.push_str("election-timeout = 20000\n");
            }
            std::fs::write(&file, text).expect("a write");
            file
        };
        let files = names[..size].iter().map(write).collect();
        Files { folder, files, peers }
    }

    /// Writes the configuration files of `size` members. Each file also contains `lines`.
    pub(crate) fn configured(size: usize, lines: &str) -> Files {
        let files = Files::of(size);
        (0..size).for_each(|index| files.configure(index, lines));
        files
    }

    pub(crate) fn configure(&self, index: usize, lines: &str) {
        self.edit(index, |text| format!("{text}{lines}\n"));
    }

    pub(crate) fn edit(&self, index: usize, change: impl FnOnce(String) -> String) {
        let text = std::fs::read_to_string(&self.files[index]).expect("a file");
        std::fs::write(&self.files[index], change(text)).expect("a write");
    }

    pub(crate) fn start(&self, index: usize) -> Member {
        Member::start(&self.files[index], 1024, "")
    }

    pub(crate) fn start_all(&self) -> Vec<Member> {
        (0..self.files.len()).map(|index| self.start(index)).collect()
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Sends a JSON request, and returns the HTTP status and the body of the response. Returns `None`
/// if the connection fails.
pub(crate) fn post(address: SocketAddr, path: &str, body: &Value) -> Option<(u16, Value)> {
    post_as("", address, path, body)
}

/// Sends a JSON request with a token in the header, and returns the same as [`post`]. An empty
/// token is left out.
pub(crate) fn post_as(
    token: &str,
    address: SocketAddr,
    path: &str,
    body: &Value,
) -> Option<(u16, Value)> {
    let (token, body) = (authorization(token), body.to_string());
    let head =
        format!("POST {path} HTTP/1.0\r\nhost: {address}\r\n{token}content-length: {}", body.len());
    let response = exchange(address, &format!("{head}\r\n\r\n{body}"))?;
    let body = serde_json::from_str(&response.body);
    Some((response.status, body.unwrap_or(Value::String(response.body))))
}

/// Returns the line of the HTTP header that carries the token. For an empty token, returns an empty
/// string.
pub(crate) fn authorization(token: &str) -> String {
    match token {
        "" => String::new(),
        token => format!("authorization: {token}\r\n"),
    }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let response = exchange(address, &format!("GET {path} HTTP/1.0\r\n\r\n"));
    let Response { status, body, .. } = response.expect("a response");
    (status, body)
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    /// Returns the value of the header `name`. The name must be in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Sends an HTTP/1.0 request over a new connection; `None` if the connection fails.
pub(crate) fn exchange(address: SocketAddr, request: &str) -> Option<Response> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(TIME_LIMIT)).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).ok()?;
    let (head, body) = response.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Response { status, head: head.to_owned(), body: body.to_owned() })
}

/// Sends a JSON request, and returns the lines of the response as they arrive.
pub(crate) fn follow(
    address: SocketAddr,
    path: &str,
    body: &Value,
) -> impl Iterator<Item = Value> + use<> {
    follow_with(&[], address, path, body)
}

pub(crate) fn follow_with(
    headers: &[(&str, &str)],
    address: SocketAddr,
    path: &str,
    body: &dyn Display,
) -> impl Iterator<Item = Value> + use<> {
    let mut stream = TcpStream::connect(address).expect("a listener");
    stream.set_read_timeout(Some(TIME_LIMIT)).expect("a time");
    let headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
    let headers = headers.collect::<String>();
    let body = body.to_string();
    let head = format!("POST {path} HTTP/1.0\r\n{headers}content-length: {}", body.len());
    write!(stream, "{head}\r\n\r\n{body}").expect("an open connection");
    let lines = BufReader::new(stream).lines().map(|line| line.expect("a response"));
    let body = lines.skip_while(|line| !line.is_empty()).skip(1);
    body.map(|line| serde_json::from_str(&line).expect("JSON"))
}

/// Waits until a condition holds. Use it for delayed effects, such as changes of counters.
#[track_caller]
pub(crate) fn eventually(condition: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + TIME_LIMIT;
    while !holds() {
        assert!(Instant::now() < until, "timed out: {condition}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a test for all `cases` in parallel. The tests mostly wait, so they do not slow each other
/// down.
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

pub(crate) fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut written = String::new();
    for three in text.as_bytes().chunks(3) {
        let number = three.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
        let number = number << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * place) & 63) as usize];
            written.push(if place <= three.len() { char::from(letter) } else { '=' });
        }
    }
    written
}
