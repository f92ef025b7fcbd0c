//! A member in a process of its own, and how it is asked over JSON.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tempfile::TempDir;
use tenure_server::{Config, Server};

/// By which a process of this program is told to be a member.
const CONFIG: &str = "TENURE_TEST_MEMBER";

/// By which it is told where it dials the others.
const DIALED: &str = "TENURE_TEST_DIALED";

/// By which it is told how many descriptors it has.
const DESCRIPTORS: &str = "TENURE_TEST_DESCRIPTORS";

/// The status of a process whose member must not take part any more.
pub(crate) const EVICTED: i32 = 5;

/// What a member says when it serves.
const SERVES: &str = "serves clients at ";

/// A member in a process of its own, which is killed when this is dropped.
pub(crate) struct Member {
    process: Child,
    /// It would end if nobody read any more when the test harness has something to say.
    _out: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
    /// Where clients are served as well.
    #[cfg(feature = "tls")]
    pub(crate) second: Option<SocketAddr>,
}

impl Member {
    /// Starts one as a file says, and waits until it listens.
    pub(crate) fn start(file: &Path) -> Member {
        Member::start_with(file, 1024)
    }

    /// The same with so many descriptors at most.
    pub(crate) fn start_with(file: &Path, descriptors: u64) -> Member {
        Member::start_as(file, descriptors, "")
    }

    /// The same, which dials the others at these addresses: `NAME=HOST:PORT` with commas between.
    pub(crate) fn start_dialing(file: &Path, dialed: &str) -> Member {
        Member::start_as(file, 1024, dialed)
    }

    fn start_as(file: &Path, descriptors: u64, dialed: &str) -> Member {
        let mut process = spawned(file, descriptors, dialed);
        let mut out = BufReader::new(process.stdout.take().expect("its output"));
        let mut lines = out.by_ref().lines().map_while(Result::ok);
        let served = lines.find_map(|line| Some(line.split_once(SERVES)?.1.to_owned()));
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

    /// Starts one that is not to start, and returns the status with which it ends.
    pub(crate) fn fails(file: &Path) -> i32 {
        ended(&mut spawned(file, 1024, ""))
    }

    /// Waits until it ends by itself, and returns its status.
    pub(crate) fn ends(mut self) -> i32 {
        ended(&mut self.process)
    }

    /// Ends it without a word.
    pub(crate) fn kill(mut self) {
        self.process.kill().expect("a process that runs");
        self.process.wait().expect("a process that was killed");
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends it a signal: `STOP`, `CONT`, `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let (signal, id) = (format!("-{name}"), self.process.id().to_string());
        assert!(Command::new("kill").args([&signal, &id]).status().expect("kill").success());
    }

    /// Ends it in good order.
    pub(crate) fn terminate(mut self) {
        self.signal("TERM");
        assert!(self.process.wait().expect("a process that ends").success());
    }

    /// Asks, and expects to be answered within 20 s, however often it is to be asked.
    pub(crate) fn ask(&self, path: &str, asked: &Value) -> Value {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            match post(self.address, path, asked) {
                Some((200, answer)) => return answer,
                other => {
                    let asked: String = asked.to_string().chars().take(200).collect();
                    assert!(Instant::now() < until, "{path} {asked}: {other:?}");
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn put(&self, key: &str, value: &str) -> Value {
        self.ask("/v3/kv/put", &json!({ "key": base64(key), "value": base64(value) }))
    }

    /// What a key is.
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        let found = self.ask("/v3/kv/range", &json!({ "key": base64(key) }));
        found.pointer("/kvs/0/value").map(|it| it.as_str().expect("base64").to_owned())
    }
}

fn spawned(file: &Path, descriptors: u64, dialed: &str) -> Child {
    let program = std::env::current_exe().expect("this program");
    Command::new(program)
        .args(["member::in_a_process", "--exact", "--ignored", "--nocapture"])
        .env(CONFIG, file)
        .env(DESCRIPTORS, descriptors.to_string())
        .env(DIALED, dialed)
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .expect("a process")
}

/// The status with which a process ends, within a minute.
fn ended(process: &mut Child) -> i32 {
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        if let Some(status) = process.try_wait().expect("a process") {
            return status.code().expect("a status");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = process.kill();
    panic!("it does not end");
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
#[ignore = "a member for other tests, which start it"]
fn in_a_process() {
    let Some(file) = std::env::var_os(CONFIG) else { return };
    let most = std::env::var(DESCRIPTORS).expect("a number").parse().ok();
    let limit = Rlimit { current: most, ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).expect("fewer descriptors");
    let mut config = Config::read(Path::new(&file)).expect("a configuration");
    config.dial_peers = std::env::var(DIALED).ok().filter(|dialed| !dialed.is_empty());
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    let ended = runtime.block_on(async {
        let server = Server::start(&config).await?;
        let mut out = std::io::stdout();
        let addresses: Vec<String> = server.addresses().iter().map(ToString::to_string).collect();
        writeln!(out, "{SERVES}{}", addresses.join(" ")).expect("somebody reads");
        let term = tokio::signal::unix::SignalKind::terminate();
        let mut term = tokio::signal::unix::signal(term).expect("signals");
        let stop = async {
            term.recv().await;
        };
        server.run(stop).await
    });
    match ended {
        Err(why) if why.is_expulsion() => {
            eprintln!("{why}");
            std::process::exit(EVICTED);
        }
        ended => ended.expect("a good end"),
    }
    // Nobody reads any more what a test says when it is done.
    std::process::exit(0);
}

/// A folder with the files of some members.
pub(crate) struct Files {
    folder: TempDir,
    pub(crate) files: Vec<PathBuf>,
    /// Where the members reach each other.
    pub(crate) peers: Vec<SocketAddr>,
}

impl Files {
    /// Those of one member that is alone.
    pub(crate) fn alone() -> Files {
        Files::of(1)
    }

    /// Those of so many members, called `a`, `b`, …
    pub(crate) fn of(size: usize) -> Files {
        let folder = tempfile::tempdir().expect("a folder");
        let names = ["a", "b", "c", "d", "e"];
        let peers: Vec<SocketAddr> = (0..size).map(|_| tenure_ports::reserved()).collect();
        let members = names.iter().zip(&peers).map(|(name, peer)| format!("{name}=http://{peer}"));
        let members: Vec<String> = members.collect();
        let write = |name: &&str| {
            let file = folder.path().join(format!("{name}.toml"));
            let data = folder.path().join(name);
            let text = format!(
                "name = {name:?}\ndata-dir = {data:?}\ninitial-cluster = {:?}\n\
                 listen-client-urls = \"http://127.0.0.1:0\"\nsnapshot-count = 20\n",
                members.join(",")
            );
            std::fs::write(&file, text).expect("room");
            file
        };
        let files = names[..size].iter().map(write).collect();
        Files { folder, files, peers }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Asks over JSON: the status and the answer; nothing where nobody answers.
pub(crate) fn post(address: SocketAddr, path: &str, asked: &Value) -> Option<(u16, Value)> {
    post_as("", address, path, asked)
}

/// The same with a token, if one is given.
pub(crate) fn post_as(
    token: &str,
    address: SocketAddr,
    path: &str,
    asked: &Value,
) -> Option<(u16, Value)> {
    let token = match token {
        "" => String::new(),
        token => format!("authorization: {token}\r\n"),
    };
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let body = asked.to_string();
    write!(
        stream,
        "POST {path} HTTP/1.0\r\nhost: {address}\r\n{token}\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).unwrap_or(Value::String(body.to_owned()))))
}

/// Posts something that is answered bit by bit, each in a line.
pub(crate) fn follow(
    address: SocketAddr,
    path: &str,
    asked: &Value,
) -> impl Iterator<Item = Value> + use<> {
    follow_with(&[], address, path, asked)
}

/// The same with these headers.
pub(crate) fn follow_with(
    headers: &[(&str, &str)],
    address: SocketAddr,
    path: &str,
    asked: &Value,
) -> impl Iterator<Item = Value> + use<> {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    let headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
    let headers = headers.collect::<String>();
    let (body, length) = (asked.to_string(), asked.to_string().len());
    write!(stream, "POST {path} HTTP/1.0\r\n{headers}content-length: {length}\r\n\r\n{body}")
        .expect("it reads");
    let lines = BufReader::new(stream).lines().map(|line| line.expect("an answer"));
    let body = lines.skip_while(|line| !line.is_empty()).skip(1);
    body.map(|line| serde_json::from_str(&line).expect("JSON"))
}

/// Waits until something is so, for 20 s at most. A connection ends before it is counted, say.
#[track_caller]
pub(crate) fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < until, "not so: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// As JSON has bytes.
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
