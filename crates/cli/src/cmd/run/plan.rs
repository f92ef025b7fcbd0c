//! Validates the options of a run of nodes, and plans the run.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use tenure_algorithms::catalogue::{CatalogueError, Parameters};
use tenure_core::{Card, CrashModel, ProcessId, Property, SystemModel, TICKS_PER_TIME_UNIT};
use tenure_daemon::AlgorithmConfig;

use super::analysis::CoordinatorKind;
use super::options::Options;
use super::schedule::{
    FaultTarget, PartitionSpec, ScheduledAction, ScheduledActionKind, TimedTarget,
};
use crate::cmd::failure::Failure;
use crate::cmd::name_parser::describe_mismatch;

/// Upper bound on the number of nodes. A larger run would measure the machine rather than the
/// algorithm.
const MAX_NODES: u32 = 64;

/// Upper bound on the number of nodes in a run with partitions. This process then has a proxy with
/// connections for each ordered pair of nodes, and a process may usually have about a thousand open
/// files.
const MAX_PROXIED_NODES: u32 = 16;

/// Duration of a run without the options `--duration`, `--entries` and `--watch`.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// Times at which the leader is killed and restarted if the user gives no faults and the lock
/// tolerates them. [`WATCHED_FAULTS`] replaces these times in a run with `--watch` that lasts
/// [`WATCHED_DURATION`].
const DEFAULT_FAULTS: [TimedTarget; 2] = [TimedTarget::leader_at(2), TimedTarget::leader_at(5)];

/// Duration of a run with `--watch` and without the options `--duration` and `--entries`. The user
/// needs time to open the page.
const WATCHED_DURATION: Duration = Duration::from_secs(60);
const WATCHED_FAULTS: [TimedTarget; 2] = [TimedTarget::leader_at(10), TimedTarget::leader_at(15)];

/// Default limit on the size of each trace on disk, in MiB, in a run without `--dir`. Verified
/// records beyond this size are deleted.
const DEFAULT_TRACE_MIB: u64 = 64;

#[derive(Clone, Debug)]
pub(super) struct NodeRunPlan {
    pub(super) options: Options,
    pub(super) size: u32,
    /// Lock algorithm and election algorithm of the nodes, with their parameters. Not related to
    /// the option `--service`.
    pub(super) algorithms: AlgorithmConfig,
    /// Card of the protocol that a node runs, which consists of the lock and the election.
    pub(super) card: Card,
    pub(super) coordinator: CoordinatorKind,
    /// False in a control experiment (`--no-lock`), in which the nodes enter without the lock.
    pub(super) uses_lock: bool,
    /// Number of entries of each node; `None` for no limit.
    pub(super) entries: Option<u64>,
    /// Duration of the workload; `None` if only the number of entries ends the workload.
    pub(super) duration: Option<Duration>,
    /// True if the nodes use the reliable channel.
    pub(super) fifo: bool,
    /// Size in KiB at which a trace continues in a new file. `None` if each trace has a single file
    /// and all records are kept.
    pub(super) segment_kib: Option<u64>,
    /// Kills, pauses, restarts and requests to leave, ordered by time. Restarts follow other
    /// actions with the same time.
    pub(super) actions: Vec<ScheduledAction>,
    /// Partitions, ordered by the times of their beginnings.
    pub(super) partitions: Vec<PartitionSpec>,
    /// Properties that [`NodeRunPlan::card`] promises. If processes are suspended or partitioned,
    /// only the properties that the card promises even with false suspicions.
    pub(super) promises: Vec<Property>,
}

impl NodeRunPlan {
    pub(super) fn new(options: Options) -> Result<NodeRunPlan, Failure> {
        check_size(options.size())?;
        let (fifo, service) = service(&options);
        validate(&options, fifo)?;
        let card = card(options.size(), &service)?;
        let lock =
            tenure_instances::card(&service.mutex, &Parameters::with_defaults(options.size()));
        let coordinator =
            lock.map_or(CoordinatorKind::None, |lock| CoordinatorKind::from_card(&lock));
        let duration = match (options.duration, options.entries) {
            (None, None) if options.watch.is_some() => Some(WATCHED_DURATION),
            (None, None) => Some(DEFAULT_DURATION),
            (duration, _) => duration,
        };
        let actions = actions(&options, &service.mutex, &card, duration)?;
        let partitions = partitions(&options, duration)?;
        // A process that is suspended or partitioned for longer than the timeout of the failure
        // detector is falsely suspected. A partition loses no messages: TCP retransmits them.
        let stops =
            actions.iter().any(|action| matches!(action.kind, ScheduledActionKind::Pause(_)));
        let suspicion = stops || !partitions.is_empty();
        let around = SystemModel { false_suspicion: suspicion, ..card.fault_free_system_model() };
        Ok(NodeRunPlan {
            promises: card.promises_under(&around),
            size: options.size(),
            algorithms: service,
            card,
            coordinator,
            uses_lock: !options.no_lock,
            entries: options.entries.map(NonZeroU64::get),
            duration,
            fifo,
            // Each trace has at most two files at a time: two verified files, or a verified file
            // and the file that is being written.
            segment_kib: options.dir.is_none().then(|| {
                options.trace_mib.map_or(DEFAULT_TRACE_MIB, NonZeroU64::get).saturating_mul(512)
            }),
            actions,
            partitions,
            options,
        })
    }
}

/// Returns two values: true if the processes use the reliable channel, and the lock and the
/// election that they run.
///
/// If the user selects no lock, the lock is `coordinated:ELECTION`, with the selected election. If
/// the user selects no election, the election is the one in the name of the lock, such as `bully`
/// in `coordinated:bully`. A lock whose name contains no election uses the default election.
fn service(options: &Options) -> (bool, AlgorithmConfig) {
    const DEFAULT_ELECTION: &str = "bully";
    let election = options.election.as_deref();
    let Some(mutex) = options.mutex.as_deref() else {
        let election = election.unwrap_or(DEFAULT_ELECTION).to_string();
        return (options.fifo, service_of(options, format!("coordinated:{election}"), election));
    };
    let (fifo, mutex) = match mutex.strip_prefix("fifo:") {
        Some(inner) => (true, inner),
        None => (options.fifo, mutex),
    };
    let own = mutex.strip_prefix("coordinated:");
    let election = election.or(own).unwrap_or(DEFAULT_ELECTION).to_string();
    (fifo, service_of(options, mutex.to_string(), election))
}

fn service_of(options: &Options, mutex: String, election: String) -> AlgorithmConfig {
    let Options { variant, allow_mistakes, quorums, tree, topology, .. } = options.clone();
    // Ignores an invalid topology, which `validate` reports.
    let graph = topology.and_then(|topology| topology.graph(options.size()).ok());
    AlgorithmConfig {
        mutex,
        election,
        variants: variant,
        allow_mistakes,
        quorums: quorums.map(|quorums| quorums.inlined()),
        tree: tree.map_or("star".to_owned(), |tree| tree.inlined()),
        topology: graph.map(|graph| graph.to_string()),
        named: false,
    }
}

/// Returns an error if the number of nodes is 0 or above [`MAX_NODES`]. The caller calls this
/// function before it builds a topology of this size.
fn check_size(nodes: u32) -> Result<(), Failure> {
    if (1..=MAX_NODES).contains(&nodes) {
        return Ok(());
    }
    Err(Failure::usage(format!("invalid value '{nodes}' for --nodes: expected 1 to {MAX_NODES}")))
}

fn validate(options: &Options, fifo: bool) -> Result<(), Failure> {
    let require =
        |holds: bool, message: String| if holds { Ok(()) } else { Err(Failure::usage(message)) };
    if let Some(topology) = &options.topology {
        topology.graph(options.size()).map_err(Failure::usage)?;
    }
    for (option, chance) in [("--lose", options.lose), ("--duplicate", options.duplicate)] {
        require(
            (0.0..1.0).contains(&chance),
            format!(
                "invalid value '{chance}' for {option}: expected a probability from 0 to below 1, \
                 such as 0.1"
            ),
        )?;
        require(
            chance == 0.0 || fifo,
            format!("{option} requires --fifo, which retransmits lost messages"),
        )?;
    }
    require(
        options.duration != Some(Duration::ZERO),
        "invalid value '0s' for --duration: expected a positive duration, such as 10s".into(),
    )
}

fn card(size: u32, service: &AlgorithmConfig) -> Result<Card, Failure> {
    let AlgorithmConfig { mutex, election, .. } = service;
    let parameters =
        service.algorithm_parameters(size, TICKS_PER_TIME_UNIT).map_err(Failure::usage)?;
    let protocol = tenure_instances::service_protocol(service, &parameters);
    let protocol = protocol.map_err(|unknown| match unknown {
        CatalogueError::Algorithm { .. } => {
            let option = |what: &str, name: &str| format!("--{what} {name}");
            Failure::usage(describe_mismatch(mutex, election, option))
        }
        other => Failure::usage(other),
    })?;
    let card = protocol.card(size);
    service.ensure_variants_allowed(&card).map_err(Failure::usage)?;
    if !card.promises_under_drift(Some(0)).any(|promise| promise == Property::MutualExclusion) {
        return Err(Failure::usage(format!(
            "{mutex} does not promise mutual exclusion, which `tenure run` requires: use `tenure \
             simulate {mutex}`"
        )));
    }
    Ok(card)
}

/// Returns true if the user gives any fault or restart. The default faults then do not apply.
fn has_faults(options: &Options) -> bool {
    let Options { kill, leave, restart, pause, partition, lose, duplicate, .. } = options;
    let on_time = !(kill.is_empty() && leave.is_empty() && restart.is_empty());
    let for_a_time = !(pause.is_empty() && partition.is_empty());
    on_time || for_a_time || *lose > 0.0 || *duplicate > 0.0
}

fn partitions(
    options: &Options,
    duration: Option<Duration>,
) -> Result<Vec<PartitionSpec>, Failure> {
    let (nodes, mut partitions) = (options.size(), options.partition.clone());
    partitions.sort_by_key(|partition| partition.from);
    if !partitions.is_empty() && nodes > MAX_PROXIED_NODES {
        return Err(Failure::usage(format!(
            "--partition supports at most {MAX_PROXIED_NODES} nodes"
        )));
    }
    for partition in &partitions {
        let is_known = |target: &FaultTarget| match target {
            FaultTarget::Leader | FaultTarget::Inside | FaultTarget::All => true,
            FaultTarget::Process(process) => process.0 < nodes,
        };
        if partition.side.contains(&FaultTarget::Inside) {
            check_has_lock(partition, options)?;
        }
        if !partition.side.iter().all(is_known) {
            return Err(Failure::usage(format!("{partition}: expected processes 1 to {nodes}")));
        }
        check_has_two_sides(partition, nodes)?;
        check_end(partition, partition.until, duration)?;
    }
    Ok(partitions)
}

/// Returns an error if the partition has all processes on one side, as far as the targets show. The
/// target `leader` is not resolved.
pub(super) fn check_has_two_sides(partition: &PartitionSpec, size: u32) -> Result<(), Failure> {
    let side = |process| partition.side.contains(&FaultTarget::Process(ProcessId(process)));
    if partition.side.contains(&FaultTarget::All) || (0..size).all(side) {
        return Err(Failure::usage(format!("{partition}: expected processes on both sides")));
    }
    Ok(())
}

/// Returns an error if a fault ends after `limit`, the duration of the run, or at the same time.
fn check_end(
    fault: &impl fmt::Display,
    end: Duration,
    limit: Option<Duration>,
) -> Result<(), Failure> {
    let Some(duration) = limit.filter(|duration| end >= *duration) else { return Ok(()) };
    let end_of_run = crate::cmd::duration::format(duration);
    Err(Failure::usage(format!("{fault} does not end before the run, at {end_of_run}")))
}

fn actions(
    options: &Options,
    mutex: &str,
    card: &Card,
    duration: Option<Duration>,
) -> Result<Vec<ScheduledAction>, Failure> {
    let to_kill = |moment: &TimedTarget| ScheduledAction::kill(*moment, false);
    let mut actions: Vec<ScheduledAction> = options.kill.iter().map(to_kill).collect();
    actions.extend(options.leave.iter().map(|moment| ScheduledAction::leave(*moment)));
    actions.extend(options.restart.iter().map(|moment| ScheduledAction::restart(*moment, false)));
    let has_default = !options.no_faults && !has_faults(options);
    if has_default && card.faults.crashes == CrashModel::Recovery {
        let is_watched = options.watch.is_some() && duration == Some(WATCHED_DURATION);
        let [kill, restart] = if is_watched { WATCHED_FAULTS } else { DEFAULT_FAULTS };
        actions.push(ScheduledAction::kill(kill, true));
        actions.push(ScheduledAction::restart(restart, true));
        actions.retain(|action| duration.is_none_or(|duration| action.at < duration));
    }
    actions.extend(options.pause.iter().map(|pause| ScheduledAction::pause(*pause)));
    // If actions have the same time, the restarts come last.
    actions.sort_by_key(|action| (action.at, action.kind == ScheduledActionKind::Restart));
    for (place, action) in actions.iter().enumerate() {
        check_action(action, &actions[..place], options, mutex, card, duration)?;
    }
    Ok(actions)
}

fn check_has_lock(fault: &impl fmt::Display, options: &Options) -> Result<(), Failure> {
    if options.no_lock {
        return Err(Failure::usage(format!(
            "{fault}: no process is inside without a lock: use leader or a process"
        )));
    }
    Ok(())
}

/// Returns an error if an action names an unknown process, ends after the run, or restarts a
/// process that no action in `before` has ended. Also returns an error if the action is a fault
/// that the lock does not tolerate, unless `--beyond-assumptions` is given.
fn check_action(
    action: &ScheduledAction,
    before: &[ScheduledAction],
    options: &Options,
    mutex: &str,
    card: &Card,
    duration: Option<Duration>,
) -> Result<(), Failure> {
    let ScheduledAction { target, kind, .. } = *action;
    if target == FaultTarget::Inside {
        check_has_lock(action, options)?;
    }
    if let FaultTarget::Process(process) = target
        && process.0 >= options.size()
    {
        let nodes = options.size();
        return Err(Failure::usage(format!("{action}: expected processes 1 to {nodes}")));
    }
    check_end(action, action.end_time(), duration)?;
    let crashes = match kind {
        ScheduledActionKind::Kill | ScheduledActionKind::Leave => CrashModel::Stop,
        ScheduledActionKind::Restart => CrashModel::Recovery,
        // A suspended process is slow and does not crash.
        ScheduledActionKind::Pause(_) => CrashModel::None,
    };
    let around = SystemModel { crashes, ..card.fault_free_system_model() };
    if card.unmet_assumptions(&around).next().is_some() && !options.beyond_assumptions {
        let (name, faults) = (mutex, card.faults.description);
        return Err(Failure::usage(format!(
            "{action} exceeds the faults that {name} tolerates ({faults}): leave it out, or add \
             --beyond-assumptions"
        )));
    }
    // A restart of one process may follow a kill of `all`, and a restart of `all` may follow a kill
    // of one process.
    let same = |it: &ScheduledAction| {
        it.target == target || [it.target, target].contains(&FaultTarget::All)
    };
    let of_target = |kind| before.iter().filter(|it| it.kind == kind && same(it)).count();
    let gone = of_target(ScheduledActionKind::Kill) + of_target(ScheduledActionKind::Leave);
    if kind == ScheduledActionKind::Restart && gone <= of_target(ScheduledActionKind::Restart) {
        return Err(Failure::usage(format!(
            "{action} has no process to restart: add an earlier --kill {target}@…"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::parse_options;

    fn plan(line: &str) -> Result<NodeRunPlan, String> {
        let options = parse_options(line.split_whitespace()).map_err(|error| error.to_string())?;
        NodeRunPlan::new(options).map_err(|failure| failure.to_string())
    }

    fn actions(line: &str) -> String {
        let actions = plan(line).unwrap().actions;
        actions.iter().map(ScheduledAction::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn has_documented_defaults() {
        let plan = plan("").unwrap();
        assert_eq!((plan.size, plan.duration), (5, Some(Duration::from_secs(10))));
        assert_eq!(
            (&*plan.algorithms.mutex, &*plan.algorithms.election),
            ("coordinated:bully", "bully")
        );
        assert_eq!(actions(""), "--kill leader@2s --restart leader@5s");
    }

    #[test]
    fn size_is_checked_before_the_topology_is_built() {
        for nodes in ["65", "4000000000"] {
            let error = plan(&format!("--nodes {nodes} --topology hypercube")).unwrap_err();
            assert!(error.contains("for --nodes: expected 1 to 64"), "{error}");
        }
    }

    #[test]
    fn partition_needs_processes_on_both_sides() {
        for line in ["--partition all@1s..3s", "--nodes 3 --partition 1,2,3@1s..3s"] {
            let error = plan(line).unwrap_err();
            assert!(error.ends_with("expected processes on both sides"), "{error}");
        }
        assert!(plan("--nodes 3 --partition 1,2@1s..3s").is_ok());
    }

    #[test]
    fn restart_may_follow_kill_of_all_and_departure() {
        for line in [
            "--kill all@1s --restart all@2s",
            "--kill 1@1s --kill leader@2s --restart all@3s",
            "--leave leader@1s --restart leader@2s",
        ] {
            assert_eq!(actions(&format!("--election raft {line}")), line);
        }
    }

    #[test]
    fn default_kill_needs_tolerant_lock_and_long_run() {
        assert_eq!(actions("--mutex ricart-agrawala"), "");
        assert_eq!(actions("--kill 3@1s"), "--kill 3@1s");
        assert_eq!(actions("--pause 3@1s..3s"), "--pause 3@1s..3s");
        assert_eq!(actions("--crash 3@1s --recover 3@2s"), "--kill 3@1s --restart 3@2s");
        assert_eq!(actions("--partition 1@1s..3s"), "");
        assert_eq!(actions("--fifo --lose 0.1"), "");
        assert_eq!(actions("--duration 1s"), "");
        assert_eq!(actions("--duration 5s"), "--kill leader@2s");
        assert_eq!(actions("--no-faults"), "");
        assert!(plan("--no-faults --kill leader@2s").is_err());
    }

    #[test]
    fn rejects_faults_beyond_the_card() {
        let error = plan("--mutex ricart-agrawala --kill leader@2s").unwrap_err();
        assert!(error.contains("needs a reply from every process"), "{error}");
        assert!(error.contains("--beyond-assumptions"), "{error}");
        let line = "--mutex ricart-agrawala --kill leader@2s --beyond-assumptions";
        assert_eq!(plan(line).unwrap().actions.len(), 1);
        assert_eq!(actions("--mutex central --pause 1@1s..3s"), "--pause 1@1s..3s");
    }

    #[test]
    fn pause_voids_promises_that_need_perfect_detector() {
        let promises = |line: &str| plan(line).unwrap().promises;
        let lock = "--mutex tolerant-ricart-agrawala --election raft";
        assert!(promises(lock).contains(&Property::Fencing));
        let paused = promises(&format!("{lock} --pause 4@1s..3s"));
        for gone in [Property::Fencing, Property::MutualExclusion, Property::FirstComeFirstServed] {
            assert!(!paused.contains(&gone), "{gone}");
        }
        assert!(paused.contains(&Property::StarvationFreedom));
        assert_eq!(promises(&format!("{lock} --partition 4@1s..3s")), paused);
        let patient = promises("--mutex central --pause 1@1s..3s");
        assert!(patient.contains(&Property::Fencing), "no process is suspected there");
    }

    #[test]
    fn errors_contain_the_remedy() {
        for (line, expected) in [
            ("--nodes 0", "1 to 64"),
            ("--nodes 65", "1 to 64"),
            ("--lose 0.1", "--fifo"),
            ("--fifo --lose 1", "below 1"),
            ("--fifo --duplicate -1", "--duplicate"),
            ("--fifo --duplicate NaN", "probability"),
            ("--entries 0", "at least 1"),
            ("--trace-mib 0", "at least 1"),
            ("--duration 0s", "10s"),
            ("--duration 10", "10s"),
            ("--mutex lamprot", "nearest are lamport"),
            ("--mutex bully", "--mutex coordinated:bully"),
            ("--mutex coordinated:bully --election chang-roberts", "do not match"),
            ("--mutex maekawa --quorums round", "grid"),
            ("--mutex maekawa --quorums fpp", "plane"),
            ("--mutex maekawa --quorums 1,2/3,4 -n 4", "P1 P2 and P3 P4 do not intersect"),
            ("--mutex maekawa --quorums 1,2/2,3/1,3 -n 4", "expected 4"),
            ("--mutex raymond --tree oak", "heap"),
            ("--mutex ricart-agrawala --variant quick", "reference"),
            ("--mutex coordinated:raft --variant quick", "pre-vote"),
            ("--mutex lamport --variant own-request-on-top", "--allow-mistakes"),
            ("--election raft --variant forgotten-vote", "--allow-mistakes"),
            ("--mutex lamport --allow-mistakes", "--variant"),
            ("--election central", "--mutex central"),
            ("--kill 6@1s", "1 to 5"),
            ("--kill leader@10s", "10s"),
            ("--pause 2@1s..10s", "10s"),
            ("--partition 2@1s..10s", "10s"),
            ("--partition 6@1s..2s", "1 to 5"),
            ("--clients 3", "--service"),
            ("--snapshot-after 3", "--service"),
            ("--restart all@5s", "--kill all"),
            ("--partition 2@1s..", "1,2@1s..3s"),
            ("--partition 2@1s..2s -n 17", "16"),
            ("--kill leader", "leader@2s"),
            ("--no-lock --pause inside@1s..2s", "without a lock"),
            ("--restart leader@5s", "--kill leader"),
            ("--kill 3@4s --restart 3@1s", "--kill 3"),
            ("--kill 3@1s --restart 3@2s --restart 3@3s", "--kill 3"),
        ] {
            let error = plan(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn lock_and_election_default_to_each_other() {
        for (line, mutex, election) in [
            ("--election chang-roberts", "coordinated:chang-roberts", "chang-roberts"),
            ("--mutex coordinated:chang-roberts", "coordinated:chang-roberts", "chang-roberts"),
            ("--mutex central", "central", "bully"),
            ("--mutex fifo:coordinated:bully", "coordinated:bully", "bully"),
        ] {
            let AlgorithmConfig { mutex: lock, election: found, .. } =
                plan(line).unwrap().algorithms;
            assert_eq!((&*lock, &*found), (mutex, election), "{line}");
        }
    }

    #[test]
    fn allows_mistakes_on_request_only() {
        let line = "--mutex lamport --variant own-request-on-top";
        let refusal = plan(line).unwrap_err();
        assert!(refusal.contains("'own-request-on-top' of lamport"), "{refusal}");
        let plan = plan(&format!("{line} --allow-mistakes")).unwrap();
        assert!(plan.algorithms.allow_mistakes);
    }

    #[test]
    fn fifo_prefix_equals_fifo_option() {
        let plan = plan("--mutex fifo:central --lose 0.1").unwrap();
        assert!(plan.fifo);
        assert_eq!(plan.algorithms.mutex, "central");
    }
}
