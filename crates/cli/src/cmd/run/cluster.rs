//! Controls the nodes of a run: starts and ends them, and injects faults into them.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use tenure_core::ProcessId;
use tenure_daemon::resource::DelayedRead;
use tenure_daemon::{
    CONFIG_FORMAT_VERSION, ChannelConfig, Config, DataDirectoryConfig, FailureDetectorConfig,
    NodeEvent, TraceConfig, WorkloadConfig, create_key_files, private_key_file, public_keys_file,
};
use tenure_runtime::ports::ReservedPorts;
use tenure_trace::RecordKind;
use tokio::sync::mpsc::UnboundedSender;

use super::link_proxies::LinkProxies;
use super::node_process::{NodeFiles, NodeOutput, NodeOutputMessage, NodeProcess, NodeState};
use super::parent_trace::ParentTrace;
use super::plan::NodeRunPlan;
use super::schedule::FaultTarget;
use super::workspace::Workspace;
use crate::cmd::failure::Failure;

/// Time within which a node must shut down after a request. Then the node is killed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Cluster<'a> {
    pub(super) nodes: Vec<NodeProcess>,
    plan: &'a NodeRunPlan,
    workspace: &'a Workspace,
    program: PathBuf,
    ports: ReservedPorts,
    /// Proxies between the nodes; `None` if the plan contains no partitions.
    proxies: Option<LinkProxies>,
    /// Address of the counter that the lock protects.
    resource: SocketAddr,
    /// Process that waits inside the critical section for the response to its read of the counter.
    /// Scheduled actions on the holder of the lock apply to this process. The process continues
    /// when this value is dropped. `None` if no action waits for a holder, or if no process has
    /// entered yet.
    pub(super) blocked_holder: Option<DelayedRead>,
    trace: ParentTrace,
    messages: UnboundedSender<NodeOutputMessage>,
}

impl<'a> Cluster<'a> {
    pub(super) async fn new(
        plan: &'a NodeRunPlan,
        workspace: &'a Workspace,
        resource: SocketAddr,
        messages: UnboundedSender<NodeOutputMessage>,
    ) -> Result<Self, Failure> {
        let program =
            std::env::current_exe().map_err(Failure::cannot("find this program's own file"))?;
        let ports = ReservedPorts::reserve(plan.size).map_err(Failure::cannot("reserve ports"))?;
        let proxies = match plan.partitions[..] {
            [] => None,
            _ => {
                let started = LinkProxies::start(ports.addresses()).await;
                Some(started.map_err(Failure::cannot("start proxies between the nodes"))?)
            }
        };
        create_key_files(&workspace.keys_path(), plan.size).map_err(Failure::environment)?;
        let trace = ParentTrace::create(&workspace.parent_trace_path(), plan)
            .map_err(Failure::environment)?;
        let node = |process: ProcessId| {
            let files = NodeFiles {
                config: workspace.config_path(process),
                log: workspace.log_path(process),
            };
            NodeProcess::new(process, files)
        };
        let nodes = (0..plan.size).map(ProcessId).map(node).collect();
        Ok(Cluster {
            nodes,
            plan,
            workspace,
            program,
            ports,
            proxies,
            resource,
            blocked_holder: None,
            trace,
            messages,
        })
    }

    /// Starts the programs of all nodes. Does not wait until the nodes are ready.
    pub(super) fn spawn_nodes(&mut self) -> Result<(), Failure> {
        for process in (0..self.plan.size).map(ProcessId) {
            self.spawn_node(process, self.plan.entries, self.plan.duration)?;
        }
        Ok(())
    }

    /// Restarts a process with the rest of its workload: the critical-section entries that the
    /// process has not made, and the time that remains. `elapsed` is the time since the start of
    /// the run.
    pub(super) fn restart(&mut self, process: ProcessId, elapsed: Duration) -> Result<(), Failure> {
        let NodeProcess { entries, entries_of_earlier_boots: entries_before, .. } =
            self.nodes[process.index()];
        let entered = entries_before + entries;
        let entries = self.plan.entries.map(|entries| entries.saturating_sub(entered));
        let duration = self.plan.duration.map(|duration| duration.saturating_sub(elapsed));
        self.spawn_node(process, entries, duration)
    }

    /// Records the crash of a process, and then kills the process. The time to elect a new leader
    /// is measured from this record. A crash during the boot is recorded only by
    /// [`Cluster::shut_down`], if the process never boots again.
    pub(super) async fn kill(&mut self, process: ProcessId) -> Result<(), Failure> {
        let node = &mut self.nodes[process.index()];
        node.was_killed_while_booting = node.state == NodeState::Booting;
        if !node.was_killed_while_booting {
            self.note(process, RecordKind::Crash)?;
        }
        let killed = self.nodes[process.index()].kill().await;
        killed.map_err(Failure::cannot(format!("kill {process}")))
    }

    /// Kills several processes at once, so that no process observes the crash of another.
    pub(super) async fn kill_all(&mut self, processes: &[ProcessId]) -> Result<(), Failure> {
        for process in processes {
            let struck = self.nodes[process.index()].send_kill();
            struck.map_err(Failure::cannot(format!("kill {process}")))?;
        }
        for process in processes {
            self.kill(*process).await?;
        }
        Ok(())
    }

    /// Sends SIGTERM to a process, so that it leaves the cluster.
    pub(super) fn request_leave(&mut self, process: ProcessId) -> Result<(), Failure> {
        let left = self.nodes[process.index()].request_leave();
        left.map_err(Failure::cannot(format!("signal {process}")))
    }

    /// Suspends a process by SIGSTOP, and records this fault.
    pub(super) fn suspend(&mut self, process: ProcessId) -> Result<(), Failure> {
        let stopped = self.nodes[process.index()].suspend();
        stopped.map_err(Failure::cannot(format!("stop {process}")))?;
        self.note(process, RecordKind::Stop)
    }

    /// Records the end of a suspension, and resumes the process by SIGCONT. Does nothing if the
    /// process is not suspended.
    pub(super) fn resume(&mut self, process: ProcessId) -> Result<(), Failure> {
        if self.nodes[process.index()].state != NodeState::Suspended {
            return Ok(());
        }
        self.note(process, RecordKind::Continue)?;
        let resumed = self.nodes[process.index()].resume();
        resumed.map_err(Failure::cannot(format!("resume {process}")))
    }

    /// Replaces the partitions of the network, and records the new ones. Each element of
    /// `partitions` has the processes on one side of a partition. If `partitions` is empty, all
    /// nodes are connected.
    pub(super) fn set_partitions(
        &mut self,
        partitions: Vec<Vec<ProcessId>>,
    ) -> Result<(), Failure> {
        let process_event = match &partitions[..] {
            [] => RecordKind::Heal,
            partitions => RecordKind::Partition(connected_groups(self.plan.size, partitions)),
        };
        if let Some(proxies) = &self.proxies {
            proxies.set_partitions(partitions);
        }
        self.trace.write_network_event(process_event).map_err(Failure::environment)
    }

    /// Handles a line of output, or the end of the output, of a node. Ignores output from before
    /// the last restart of the node, and output of a node that is down.
    ///
    /// # Errors
    ///
    /// Returns an error if the node reports a failure, or prints a line that is no report. Also
    /// returns an error if the node ends although it was not asked to leave, or ends with a
    /// failure.
    pub(super) async fn handle(&mut self, message: NodeOutputMessage) -> Result<(), Failure> {
        let NodeOutputMessage { process, boot, output } = message;
        let node = &mut self.nodes[process.index()];
        if boot != node.boot_count || !node.is_up() {
            return Ok(());
        }
        match output {
            NodeOutput::Report(NodeEvent::Ready { session, .. }) => {
                node.session = session;
                if node.state == NodeState::Booting {
                    node.state = NodeState::Running;
                }
                if boot > 1 {
                    self.note(process, RecordKind::Recover)?;
                }
            }
            NodeOutput::Report(
                NodeEvent::Page { .. }
                | NodeEvent::PeerUp { .. }
                | NodeEvent::PeerDown { .. }
                | NodeEvent::Granted { .. }
                | NodeEvent::Alive,
            ) => {}
            NodeOutput::Report(NodeEvent::Elected { leader, term }) => {
                node.reported_leader = Some((term, leader))
            }
            NodeOutput::Report(NodeEvent::Deposed { .. }) => node.reported_leader = None,
            NodeOutput::Report(NodeEvent::Progress { entries, .. }) => node.entries = entries,
            NodeOutput::Report(NodeEvent::Done { entries, .. }) => {
                node.entries = entries;
                node.is_workload_complete = true;
            }
            NodeOutput::Report(NodeEvent::Failed { reason }) => {
                return Err(Failure::environment(format!("{process} failed: {reason}")));
            }
            NodeOutput::Invalid(line) => {
                let message = format!("{process} printed `{line}`, which is not a report");
                return Err(Failure::environment(message));
            }
            NodeOutput::Ended => {
                let leaves = node.state == NodeState::Leaving;
                let status = node.wait_or_kill(SHUTDOWN_TIMEOUT).await.ok().flatten();
                if !leaves || status.is_none_or(|status| !status.success()) {
                    return Err(self.unexpected_exit(process, status));
                }
            }
        }
        Ok(())
    }

    /// Returns the leader of the latest term that a running node has reported. Returns `None` if no
    /// running node has reported a leader, or if this leader is not running.
    pub(super) fn leader(&self) -> Option<ProcessId> {
        let running = || self.nodes.iter().filter(|node| node.state == NodeState::Running);
        let (_, leader) = running().filter_map(|node| node.reported_leader).max()?;
        running().map(|node| node.process).find(|process| process.display_number() == leader)
    }

    /// Returns the processes that `target` denotes at present. Returns `None` if the target is not
    /// known yet, for example because no leader is elected.
    pub(super) fn resolve_target(&self, target: FaultTarget) -> Option<Vec<ProcessId>> {
        match target {
            FaultTarget::Process(process) => Some(vec![process]),
            FaultTarget::Leader => self.leader().map(|leader| vec![leader]),
            FaultTarget::Inside => self.blocked_holder.as_ref().map(|holder| vec![holder.process]),
            FaultTarget::All => Some((0..self.plan.size).map(ProcessId).collect()),
        }
    }

    /// Returns the first process that is down because an action with this target killed it or asked
    /// it to leave. Returns `None` if there is no such process.
    pub(super) fn find_ended_process(&self, target: FaultTarget) -> Option<ProcessId> {
        let mut nodes = self.nodes.iter();
        nodes.find(|it| !it.is_up() && it.ended_by == Some(target)).map(|it| it.process)
    }

    /// Returns the number of critical-section entries that the nodes have reported since the start
    /// of the run, including those before a restart.
    pub(super) fn entry_count(&self) -> u64 {
        self.nodes.iter().map(|node| node.entries_of_earlier_boots + node.entries).sum()
    }

    /// Records the crashes of the nodes that were killed while they booted, and ends the trace of
    /// the parent. Then resumes the suspended nodes, and asks all nodes to shut down. Kills the
    /// nodes that do not end within [`SHUTDOWN_TIMEOUT`]. Returns an error if a node ends with a
    /// failure.
    ///
    /// The leader ends last, so that no other node becomes the leader during the shutdown.
    pub(super) async fn shut_down(&mut self) -> Result<(), Failure> {
        for place in 0..self.nodes.len() {
            if self.nodes[place].was_killed_while_booting {
                self.note(ProcessId::from_index(place), RecordKind::Crash)?;
            }
        }
        self.trace.write_end().map_err(Failure::environment)?;
        let leader = self.leader();
        let (last, first): (Vec<usize>, Vec<usize>) =
            (0..self.nodes.len()).partition(|place| leader == Some(ProcessId::from_index(*place)));
        let ended = self.shut_down_these(&first).await;
        ended.and(self.shut_down_these(&last).await)
    }

    async fn shut_down_these(&mut self, places: &[usize]) -> Result<(), Failure> {
        places.iter().for_each(|place| self.nodes[*place].request_shutdown());
        let mut outcome = Ok(());
        for place in places {
            let process = self.nodes[*place].process;
            let ended = match self.nodes[*place].wait_or_kill(SHUTDOWN_TIMEOUT).await {
                Ok(Some(status)) if !status.success() => {
                    Err(self.unexpected_exit(process, Some(status)))
                }
                Ok(_) => Ok(()),
                Err(error) => Err(Failure::cannot(format!("wait for {process}"))(error)),
            };
            outcome = outcome.and(ended);
        }
        outcome
    }

    /// Kills all nodes that still run. Ignores errors.
    pub(super) async fn kill_remaining(&mut self) {
        for node in &mut self.nodes {
            let _ = node.kill().await;
        }
    }

    fn unexpected_exit(&self, process: ProcessId, status: Option<ExitStatus>) -> Failure {
        let reason = match status.and_then(|status| status.signal()) {
            Some(signal) => format!("signal {signal} from another process"),
            None => {
                let reason = self.nodes[process.index()].panic_or_last_line();
                reason.unwrap_or_else(|| "its log is empty".into())
            }
        };
        Failure::environment(format!("{process} ended unexpectedly: {reason}"))
    }

    fn note(&mut self, process: ProcessId, kind: RecordKind) -> Result<(), Failure> {
        let session = self.nodes[process.index()].session;
        self.trace.write_process_event(process, session, kind).map_err(Failure::environment)
    }

    fn spawn_node(
        &mut self,
        process: ProcessId,
        entries: Option<u64>,
        duration: Option<Duration>,
    ) -> Result<(), Failure> {
        let config = self.config(process, entries, duration);
        let path = self.workspace.config_path(process);
        fs::write(&path, config.to_toml()).map_err(Failure::cannot_write(&path))?;
        let started = self.nodes[process.index()].start(&self.program, &self.messages);
        started.map_err(Failure::cannot(format!("start {process}")))
    }

    fn config(
        &self,
        process: ProcessId,
        entries: Option<u64>,
        duration: Option<Duration>,
    ) -> Config {
        let NodeRunPlan { algorithms: service, fifo, options, .. } = self.plan;
        let addresses = match &self.proxies {
            Some(proxies) => proxies.addresses_seen_by(process),
            None => self.ports.addresses(),
        };
        let addresses = addresses.iter().map(ToString::to_string).collect();
        Config {
            version: CONFIG_FORMAT_VERSION,
            cluster: tenure_daemon::ClusterConfig {
                name: "tenure run".into(),
                me: process.display_number(),
                addresses,
                listen: None,
                private_key: Some(private_key_file(&self.workspace.keys_path(), process)),
                public_keys: Some(public_keys_file(&self.workspace.keys_path())),
                insecure: false,
            },
            service: service.clone(),
            detector: FailureDetectorConfig::default(),
            channel: ChannelConfig {
                fifo: *fifo,
                lose: options.lose,
                duplicate: options.duplicate,
                ..ChannelConfig::default()
            },
            store: DataDirectoryConfig { directory: self.workspace.store_path(process) },
            trace: Some(TraceConfig {
                file: self.workspace.trace_path(process),
                clocks: false,
                states: options.states,
                segment_kib: self.plan.segment_kib,
            }),
            page: None,
            work: Some(WorkloadConfig {
                resource: self.resource,
                lock: self.plan.uses_lock,
                entries,
                duration_ms: duration.map(millis),
                hold_us: micros(options.hold),
                think_us: micros(options.think),
                seed: options.seed,
            }),
        }
    }
}

/// Divides all processes into groups. Two processes are in the same group if no partition separates
/// them. Each element of `partitions` has the processes on one side of a partition.
fn connected_groups(size: u32, partitions: &[Vec<ProcessId>]) -> Vec<Vec<ProcessId>> {
    let mut parts: Vec<(Vec<bool>, Vec<ProcessId>)> = Vec::new();
    for process in (0..size).map(ProcessId) {
        let sides: Vec<bool> = partitions.iter().map(|side| side.contains(&process)).collect();
        match parts.iter_mut().find(|(other, _)| *other == sides) {
            Some((_, part)) => part.push(process),
            None => parts.push((sides, vec![process])),
        }
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_connected_under_all_partitions() {
        let of = |sides: &[&[u32]]| -> Vec<Vec<ProcessId>> {
            sides.iter().map(|side| side.iter().copied().map(ProcessId).collect()).collect()
        };
        assert_eq!(connected_groups(3, &of(&[&[0]])), of(&[&[0], &[1, 2]]));
        assert_eq!(connected_groups(4, &of(&[&[0, 1], &[1, 2]])), of(&[&[0], &[1], &[2], &[3]]));
        assert_eq!(connected_groups(4, &of(&[&[3], &[0, 3]])), of(&[&[0], &[1, 2], &[3]]));
    }
}
