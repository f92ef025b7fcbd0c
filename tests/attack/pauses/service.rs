//! The members of a lock service, whose clocks run at different rates.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tenure_runtime::ports::ReservedPorts;

/// Environment variable with the path of the library `libfaketime`.
const LIBRARY_VARIABLE: &str = "TENURE_TEST_FAKETIME";

/// Path of the library `libfaketime`, relative to the distribution's directory for the libraries of
/// one architecture.
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";

/// Time within which a member must shut down, before it is killed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

/// Members of a service. They end when this value is dropped.
pub(super) struct Service {
    pub(super) members: Vec<Child>,
    pub(super) endpoints: Vec<String>,
    _ports: ReservedPorts,
}

pub(super) fn clock_library() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(LIBRARY_VARIABLE) {
        return Some(path.into());
    }
    let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok);
    folders.map(|folder| folder.path().join(LIBRARY)).find(|path| path.exists())
}

impl Service {
    /// Starts a member for each rate in `rates`, with a clock of this rate. A clock with rate 1.01
    /// is 1 % faster than the clock of this machine. If `library` is `None`, all clocks have rate
    /// 1.
    pub(super) fn start(folder: &Path, library: Option<&Path>, rates: &[f64]) -> Service {
        let count = u32::try_from(rates.len()).expect("few members");
        let ports = ReservedPorts::reserve(2 * count).expect("ports");
        let (peers, clients) = ports.addresses().split_at(rates.len());
        let cluster = peers.iter().enumerate().map(|(at, peer)| format!("m{at}=http://{peer}"));
        let cluster = cluster.collect::<Vec<_>>().join(",");
        let members = rates.iter().zip(clients).enumerate().map(|(at, (rate, address))| {
            let log = File::create(folder.join(format!("m{at}.log"))).expect("a file");
            let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
            command
                .args(["serve", "--name", &format!("m{at}"), "--initial-cluster", &cluster])
                .args(["--listen-client-urls", &format!("http://{address}"), "--data-dir"])
                .arg(folder.join(format!("m{at}.tenure")))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(log);
            if let Some(library) = library {
                command.env("LD_PRELOAD", library).env("FAKETIME", format!("+0 x{rate:.5}"));
            }
            command.spawn().expect("the command starts")
        });
        let members = members.collect();
        let endpoints = clients.iter().map(|address| format!("http://{address}")).collect();
        Service { members, endpoints, _ports: ports }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // The library removes its shared memory when a process ends normally.
        for member in &self.members {
            signal(member, Signal::CONT);
            signal(member, Signal::TERM);
        }
        let started = Instant::now();
        for member in &mut self.members {
            while let Ok(None) = member.try_wait() {
                if started.elapsed() > SHUTDOWN_TIMEOUT {
                    let _ = member.kill();
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// Sends a signal to a child process. The process may have ended, but the caller must not have
/// called `wait` for it yet.
pub(super) fn signal(child: &Child, signal: Signal) {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("an identifier");
    // The process may have ended.
    let _ = kill_process(id, signal);
}
