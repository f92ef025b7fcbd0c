//! Executes a run: starts the nodes, performs the scheduled actions, and shuts down the nodes.

use std::time::Duration;

use serde::Serialize;
use tenure_core::ProcessId;
use tenure_daemon::resource::{CounterServer, DelayedRead};
use tenure_trace::{TraceProducer, TraceSegments, Writer};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::cluster::Cluster;
use super::node_process::{NodeOutputMessage, NodeState};
use super::options::Options;
use super::parent_trace::trace_header;
use super::plan::NodeRunPlan;
use super::progress::RunProgressLine;
use super::responsiveness::ResponsivenessProbe;
use super::schedule::{FaultTarget, PartitionSpec, ScheduledAction, ScheduledActionKind};
use super::workspace::Workspace;
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::TerminationSignals;

/// Time within which all nodes must be ready after their start. Otherwise, the run fails.
const BOOT_TIMEOUT: Duration = Duration::from_secs(60);

/// Time without a critical-section entry or an event of the schedule after which the run is given
/// up. The run adds twice the sum of the options `--hold` and `--think`.
///
/// A run is not given up before the end of `--duration`, before the time of its last scheduled
/// action or partition, or while a process is suspended or the network is partitioned.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(15);

/// Replacement of [`PROGRESS_TIMEOUT`] on a machine that is too slow, as measured by
/// [`ResponsivenessProbe`]. The time is longer, because the algorithm promises no progress on a
/// slow machine.
const MAX_PROGRESS_TIMEOUT: Duration = Duration::from_secs(120);

/// Time without a critical-section entry or an event of the schedule after which the run begins to
/// measure the responsiveness of the machine. The next entry or event ends the measurement.
const PROBE_AFTER: Duration = Duration::from_secs(1);

/// Observations of the parent process, which starts the nodes and injects the faults.
#[derive(Clone, Debug, Default)]
pub(super) struct RunObservations {
    pub(super) interrupted: bool,
    /// Running processes that had not completed their workload when the run was given up. Empty if
    /// the run was not given up.
    pub(super) unfinished: Vec<ProcessId>,
    pub(super) partitions: Vec<PartitionRecord>,
    pub(super) notes: Vec<String>,
    /// Longest delay of a probe if the machine was too slow when the run last lacked progress;
    /// otherwise, `None`. If the machine was too slow, a lack of progress is no violation.
    pub(super) longest_probe_delay: Option<Duration>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct PartitionRecord {
    /// Start of the partition, in milliseconds since the start of the run.
    pub(super) at: f64,
    /// Planned duration of the partition, in milliseconds. The real duration is shorter if the run
    /// ends earlier.
    pub(super) ms: f64,
    /// Numbers of the processes on one side of the partition.
    pub(super) side: Vec<u32>,
}

impl PartitionRecord {
    /// Creates the record of a partition that begins at the time `at` after the start of the run,
    /// and lasts `duration`. `side` contains the processes on one side.
    pub(super) fn new(at: Duration, duration: Duration, side: &[ProcessId]) -> Self {
        let [at, ms] = [at, duration].map(|it| it.as_secs_f64() * 1e3);
        PartitionRecord {
            at: at.round(),
            ms,
            side: side.iter().map(|it| it.display_number()).collect(),
        }
    }
}

/// Starts the nodes, runs the workload with the scheduled faults, and shuts down the nodes. When
/// this function returns, all nodes have ended. After an interrupt, returns the observations so
/// far.
///
/// # Errors
///
/// Returns an error if a node is not ready in time, fails, or ends unexpectedly, or if a file or a
/// process of the run cannot be created.
pub(super) async fn run_nodes(
    plan: &NodeRunPlan,
    workspace: &Workspace,
    interrupts: &mut TerminationSignals,
) -> Result<RunObservations, Failure> {
    let server = resource(plan, workspace).await?;
    let (tell, messages) = mpsc::unbounded_channel();
    let cluster = Cluster::new(plan, workspace, server.address(), tell).await?;
    let mut run =
        Run::new(plan, cluster, &server, (messages, ResponsivenessProbe::start(workspace.path())));
    let went = run.run(interrupts).await;
    let ended = match &went {
        Ok(()) => tokio::select! {
            ended = run.cluster.shut_down() => ended,
            () = interrupts.next() => Ok(()),
        },
        Err(_) => Ok(()),
    };
    run.cluster.kill_remaining().await;
    let observations = std::mem::take(&mut run.observations);
    drop(run);
    went.and(ended)?;
    server.stop().map_err(Failure::environment)?;
    Ok(observations)
}

/// Starts the resource, which is the server of the counter, with a trace of all accesses.
async fn resource(plan: &NodeRunPlan, workspace: &Workspace) -> Result<CounterServer, Failure> {
    let (path, header) =
        (workspace.resource_trace_path(), trace_header(plan, TraceProducer::Resource));
    let trace = Writer::create(&path, &header).map_err(Failure::environment)?;
    let failed = Failure::cannot("start the resource server");
    let server = CounterServer::start(plan.size, Some(trace)).await.map_err(&failed)?;
    if let Some(kib) = plan.segment_kib {
        server.set_trace_segments(
            TraceSegments::new(path, header, kib.saturating_mul(1024)).map_err(failed)?,
        );
    }
    Ok(server)
}

struct Run<'a> {
    plan: &'a NodeRunPlan,
    cluster: Cluster<'a>,
    /// Counter that the nodes increment under the lock.
    server: &'a CounterServer,
    messages: UnboundedReceiver<NodeOutputMessage>,
    progress: RunProgressLine,
    /// Scheduled actions that are not performed yet, in the order of their times.
    actions: Vec<ScheduledAction>,
    /// Resolves to the next process that reads the counter, which a process does after it has
    /// entered the critical section. `None` if no action or partition waits for the next holder of
    /// the lock.
    awaited_holder: Option<oneshot::Receiver<DelayedRead>>,
    /// Suspended processes. Each has the time at which the run resumes it, as a duration since
    /// `start`.
    pauses: Vec<(Duration, ProcessId)>,
    /// Partitions that have not begun, in the order of their times.
    pending_partitions: Vec<PartitionSpec>,
    /// Present partitions. Each has the time at which it ends, as a duration since `start`, and the
    /// processes on one side.
    partitions: Vec<(Duration, Vec<ProcessId>)>,
    /// Time at which all nodes were ready; `None` until then. The times of the schedule count from
    /// this time.
    start: Option<Instant>,
    /// Time of the last critical-section entry or event of the schedule, such as the beginning or
    /// the end of a partition. Before the first of them, it is the time at which all nodes were
    /// ready. Before that, it is the time at which this value was created.
    last_activity: Instant,
    entries: u64,
    probe: ResponsivenessProbe,
    observations: RunObservations,
}

impl<'a> Run<'a> {
    fn new(
        plan: &'a NodeRunPlan,
        cluster: Cluster<'a>,
        server: &'a CounterServer,
        (messages, probe): (UnboundedReceiver<NodeOutputMessage>, ResponsivenessProbe),
    ) -> Self {
        Run {
            plan,
            cluster,
            server,
            messages,
            progress: RunProgressLine::new(plan),
            actions: plan.actions.clone(),
            awaited_holder: None,
            pauses: Vec::new(),
            pending_partitions: plan.partitions.clone(),
            partitions: Vec::new(),
            start: None,
            last_activity: Instant::now(),
            entries: 0,
            probe,
            observations: RunObservations::default(),
        }
    }

    async fn run(&mut self, interrupts: &mut TerminationSignals) -> Result<(), Failure> {
        self.cluster.spawn_nodes()?;
        loop {
            self.watch_start()?;
            self.perform_due().await?;
            self.watch_progress();
            if self.is_complete() {
                return Ok(());
            }
            let next_wakeup = self.next_wakeup();
            tokio::select! {
                Some(message) = self.messages.recv() => self.cluster.handle(message).await?,
                holder = wait_holder(&mut self.awaited_holder) => {
                    self.cluster.blocked_holder = holder;
                }
                () = sleep_until(next_wakeup) => {}
                failure = self.server.wait_for_trace_failure() => {
                    return Err(Failure::environment(failure));
                }
                () = interrupts.next() => {
                    self.observations.interrupted = true;
                    return Ok(());
                }
            }
        }
    }

    /// Starts the clock of the schedule when no node is booting any more. Returns an error if a
    /// node is still booting after [`BOOT_TIMEOUT`]. Does nothing if the clock runs.
    fn watch_start(&mut self) -> Result<(), Failure> {
        if self.start.is_some() {
            return Ok(());
        }
        let mut nodes = self.cluster.nodes.iter();
        match nodes.find(|node| node.state == NodeState::Booting) {
            None => {
                self.start = Some(Instant::now());
                self.last_activity = Instant::now();
                self.progress.restart_clock();
            }
            Some(late) if self.last_activity.elapsed() > BOOT_TIMEOUT => {
                let (process, seconds) = (late.process, BOOT_TIMEOUT.as_secs());
                let message = format!("{process} was not ready within {seconds} s");
                return Err(Failure::environment(message));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Resumes processes, ends partitions, performs scheduled actions and starts partitions, in
    /// this order, if their time has come. An action or a partition whose target is not known yet
    /// waits for the next call.
    async fn perform_due(&mut self) -> Result<(), Failure> {
        let Some(start) = self.start else { return Ok(()) };
        let passed = start.elapsed();
        while let Some(place) = self.pauses.iter().position(|(until, _)| *until <= passed) {
            let (_, process) = self.pauses.swap_remove(place);
            self.cluster.resume(process)?;
            self.log_event(format!("{process} resumed"));
        }
        self.end_partitions(passed)?;
        let mut waiting = Vec::new();
        for action in std::mem::take(&mut self.actions) {
            if action.at > passed || !self.perform(&action, passed).await? {
                waiting.push(action);
            }
        }
        self.actions = waiting;
        self.start_due_partitions(passed)?;
        // All due actions on the holder of the lock have been performed. The holder now continues.
        self.cluster.blocked_holder = None;
        self.await_holder(passed);
        Ok(())
    }

    /// Starts to wait for the next process that enters the critical section, if an action or a
    /// partition on the holder of the lock is due. The process that enters becomes the target.
    /// `passed` is the time since the start of the run.
    fn await_holder(&mut self, passed: Duration) {
        let of_holder = |it: &ScheduledAction| {
            it.target == FaultTarget::Inside && it.kind != ScheduledActionKind::Restart
        };
        let mut pending = self.pending_partitions.iter();
        let wanted = self.actions.iter().any(|it| it.at <= passed && of_holder(it))
            || pending.any(|it| it.from <= passed && it.side.contains(&FaultTarget::Inside));
        if wanted && self.awaited_holder.is_none() {
            self.awaited_holder = Some(self.server.delay_next_read());
        }
    }

    fn end_partitions(&mut self, passed: Duration) -> Result<(), Failure> {
        let before = self.partitions.len();
        self.partitions.retain(|(until, _)| *until > passed);
        if self.partitions.len() == before {
            return Ok(());
        }
        self.apply_partitions()?;
        self.log_event("a partition ends".to_owned());
        Ok(())
    }

    fn start_due_partitions(&mut self, passed: Duration) -> Result<(), Failure> {
        let mut waiting = Vec::new();
        for partition in std::mem::take(&mut self.pending_partitions) {
            let side = partition.side.iter().map(|target| self.cluster.resolve_target(*target));
            let side: Option<Vec<ProcessId>> =
                side.collect::<Option<Vec<_>>>().map(|it| it.concat());
            match side {
                Some(side) if partition.from <= passed => {
                    self.start_partition(&partition, side, passed)?
                }
                _ => waiting.push(partition),
            }
        }
        self.pending_partitions = waiting;
        Ok(())
    }

    fn start_partition(
        &mut self,
        partition: &PartitionSpec,
        side: Vec<ProcessId>,
        now: Duration,
    ) -> Result<(), Failure> {
        let long = partition.until - partition.from;
        self.observations.partitions.push(PartitionRecord::new(now, long, &side));
        let names: Vec<String> = side.iter().map(ProcessId::to_string).collect();
        self.partitions.push((now + long, side));
        self.apply_partitions()?;
        self.log_event(format!("{} partitioned", subject(&names)));
        Ok(())
    }

    fn apply_partitions(&mut self) -> Result<(), Failure> {
        self.cluster.set_partitions(self.partitions.iter().map(|(_, side)| side.clone()).collect())
    }

    /// Performs an action on those of its targets that are in a suitable state, for example a
    /// restart on processes that are down. Returns false, and does nothing, if the target of the
    /// action is not known yet.
    async fn perform(
        &mut self,
        action: &ScheduledAction,
        passed: Duration,
    ) -> Result<bool, Failure> {
        let found = match (action.kind, action.target) {
            (ScheduledActionKind::Restart, FaultTarget::Leader | FaultTarget::Inside) => self
                .cluster
                .find_ended_process(action.target)
                .map(|killed_target| vec![killed_target]),
            (_, target) => self.cluster.resolve_target(target),
        };
        let Some(found) = found else { return Ok(false) };
        let can = |run: &Self, process: ProcessId| {
            let node = &run.cluster.nodes[process.index()];
            match action.kind {
                ScheduledActionKind::Kill => node.is_up(),
                ScheduledActionKind::Pause(_) | ScheduledActionKind::Leave => {
                    node.state == NodeState::Running
                }
                ScheduledActionKind::Restart => !node.is_up(),
            }
        };
        let (can, cannot): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|process| can(self, *process));
        // If an action on a single process is skipped, a note reports it. An action on `all` skips
        // processes in an unsuitable state without a note.
        if let ([process], []) = (&cannot[..], &can[..]) {
            let message = format!("{action} was skipped: {process} was in an unsuitable state");
            self.observations.notes.push(message);
        }
        self.perform_on(&can, action, passed).await?;
        Ok(true)
    }

    async fn perform_on(
        &mut self,
        processes: &[ProcessId],
        action: &ScheduledAction,
        passed: Duration,
    ) -> Result<(), Failure> {
        if matches!(action.kind, ScheduledActionKind::Kill | ScheduledActionKind::Leave) {
            for process in processes {
                self.cluster.nodes[process.index()].ended_by = Some(action.target);
            }
        }
        if action.kind == ScheduledActionKind::Kill {
            self.cluster.kill_all(processes).await?;
            self.pauses.retain(|(_, paused)| !processes.contains(paused));
        }
        for process in processes.iter().copied() {
            match action.kind {
                ScheduledActionKind::Kill => self.log_event(format!("{process} killed")),
                ScheduledActionKind::Leave => {
                    self.cluster.request_leave(process)?;
                    self.log_event(format!("{process} asked to leave"));
                }
                ScheduledActionKind::Pause(length) => {
                    self.cluster.suspend(process)?;
                    self.pauses.push((passed + length, process));
                    self.log_event(format!("{process} suspended"));
                }
                ScheduledActionKind::Restart => {
                    self.cluster.restart(process, passed)?;
                    self.log_event(format!("{process} restarted"));
                }
            }
        }
        Ok(())
    }

    /// Shows an event of the schedule to the user. The event counts as progress of the run.
    fn log_event(&mut self, message: String) {
        self.last_activity = Instant::now();
        self.progress.print_event(&message);
    }

    fn watch_progress(&mut self) {
        let entries = self.cluster.entry_count();
        if entries != self.entries {
            self.entries = entries;
            self.last_activity = Instant::now();
        }
        self.probe.set_enabled(self.last_activity.elapsed() > PROBE_AFTER);
        self.progress.show(entries, self.cluster.leader());
    }

    /// Returns true if all running processes have completed their workloads and no required action
    /// remains, or if the run is given up. If the run is given up, records the unfinished processes
    /// and the skipped actions.
    fn is_complete(&mut self) -> bool {
        let Some(start) = self.start else { return false };
        let idle = |state| {
            !matches!(state, NodeState::Booting | NodeState::Suspended | NodeState::Leaving)
        };
        let nodes = &self.cluster.nodes;
        let served =
            nodes.iter().all(|it| idle(it.state) && (it.is_workload_complete || !it.is_up()));
        let killed_target = self.cluster.find_ended_process(FaultTarget::Leader).is_some();
        let needed = |it: &ScheduledAction| {
            !it.is_default || (it.kind == ScheduledActionKind::Restart && killed_target)
        };
        if served && self.pending_partitions.is_empty() && !self.actions.iter().any(needed) {
            return true;
        }
        let Options { hold, think, .. } = self.plan.options;
        let grace = PROGRESS_TIMEOUT + 2 * (hold + think);
        let early = self.plan.duration.is_some_and(|duration| start.elapsed() < duration);
        let passed = start.elapsed();
        let due = self.actions.iter().any(|action| action.at > passed)
            || self.pending_partitions.iter().any(|partition| partition.from > passed);
        let hurts = !(self.pauses.is_empty() && self.partitions.is_empty());
        if early || due || hurts || self.last_activity.elapsed() < grace {
            return false;
        }
        self.observations.longest_probe_delay = self.probe.longest_delay_if_slow(grace);
        if self.observations.longest_probe_delay.is_some()
            && self.last_activity.elapsed() < MAX_PROGRESS_TIMEOUT
        {
            return false;
        }
        let unfinished = nodes.iter().filter(|it| it.is_up() && !it.is_workload_complete);
        self.observations.unfinished = unfinished.map(|node| node.process).collect();
        let undone = self.actions.iter().map(ScheduledAction::to_string);
        let undone = undone.chain(self.pending_partitions.iter().map(PartitionSpec::to_string));
        self.observations
            .notes
            .extend(undone.map(|it| format!("{it} was skipped: its target was never known")));
        true
    }

    /// Returns the time at which the main loop continues even if no message arrives: the time of
    /// the next event of the schedule, but at most 200 ms from now.
    fn next_wakeup(&self) -> Instant {
        let soon = Instant::now() + Duration::from_millis(200);
        let Some(start) = self.start else { return soon };
        let due = self.actions.iter().map(|action| start + action.at);
        let due = due.chain(self.pending_partitions.iter().map(|partition| start + partition.from));
        let due = due.chain(self.pauses.iter().map(|(until, _)| start + *until));
        let due = due.chain(self.partitions.iter().map(|(until, _)| start + *until));
        due.filter(|at| *at > Instant::now()).chain([soon]).min().unwrap_or(soon)
    }
}

/// Waits for the next process that reads the counter inside the critical section, and sets
/// `awaited_holder` to `None`. Returns `None` if the server dropped the request for this process.
/// Never resolves if `awaited_holder` is `None`.
async fn wait_holder(
    awaited_holder: &mut Option<oneshot::Receiver<DelayedRead>>,
) -> Option<DelayedRead> {
    match awaited_holder {
        Some(wanted) => {
            let holder = wanted.await.ok();
            *awaited_holder = None;
            holder
        }
        None => std::future::pending().await,
    }
}

fn subject(names: &[String]) -> String {
    format!("{} {}", names.join(" and "), if names.len() == 1 { "is" } else { "are" })
}
