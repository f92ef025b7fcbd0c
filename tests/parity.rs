//! One story, four tellers: a golden script does the same on the stage that it was written for,
//! in the simulator, in the checker, and on real nodes over TCP.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::{
    AtomicBroadcast, ChandraToueg, ChandyLamport, DijkstraScholten, DisseminationBarrier, Paxos,
    RaftLog, ReliableBroadcast, RicciardiBirman, StableVectors, raft_log,
};
use tenure_algorithms::application::led::{self, Led};
use tenure_algorithms::application::{
    PrimaryBackup, SpanningTree, ThreePhaseCommit, TwoPhaseCommit, primary_backup, spanning_tree,
    three_phase_commit, two_phase_commit,
};
use tenure_algorithms::catalogue::{Configured, Parameters};
use tenure_algorithms::election::{
    Bully, ChangRoberts, HirschbergSinclair, RestartingChangRoberts, bully, chang_roberts,
    hirschberg_sinclair,
};
use tenure_algorithms::mutex::{
    Central, Lamport, Lease, Maekawa, RicartAgrawala, TokenRing, central, lamport, maekawa,
    ricart_agrawala, token_ring,
};
use tenure_check::{Check, Checkable};
use tenure_core::quorum::Kind as Quorum;
use tenure_core::{Group, ProcessId, Property, Rank, TICKS_PER_UNIT};
use tenure_runtime::follow;
use tenure_sim::{Configs, Settings, Simulation};
use tenure_trace::{
    Course, Header, Judge, Kind, Reader, Record, Recorded, Script, Source, Spoken, Trace, Who,
    merge_files,
};

/// How much of a record is compared: real nodes do not write down what messages say, nor timers
/// without an effect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Everything,
    WhatNodesWrite,
}

/// What happened at one process, in order; of one step, what was sent comes before what was told.
fn seen(records: &[Record], at: ProcessId, detail: Detail) -> Vec<String> {
    let mine = records.iter().filter(|record| record.process == Who::Process(at));
    let mut lines: Vec<String> = Vec::new();
    let mut events = Vec::new();
    for record in mine {
        let passage = record.kind.passage().map(|passage| {
            let content = passage.content.as_ref().filter(|_| detail == Detail::Everything);
            let content = content.map_or_else(String::new, |content| content.to_string());
            // What users say to each other has no name.
            let message = if passage.is_of_users() { "" } else { &passage.message };
            format!("{} {message} {content}", passage.peer)
        });
        let line = match (&record.kind, passage) {
            (Kind::Event(told), _) => {
                events.push(format!("is told {told:?}"));
                continue;
            }
            (Kind::Send(_), Some(passage)) => {
                lines.push(format!("  sends {passage}"));
                continue;
            }
            (Kind::Receive(_), Some(passage)) => format!("receives {passage}"),
            (Kind::Command(asked), _) => format!("asks {asked:?}"),
            (Kind::Suspicion { peer, verdict }, _) => format!("{verdict:?} {peer}"),
            (Kind::Timer(name), _) if detail == Detail::Everything => format!("fires {name}"),
            (Kind::Crash, _) => "crashes".to_owned(),
            (Kind::Recover, _) => "recovers".to_owned(),
            _ => continue,
        };
        lines.append(&mut events);
        lines.push(line);
    }
    lines.append(&mut events);
    lines
}

/// What everybody was told, by process.
fn told(records: &[Record], size: u32) -> Vec<Vec<String>> {
    let of = |at| {
        let mine = records.iter().filter(|record| record.process == Who::Process(at));
        let told = mine.filter_map(|record| match &record.kind {
            Kind::Event(told) => Some(format!("{told:?}")),
            _ => None,
        });
        told.collect()
    };
    (0..size).map(|place| of(ProcessId(place))).collect()
}

/// A place to write to that can be read afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panics here").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn simulated<P: Recorded>(course: &Course, config: &impl Fn(Group) -> P::Config) -> Vec<Record> {
    let configs: Vec<P::Config> = groups(course.size).map(config).collect();
    let simulation = Simulation::<P>::new(Configs::Each(configs), Settings::new(course.size));
    let written = Shared::default();
    simulation.follow(course, written.clone()).unwrap_or_else(|error| panic!("{error}"));
    let bytes = written.0.lock().expect("nobody panics here").clone();
    let reader = Reader::new(bytes.as_slice(), "simulated").expect("a trace");
    reader.collect::<Result<_, _>>().expect("every line is a record")
}

fn checked<P>(course: &Course, config: &impl Fn(Group) -> P::Config) -> Vec<Record>
where
    P: Checkable,
{
    let first = Group::new(ProcessId(0), course.size);
    let check = Check::<P>::with(course.size, config(first)).entries(9);
    check.follow(course).unwrap_or_else(|error| panic!("{error}")).records
}

fn run_for_real<P>(course: &Course, config: &impl Fn(Group) -> P::Config) -> Vec<Record>
where
    P: Recorded,
{
    let directory = tempfile::tempdir().expect("a directory");
    let header = Header::new("followed", tenure_trace::Service::Mutex, course.size, Source::Node);
    let config = |at| config(Group::new(at, course.size));
    let traces = follow::<P>(course, config, directory.path(), &header);
    let traces = traces.unwrap_or_else(|error| panic!("{error}"));
    merge_files(traces).expect("traces of one run").records
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

/// Follows every story of a folder in each engine, and compares. Returns what the traces are
/// judged by.
fn alike<P: Checkable>(folder: &str, config: impl Fn(Group) -> P::Config) -> BTreeSet<Property> {
    let (mut steps, mut judged) = (0, BTreeSet::new());
    for path in golden(folder) {
        let text = std::fs::read_to_string(&path).expect("a script");
        steps += told_alike::<P>(&path.display().to_string(), &text, &config, &mut judged);
    }
    assert!(steps > 5, "{folder} has a story");
    judged
}

/// Follows a story in each engine, and compares. Returns how many steps it takes.
fn told_alike<P: Checkable>(
    story: &str,
    text: &str,
    config: &impl Fn(Group) -> P::Config,
    judged: &mut BTreeSet<Property>,
) -> usize {
    let mut steps = 0;
    let script: Script = text.parse().expect("a script that can be understood");
    eprintln!("{story}");
    for course in Course::of_script::<P>(&script, config).expect("it can be performed") {
        steps += course.actions.len();
        let (simulated, checked) = (simulated::<P>(&course, config), checked::<P>(&course, config));
        let real = run_for_real::<P>(&course, config);
        for at in (0..course.size).map(ProcessId) {
            let all = |records| seen(records, at, Detail::Everything);
            same(&all(&simulated), &all(&checked), &format!("{story}: {at}, checker"));
            let few = |records| seen(records, at, Detail::WhatNodesWrite);
            same(&few(&simulated), &few(&real), &format!("{story}: {at}, nodes"));
        }
        for records in [&simulated, &checked, &real] {
            assert_eq!(course.done_in(records), course.actions.len(), "{story}: every step");
        }
        let header = Header::new("x", P::Command::SERVICE, course.size, Source::Simulator);
        let trace = Trace { header, records: simulated.clone(), torn: None };
        let mut judge = Judge::new(&trace.header);
        trace.records.iter().for_each(|record| judge.read(record));
        judged.extend(judge.finish().properties.into_keys());
        let again = Course::of_trace(&trace).expect("a trace knows the course that made it");
        assert_eq!(self::simulated::<P>(&again, config), simulated, "{story}, again");
        assert!(!told(&simulated, course.size).concat().is_empty(), "{story} tells something");
    }
    steps
}

fn same<T: PartialEq + Debug>(one: &T, other: &T, whose: &str) {
    assert_eq!(one, other, "{whose}");
}

#[test]
fn stories_of_ricart_and_agrawala_are_the_same_everywhere() {
    alike::<RicartAgrawala>("ricart_agrawala", |_| ricart_agrawala::Config::default());
}

#[test]
fn stories_of_lamport_are_the_same_everywhere() {
    alike::<Lamport>("lamport", |_| lamport::Config::default());
}

#[test]
fn stories_of_a_coordinator_are_the_same_everywhere() {
    let coordinator = ProcessId(4);
    let config = central::Config { coordinator, ..central::Config::default() };
    alike::<Central>("central", move |_| config.clone());
}

#[test]
fn stories_of_maekawa_are_the_same_everywhere() {
    let pairs = |group: Group| maekawa::Config::of(Quorum::Pairs, group.size()).expect("pairs");
    alike::<Maekawa>("maekawa", pairs);
}

#[test]
fn stories_of_the_token_ring_are_the_same_everywhere() {
    alike::<TokenRing>("token_ring", |_| token_ring::Config::default());
}

#[test]
fn stories_of_chang_and_roberts_are_the_same_everywhere() {
    let config = |group: Group| chang_roberts::Config::plain(group.size());
    alike::<ChangRoberts>("chang_roberts", config);
    let decreasing = |group: Group| {
        let ranks = (1..=group.size()).rev().map(Rank::of_id).collect();
        chang_roberts::Config::of(ranks, Variants::none())
    };
    alike::<ChangRoberts>("chang_roberts_decreasing", decreasing);
}

#[test]
fn stories_of_hirschberg_and_sinclair_are_the_same_everywhere() {
    let config = |group: Group| hirschberg_sinclair::Config::plain(group.size());
    alike::<HirschbergSinclair>("hirschberg_sinclair", config);
}

#[test]
fn stories_of_bullies_that_crash_and_recover_are_the_same_everywhere() {
    let plain = |group: Group| bully::Config::plain(group.size(), TICKS_PER_UNIT);
    alike::<Bully>("bully", plain);
    let variants = Variants::none().with(bully::Switch::NoTerms);
    let config = move |group: Group| bully::Config { variants, ..plain(group) };
    alike::<Bully>("bully_without_terms", config);
}

/// No connection brings to a process what was meant for it before it crashed, and none carries
/// what applications say; where a course wants it, nodes do it all the same.
#[test]
fn what_outlives_a_crash_what_users_say_and_what_is_split_is_the_same_everywhere() {
    let story = "group 3\nelect p1\ntell p1→p2; crash p3; lose p1→p2; recover p3\n\
                 split p1 | p2 p3\nhear p1→p2\nheal\nduplicate p1→p3\n\
                 deliver p1→p3; deliver p1→p3\n\
                 crash p2; recover p2; stabilize timers 9\n";
    let config = |group: Group| bully::Config::plain(group.size(), TICKS_PER_UNIT);
    assert!(told_alike::<Bully>("a story", story, &config, &mut BTreeSet::new()) > 12);
}

#[test]
fn stories_of_agreements_are_the_same_everywhere() {
    let judged = alike::<Paxos>("paxos", |_| Variants::none());
    assert!(judged.contains(&Property::Agreement));
    alike::<ChandraToueg>("chandra_toueg", |_| Variants::none());
    alike::<ReliableBroadcast>("reliable_broadcast", |_| Variants::none());
    let judged = alike::<AtomicBroadcast>("atomic_broadcast", |_| Variants::none());
    assert!(judged.contains(&Property::TotalOrder));
}

/// As the command configures it where nothing is said.
fn plain<C: Configured>(group: Group) -> C {
    C::configured(&Parameters::plain(group.size())).expect("nothing else is needed")
}

#[test]
fn stories_of_their_companions_are_the_same_everywhere() {
    alike::<ChandyLamport>("chandy_lamport", plain);
    alike::<DijkstraScholten>("dijkstra_scholten", plain);
    alike::<DisseminationBarrier>("dissemination_barrier", plain);
    alike::<RicciardiBirman>("ricciardi_birman", plain);
    alike::<StableVectors>("stable_vectors", plain);
}

#[test]
fn stories_of_leases_and_of_an_election_that_starts_again_are_the_same_everywhere() {
    alike::<Lease>("lease", plain);
    alike::<RestartingChangRoberts>("restarting_chang_roberts", plain);
}

/// Every rule of the paper's sections on elections, replication and safety has a story of its own.
#[test]
fn stories_of_a_log_are_the_same_everywhere() {
    let with = |variants: &'static [&'static str]| {
        move |group: Group| {
            let variants = variants.iter().map(ToString::to_string).collect();
            let parameters = Parameters { variants, ..Parameters::plain(group.size()) };
            raft_log::Config::configured(&parameters).expect("these are its variants")
        }
    };
    let judged = alike::<RaftLog>("raft_log", with(&[]));
    assert!(judged.contains(&Property::LogMatching));
    alike::<RaftLog>("raft_log_no_pre_vote", with(&["no-pre-vote"]));
    alike::<RaftLog>("raft_log_one_entry", with(&["no-pre-vote", "one-entry"]));
    alike::<RaftLog>("raft_log_compacting", with(&["compacting"]));
    let mistaken = with(&["no-pre-vote", "one-entry", "old-term-commit"]);
    alike::<RaftLog>("raft_log_old_term_commit", mistaken);
}

/// Clocks are left out: each engine has its own.
#[test]
fn stories_of_what_a_leader_is_elected_for_are_the_same_everywhere() {
    fn under<A>(group: Group, application: A) -> led::Config<A, bully::Config> {
        let ranks = (1..=group.size()).rev().map(Rank::of_id).collect();
        let election = bully::Config::plain(group.size(), TICKS_PER_UNIT);
        led::Config { application, election: bully::Config { ranks, ..election } }
    }
    let primary = |group: Group| under(group, primary_backup::Config::default());
    let judged = alike::<Led<PrimaryBackup, Bully>>("led_primary_backup", primary);
    assert!(judged.contains(&Property::Durability));
    let commit = |group: Group| under(group, two_phase_commit::Config::default());
    let judged = alike::<Led<TwoPhaseCommit, Bully>>("led_two_phase_commit", commit);
    assert!(judged.contains(&Property::Atomicity));
    let commit = |group: Group| under(group, three_phase_commit::Config::default());
    let judged = alike::<Led<ThreePhaseCommit, Bully>>("led_three_phase_commit", commit);
    assert!(judged.contains(&Property::Atomicity));
    let tree = |group: Group| {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)];
        let edges = edges.map(|(one, other)| (ProcessId(one), ProcessId(other)));
        under(group, spanning_tree::Config::of(4, edges))
    };
    let judged = alike::<Led<SpanningTree, Bully>>("led_spanning_tree", tree);
    assert!(judged.contains(&Property::OneTree));
}

/// The negative control: what is compared does differ when the stories do.
#[test]
fn another_course_is_seen_to_be_another() {
    let config = |_: Group| ricart_agrawala::Config::default();
    let course = |text: &str| {
        let script: Script = text.parse().expect("a script");
        Course::of_script::<RicartAgrawala>(&script, config).expect("it can be performed").remove(0)
    };
    let one = course("group 2\nenter p1; stabilize\n");
    let other = course("group 2\nenter p2; stabilize\n");
    let seen_in = |course: &Course| {
        let records = simulated::<RicartAgrawala>(course, &config);
        seen(&records, ProcessId(0), Detail::WhatNodesWrite)
    };
    assert_ne!(seen_in(&one), seen_in(&other));
    let trace = Trace {
        header: Header::new("x", tenure_trace::Service::Mutex, 2, Source::Checker),
        records: checked::<RicartAgrawala>(&one, &config),
        torn: None,
    };
    assert_eq!(Course::of_trace(&trace), Ok(one), "a trace knows the course that made it");
}
