//! What will be done, once it is known to be possible.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use tenure_algorithms::catalogue::{Parameters, Unknown};
use tenure_core::{Card, Crashes, Property, Service as Offered, Surroundings, TICKS_PER_UNIT};
use tenure_daemon::Service;

use super::analysis::Coordinator;
use super::options::Options;
use super::schedule::{Action, Cut, Deed, Moment, Target, Timeouts};
use crate::cmd::failure::Failure;
use crate::cmd::known::misplaced;

/// More processes than this on one machine measure the machine.
const MOST_NODES: u32 = 64;

/// Each pair of nodes is joined by a wire of this command where it is to be cut, and a process may
/// open a thousand files.
const MOST_WIRED: u32 = 16;

/// How long a run lasts when nobody says how long or how much.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// The defaults of `--kill` and `--restart`.
const DEFAULT_BLOWS: [Moment; 2] = [Moment::leader_at(2), Moment::leader_at(5)];

/// The same where somebody watches, who wants time to open the page.
const WATCHED_DURATION: Duration = Duration::from_secs(60);
const WATCHED_BLOWS: [Moment; 2] = [Moment::leader_at(10), Moment::leader_at(15)];

/// How many clients a log has where nobody says how many, and at most.
const CLIENTS: u32 = 8;
const MOST_CLIENTS: u32 = 256;

/// The election timeouts of a log where nobody says which: those of the paper.
const TIMEOUTS: Timeouts =
    Timeouts { least: Duration::from_millis(150), most: Duration::from_millis(300) };

/// After how many entries a snapshot stands for them, where nobody says after how many.
const SNAPSHOT_AFTER: NonZeroU64 = NonZeroU64::new(1_000).expect("it is not 0");

/// How much of a trace is kept where nobody says how much, in MiB.
const TRACE_MIB: u64 = 64;

/// A log that is kept in place of a lock.
#[derive(Clone, Debug)]
pub(super) struct LogPlan {
    pub(super) name: String,
    pub(super) variants: Vec<String>,
    pub(super) clients: u32,
    pub(super) timeouts: Timeouts,
    /// After how many entries a snapshot stands for them.
    pub(super) snapshot_after: NonZeroU64,
}

/// A run that is possible.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) size: u32,
    pub(super) service: Service,
    pub(super) card: Card,
    pub(super) coordinator: Coordinator,
    /// The log, if there is one: then there is no lock.
    pub(super) log: Option<LogPlan>,
    pub(super) lock: bool,
    pub(super) entries: Option<u64>,
    pub(super) duration: Option<Duration>,
    pub(super) hold: Duration,
    pub(super) think: Duration,
    pub(super) fifo: bool,
    pub(super) lose: f64,
    pub(super) duplicate: f64,
    pub(super) seed: u64,
    pub(super) states: bool,
    pub(super) watch: Option<SocketAddr>,
    pub(super) directory: Option<PathBuf>,
    /// How long a file of a trace may be, in KiB; nothing where all is kept.
    pub(super) segment_kib: Option<u64>,
    /// In the order of their times.
    pub(super) actions: Vec<Action>,
    /// When the network is cut, in the order of their times.
    pub(super) cuts: Vec<Cut>,
    /// What the card promises of a run in which this is done.
    pub(super) promises: Vec<Property>,
}

impl Plan {
    pub(super) fn new(options: Options) -> Result<Plan, Failure> {
        let (fifo, service) = service(&options);
        validate(&options, fifo)?;
        let log = log(&options)?;
        let card = match &log {
            Some(log) => card_of_log(options.size(), log)?,
            None => card(options.size(), &service)?,
        };
        let name = log.as_ref().map_or(&service.mutex, |log| &log.name);
        let lock = tenure_instances::card(&service.mutex, &Parameters::plain(options.size()));
        let coordinator = lock.map_or(Coordinator::Nobody, |lock| Coordinator::of(&lock));
        let duration = match (options.duration, options.entries) {
            (None, None) if options.watch.is_some() => Some(WATCHED_DURATION),
            (None, None) => Some(DEFAULT_DURATION),
            (duration, _) => duration,
        };
        let actions = actions(&options, name, &card, duration)?;
        let cuts = cuts(&options, duration)?;
        // Whoever is stopped for longer than a heartbeat may take is suspected, and is alive; and
        // so is whoever is cut off. Nothing is lost by a cut: TCP repeats it.
        let stops = actions.iter().any(|action| matches!(action.deed, Deed::Pause(_)));
        let suspicion = stops || !cuts.is_empty();
        let around = Surroundings { suspicion, ..card.surroundings() };
        let mut promises = card.promises_in(&around);
        // That is for its clients to say, not for traces: see what a node writes down.
        promises.retain(|promise| log.is_none() || *promise != Property::NoCreation);
        Ok(Plan {
            promises,
            size: options.size(),
            service,
            card,
            coordinator,
            lock: !options.no_lock && log.is_none(),
            log,
            entries: options.entries,
            duration,
            hold: options.hold,
            think: options.think,
            fifo,
            lose: options.lose,
            duplicate: options.duplicate,
            seed: options.seed,
            states: options.states,
            watch: options.watch,
            // Of each trace there are two parts that were judged, or one and the one being written.
            segment_kib: options
                .dir
                .is_none()
                .then_some(options.trace_mib.unwrap_or(TRACE_MIB).saturating_mul(512)),
            directory: options.dir,
            actions,
            cuts,
        })
    }
}

/// Whether the reliable channel is asked for, and what shall run: each of lock and election
/// follows the other where it is not named.
fn service(options: &Options) -> (bool, Service) {
    const DEFAULT_ELECTION: &str = "bully";
    let election = options.election.as_deref();
    let Some(mutex) = options.mutex.as_deref() else {
        let election = election.unwrap_or(DEFAULT_ELECTION).to_string();
        return (options.fifo, of(options, format!("coordinated:{election}"), election));
    };
    let (fifo, mutex) = match mutex.strip_prefix("fifo:") {
        Some(inner) => (true, inner),
        None => (options.fifo, mutex),
    };
    let own = mutex.strip_prefix("coordinated:");
    let election = election.or(own).unwrap_or(DEFAULT_ELECTION).to_string();
    (fifo, of(options, mutex.to_string(), election))
}

fn of(options: &Options, mutex: String, election: String) -> Service {
    let Options { variant, quorums, tree, .. } = options.clone();
    let quorums = quorums.unwrap_or_else(|| "grid".to_owned());
    let tree = tree.unwrap_or_else(|| "star".to_owned());
    Service { mutex, election, variants: variant, quorums, tree, named: false }
}

fn validate(options: &Options, fifo: bool) -> Result<(), Failure> {
    let require =
        |holds: bool, says: String| if holds { Ok(()) } else { Err(Failure::usage(says)) };
    let (nodes, lose, duplicate) = (options.size(), options.lose, options.duplicate);
    require(
        (1..=MOST_NODES).contains(&nodes),
        format!("--nodes {nodes} is too few or too many; 1 to {MOST_NODES} are possible"),
    )?;
    for (option, chance) in [("--lose", lose), ("--duplicate", duplicate)] {
        require(
            (0.0..1.0).contains(&chance),
            format!("{option} {chance} is no probability from 0 to below 1, such as 0.1"),
        )?;
        require(
            chance == 0.0 || fifo || options.log.is_some(),
            format!("{option} needs --fifo: without it nothing brings a lost message back"),
        )?;
    }
    require(
        options.trace_mib != Some(0),
        "--trace-mib 0 leaves no room for a trace; 1 or more are needed".into(),
    )?;
    require(
        options.entries != Some(0),
        "--entries 0 leaves nothing to do; 1 or more are needed".into(),
    )?;
    require(
        options.duration != Some(Duration::ZERO),
        "--duration 0ms leaves no time to do anything; try 10s".into(),
    )
}

/// The log that is asked for.
fn log(options: &Options) -> Result<Option<LogPlan>, Failure> {
    let Some(name) = options.log.clone() else {
        return match (options.clients, options.snapshot_after) {
            (None, None) => Ok(None),
            (Some(_), _) => Err(Failure::usage("--clients goes with --log or --service")),
            _ => Err(Failure::usage("--snapshot-after goes with --log or --service")),
        };
    };
    let clients = options.clients.unwrap_or(CLIENTS);
    if !(1..=MOST_CLIENTS).contains(&clients) {
        return Err(Failure::usage(format!(
            "--clients {clients} is too few or too many; 1 to {MOST_CLIENTS} are possible"
        )));
    }
    let timeouts = options.election_timeout.unwrap_or(TIMEOUTS);
    let snapshot_after = options.snapshot_after.unwrap_or(SNAPSHOT_AFTER);
    let variants = options.variant.clone();
    Ok(Some(LogPlan { name, variants, clients, timeouts, snapshot_after }))
}

fn card_of_log(size: u32, log: &LogPlan) -> Result<Card, Failure> {
    let parameters = Parameters { variants: log.variants.clone(), ..Parameters::plain(size) };
    let card = tenure_instances::card(&log.name, &parameters).map_err(Failure::usage)?;
    if card.service != Offered::Log {
        let name = &log.name;
        return Err(Failure::usage(format!("{name} keeps no log; write --log raft-log")));
    }
    if log.name == "relayed-log" {
        return Err(Failure::usage(
            "relayed-log is what --service runs; write that, or --log raft-log",
        ));
    }
    Ok(card)
}

fn card(size: u32, service: &Service) -> Result<Card, Failure> {
    let Service { mutex, election, .. } = service;
    let parameters = service.parameters(size, TICKS_PER_UNIT).map_err(Failure::usage)?;
    let office = tenure_instances::office(service, &parameters);
    let office = office.map_err(|unknown| match unknown {
        Unknown::Algorithm { .. } => {
            let option = |what: &str, name: &str| format!("--{what} {name}");
            Failure::usage(misplaced(mutex, election, option))
        }
        other => Failure::usage(other),
    })?;
    let card = office.card(size);
    if !card.promised(Some(0)).any(|promise| promise == Property::MutualExclusion) {
        return Err(Failure::usage(format!(
            "{mutex} does not promise mutual exclusion, and this job counts on it; \
             `tenure simulate {mutex}` runs it"
        )));
    }
    Ok(card)
}

/// Whether any fault is asked for: it takes the place of the default ones.
fn asks_for_faults(options: &Options) -> bool {
    let Options { kill, leave, restart, pause, partition, lose, duplicate, .. } = options;
    let on_time = !(kill.is_empty() && leave.is_empty() && restart.is_empty());
    let for_a_time = !(pause.is_empty() && partition.is_empty());
    on_time || for_a_time || *lose > 0.0 || *duplicate > 0.0
}

/// When the network is cut, if that is possible.
fn cuts(options: &Options, duration: Option<Duration>) -> Result<Vec<Cut>, Failure> {
    let (nodes, mut cuts) = (options.size(), options.partition.clone());
    cuts.sort_by_key(|cut| cut.from);
    if !cuts.is_empty() && nodes > MOST_WIRED {
        return Err(Failure::usage(format!("--partition is for {MOST_WIRED} nodes at most")));
    }
    for cut in &cuts {
        let of = |target: &Target| match target {
            Target::Leader | Target::Inside | Target::All => true,
            Target::Process(process) => process.0 < nodes,
        };
        if cut.side.contains(&Target::Inside) {
            has_inside(cut, options)?;
        }
        if !cut.side.iter().all(of) {
            return Err(Failure::usage(format!("{cut}: there are only processes 1 to {nodes}")));
        }
        in_time(cut, cut.until, duration)?;
    }
    Ok(cuts)
}

/// Refuses what is not over before the end.
fn in_time(what: &impl fmt::Display, end: Duration, of: Option<Duration>) -> Result<(), Failure> {
    let Some(duration) = of.filter(|duration| end >= *duration) else { return Ok(()) };
    let over = crate::cmd::duration::show(duration);
    Err(Failure::usage(format!("{what} is not over before the end at {over}")))
}

fn actions(
    options: &Options,
    mutex: &str,
    card: &Card,
    duration: Option<Duration>,
) -> Result<Vec<Action>, Failure> {
    let asked = |moment: &Moment| Action::kill(*moment, false);
    let mut actions: Vec<Action> = options.kill.iter().map(asked).collect();
    actions.extend(options.leave.iter().map(|moment| Action::leave(*moment)));
    actions.extend(options.restart.iter().map(|moment| Action::restart(*moment, false)));
    let has_default = !options.no_faults && !asks_for_faults(options);
    if has_default && card.faults.crashes == Crashes::Recovery {
        let at_leisure = options.watch.is_some() && duration == Some(WATCHED_DURATION);
        let [kill, restart] = if at_leisure { WATCHED_BLOWS } else { DEFAULT_BLOWS };
        actions.push(Action::kill(kill, true));
        actions.push(Action::restart(restart, true));
        actions.retain(|action| duration.is_none_or(|duration| action.at < duration));
    }
    actions.extend(options.pause.iter().map(|pause| Action::pause(*pause)));
    // Of what happens at the same time, a kill comes before the restart that follows it.
    actions.sort_by_key(|action| (action.at, action.deed == Deed::Restart));
    for (place, action) in actions.iter().enumerate() {
        check(action, &actions[..place], options, mutex, card, duration)?;
    }
    Ok(actions)
}

/// Refuses to look for a process that is inside where there is no lock.
fn has_inside(what: &impl fmt::Display, options: &Options) -> Result<(), Failure> {
    if options.no_lock || options.log.is_some() {
        return Err(Failure::usage(format!(
            "{what}: no process is ever inside without a lock; name the leader or a process"
        )));
    }
    Ok(())
}

/// Whether something can be done, after what is done `before`.
fn check(
    action: &Action,
    before: &[Action],
    options: &Options,
    mutex: &str,
    card: &Card,
    duration: Option<Duration>,
) -> Result<(), Failure> {
    let Action { target, deed, .. } = *action;
    if target == Target::Inside {
        has_inside(action, options)?;
    }
    if let Target::Process(process) = target
        && process.0 >= options.size()
    {
        let nodes = options.size();
        return Err(Failure::usage(format!("{action}: there are only processes 1 to {nodes}")));
    }
    in_time(action, action.end(), duration)?;
    let crashes = match deed {
        Deed::Kill | Deed::Leave => Crashes::Stop,
        Deed::Restart => Crashes::Recovery,
        // A stopped process is only slow.
        Deed::Pause(_) => Crashes::None,
    };
    let around = Surroundings { crashes, ..card.surroundings() };
    if card.weaknesses(&around).next().is_some() && !options.beyond_assumptions {
        let (name, says) = (mutex, card.faults.says);
        return Err(Failure::usage(format!(
            "{action} is more than {name} survives (its card: {says}); \
             leave it out, or add --beyond-assumptions"
        )));
    }
    // Who is killed with all others can be started alone, and the other way round.
    let same = |it: &Action| it.target == target || [it.target, target].contains(&Target::All);
    let of_target = |deed| before.iter().filter(|it| it.deed == deed && same(it)).count();
    let gone = of_target(Deed::Kill) + of_target(Deed::Leave);
    if deed == Deed::Restart && gone <= of_target(Deed::Restart) {
        return Err(Failure::usage(format!(
            "{action} starts nobody: add an earlier --kill {target}@…"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn plan(line: &str) -> Result<Plan, String> {
        let words = std::iter::once("run").chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        Plan::new(line.options).map_err(|failure| failure.to_string())
    }

    fn actions(line: &str) -> String {
        let actions = plan(line).unwrap().actions;
        actions.iter().map(Action::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_defaults_are_those_of_the_manual() {
        let plan = plan("").unwrap();
        assert_eq!((plan.size, plan.duration), (5, Some(Duration::from_secs(10))));
        assert_eq!((&*plan.service.mutex, &*plan.service.election), ("coordinated:bully", "bully"));
        assert_eq!(actions(""), "--kill leader@2s --restart leader@5s");
    }

    #[test]
    fn a_log_is_kept_for_eight_clients_with_the_timeouts_of_the_paper() {
        let log = plan("--log raft-log").unwrap();
        assert_eq!(log.card.service, Offered::Log);
        let LogPlan { clients, timeouts, .. } = log.log.unwrap();
        assert_eq!((clients, timeouts), (8, TIMEOUTS));
        assert!(!log.lock);
        assert_eq!(actions("--log raft-log"), "--kill leader@2s --restart leader@5s");
        let all = "--kill all@1s --restart all@2s";
        assert_eq!(actions(&format!("--log raft-log {all}")), all);
        let some = "--kill 1@1s --kill leader@2s --restart all@3s";
        assert_eq!(actions(&format!("--log raft-log {some}")), some);
        let gone = "--leave leader@1s --restart leader@2s";
        assert_eq!(actions(&format!("--log raft-log {gone}")), gone);
        let lossy = plan("--log raft-log --lose 0.1 --election-timeout 1s..2s").unwrap();
        assert_eq!(lossy.log.unwrap().timeouts.least, Duration::from_secs(1));
    }

    #[test]
    fn the_default_kill_is_only_for_locks_that_survive_it_and_runs_that_last() {
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
    fn what_the_card_does_not_survive_is_refused_in_its_own_words() {
        let says = plan("--mutex ricart-agrawala --kill leader@2s").unwrap_err();
        assert!(says.contains("needs a reply from every process"), "{says}");
        assert!(says.contains("--beyond-assumptions"), "{says}");
        let line = "--mutex ricart-agrawala --kill leader@2s --beyond-assumptions";
        assert_eq!(plan(line).unwrap().actions.len(), 1);
        assert_eq!(actions("--mutex central --pause 1@1s..3s"), "--pause 1@1s..3s");
    }

    #[test]
    fn a_pause_under_a_card_that_needs_a_perfect_detector_leaves_what_the_resource_sees_to() {
        let promises = |line: &str| plan(line).unwrap().promises;
        let lock = "--mutex tolerant-ricart-agrawala --election raft";
        assert!(promises(lock).contains(&Property::Fencing));
        let paused = promises(&format!("{lock} --pause 4@1s..3s"));
        for gone in [Property::Fencing, Property::MutualExclusion, Property::Order] {
            assert!(!paused.contains(&gone), "{gone}");
        }
        assert!(paused.contains(&Property::StarvationFreedom));
        assert_eq!(promises(&format!("{lock} --partition 4@1s..3s")), paused);
        let patient = promises("--mutex central --pause 1@1s..3s");
        assert!(patient.contains(&Property::Fencing), "nobody is suspected there");
    }

    #[test]
    fn every_mistake_is_one_line_that_says_what_would_be_right() {
        for (line, says) in [
            ("--nodes 0", "1 to 64"),
            ("--nodes 65", "1 to 64"),
            ("--lose 0.1", "--fifo"),
            ("--fifo --lose 1", "below 1"),
            ("--fifo --duplicate -1", "--duplicate"),
            ("--fifo --duplicate NaN", "probability"),
            ("--entries 0", "1 or more"),
            ("--trace-mib 0", "1 or more"),
            ("--duration 0s", "10s"),
            ("--duration 10", "10s"),
            ("--mutex lamprot", "nearest are lamport"),
            ("--mutex bully", "--mutex coordinated:bully"),
            ("--mutex coordinated:bully --election chang-roberts", "do not go together"),
            ("--mutex maekawa --quorums round", "grid"),
            ("--mutex maekawa --quorums fpp", "plane"),
            ("--mutex raymond --tree oak", "heap"),
            ("--mutex ricart-agrawala --variant quick", "reference"),
            ("--election central", "--mutex central"),
            ("--kill 6@1s", "1 to 5"),
            ("--kill leader@10s", "10s"),
            ("--pause 2@1s..10s", "10s"),
            ("--partition 2@1s..10s", "10s"),
            ("--partition 6@1s..2s", "1 to 5"),
            ("--log bully", "--log raft-log"),
            ("--log relayed-log", "--service"),
            ("--log raft-log --clients 0", "1 to 256"),
            ("--log raft-log --mutex central", "--mutex"),
            ("--log raft-log --variant quick", "no-check-quorum"),
            ("--clients 3", "--log"),
            ("--snapshot-after 3", "--service"),
            ("--restart all@5s", "--kill all"),
            ("--partition 2@1s..", "1,2@1s..3s"),
            ("--partition 2@1s..2s -n 17", "16"),
            ("--kill leader", "leader@2s"),
            ("--no-lock --pause inside@1s..2s", "without a lock"),
            ("--log raft-log --kill inside@1s", "without a lock"),
            ("--restart leader@5s", "--kill leader"),
            ("--kill 3@4s --restart 3@1s", "--kill 3"),
            ("--kill 3@1s --restart 3@2s --restart 3@3s", "--kill 3"),
        ] {
            let error = plan(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn lock_and_election_follow_each_other_where_one_is_not_named() {
        for (line, mutex, election) in [
            ("--election chang-roberts", "coordinated:chang-roberts", "chang-roberts"),
            ("--mutex coordinated:chang-roberts", "coordinated:chang-roberts", "chang-roberts"),
            ("--mutex central", "central", "bully"),
            ("--mutex fifo:coordinated:bully", "coordinated:bully", "bully"),
        ] {
            let Service { mutex: lock, election: found, .. } = plan(line).unwrap().service;
            assert_eq!((&*lock, &*found), (mutex, election), "{line}");
        }
    }

    #[test]
    fn a_prefix_is_the_same_as_the_option() {
        let plan = plan("--mutex fifo:central --lose 0.1").unwrap();
        assert!(plan.fifo);
        assert_eq!(plan.service.mutex, "central");
    }
}
