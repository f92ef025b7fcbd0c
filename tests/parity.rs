//! Tests that all engines are equivalent. The tests run each schedule in the schedule runner, in
//! the simulator, in the checker, and on real nodes over TCP. The effects must be the same.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::{
    AtomicBroadcast, CausalBroadcast, CentralDeadlockDetection, ChandraToueg, ChandyLamport,
    CongenialPhilosophers, DijkstraScholten, DisseminationBarrier, DrinkingPhilosophers, Echo,
    Paxos, RaftReplica, ReliableBroadcast, RicciardiBirman, StableVectors, raft_log,
};
use tenure_algorithms::application::with_election::{self, WithElection};
use tenure_algorithms::application::{
    PrimaryBackup, SpanningTree, ThreePhaseCommit, TwoPhaseCommit, primary_backup, spanning_tree,
    three_phase_commit, two_phase_commit,
};
use tenure_algorithms::catalogue::{FromParameters, Parameters, SumTypeMember};
use tenure_algorithms::election::{
    Bully, ChangRoberts, EchoElection, FloodingElection, HirschbergSinclair, InvitationElection,
    Peterson, RestartingChangRoberts, TreeElection, bully, chang_roberts, hirschberg_sinclair,
    invitation, peterson, tree_election,
};
use tenure_algorithms::mutex::{
    Central, DiningPhilosophers, Lamport, LeaseMutex, Maekawa, RicartAgrawala, TokenRing, central,
    lamport, maekawa, ricart_agrawala, token_ring,
};
use tenure_check::{Check, Checkable};
use tenure_core::quorum::QuorumKind;
use tenure_core::tree::TreeShape;
use tenure_core::{Group, ProcessId, Property, Rank, TICKS_PER_TIME_UNIT};
use tenure_runtime::run_schedule_on_nodes;
use tenure_sim::{ProcessConfigs, Settings, Simulation};
use tenure_trace::{
    Header, Reader, Record, RecordKind, RecordSubject, RecordableProtocol, Schedule, Script,
    ServiceCommand, Trace, TraceProducer, TraceVerifier, merge_files_for_verification,
};

/// Amount of detail in which two traces are compared. A trace of real nodes has less detail: it
/// contains neither the contents of messages, nor timers that fire without an effect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Everything,
    WhatNodesWrite,
}

/// Returns descriptions of the events of one process, in order. Within a step, sent messages
/// precede outputs.
fn events_of(records: &[Record], at: ProcessId, detail: Detail) -> Vec<String> {
    let mine = records.iter().filter(|record| record.process == RecordSubject::Process(at));
    let mut lines: Vec<String> = Vec::new();
    let mut events = Vec::new();
    for record in mine {
        let message_record = record.kind.message_record().map(|message_record| {
            let content = message_record.content.as_ref().filter(|_| detail == Detail::Everything);
            let content = content.map_or_else(String::new, |content| content.to_string());
            // Messages of applications have no name.
            let message =
                if message_record.is_between_users() { "" } else { &message_record.message };
            format!("{} {message} {content}", message_record.peer)
        });
        let line = match (&record.kind, message_record) {
            (RecordKind::Event(outputs), _) => {
                events.push(format!("emits {outputs:?}"));
                continue;
            }
            (RecordKind::Send(_), Some(message_record)) => {
                lines.push(format!("  sends {message_record}"));
                continue;
            }
            (RecordKind::Receive(_), Some(message_record)) => format!("receives {message_record}"),
            (RecordKind::Command(asked), _) => format!("asks {asked:?}"),
            (RecordKind::Suspicion { peer, verdict }, _) => format!("{verdict:?} {peer}"),
            (RecordKind::Timer(name), _) if detail == Detail::Everything => format!("fires {name}"),
            (RecordKind::Crash, _) => "crashes".to_owned(),
            (RecordKind::Recover, _) => "recovers".to_owned(),
            _ => continue,
        };
        lines.append(&mut events);
        lines.push(line);
    }
    lines.append(&mut events);
    lines
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no poisoned lock").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn simulated<P: RecordableProtocol>(
    schedule: &Schedule,
    config: &dyn Fn(Group) -> P::Config,
) -> Vec<Record> {
    let configs: Vec<P::Config> = groups(schedule.size).map(config).collect();
    let simulation =
        Simulation::<P>::new(ProcessConfigs::Each(configs), Settings::new(schedule.size));
    let written = Shared::default();
    simulation.run_schedule(schedule, written.clone()).unwrap_or_else(|error| panic!("{error}"));
    let bytes = written.0.lock().expect("no poisoned lock").clone();
    let reader = Reader::new(bytes.as_slice(), "simulated").expect("a trace");
    reader.collect::<Result<_, _>>().expect("every line is a record")
}

fn checked<P>(schedule: &Schedule, config: &dyn Fn(Group) -> P::Config) -> Vec<Record>
where
    P: Checkable,
{
    let first = Group::new(ProcessId(0), schedule.size);
    let check = Check::<P>::with_protocol_config(schedule.size, config(first)).request_limits(9);
    check.run_schedule(schedule).unwrap_or_else(|error| panic!("{error}")).records
}

fn run_for_real<P>(schedule: &Schedule, config: &dyn Fn(Group) -> P::Config) -> Vec<Record>
where
    P: RecordableProtocol,
{
    let directory = tempfile::tempdir().expect("a directory");
    let header =
        Header::new("followed", tenure_trace::Service::Mutex, schedule.size, TraceProducer::Node);
    let config = |at| config(Group::new(at, schedule.size));
    let traces = run_schedule_on_nodes::<P>(schedule, config, directory.path(), &header);
    let traces = traces.unwrap_or_else(|error| panic!("{error}"));
    merge_files_for_verification(traces).expect("traces of one run").records
}

fn groups(size: u32) -> impl Iterator<Item = Group> {
    (0..size).map(move |place| Group::new(ProcessId(place), size))
}

fn golden(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("../algorithms/tests/golden").join(folder);
    let entries = std::fs::read_dir(&folder).expect("a folder of scripts");
    let files = entries.map(|entry| entry.expect("an entry").path());
    let mut scripts: Vec<_> = files.filter(|file| file.extension().is_some()).collect();
    scripts.sort();
    scripts
}

/// Runs every schedule of a folder in each engine, and asserts that the traces are equal. Returns
/// the properties that were checked.
fn assert_equal_runs<P>(folder: &str, config: impl Fn(Group) -> P::Config) -> BTreeSet<Property>
where
    P: SumTypeMember<Sum: Checkable>,
{
    // Uses the sum type of the service, so that the engines are compiled once for all its
    // algorithms.
    assert_equal_runs_of::<P::Sum>(folder, &|group| P::to_sum_type_config(config(group)))
}

/// Runs every schedule of a folder in each engine, with the protocol `P` itself. Asserts that the
/// traces are equal. Returns the properties that were checked.
fn assert_equal_runs_of<P: Checkable>(
    folder: &str,
    config: &dyn Fn(Group) -> P::Config,
) -> BTreeSet<Property> {
    let (mut steps, mut judged) = (0, BTreeSet::new());
    for path in golden(folder) {
        let text = std::fs::read_to_string(&path).expect("a script");
        steps += assert_equal_run::<P>(&path.display().to_string(), &text, config, &mut judged);
    }
    assert!(steps > 5, "{folder} has a story");
    judged
}

/// Runs a schedule in each engine, and asserts that the traces are equal. Returns the number of
/// steps.
fn assert_equal_run<P: Checkable>(
    story: &str,
    text: &str,
    config: &dyn Fn(Group) -> P::Config,
    judged: &mut BTreeSet<Property>,
) -> usize {
    let mut steps = 0;
    let script: Script = text.parse().expect("a script that can be understood");
    eprintln!("{story}");
    for schedule in Schedule::from_script::<P>(&script, config).expect("it can be performed") {
        steps += schedule.actions.len();
        let (simulated, checked) =
            (simulated::<P>(&schedule, config), checked::<P>(&schedule, config));
        let real = run_for_real::<P>(&schedule, config);
        for at in (0..schedule.size).map(ProcessId) {
            let all = |records| events_of(records, at, Detail::Everything);
            assert_eq!(all(&simulated), all(&checked), "{story}: {at}, checker");
            let few = |records| events_of(records, at, Detail::WhatNodesWrite);
            assert_eq!(few(&simulated), few(&real), "{story}: {at}, nodes");
        }
        for records in [&simulated, &checked, &real] {
            assert_eq!(
                schedule.begun_step_count(records),
                schedule.actions.len(),
                "{story}: every step"
            );
        }
        let header = Header::new("x", P::Command::SERVICE, schedule.size, TraceProducer::Simulator);
        let trace = Trace { header, records: simulated.clone(), torn: None };
        let mut judge = TraceVerifier::new(&trace.header);
        trace.records.iter().for_each(|record| judge.verify_record(record));
        judged.extend(judge.finish().properties.into_keys());
        let again = Schedule::from_trace(&trace).expect("a trace knows the schedule that made it");
        assert_eq!(self::simulated::<P>(&again, config), simulated, "{story}, again");
        let is_output = |record: &Record| matches!(record.kind, RecordKind::Event(_));
        assert!(simulated.iter().any(is_output), "{story} has outputs");
    }
    steps
}

#[test]
fn schedules_of_locks_match_in_every_engine() {
    assert_equal_runs::<RicartAgrawala>("ricart_agrawala", |_| ricart_agrawala::Config::default());
    assert_equal_runs::<Lamport>("lamport", |_| lamport::Config::default());
    let coordinator = ProcessId(4);
    let config = central::Config { coordinator, ..central::Config::default() };
    assert_equal_runs::<Central>("central", move |_| config.clone());
    let pairs = |group: Group| {
        maekawa::Config::with_quorum_kind(QuorumKind::Pairs, group.size()).expect("pairs")
    };
    assert_equal_runs::<Maekawa>("maekawa", pairs);
    assert_equal_runs::<TokenRing>("token_ring", |_| token_ring::Config::default());
}

#[test]
fn schedules_of_chang_roberts_match_in_every_engine() {
    let config = |group: Group| chang_roberts::Config::with_defaults(group.size());
    assert_equal_runs::<ChangRoberts>("chang_roberts", config);
    let decreasing = |group: Group| {
        let ranks = (1..=group.size()).rev().map(Rank::from_id).collect();
        chang_roberts::Config::with_ranks(ranks, Variants::none())
    };
    assert_equal_runs::<ChangRoberts>("chang_roberts_decreasing", decreasing);
}

#[test]
fn schedules_of_hirschberg_sinclair_match_in_every_engine() {
    let config = |group: Group| hirschberg_sinclair::Config::with_defaults(group.size());
    assert_equal_runs::<HirschbergSinclair>("hirschberg_sinclair", config);
}

#[test]
fn schedules_of_elections_on_graphs_match_in_every_engine() {
    assert_equal_runs::<EchoElection>("echo_election", plain);
    assert_equal_runs::<FloodingElection>("flooding_election", plain);
    let path = |group: Group| tree_election::Config::with_tree_shape(TreeShape::Path, group.size());
    assert_equal_runs::<TreeElection>("tree_election", path);
}

#[test]
fn schedules_of_peterson_and_invitations_match_in_every_engine() {
    let ring = |group: Group| peterson::Config::with_defaults(group.size());
    assert_equal_runs::<Peterson>("peterson", ring);
    let groups =
        |group: Group| invitation::Config::with_defaults(group.size(), TICKS_PER_TIME_UNIT);
    assert_equal_runs::<InvitationElection>("invitation", groups);
}

#[test]
fn schedules_of_recovering_bullies_match_in_every_engine() {
    let plain = |group: Group| bully::Config::with_defaults(group.size(), TICKS_PER_TIME_UNIT);
    assert_equal_runs::<Bully>("bully", plain);
    let variants = Variants::none().with(bully::VariantId::NoTerms);
    let config = move |group: Group| bully::Config { variants, ..plain(group) };
    assert_equal_runs::<Bully>("bully_without_terms", config);
}

/// Runs a schedule in each engine, and asserts that the traces are equal. In this schedule, a
/// process receives a message that was sent before a crash. Ordinary connections drop such a
/// message. In the run with real nodes, the sender therefore sends the message again.
#[test]
fn schedules_beyond_real_connections_match_in_every_engine() {
    let story = "group 3\nelect p1\ntell p1→p2; crash p3; lose p1→p2; recover p3\n\
                 split p1 | p2 p3\nhear p1→p2\nheal\nduplicate p1→p3\n\
                 deliver p1→p3; deliver p1→p3\n\
                 crash p2; recover p2; stabilize timers 9\n";
    let config = |group: Group| {
        Bully::to_sum_type_config(bully::Config::with_defaults(group.size(), TICKS_PER_TIME_UNIT))
    };
    let steps = assert_equal_run::<<Bully as SumTypeMember>::Sum>(
        "a story",
        story,
        &config,
        &mut BTreeSet::new(),
    );
    assert!(steps > 12);
}

#[test]
fn schedules_of_agreements_match_in_every_engine() {
    let judged = assert_equal_runs_of::<Paxos>("paxos", &|_| Variants::none());
    assert!(judged.contains(&Property::Agreement));
    assert_equal_runs_of::<ChandraToueg>("chandra_toueg", &|_| Variants::none());
    assert_equal_runs_of::<ReliableBroadcast>("reliable_broadcast", &|_| Variants::none());
    let judged = assert_equal_runs_of::<AtomicBroadcast>("atomic_broadcast", &|_| Variants::none());
    assert!(judged.contains(&Property::TotalOrder));
}

/// Returns the configuration that the command uses by default for a group.
fn plain<C: FromParameters>(group: Group) -> C {
    C::from_parameters(&Parameters::with_defaults(group.size())).expect("nothing else is needed")
}

#[test]
fn schedules_of_related_services_match_in_every_engine() {
    assert_equal_runs_of::<ChandyLamport>("chandy_lamport", &plain);
    assert_equal_runs_of::<DijkstraScholten>("dijkstra_scholten", &plain);
    assert_equal_runs_of::<Echo>("echo", &plain);
    let judged = assert_equal_runs_of::<CentralDeadlockDetection>("central_detection", &plain);
    assert!(judged.contains(&Property::NoPhantomDeadlock));
    let judged = assert_equal_runs_of::<CausalBroadcast>("causal_broadcast", &plain);
    assert!(judged.contains(&Property::CausalOrder));
    assert_equal_runs_of::<DisseminationBarrier>("dissemination_barrier", &plain);
    assert_equal_runs_of::<RicciardiBirman>("ricciardi_birman", &plain);
    assert_equal_runs_of::<StableVectors>("stable_vectors", &plain);
}

#[test]
fn schedules_of_philosophers_match_in_every_engine() {
    let judged = assert_equal_runs::<DiningPhilosophers>("dining_philosophers", plain);
    assert!(judged.contains(&Property::MutualExclusion));
    let judged = assert_equal_runs_of::<DrinkingPhilosophers>("drinking_philosophers", &plain);
    assert!(judged.contains(&Property::SessionExclusion));
    let judged = assert_equal_runs_of::<CongenialPhilosophers>("congenial_philosophers", &plain);
    assert!(judged.contains(&Property::SessionExclusion));
}

#[test]
fn schedules_of_leases_match_in_every_engine() {
    assert_equal_runs::<LeaseMutex>("lease", plain);
    assert_equal_runs::<RestartingChangRoberts>("restarting_chang_roberts", plain);
}

/// Runs the schedules of a replicated log in every engine. They cover each rule in the sections on
/// elections, replication and safety of the Raft paper.
#[test]
fn schedules_of_a_log_match_in_every_engine() {
    let with = |variants: &'static [&'static str]| {
        move |group: Group| {
            let variants = variants.iter().map(ToString::to_string).collect();
            let parameters = Parameters { variants, ..Parameters::with_defaults(group.size()) };
            raft_log::Config::from_parameters(&parameters).expect("these are its variants")
        }
    };
    let judged = assert_equal_runs_of::<RaftReplica>("raft_log", &with(&[]));
    assert!(judged.contains(&Property::LogMatching));
    assert_equal_runs_of::<RaftReplica>("raft_log_no_pre_vote", &with(&["no-pre-vote"]));
    assert_equal_runs_of::<RaftReplica>("raft_log_one_entry", &with(&["no-pre-vote", "one-entry"]));
    assert_equal_runs_of::<RaftReplica>("raft_log_compacting", &with(&["compacting"]));
    let mistaken = with(&["no-pre-vote", "one-entry", "old-term-commit"]);
    assert_equal_runs_of::<RaftReplica>("raft_log_old_term_commit", &mistaken);
}

/// Runs the schedules of applications that a leader coordinates. The application `berkeley`, which
/// synchronizes clocks, is left out, because clocks differ between engines.
#[test]
fn schedules_of_leader_applications_match_in_every_engine() {
    fn under<A>(group: Group, application: A) -> with_election::Config<A, bully::Config> {
        let ranks = (1..=group.size()).rev().map(Rank::from_id).collect();
        let election = bully::Config::with_defaults(group.size(), TICKS_PER_TIME_UNIT);
        with_election::Config { application, election: bully::Config { ranks, ..election } }
    }
    let primary = |group: Group| under(group, primary_backup::Config::default());
    let judged =
        assert_equal_runs_of::<WithElection<PrimaryBackup, Bully>>("led_primary_backup", &primary);
    assert!(judged.contains(&Property::Durability));
    let commit = |group: Group| under(group, two_phase_commit::Config::default());
    let judged = assert_equal_runs_of::<WithElection<TwoPhaseCommit, Bully>>(
        "led_two_phase_commit",
        &commit,
    );
    assert!(judged.contains(&Property::Atomicity));
    let commit = |group: Group| under(group, three_phase_commit::Config::default());
    let judged = assert_equal_runs_of::<WithElection<ThreePhaseCommit, Bully>>(
        "led_three_phase_commit",
        &commit,
    );
    assert!(judged.contains(&Property::Atomicity));
    let tree = |group: Group| {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)];
        let edges = edges.map(|(one, other)| (ProcessId(one), ProcessId(other)));
        under(group, spanning_tree::Config::with_edges_and_echoes(4, edges))
    };
    let judged =
        assert_equal_runs_of::<WithElection<SpanningTree, Bully>>("led_spanning_tree", &tree);
    assert!(judged.contains(&Property::OneTree));
}

/// Control experiment: the comparison detects that different schedules have different traces.
#[test]
fn different_schedules_are_detected() {
    type Lock = <RicartAgrawala as SumTypeMember>::Sum;
    let config = |_: Group| RicartAgrawala::to_sum_type_config(ricart_agrawala::Config::default());
    let schedule = |text: &str| {
        let script: Script = text.parse().expect("a script");
        Schedule::from_script::<Lock>(&script, config).expect("it can be performed").remove(0)
    };
    let one = schedule("group 2\nenter p1; stabilize\n");
    let other = schedule("group 2\nenter p2; stabilize\n");
    let seen_in = |schedule: &Schedule| {
        let records = simulated::<Lock>(schedule, &config);
        events_of(&records, ProcessId(0), Detail::WhatNodesWrite)
    };
    assert_ne!(seen_in(&one), seen_in(&other));
    let trace = Trace {
        header: Header::new("x", tenure_trace::Service::Mutex, 2, TraceProducer::Checker),
        records: checked::<Lock>(&one, &config),
        torn: None,
    };
    assert_eq!(Schedule::from_trace(&trace), Ok(one), "a trace knows the schedule that made it");
}
