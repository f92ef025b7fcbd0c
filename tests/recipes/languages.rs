//! Tests of the programs in `examples/languages`. The programs lock, elect and compare tokens at a
//! real service, in the same queues as `tenure lock` and `tenure elect`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::killed::Killed;
use crate::service::{Service, example, has_programs, until};
use crate::skipped::report_skip;

struct Language<'a> {
    /// Function that returns a command for one of the programs `lock`, `elect` and `fences`.
    program: &'a dyn Fn(&str) -> Command,
    /// Endpoint of the service, as the library of the language expects it.
    endpoint: String,
    /// Name of the queue in which clients of the library wait for the lock or election `a`.
    queue: &'static str,
}

/// A running program that holds a lock or leads. The program ends when its standard input is
/// closed.
struct Running {
    child: Killed,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn start(mut command: Command) -> Running {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Running { child: Killed(child), output }
    }

    /// Waits until the program has printed its fencing token, and returns the token.
    #[track_caller]
    fn fence(&mut self) -> u64 {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        let fence = line.trim().strip_prefix("fence ").and_then(|fence| fence.parse().ok());
        fence.unwrap_or_else(|| panic!("no fencing token: {line:?}"))
    }

    fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    /// Ends the program, and waits until it has released its lock or leadership.
    #[track_caller]
    fn finish(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("an end").success());
    }
}

/// Returns the fencing tokens of all clients in a queue, the oldest first.
fn queue(service: &Service, name: &str) -> Vec<u64> {
    let mut command = service.command("tenure");
    command.args(["locks", "queue", name, "--format", "json", "--endpoints", &service.url()]);
    let output = command.output().expect("the command starts");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let claims = report["queue"].as_array().cloned().unwrap_or_default();
    claims.iter().filter_map(|claim| claim["fence"].as_u64()).collect()
}

impl Language<'_> {
    fn run(&self, service: &Service, program: &str, arguments: &[&str]) -> Running {
        let mut command = (self.program)(program);
        command.arg(&self.endpoint).args(arguments);
        command.current_dir(service.path("."));
        Running::start(command)
    }

    /// Runs `tenure lock` or `tenure elect` in the queue that the programs of this language use.
    /// The command waits for the lock or the leadership, and keeps it until its standard input is
    /// closed.
    fn tenure(&self, service: &Service, command: &str) -> Running {
        let mut tenure = service.command("tenure");
        tenure.args([command, "--endpoints", &service.url(), self.queue, "--"]);
        tenure.args(["sh", "-c", "echo fence $TENURE_FENCE; cat"]);
        Running::start(tenure)
    }

    /// Asserts that a program waits while a command of Tenure holds the lock, and then acquires the
    /// lock with a higher token. Asserts that a command of Tenure waits in the same way while the
    /// program holds the lock.
    #[track_caller]
    fn assert_passed_on(&self, service: &Service, holder: &str, program: &str, more: &[&str]) {
        let mut first = self.tenure(service, holder);
        let earlier = first.fence();
        let arguments = [&["a"], more].concat();
        let mut second = self.run(service, program, &arguments);
        until("the program waits", || queue(service, self.queue).len() == 2);
        assert!(second.is_running());
        assert_eq!(queue(service, self.queue)[0], earlier, "the program does not overtake");
        first.finish();
        let later = second.fence();
        assert!(later > earlier, "{later}");
        assert_eq!(queue(service, self.queue), [later]);

        // Now the other way round: a command of Tenure waits while the program holds the lock.
        let mut third = self.tenure(service, holder);
        until("the command waits", || queue(service, self.queue).len() == 2);
        second.finish();
        assert!(third.fence() > later);
        third.finish();
        until("the queue is empty", || queue(service, self.queue).is_empty());
    }

    #[track_caller]
    fn assert_works(&self, service: &Service) {
        self.assert_passed_on(service, "lock", "lock", &[]);
        self.assert_passed_on(service, "elect", "elect", &["host-7"]);
        let mut leader = self.run(service, "elect", &["a", "host-8"]);
        let fence = leader.fence();
        assert_eq!(observed_leader(service, self.queue), ("host-8".to_owned(), fence));
        leader.finish();

        let mut command = (self.program)("fences");
        let output = command.args([&self.endpoint, "a"]).output().expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("text");
        let numbers: Vec<u64> = text.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        assert!(text.starts_with("rejected ") && numbers.len() == 2, "{text}");
        assert!(fence < numbers[0] && numbers[0] < numbers[1], "{text}");
    }
}

/// Returns the value and the fencing token of the leader that `tenure elect --observe` prints.
fn observed_leader(service: &Service, election: &str) -> (String, u64) {
    let mut command = service.command("tenure");
    command.args(["elect", "--observe", "--endpoints", &service.url(), election]);
    let mut observer = Running::start(command);
    let mut line = String::new();
    observer.output.read_line(&mut line).expect("a line");
    let leader: Value = serde_json::from_str(&line).expect("JSON");
    let value = leader["leader"].as_str().unwrap_or_default().to_owned();
    (value, leader["fence"].as_u64().expect("a token"))
}

fn program(language: &str, name: &str, suffix: &str) -> PathBuf {
    example(&format!("languages/{language}/{name}.{suffix}"))
}

#[test]
fn python_programs_share_queues_with_tenure() {
    if !has_programs(&["python3"]) {
        return;
    }
    let service = Service::start();
    let run = |name: &str| {
        let mut python = Command::new("python3");
        python.env("PYTHONDONTWRITEBYTECODE", "1").arg(program("python", name, "py"));
        python
    };
    Language { program: &run, endpoint: service.url(), queue: "a" }.assert_works(&service);
}

#[test]
fn node_programs_share_queues_with_tenure() {
    if !has_programs(&["node"]) {
        return;
    }
    // Node finds the package in `NODE_PATH`, or in `examples/languages/node/node_modules`.
    let find = ["-e", "require.resolve('etcd3', { paths: [process.argv[1]] })"];
    let mut node = Command::new("node");
    node.args(find).arg(example("languages/node")).stderr(Stdio::null());
    if !node.status().expect("node starts").success() {
        report_skip("the npm package etcd3");
        return;
    }
    let service = Service::start();
    let run = |name: &str| {
        let mut node = Command::new("node");
        node.arg(program("node", name, "js"));
        node
    };
    Language { program: &run, endpoint: service.url(), queue: "election/a" }.assert_works(&service);
}

#[test]
fn go_programs_share_queues_with_tenure() {
    // Debian packages release 3.4 of the library, which has an older import path.
    let gopath = std::env::var("GOPATH").unwrap_or_else(|_| "/usr/share/gocode".to_owned());
    let library = "go.etcd.io/etcd/clientv3";
    if !has_programs(&["go"]) {
        return;
    }
    if !Path::new(&gopath).join("src").join(library).exists() {
        report_skip("golang-etcd-server-dev");
        return;
    }
    let service = Service::start();
    for name in ["lock", "elect", "fences"] {
        let source = std::fs::read_to_string(program("go", name, "go")).expect("a program");
        let source = source.replace("go.etcd.io/etcd/client/v3", library);
        let file = service.path(&format!("{name}.go"));
        std::fs::write(&file, source).expect("written");
        let mut go = Command::new("go");
        go.args(["build", "-o"]).arg(service.path(name)).arg(file);
        go.env("GO111MODULE", "off").env("GOPATH", &gopath);
        if std::env::var_os("GOCACHE").is_none() {
            go.env("GOCACHE", service.path("gocache"));
        }
        let output = go.output().expect("go starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let run = |name: &str| Command::new(service.path(name));
    // Release 3.4 would use an endpoint with a scheme as the name of the host.
    let endpoint = service.url().replace("http://", "");
    Language { program: &run, endpoint, queue: "a" }.assert_works(&service);
}

#[test]
fn java_programs_share_queues_with_tenure() {
    if !has_programs(&["java"]) {
        return;
    }
    let Ok(jetcd) = std::env::var("JETCD_CLASSPATH") else {
        report_skip("jetcd-core and its dependencies in JETCD_CLASSPATH");
        return;
    };
    let service = Service::start();
    let run = |name: &str| {
        let class = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
        let mut java = Command::new("java");
        java.args(["-cp", &jetcd]).arg(program("java", &class, "java"));
        java
    };
    Language { program: &run, endpoint: service.url(), queue: "a" }.assert_works(&service);
}
