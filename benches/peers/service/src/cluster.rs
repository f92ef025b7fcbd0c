//! Three members of a service as child processes, with their data in one folder.

use std::fs::{File, create_dir_all, write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use crate::side::{Programs, ServiceKind};

pub const MEMBERS: usize = 3;

const START_TIMEOUT: Duration = Duration::from_secs(60);

pub struct Cluster {
    kind: ServiceKind,
    programs: Programs,
    folder: PathBuf,
    clients: Vec<SocketAddr>,
    peers: Vec<SocketAddr>,
    /// Election addresses of ZooKeeper.
    votes: Vec<SocketAddr>,
    members: Vec<Option<Child>>,
}

impl Cluster {
    pub async fn start(kind: ServiceKind, programs: &Programs, folder: &Path) -> Cluster {
        let mut ports = free_ports(3 * MEMBERS);
        let votes = ports.split_off(2 * MEMBERS);
        let clients = ports.split_off(MEMBERS);
        let mut cluster = Cluster {
            kind,
            programs: programs.clone(),
            folder: folder.to_owned(),
            clients,
            peers: ports,
            votes,
            members: (0..MEMBERS).map(|_| None).collect(),
        };
        for index in 0..MEMBERS {
            cluster.restart(index);
        }
        cluster.leader().await;
        cluster
    }

    pub fn clients(&self) -> &[SocketAddr] {
        &self.clients
    }

    pub fn restart(&mut self, index: usize) {
        let folder = self.folder.join(format!("m{index}"));
        create_dir_all(&folder).expect("a folder for a member");
        let log = File::options().create(true).append(true).open(self.folder.join("log"));
        let log = log.expect("a file for what members say");
        let mut command = match self.kind {
            ServiceKind::Etcd => self.etcd(index, &folder),
            ServiceKind::ZooKeeper => self.zookeeper(index, &folder),
            ServiceKind::Tenure => self.tenure(index, &folder),
        };
        let said = log.try_clone().expect("the file once more");
        let child = command.stdin(Stdio::null()).stdout(said).stderr(log).process_group(0).spawn();
        self.members[index] = Some(child.expect("a member starts"));
    }

    fn list(&self, scheme: &str) -> String {
        let names = self.peers.iter().enumerate();
        let members: Vec<_> = names.map(|(at, it)| format!("m{at}={scheme}{it}")).collect();
        members.join(",")
    }

    fn etcd(&self, index: usize, folder: &Path) -> Command {
        let (client, peer) = (self.clients[index], self.peers[index]);
        let mut command = Command::new(&self.programs.etcd);
        command
            .args(["--name", &format!("m{index}"), "--log-level", "error"])
            .arg("--data-dir")
            .arg(folder)
            .args(["--listen-client-urls", &format!("http://{client}")])
            .args(["--advertise-client-urls", &format!("http://{client}")])
            .args(["--listen-peer-urls", &format!("http://{peer}")])
            .args(["--initial-advertise-peer-urls", &format!("http://{peer}")])
            .args(["--initial-cluster", &self.list("http://")])
            .args(["--initial-cluster-token", "bench"]);
        command
    }

    /// Returns the command that starts a member of ZooKeeper, with the settings of ZooKeeper's
    /// documentation. The transaction log is flushed before a response, as in the other services.
    fn zookeeper(&self, index: usize, folder: &Path) -> Command {
        let number = |at: usize| at + 1;
        let mut config = format!(
            "tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir={}\nclientPortAddress={}\n\
             clientPort={}\nmaxClientCnxns=0\nadmin.enableServer=false\n\
             4lw.commands.whitelist=srvr\n",
            folder.display(),
            self.clients[index].ip(),
            self.clients[index].port(),
        );
        for (at, (peer, vote)) in self.peers.iter().zip(&self.votes).enumerate() {
            config += &format!("server.{}={peer}:{}\n", number(at), vote.port());
        }
        let file = folder.with_extension("cfg");
        write(&file, config).expect("a file for the settings of a member");
        write(folder.join("myid"), number(index).to_string()).expect("a file for its number");
        let library = self.programs.zookeeper.as_ref().expect("ZooKeeper, if requested");
        let mut command = Command::new("java");
        command
            .arg("-cp")
            .arg(library)
            .args(["-Xmx512m", "-Dzookeeper.jmx.log4j.disable=true"])
            .arg("org.apache.zookeeper.server.quorum.QuorumPeerMain")
            .arg(file);
        command
    }

    fn tenure(&self, index: usize, folder: &Path) -> Command {
        let mut command = Command::new(&self.programs.tenure);
        command
            .args(["serve", "--name", &format!("m{index}")])
            .arg("--data-dir")
            .arg(folder)
            .args(["--listen-client-urls", &format!("http://{}", self.clients[index])])
            .args(["--initial-cluster", &self.list("http://")])
            .env("RUST_LOG", "warn");
        command
    }

    /// Returns the leader, once all running members know it.
    pub async fn leader(&self) -> usize {
        let until = Instant::now() + START_TIMEOUT;
        loop {
            let mut leaders = Vec::new();
            for index in (0..MEMBERS).filter(|at| self.members[*at].is_some()) {
                leaders.push(self.leader_of(index).await);
            }
            if let Some(Some(first)) = leaders.first().copied()
                && leaders.iter().all(|it| *it == Some(first))
            {
                return first;
            }
            assert!(Instant::now() < until, "{:?} has a leader, not {leaders:?}", self.kind);
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn leader_of(&self, index: usize) -> Option<usize> {
        if self.kind == ServiceKind::ZooKeeper {
            return self.leader_in_zookeeper().await;
        }
        let leader = crate::recipe::leader(&self.clients, index).await;
        leader.filter(|it| self.members[*it].is_some())
    }

    /// Returns the leader of ZooKeeper. Asks each member, because a member knows only whether it is
    /// the leader itself.
    async fn leader_in_zookeeper(&self) -> Option<usize> {
        let mut leader = None;
        for index in (0..MEMBERS).filter(|at| self.members[*at].is_some()) {
            if crate::zookeeper::leads(self.clients[index]).await? {
                leader = Some(index);
            }
        }
        leader
    }

    pub fn id(&self, index: usize) -> u32 {
        self.members[index].as_ref().expect("a running member").id()
    }

    pub fn signal(&self, index: usize, signal: Signal) {
        let child = self.members[index].as_ref().expect("a running member");
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.expect("a process id"), signal).expect("a signal is sent");
    }

    pub fn wait_ended(&mut self, index: usize) {
        if let Some(mut child) = self.members[index].take() {
            child.wait().expect("a member ends");
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for member in self.members.iter_mut().flatten() {
            // The process may have ended already.
            let _ = member.kill();
            let _ = member.wait();
        }
    }
}

/// Returns the resident memory of each member, in bytes.
pub fn memory(cluster: &Cluster) -> [u64; MEMBERS] {
    std::array::from_fn(|member| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", cluster.id(member)));
        let status = status.expect("a member runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.expect("the memory, from Linux") * 1024
    })
}

fn free_ports(count: usize) -> Vec<SocketAddr> {
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    let address = |it: std::io::Result<TcpListener>| it.and_then(|it| it.local_addr());
    listeners.into_iter().map(|it| address(it).expect("a free port")).collect()
}
