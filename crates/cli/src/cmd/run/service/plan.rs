//! Validates the options of a run of the lock service, and plans its steps.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use crate::cmd::failure::Failure;
use crate::cmd::run::options::Options;
use crate::cmd::run::plan::check_has_two_sides;
use crate::cmd::run::schedule::{
    FaultInterval, FaultTarget, PartitionSpec, ScheduledAction, ScheduledActionKind, TimedTarget,
};

const MAX_MEMBERS: u32 = 9;

const DEFAULT_CLIENTS: u32 = 8;

const MAX_CLIENTS: u32 = 64;

/// Upper bound on the option `--values`, in bytes. It is less than 1.5 MiB, which is the default
/// limit of etcd on the size of a request.
const MAX_VALUE_BYTES: u32 = 1_400 << 10;

/// A step of the schedule: the start or the end of a fault. For partitions, `target` has no
/// meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimedFaultAction {
    pub(super) at: Duration,
    pub(super) target: FaultTarget,
    pub(super) kind: FaultAction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultAction {
    Kill,
    Leave,
    Restart,
    Suspend,
    Resume,
    /// The disk of the member becomes full: its writes begin to fail.
    FillDisk,
    /// The disk of the member is free again: the member is ended and restarted, and its writes
    /// succeed.
    FreeDisk,
    SlowDisk,
    RestoreDiskSpeed,
    /// Starts the partition with this index in [`ServiceRunPlan::partitions`].
    StartPartition(usize),
    /// Ends the partition with this index in [`ServiceRunPlan::partitions`].
    EndPartition(usize),
}

impl FaultAction {
    /// Returns true if the action starts a fault of a member. Returns false if the action starts a
    /// fault of the network, or ends a fault.
    pub(super) fn is_member_fault_start(self) -> bool {
        matches!(
            self,
            FaultAction::Kill
                | FaultAction::Leave
                | FaultAction::Suspend
                | FaultAction::FillDisk
                | FaultAction::SlowDisk
        )
    }

    /// Returns true if the action ends a fault of a member.
    pub(super) fn is_member_fault_end(self) -> bool {
        matches!(
            self,
            FaultAction::Restart
                | FaultAction::Resume
                | FaultAction::FreeDisk
                | FaultAction::RestoreDiskSpeed
        )
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct ServiceRunPlan {
    pub(super) members: u32,
    pub(super) clients: u32,
    pub(super) duration: Duration,
    pub(super) hold: Duration,
    pub(super) think: Duration,
    /// False in a control experiment (`--no-lock`), in which clients enter without the lock.
    pub(super) uses_lock: bool,
    pub(super) seed: u64,
    pub(super) partitions: Vec<PartitionSpec>,
    /// Delay that the fault of a slow disk adds to each flush.
    pub(super) slow_flush: Duration,
    /// Number of log entries after which a member takes a snapshot. `None` selects the default of
    /// `tenure serve`.
    pub(super) snapshot_after: Option<NonZeroU64>,
    /// Value of the option `--values`: the largest size of a value in bytes. `None` if the clients
    /// put no values.
    pub(super) max_value_bytes: Option<u32>,
    /// Starts and ends of all faults, ordered by time.
    pub(super) steps: Vec<TimedFaultAction>,
}

impl ServiceRunPlan {
    pub(super) fn new(options: &Options) -> Result<ServiceRunPlan, Failure> {
        let members = options.service.unwrap_or(3);
        if !(1..=MAX_MEMBERS).contains(&members) {
            let message =
                format!("invalid value '{members}' for --service: expected 1 to {MAX_MEMBERS}");
            return Err(Failure::usage(message));
        }
        let clients = options.clients.unwrap_or(DEFAULT_CLIENTS);
        if !(1..=MAX_CLIENTS).contains(&clients) {
            let message =
                format!("invalid value '{clients}' for --clients: expected 1 to {MAX_CLIENTS}");
            return Err(Failure::usage(message));
        }
        if options.entries.is_some() {
            return Err(Failure::usage(
                "--entries is not supported with --service: use --duration",
            ));
        }
        if options.watch.is_some() {
            let message = "--watch is not supported with --service: leave it out";
            return Err(Failure::usage(message));
        }
        let plan = ServiceRunPlan {
            members,
            clients,
            duration: options.duration.unwrap_or(Duration::from_secs(10)),
            hold: options.hold,
            think: options.think,
            uses_lock: !options.no_lock,
            seed: options.seed,
            partitions: options.partition.clone(),
            slow_flush: options.slow_flush,
            snapshot_after: options.snapshot_after,
            max_value_bytes: options.values.map(check_value_size).transpose()?,
            steps: Vec::new(),
        };
        Ok(ServiceRunPlan { steps: plan.steps(options)?, ..plan })
    }

    fn steps(&self, options: &Options) -> Result<Vec<TimedFaultAction>, Failure> {
        let mut actions: Vec<ScheduledAction> = Vec::new();
        actions.extend(options.kill.iter().map(|it| ScheduledAction::kill(*it, false)));
        actions.extend(options.leave.iter().map(|it| ScheduledAction::leave(*it)));
        actions.extend(options.restart.iter().map(|it| ScheduledAction::restart(*it, false)));
        actions.extend(options.pause.iter().map(|it| ScheduledAction::pause(*it)));
        let intervals = [
            (&options.full_disk, "--full-disk", [FaultAction::FillDisk, FaultAction::FreeDisk]),
            (
                &options.slow_disk,
                "--slow-disk",
                [FaultAction::SlowDisk, FaultAction::RestoreDiskSpeed],
            ),
        ];
        let disks_are_healthy = intervals.iter().all(|(pauses, ..)| pauses.is_empty());
        let has_faults = !(actions.is_empty() && self.partitions.is_empty() && disks_are_healthy);
        if !has_faults && !options.no_faults && self.members > 2 {
            actions.push(ScheduledAction::kill(TimedTarget::leader_at(2), true));
            actions.push(ScheduledAction::restart(TimedTarget::leader_at(5), true));
        }
        // Default faults are left out if the run is too short for them.
        actions.retain(|it| !it.is_default || it.end_time() < self.duration);
        for action in &actions {
            self.check(action, action.end_time(), &[action.target])?;
        }
        let mut steps: Vec<TimedFaultAction> = actions.iter().flat_map(steps).collect();
        for (pauses, option, [first, last]) in intervals {
            for pause in pauses {
                let FaultInterval { target, from, until } = *pause;
                self.check(&format!("{option} {pause}"), until, &[target])?;
                steps.push(TimedFaultAction { at: from, target, kind: first });
                steps.push(TimedFaultAction { at: until, target, kind: last });
            }
        }
        for (place, partition) in self.partitions.iter().enumerate() {
            self.check(partition, partition.until, &partition.side)?;
            check_has_two_sides(partition, self.members)?;
            let step = |at, kind| TimedFaultAction { at, target: FaultTarget::All, kind };
            steps.push(step(partition.from, FaultAction::StartPartition(place)));
            steps.push(step(partition.until, FaultAction::EndPartition(place)));
        }
        steps.sort_by_key(|step| step.at);
        Ok(steps)
    }

    fn check(
        &self,
        fault: &impl fmt::Display,
        end: Duration,
        targets: &[FaultTarget],
    ) -> Result<(), Failure> {
        if end >= self.duration {
            let message = format!("{fault} does not end before the run: increase --duration");
            return Err(Failure::usage(message));
        }
        let is_there = |target: &FaultTarget| match target {
            FaultTarget::Process(process) => process.display_number() <= self.members,
            FaultTarget::Leader | FaultTarget::All => true,
            FaultTarget::Inside => false,
        };
        if targets.contains(&FaultTarget::Inside) {
            return Err(Failure::usage(format!(
                "{fault}: members of a service do not enter: use leader or a member"
            )));
        }
        match targets.iter().all(is_there) {
            true => Ok(()),
            false => {
                Err(Failure::usage(format!("{fault}: expected members 1 to {}", self.members)))
            }
        }
    }
}

fn check_value_size(bytes: u64) -> Result<u32, Failure> {
    let most = u32::try_from(bytes).ok().filter(|bytes| (1..=MAX_VALUE_BYTES).contains(bytes));
    most.ok_or_else(|| {
        Failure::usage(format!(
            "invalid value '{bytes}' for --values: expected 1 to {MAX_VALUE_BYTES} bytes"
        ))
    })
}

fn steps(action: &ScheduledAction) -> Vec<TimedFaultAction> {
    let ScheduledAction { at, target, kind, .. } = *action;
    let step = |at, kind| TimedFaultAction { at, target, kind };
    match kind {
        ScheduledActionKind::Kill => vec![step(at, FaultAction::Kill)],
        ScheduledActionKind::Leave => vec![step(at, FaultAction::Leave)],
        ScheduledActionKind::Restart => vec![step(at, FaultAction::Restart)],
        ScheduledActionKind::Pause(length) => {
            vec![step(at, FaultAction::Suspend), step(at + length, FaultAction::Resume)]
        }
    }
}
