//! Tests of two copies of the service. Each copy is a process of its own, and the lock service runs
//! inside the test process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tenure_server::{Config, Server};

/// Time limit of each wait in the tests.
const LONG: Duration = Duration::from_secs(120);

/// Time to live of a copy's session, in seconds. It is long enough for a copy on a busy machine to
/// renew the session in time.
const TTL: &str = "6";

/// A lock service that runs until this value is dropped.
struct Service {
    endpoint: String,
    _runtime: tokio::runtime::Runtime,
    _folder: TempDir,
}

impl Service {
    fn start() -> Service {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let config = Config {
            data_dir: Some(folder.path().join("data")),
            listen_client_urls: "http://127.0.0.1:0".into(),
            ..Config::default()
        };
        let server = runtime.block_on(Server::start(&config)).expect("a member");
        let endpoint = format!("http://{}", server.client_addresses()[0]);
        runtime.spawn(server.serve(std::future::pending()));
        Service { endpoint, _runtime: runtime, _folder: folder }
    }
}

/// A copy of the service as a process, which is killed when this value is dropped.
struct Copy {
    process: Child,
    address: String,
}

impl Copy {
    fn start(service: &Service) -> Copy {
        let mut process = Command::new(env!("CARGO_BIN_EXE_leader-service"))
            .args(["127.0.0.1:0", &service.endpoint, TTL])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        // Reads and ignores the rest of the output, which must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        let address = line.trim().trim_start_matches("http://").to_owned();
        Copy { process, address }
    }

    /// Sends an HTTP request to this copy. Returns the status and the body of the response.
    fn send(&self, request: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let length = body.len();
        let head = format!("{request} HTTP/1.0\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all((head + body).as_bytes()).expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        let (head, body) = response.split_once("\r\n\r\n").expect("a body");
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
        (status, body.to_owned())
    }

    /// Asks this copy whether it leads. If the copy leads, returns the fencing token of its
    /// leadership.
    fn fence(&self) -> Option<u64> {
        let (status, body) = self.send("GET /leader", "");
        assert!(status == 200 || status == 503, "{status}: {body}");
        (status == 200).then(|| body.trim().parse().expect("a token"))
    }

    fn wait_until_it_leads(&self) -> u64 {
        let started = Instant::now();
        loop {
            if let Some(fence) = self.fence() {
                return fence;
            }
            assert!(started.elapsed() < LONG, "it does not lead");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        kill_process(id.expect("an identifier"), signal).expect("it exists");
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn standby_takes_over_from_killed_leader() {
    let service = Service::start();
    let first = Copy::start(&service);
    let earlier = first.wait_until_it_leads();
    let second = Copy::start(&service);
    assert_eq!(second.send("POST /jobs", "report").0, 503, "a standby accepts no job");
    let (status, body) = first.send("POST /jobs", "report");
    assert_eq!((status, body), (200, format!("report started with fencing token {earlier}\n")));
    drop(first);
    assert!(second.wait_until_it_leads() > earlier);
    assert_eq!(second.send("POST /jobs", "report").0, 200);
}

#[test]
fn paused_leader_rejects_its_next_request() {
    let service = Service::start();
    let first = Copy::start(&service);
    let earlier = first.wait_until_it_leads();
    let second = Copy::start(&service);
    first.signal(Signal::STOP);
    let later = second.wait_until_it_leads();
    assert!(later > earlier);
    first.signal(Signal::CONT);
    // The deadline of the first copy had passed before the second one became the leader.
    assert_eq!(first.send("POST /jobs", "report").0, 503);
    assert_eq!(second.fence(), Some(later));
}
