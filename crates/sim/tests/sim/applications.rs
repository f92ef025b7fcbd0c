//! Tests of applications that use a leader election, over many seeds and elections, with crashes at
//! any time.

use std::num::NonZeroU32;
use std::sync::Arc;

use tenure_algorithms::application::with_election::{self, WithElection};
use tenure_algorithms::application::{
    Application, Berkeley, PrimaryBackup, SpanningTree, TwoPhaseCommit, berkeley, primary_backup,
    spanning_tree, two_phase_commit,
};
use tenure_algorithms::catalogue::SumTypeMember;
use tenure_algorithms::compose::coordinated;
use tenure_algorithms::election::{
    Bully, ChangRoberts, FaultTolerantChangRoberts, RaftElection, bully, chang_roberts, raft,
    repaired_chang_roberts,
};
use tenure_algorithms::mutex::{
    FaultTolerantTokenRing, LeaseDurations, NishioLiManning, repaired_ring,
};
use tenure_core::monitors::{
    ApplicationProjection, OneTreePerWave, TransactionAtomicity, WriteDurability,
};
use tenure_core::service::{
    clock_synchronisation, commit, election, replicated_list, with_election as service,
};
use tenure_core::{
    ChannelOrder, Election, Monitor, Observation, ProcessId, Property, Rank, TICKS_PER_TIME_UNIT,
    Violation,
};
use tenure_sim::{CrashTrigger, Distribution, Random, RunReport, Settings, Simulation, Workload};
use tenure_trace::{RecordableProtocol, ServiceCommand, ServiceEvent};

use crate::by_service::{CoordinatedMember, simulate};
use crate::common::runs::{self, crash, crash_and_recover, seeded, sent_of};

const UNIT: u64 = TICKS_PER_TIME_UNIT;
/// End of the disturbances, in ticks. Later, no user issues a command and no process crashes.
const LAST_DISTURBANCE: u64 = 300 * UNIT;
/// Time at which all consequences of the last command and crash have ended, in ticks.
const END: u64 = 900 * UNIT;

fn settings(size: u32, seed: u64) -> Settings {
    let mut settings =
        seeded(size, seed, Workload::default(), Distribution::between_time_units(1, 3));
    settings.network.order = Some(ChannelOrder::Fifo);
    settings.limits.until = Some(END);
    settings
}

/// Adds `count` crashes at random times to the settings. The processes recover with their stable
/// state.
fn crashes(settings: &mut Settings, count: u32) {
    let mut random = Random::new(settings.seed);
    for process in random.permutation(settings.size).into_iter().take(count as usize) {
        let when = CrashTrigger::At(random.below(LAST_DISTURBANCE));
        let after = UNIT + random.below(100 * UNIT);
        settings.faults.push(crash_and_recover(process, when, after));
    }
}

fn simulation<A, E>(
    application: A::Config,
    election: E::Config,
    settings: Settings,
) -> Simulation<WithElection<A, E>>
where
    A: Application<Command: ServiceCommand, Event: ServiceEvent>,
    E: Election,
{
    let elect = service::Command::Election(election::Command::Elect);
    let config = with_election::Config { application, election };
    Simulation::new(config, settings).with_command(UNIT, ProcessId(0), elect)
}

fn violation<'a>(report: &'a RunReport, property: &str) -> Option<&'a str> {
    let finding = report.finding(property).expect("it is watched");
    finding.violation.as_ref().map(|violation| violation.message.as_str())
}

/// Runs a group in which all processes write at regular intervals. Returns the number of writes
/// that each live process has stored at the end.
fn write<E>(election: E::Config, settings: Settings, context: &str) -> Vec<usize>
where
    E: SumTypeMember<Sum: Election>,
{
    let (size, seed) = (settings.size, settings.seed);
    let config = primary_backup::Config::default();
    let election = E::to_sum_type_config(election);
    let mut simulation = simulation::<PrimaryBackup, E::Sum>(config, election, settings)
        .with_monitor("durability", ApplicationProjection(WriteDurability::new()));
    for at in (UNIT..LAST_DISTURBANCE).step_by(2 * UNIT as usize) {
        for process in (0..size).map(ProcessId) {
            let value = at + u64::from(process.display_number());
            let write = service::Command::Application(replicated_list::Command::Write { value });
            simulation = simulation.with_command(at, process, write);
        }
    }
    let (report, processes) = simulation.run_and_inspect().unwrap();
    assert_eq!(violation(&report, "durability"), None, "{context}, seed {seed}");
    processes.iter().map(|process| process.application().stored_writes().len()).collect()
}

#[test]
fn acknowledged_writes_survive_minority_crashes() {
    let mut written = 0;
    for seed in 1..=150 {
        let settings = |size, count| {
            let mut settings = settings(size, seed);
            crashes(&mut settings, count);
            settings
        };
        for (size, count) in [(3, 1), (5, 2)] {
            let delay = 3 * UNIT;
            let raft = write::<RaftElection>(
                raft::Config::with_defaults(size, delay),
                settings(size, count),
                "raft",
            );
            let bully = write::<Bully>(
                bully::Config::with_defaults(size, delay),
                settings(size, count),
                "bully",
            );
            written += raft.iter().chain(&bully).sum::<usize>();
        }
    }
    assert!(written > 150 * 16 * 20, "there is much to lose: {written}");
}

#[test]
fn any_election_provides_primary() {
    for seed in 1..=20 {
        let delay = 3 * UNIT;
        let raft =
            write::<RaftElection>(raft::Config::with_defaults(4, delay), settings(4, seed), "raft");
        let bully =
            write::<Bully>(bully::Config::with_defaults(4, delay), settings(4, seed), "bully");
        let ring = write::<ChangRoberts>(
            chang_roberts::Config::with_defaults(4),
            settings(4, seed),
            "ring",
        );
        let repaired = repaired_chang_roberts::Config::with_defaults(4);
        let repaired =
            write::<FaultTolerantChangRoberts>(repaired, settings(4, seed), "repaired ring");
        for lists in [raft, bully, ring, repaired] {
            assert!(lists[0] > 60, "seed {seed}: {lists:?}");
            assert_eq!(lists, vec![lists[0]; 4], "seed {seed}");
        }
    }
}

/// Runs a group in which each process issues a command every ten units. The command begins a
/// transaction, or makes the process vote no from then on.
fn transact<E: SumTypeMember<Sum: Election>>(election: E::Config, settings: Settings) {
    let (size, seed) = (settings.size, settings.seed);
    let config = two_phase_commit::Config::default();
    let mut random = Random::new(seed);
    let election = E::to_sum_type_config(election);
    let mut simulation = simulation::<TwoPhaseCommit, E::Sum>(config, election, settings)
        .with_monitor("atomicity", ApplicationProjection(TransactionAtomicity::new()));
    for at in (UNIT..LAST_DISTURBANCE).step_by(10 * UNIT as usize) {
        for process in (0..size).map(ProcessId) {
            let veto = random.below(40) == 0;
            let command = if veto { commit::Command::Veto } else { commit::Command::Begin };
            let command = service::Command::Application(command);
            simulation = simulation.with_command(at + random.below(UNIT), process, command);
        }
    }
    let (report, processes) = simulation.run_and_inspect().unwrap();
    assert_eq!(violation(&report, "atomicity"), None, "seed {seed}");
    let uncertain =
        processes.iter().filter(|process| process.application().has_uncertain_transaction());
    assert_eq!(uncertain.count(), 0, "seed {seed}: all have recovered, but a process is uncertain");
}

#[test]
fn commit_is_atomic_and_known_after_recovery() {
    for seed in 1..=150 {
        for (size, count) in [(3, 3), (4, 2)] {
            let mut settings = settings(size, seed);
            crashes(&mut settings, count);
            transact::<Bully>(bully::Config::with_defaults(size, 3 * UNIT), settings.clone());
            transact::<RaftElection>(raft::Config::with_defaults(size, 3 * UNIT), settings);
        }
    }
}

/// Returns the edges of a random connected graph.
fn graph(size: u32, random: &mut Random) -> Vec<(ProcessId, ProcessId)> {
    let mut edges = Vec::new();
    for one in 1..size {
        let to_earlier = random.below(u64::from(one)) as u32;
        for other in 0..one {
            if other == to_earlier || random.below(3) == 0 {
                edges.push((ProcessId(one), ProcessId(other)));
            }
        }
    }
    edges
}

#[test]
fn spanning_tree_counts_and_recovers_on_random_graphs() {
    for seed in 1..=200 {
        let mut random = Random::new(seed);
        let size = 2 + random.below(8) as u32;
        let edges = graph(size, &mut random);
        let count = edges.len() as u64;
        let config = spanning_tree::Config::with_edges_and_echoes(size, edges);
        let election = bully::Config::with_defaults(size, 3 * UNIT);
        let still = simulation::<SpanningTree, Bully>(config, election, settings(size, seed));
        let report = still
            .with_monitor("one-tree", ApplicationProjection(OneTreePerWave::new()))
            .run()
            .unwrap();
        assert_eq!(violation(&report, "one-tree"), None, "seed {seed}");
        // The election has only one term, so only one tree is built, even if the initiator does not
        // win.
        let [explored, echoed] = ["explore", "echo"].map(|kind| sent_of(&report, kind));
        assert_eq!(explored, 2 * count - u64::from(size - 1), "seed {seed}");
        assert_eq!(explored + echoed, 2 * count, "seed {seed}");

        // All processes are neighbours, so every survivor is reachable.
        let all = (0..size).flat_map(|one| (0..one).map(move |it| (ProcessId(one), ProcessId(it))));
        let config = spanning_tree::Config::with_edges_and_echoes(size, all);
        let election = bully::Config::with_defaults(size, 3 * UNIT);
        let mut settings = settings(size, seed);
        crashes(&mut settings, size / 2);
        let crashed = simulation::<SpanningTree, Bully>(config, election, settings);
        let crashed =
            crashed.with_monitor("one-tree", ApplicationProjection(OneTreePerWave::new()));
        let (report, processes) = crashed.run_and_inspect().unwrap();
        assert_eq!(violation(&report, "one-tree"), None, "seed {seed}");
        let parents = processes.iter().filter(|process| process.application().parent().is_some());
        assert_eq!(parents.count(), processes.len() - 1, "seed {seed}: all came back");
    }
}

#[test]
fn any_leader_synchronises_clocks_including_recovered() {
    // A message takes 1 to 3 units, so two clocks differ by at most 2 units.
    assert_eq!((1..=50).filter_map(|seed| apart(seed, 2 * UNIT)).next(), None);
    assert!((1..=50).filter_map(|seed| apart(seed, UNIT / 2)).count() > 10);
}

/// Runs a group whose clocks are synchronised. Returns `None` if the clocks of any two processes
/// differ by at most `most` ticks at the end. Otherwise, returns a description of the difference.
fn apart(seed: u64, most: u64) -> Option<String> {
    let mut settings = settings(4, seed);
    crashes(&mut settings, 2);
    let config = berkeley::Config::default();
    let election = RaftElection::to_sum_type_config(raft::Config::with_defaults(4, 3 * UNIT));
    let together = CloseClocks { most, read: Vec::new() };
    let mut simulation =
        simulation::<Berkeley, <RaftElection as SumTypeMember>::Sum>(config, election, settings)
            .with_monitor("together", ApplicationProjection(together));
    for process in (0..4).map(ProcessId) {
        let to = i64::from(process.display_number()) * 1_000_000_000;
        let set = service::Command::Application(clock_synchronisation::Command::Set { to });
        let read = service::Command::Application(clock_synchronisation::Command::Read);
        simulation = simulation.with_command(0, process, set).with_command(END, process, read);
    }
    let report = simulation.run().unwrap();
    violation(&report, "together").map(|description| format!("seed {seed}: {description}"))
}

/// Monitor of clocks that are read at the same time. The clocks of any two processes may differ by
/// at most `most` ticks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CloseClocks {
    most: u64,
    read: Vec<i64>,
}

impl Monitor<clock_synchronisation::Command, clock_synchronisation::Event> for CloseClocks {
    fn property(&self) -> Property {
        Property::Custom("together")
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observation<'_, clock_synchronisation::Command, clock_synchronisation::Event>,
    ) -> Result<(), Violation> {
        let Observation::Event(clock_synchronisation::Event::Shows { time }) = seen else {
            return Ok(());
        };
        let far = self.read.iter().find(|other| other.abs_diff(*time) > self.most);
        if let Some(other) = far {
            let description = format!("{other} and {time} are far apart");
            return Err(Violation { at, message: description });
        }
        self.read.push(*time);
        Ok(())
    }
}

/// Loses the token of a lock. Afterwards, no process may enter with a token of an older generation.
/// The first part of a fence is the generation of the token, so the monitor of fences checks this
/// rule.
#[test]
fn lost_token_is_regenerated_once() {
    fn entries<P: SumTypeMember<Sum: RecordableProtocol>>(config: P::Config, seed: u64) -> u64 {
        let mut settings = settings(5, seed);
        settings.workload = Workload::entries(4);
        settings.network.order = None;
        settings.limits.until = None;
        settings.monitoring.properties =
            Some(vec![Property::MutualExclusion, Property::StarvationFreedom, Property::Fencing]);
        let mut random = Random::new(seed);
        for process in random.permutation(5).into_iter().take(3) {
            // The process inside holds the token, so its crash loses the token.
            let when = CrashTrigger::Inside { entry: 1 + random.below(3), after: 0 };
            settings.faults.push(crash(process, when));
        }
        let report = simulate::<P>(config, settings);
        assert_eq!(report.failures().next(), None, "seed {seed}");
        assert_eq!(report.blocked, [], "seed {seed}");
        report.metrics.entry_count
    }
    for seed in 1..=100 {
        // Each of the two survivors enters four times, and each of the three crashed processes
        // entered at least once: 2·4 + 3 = 11.
        assert!(entries::<FaultTolerantTokenRing>(repaired_ring::Config::default(), seed) >= 11);
        assert!(entries::<NishioLiManning>((), seed) >= 11);
    }
}

/// Runs the centralised mutex with a coordinator that Raft elects. Two of five processes crash. At
/// most one process may be inside at a time, and all requests of the other three are served.
#[test]
fn at_most_one_master_with_two_of_five_down() {
    for seed in 1..=100 {
        let mut settings = settings(5, seed);
        settings.workload = Workload::entries(3);
        settings.limits.until = None;
        settings.monitoring.properties = Some(vec![Property::MutualExclusion, Property::Fencing]);
        let mut random = Random::new(seed);
        for process in random.permutation(5).into_iter().take(2) {
            let when = CrashTrigger::At(random.below(150) * UNIT);
            settings.faults.push(crash(process, when));
        }
        let times = Some(LeaseDurations::for_message_delay(3 * UNIT));
        let election = RaftElection::to_sum_type_config(raft::Config::with_defaults(5, 3 * UNIT));
        let config = coordinated::Config { election, entry_durations: times };
        let report = runs::simulate::<CoordinatedMember<RaftElection>>(config, settings);
        assert_eq!(report.failures().next(), None, "seed {seed}");
        assert_eq!(report.blocked, [], "seed {seed}: {:?}", report.ended);
        assert!(report.metrics.entry_count >= 9, "seed {seed}: the three that are left");
    }
}

/// Processes are ordered by `<1/load, id>`, and the process with the largest pair must win. With
/// the loads 50, 25 and 25, this is the third process.
#[test]
fn elects_least_loaded_process() {
    for (loads, leader) in [([50, 25, 25], 2), ([25, 50, 25], 2), ([25, 25, 50], 1)] {
        let load = |(id, load): (u32, u32)| Rank::from_load(NonZeroU32::new(load).unwrap(), id);
        let ranks: Arc<[Rank]> = (1..=3).zip(loads).map(load).collect();
        let ring = chang_roberts::Config {
            ranks: ranks.clone(),
            ..chang_roberts::Config::with_defaults(3)
        };
        let bully =
            bully::Config { ranks: ranks.clone(), ..bully::Config::with_defaults(3, 3 * UNIT) };
        let leaders = |report: RunReport| (report.leaders.clone(), report.failures().count());
        let mut settings = Settings::new(3);
        (settings.ranks, settings.workload) = (ranks, Workload::elect_by_all());
        let on_ring = simulate::<ChangRoberts>(ring, settings.clone());
        let by_bully = simulate::<Bully>(bully, settings);
        let expected = (vec![ProcessId(leader)], 0);
        assert_eq!(leaders(on_ring), expected, "{loads:?}");
        assert_eq!(leaders(by_bully), expected, "{loads:?}");
    }
}
