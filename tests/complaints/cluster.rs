//! A cluster of three `tenure serve` processes.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::killed::Killed;
use crate::server::{post, send, until};

const MEMBERS: usize = 3;

/// Members of a cluster. They end when this value is dropped.
pub(crate) struct Cluster {
    members: Vec<Killed>,
    clients: Vec<SocketAddr>,
    _folder: TempDir,
}

impl Cluster {
    pub(crate) fn start() -> Cluster {
        let folder = tempfile::tempdir().expect("a folder");
        let reserve = || (0..MEMBERS).map(|_| tenure_runtime::ports::reserve_address());
        let (peers, clients): (Vec<SocketAddr>, Vec<SocketAddr>) =
            (reserve().collect(), reserve().collect());
        let all = peers.iter().enumerate().map(|(at, peer)| format!("m{at}=http://{peer}"));
        let all = all.collect::<Vec<_>>().join(",");
        let members = clients.iter().enumerate().map(|(at, client)| {
            let member = Command::new(env!("CARGO_BIN_EXE_tenure"))
                .args(["serve", "--name", &format!("m{at}"), "--initial-cluster", &all])
                .args(["--listen-client-urls", &format!("http://{client}"), "--data-dir"])
                .arg(folder.path().join(format!("m{at}")))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            Killed(member.expect("the command starts"))
        });
        let cluster = Cluster { members: members.collect(), clients, _folder: folder };
        cluster.leader();
        cluster
    }

    pub(crate) fn endpoints(&self) -> Vec<String> {
        self.clients.iter().map(|client| format!("http://{client}")).collect()
    }

    pub(crate) fn signal(&self, member: usize, signal: Signal) {
        send(&self.members[member], signal);
    }

    /// Returns the index of the member that leads. No member may be suspended.
    pub(crate) fn leader(&self) -> usize {
        let mut leader = None;
        until("a leader", || {
            leader = (0..MEMBERS).find(|member| self.follows(*member) == Some(*member));
            leader.is_some()
        });
        leader.expect("a leader")
    }

    /// Returns the index of the leader that a member reports. Returns `None` if the member reports
    /// no leader.
    pub(crate) fn follows(&self, member: usize) -> Option<usize> {
        let leader = self.status(member)?["leader"].clone();
        let id = |member| Some(self.status(member)?["header"]["member_id"].clone());
        (0..MEMBERS).find(|member| id(*member).is_some_and(|id| id == leader))
    }

    fn status(&self, member: usize) -> Option<Value> {
        post(self.clients[member], "/v3/maintenance/status", &json!({})).map(|(_, status)| status)
    }
}
