//! Executes a run of the lock service: starts members and clients, performs the scheduled faults,
//! and shuts down.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure_client::LockQueueChange;
use tenure_core::ProcessId;
use tenure_daemon::resource::{CounterServer, CounterStats};
use tenure_trace::unix_time_nanos;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until, timeout};

use super::clients::ClientProcesses;
use super::entry_record::EntryRecord;
use super::members::{MemberOutputLine, Members};
use super::plan::{FaultAction, ServiceRunPlan, TimedFaultAction};
use super::reader::{FinalReads, read_after_catch_up};
use super::recorder::QueueChangeRecorder;
use super::step_queue::StepQueue;
use super::value_record::{PutRecord, ReadRecord, ValueOperationRecord};
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::TerminationSignals;
use crate::cmd::run::drive::PartitionRecord;

/// Time limit for the election of the first leader. Also the time limit for the end of the clients,
/// counted from the end of the planned duration of the run.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Time between two attempts to perform the steps of the schedule whose target is not known yet.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

#[derive(Debug, Default)]
pub(super) struct ServiceObservations {
    /// Critical-section entries, as the clients reported them.
    pub(super) entry_records: Vec<EntryRecord>,
    /// Changes of the queue of the lock.
    pub(super) changes: Vec<LockQueueChange>,
    pub(super) puts: Vec<PutRecord>,
    pub(super) reads: Vec<ReadRecord>,
    /// Values that the run read from each member at the end of the run. `None` if the run did not
    /// read them, for example because the clients put no values.
    pub(super) final_reads: Option<FinalReads>,
    pub(super) counter_stats: CounterStats,
    pub(super) kills: Vec<KillRecord>,
    /// Times at which a member first reported the leader of a new term, in nanoseconds since 1970.
    /// The first leader, which was elected before the clients started, is not included.
    pub(super) leader_report_times: Vec<u64>,
    /// Number of faults of members, plus the number of partitions. A fault of several members
    /// counts once for each member.
    pub(super) fault_count: u64,
    pub(super) partitions: Vec<PartitionRecord>,
    /// Number of clients that did not finish in time, although a majority of the members was up at
    /// the end. 0 if there was no majority, or if the run was interrupted.
    pub(super) unfinished_clients: usize,
    pub(super) interrupted: bool,
    /// Time from the start of the clients to the end of their work, in seconds.
    pub(super) seconds: f64,
    /// Fencing token of the last acquisition of the lock, which the run itself makes after the work
    /// of the clients. `None` if the run did not try, or did not acquire the lock.
    pub(super) final_fence: Option<u64>,
    pub(super) notes: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct KillRecord {
    /// Time of the kill, in nanoseconds since 1970.
    pub(super) at: u64,
    /// True if the leader was among the killed members.
    pub(super) of_leader: bool,
}

/// A flag that is set when this value is dropped.
#[derive(Default)]
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[derive(Debug)]
enum Message {
    Member(MemberOutputLine),
    Entry(Box<EntryRecord>),
    Value(ValueOperationRecord),
}

/// Starts the members and waits for a leader. Then runs the clients with the scheduled faults,
/// reads the final state of the service, and ends all processes. After an interrupt, returns the
/// observations so far.
///
/// # Errors
///
/// Returns an error if no leader is elected in time, if an interrupt arrives before this election,
/// or if a member or a client cannot be started. Also returns an error if a client fails.
pub(super) async fn run_service_and_clients(
    plan: &ServiceRunPlan,
    folder: &Path,
    interrupts: &mut TerminationSignals,
) -> Result<ServiceObservations, Failure> {
    let (output, mut member_output) = unbounded_channel();
    let mut members = Members::start(plan, folder, output).await?;
    let elected = async {
        while members.leader().is_none() {
            match member_output.recv().await {
                Some(output) => members.record_reported_leader(&output),
                None => std::future::pending().await,
            }
        }
    };
    tokio::select! {
        elected = timeout(START_TIMEOUT, elected) => elected
            .map_err(|_| Failure::environment("no leader was elected: see the logs of the \
                                               members"))?,
        () = interrupts.next() => return Err(Failure::incomplete("interrupted at the start")),
    }
    let resource = CounterServer::start(plan.clients, None).await;
    let resource = resource.map_err(Failure::cannot("serve the counter"))?;
    let endpoints = members.endpoints();
    let mut recorder = QueueChangeRecorder::start(&endpoints).await?;
    let (claims, entries) = unbounded_channel();
    let (words, messages) = unbounded_channel();
    let mut clients = ClientProcesses::new(plan, &endpoints);
    clients.spawn_lock_clients(&resource, &claims)?;
    if let Some(most) = plan.max_value_bytes {
        clients.spawn_value_clients(most, &words)?;
        recorder.start_history_compaction(&endpoints);
    }
    let (record, partitions) = (ServiceObservations::default(), BTreeMap::new());
    let mut run = Run { plan, members, record, partitions, started: Instant::now() };
    run.work(Receivers { member_output, entries, messages }, &mut clients, interrupts).await?;
    if !run.record.interrupted {
        tokio::select! {
            read = run.read_final_state(&recorder, endpoints) => read?,
            () = interrupts.next() => run.record.interrupted = true,
        }
    }
    run.record.changes = recorder.changes();
    run.record.counter_stats = resource.stats();
    drop(clients);
    run.members.shut_down().await;
    Ok(run.record)
}

struct Receivers {
    member_output: UnboundedReceiver<MemberOutputLine>,
    entries: UnboundedReceiver<EntryRecord>,
    messages: UnboundedReceiver<ValueOperationRecord>,
}

struct Run<'a> {
    plan: &'a ServiceRunPlan,
    members: Members,
    record: ServiceObservations,
    /// Present partitions of the network. A key is the index of the partition in the plan. The
    /// value contains the members on one side of this partition.
    partitions: BTreeMap<usize, Vec<ProcessId>>,
    started: Instant,
}

impl Run<'_> {
    async fn work(
        &mut self,
        mut receivers: Receivers,
        clients: &mut ClientProcesses<'_>,
        interrupts: &mut TerminationSignals,
    ) -> Result<(), Failure> {
        let mut steps = StepQueue::new(self.plan);
        let end = self.started + self.plan.duration + START_TIMEOUT;
        let mut retry = self.started;
        while !clients.running.is_empty() {
            let next = steps.next_time().map_or(end, |at| retry.max(self.started + at));
            let message = tokio::select! {
                Some(output) = receivers.member_output.recv() => Message::Member(output),
                Some(claim) = receivers.entries.recv() => Message::Entry(Box::new(claim)),
                Some(word) = receivers.messages.recv() => Message::Value(word),
                Some(ended) = clients.running.join_next() => {
                    // Ignores an aborted task, which is no failure.
                    if let Ok(ended) = ended { ended? }
                    continue;
                }
                () = interrupts.next() => {
                    self.record.interrupted = true;
                    break;
                }
                () = sleep_until(next) => {
                    if steps.next_time().is_none() {
                        break;
                    }
                    self.perform_ready(&mut steps).await?;
                    retry = Instant::now() + RETRY_INTERVAL;
                    continue;
                }
            };
            self.handle(message);
        }
        self.record.seconds = self.started.elapsed().as_secs_f64();
        let has_majority = self.has_majority();
        if has_majority && !self.record.interrupted {
            self.record.unfinished_clients = clients.running.len();
        } else if !has_majority {
            self.record.notes.push("no majority of the members was up at the end".to_owned());
        }
        while let Ok(claim) = receivers.entries.try_recv() {
            self.record.entry_records.push(claim);
        }
        while let Ok(word) = receivers.messages.try_recv() {
            self.handle(Message::Value(word));
        }
        Ok(())
    }

    fn has_majority(&self) -> bool {
        2 * self.members.running_count() > self.plan.members as usize
    }

    /// If the clients put values, kills and restarts all members. Then acquires the lock a last
    /// time, if a majority of the members is up. Then, if the clients put values, reads these
    /// values from each member. If the future is dropped, the reads in the other thread end soon,
    /// and some members may be down.
    async fn read_final_state(
        &mut self,
        recorder: &QueueChangeRecorder,
        endpoints: Vec<String>,
    ) -> Result<(), Failure> {
        if self.plan.max_value_bytes.is_some() {
            self.members.kill_and_restart_all().await?;
        }
        if self.plan.uses_lock && self.has_majority() {
            self.record.final_fence = recorder.record_final_acquisition().await;
        }
        if self.plan.max_value_bytes.is_some() {
            let keys: BTreeSet<String> =
                self.record.puts.iter().map(|put| put.key.clone()).collect();
            let cancellation = CancelOnDrop::default();
            let is_cancelled = Arc::clone(&cancellation.0);
            let read = move || read_after_catch_up(&endpoints, &keys, &is_cancelled);
            self.record.final_reads = spawn_blocking(read).await.ok();
        }
        Ok(())
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Member(output) => {
                let before = self.members.term();
                self.members.record_reported_leader(&output);
                if self.members.term() > before {
                    self.record.leader_report_times.push(output.at);
                }
            }
            Message::Entry(claim) => self.record.entry_records.push(*claim),
            Message::Value(ValueOperationRecord::Put(put)) => self.record.puts.push(put),
            Message::Value(ValueOperationRecord::Read(read)) => self.record.reads.push(read),
        }
    }

    /// Performs the steps of the schedule whose time has come. A step with a target that is not
    /// known yet stays in the queue.
    async fn perform_ready(&mut self, steps: &mut StepQueue) -> Result<(), Failure> {
        loop {
            let passed = self.started.elapsed();
            // Gives the members time to elect a leader.
            let is_ready = |step: TimedFaultAction| {
                !self.target_indices(step).is_empty() || passed >= step.at + START_TIMEOUT / 4
            };
            let has_fault = |step: TimedFaultAction| {
                let mut indices = self.target_indices(step).into_iter();
                indices.any(|index| self.members.has_fault(index, step.kind))
            };
            let next = steps.take_ready(passed, is_ready, has_fault);
            let Some(step) = next else { return Ok(()) };
            self.perform(step).await?;
        }
    }

    /// Returns the indices of the members to which a step applies. The result is empty if a target
    /// of the step is not known.
    fn target_indices(&self, step: TimedFaultAction) -> Vec<usize> {
        let targets = match step.kind {
            FaultAction::StartPartition(place) => &self.plan.partitions[place].side[..],
            _ => &[step.target],
        };
        let targets = targets.iter().map(|target| self.members.resolve_target(*target, step.kind));
        let targets: Vec<Vec<usize>> = targets.collect();
        let all_there = targets.iter().all(|indices| !indices.is_empty());
        if all_there { targets.concat() } else { Vec::new() }
    }

    /// Performs a step of the schedule. If a target of the step is not known, skips the step with a
    /// note.
    async fn perform(&mut self, step: TimedFaultAction) -> Result<(), Failure> {
        let indices = self.target_indices(step);
        if indices.is_empty() {
            self.record
                .notes
                .push(format!("a fault at {:?} was skipped: its target was not up", step.at));
        }
        if step.kind.is_member_fault_start() {
            self.record.fault_count += indices.len() as u64;
        }
        self.update_partitions(step, &indices);
        if step.kind == FaultAction::Kill && !indices.is_empty() {
            let leader = self.members.leader();
            let of_leader = leader.is_some_and(|leader| indices.contains(&leader));
            self.record.kills.push(KillRecord { at: unix_time_nanos(), of_leader });
        }
        let notes = self.members.perform_fault_action(&indices, step.kind).await?;
        self.record.notes.extend(notes);
        Ok(())
    }

    /// If `step` starts or ends a partition, applies this change to the network. `indices` contains
    /// the members on one side of a partition that starts. Does nothing if `indices` is empty and
    /// the partition starts, because the step is skipped.
    fn update_partitions(&mut self, step: TimedFaultAction, indices: &[usize]) {
        match step.kind {
            FaultAction::StartPartition(_) if indices.is_empty() => return,
            FaultAction::StartPartition(place) => {
                let side: Vec<ProcessId> =
                    indices.iter().map(|at| ProcessId::from_index(*at)).collect();
                let partition = &self.plan.partitions[place];
                let (now, long) = (self.started.elapsed(), partition.until - partition.from);
                self.record.partitions.push(PartitionRecord::new(now, long, &side));
                self.record.fault_count += 1;
                self.partitions.insert(place, side);
            }
            FaultAction::EndPartition(place) => {
                self.partitions.remove(&place);
            }
            _ => return,
        }
        self.members.set_partitions(self.partitions.values().cloned().collect());
    }
}
