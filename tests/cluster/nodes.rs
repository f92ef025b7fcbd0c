//! Nodes of one cluster, which `tenure node` starts with one configuration file each.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use tenure_runtime::ports::reserve_address;

use crate::killed::Killed;
use crate::running::tenure;
use crate::waiting::eventually;

pub(crate) struct Nodes {
    directory: TempDir,
    addresses: Vec<String>,
    election: &'static str,
}

/// A running node, which is killed when this value is dropped.
pub(crate) struct Node {
    child: Killed,
    /// Path of the node's output files, without their extensions.
    files: PathBuf,
}

impl Nodes {
    /// Prepares a cluster with these addresses, in the order of the node numbers.
    pub(crate) fn at(addresses: Vec<String>) -> Nodes {
        let directory = tempfile::tempdir().unwrap();
        create_keys(addresses.len(), &directory.path().join("keys"));
        Nodes { directory, addresses, election: "bully" }
    }

    /// Returns the same cluster with another election. The default is the bully algorithm.
    pub(crate) fn electing(self, election: &'static str) -> Nodes {
        Nodes { election, ..self }
    }

    pub(crate) fn on_loopback(size: u32) -> Nodes {
        Nodes::at((0..size).map(|_| reserve_address().to_string()).collect())
    }

    pub(crate) fn address(&self, me: u32) -> String {
        self.addresses[me as usize - 1].clone()
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn trace(&self, me: u32) -> PathBuf {
        self.file(me, "ndjson")
    }

    /// Writes the configuration file of a node. `sections` is added to it.
    pub(crate) fn configure(&self, me: u32, sections: &str) {
        let Nodes { addresses, election, .. } = self;
        let keys = self.directory.path().join("keys");
        let (private, public) = (keys.join(format!("p{me}.key")), keys.join("public.keys"));
        let (state, trace) = (self.file(me, "state"), self.trace(me));
        let text = format!(
            "version = 1\n[cluster]\nname = \"test\"\nme = {me}\naddresses = {addresses:?}\n\
             private_key = {private:?}\npublic_keys = {public:?}\n\
             [service]\nmutex = \"coordinated:{election}\"\nelection = \"{election}\"\n\
             [store]\ndirectory = {state:?}\n[trace]\nfile = {trace:?}\n{sections}"
        );
        fs::write(self.file(me, "toml"), text).unwrap();
    }

    pub(crate) fn change(&self, me: u32, from: &str, to: &str) {
        let path = self.file(me, "toml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}: {text}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    /// Starts the node `me` with its configuration file. `within` contains the first words of the
    /// command line. For example, they enter a network namespace or set limits.
    pub(crate) fn start(&self, me: u32, within: &[String]) -> Node {
        self.start_line(me, within, &[])
    }

    pub(crate) fn start_with(&self, me: u32, options: &[&str]) -> Node {
        self.start_line(me, &[], options)
    }

    fn start_line(&self, me: u32, within: &[String], options: &[&str]) -> Node {
        let mut line: Vec<String> = within.to_vec();
        line.extend([env!("CARGO_BIN_EXE_tenure"), "node", "--config"].map(str::to_owned));
        line.push(self.file(me, "toml").to_str().unwrap().to_owned());
        line.extend(options.iter().map(|option| (*option).to_owned()));
        Node::spawn(self.file(me, ""), &line)
    }

    fn file(&self, me: u32, end: &str) -> PathBuf {
        self.directory.path().join(format!("p{me}")).with_extension(end)
    }
}

pub(crate) fn create_keys(size: usize, folder: &Path) {
    tenure(&format!("keys new --nodes {size} --to {}", folder.display())).expect(0);
}

impl Node {
    /// Starts a command line as a node. Its output goes to files with the path `files` and the
    /// extensions `out` and `err`.
    pub(crate) fn spawn(files: PathBuf, line: &[String]) -> Node {
        let output = |end: &str| File::create(files.with_extension(end)).unwrap();
        let child = Command::new(&line[0])
            .args(&line[1..])
            .stdin(Stdio::null())
            .stdout(output("out"))
            .stderr(output("err"))
            .spawn()
            .unwrap();
        Node { child: Killed(child), files }
    }

    pub(crate) fn reports(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.files.with_extension("out")).unwrap();
        // The last line may be incomplete.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Returns the values of `key` in all reports of the node that contain this key.
    pub(crate) fn reported(&self, key: &str) -> Vec<Value> {
        self.reports().iter().filter_map(|report| report.get(key).cloned()).collect()
    }

    /// Returns the leader that the node reported last.
    pub(crate) fn leader(&self) -> Option<u32> {
        let reports = self.reports();
        let news = |it: &&Value| it.get("elected").or(it.get("deposed")).is_some();
        let leader = reports.iter().rev().find(news)?.get("elected")?["leader"].as_u64()?;
        u32::try_from(leader).ok()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.files.with_extension("err")).unwrap()
    }

    /// Waits until the node listens, and returns its address.
    #[track_caller]
    pub(crate) fn listens(&self) -> SocketAddr {
        eventually("a node that listens", || {
            let address = |report: &Value| report.get("ready")?["address"].as_str()?.parse().ok();
            self.reports().iter().find_map(address)
        })
    }

    /// Waits until `leader` is the leader that the node reported last. Returns its term.
    #[track_caller]
    pub(crate) fn follows(&mut self, leader: u32) -> u64 {
        eventually("an election", || {
            assert_eq!(self.status(), None, "it has ended: {}", self.log());
            let last = self.reported("elected").pop()?;
            (last["leader"] == leader).then(|| last["term"].as_u64().unwrap())
        })
    }

    /// Waits until the node has reported the URL of its status page, and returns the URL.
    #[track_caller]
    pub(crate) fn page(&self) -> String {
        eventually("a page", || {
            let url = |report: &Value| Some(report.get("page")?["url"].as_str()?.to_owned());
            self.reports().iter().find_map(url)
        })
    }

    pub(crate) fn status(&mut self) -> Option<i32> {
        let status = self.child.try_wait().unwrap()?;
        Some(status.code().unwrap_or(-1))
    }

    #[track_caller]
    pub(crate) fn wait(&mut self) -> i32 {
        eventually("the end of a node", || self.status())
    }

    /// Returns the resident memory of the node in KiB.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}
