//! What a leader is elected for, run.

use tenure_algorithms::Variants;
use tenure_algorithms::application::{primary_backup, two_phase_commit};
use tenure_claims::claims;
use tenure_core::{ProcessId, TICKS_PER_UNIT, Term};
use tenure_sim::Span;

use tenure_instances::applications::berkeley::{Clocks, synchronise};
use tenure_instances::applications::commit::{Phases, Transacting, transact};
use tenure_instances::applications::replication::{Writing, write};
use tenure_instances::applications::tree::{Graph, grow};

const MINUTE: i64 = 60_000 * TICKS_PER_UNIT.cast_signed();
const UNIT: u64 = TICKS_PER_UNIT;

fn p(number: u32) -> ProcessId {
    ProcessId(number - 1)
}

/// Hours and minutes, in ticks.
fn clock(hours: i64, minutes: i64) -> i64 {
    (60 * hours + minutes) * MINUTE
}

#[claims("4-berkeley", "I-51")]
#[test]
fn clocks_at_3_00_3_25_and_2_50_meet_at_3_05() {
    let met = synchronise(&Clocks::starting_at([clock(3, 0), clock(3, 25), clock(2, 50)])).unwrap();
    assert_eq!(met.adjustments, [[5 * MINUTE], [-20 * MINUTE], [15 * MINUTE]]);
    assert_eq!(met.clocks, [Some(clock(3, 5)); 3]);
    assert_eq!(met.leaders.len(), 1);
    assert_eq!(["poll", "reading", "adjust"].map(|kind| met.messages[kind]), [2; 3]);
    // Other clocks meet elsewhere.
    let met = synchronise(&Clocks::starting_at([clock(3, 0), clock(3, 25), clock(3, 5)])).unwrap();
    assert_eq!(met.clocks, [Some(clock(3, 10)); 3]);
}

#[test]
fn a_clock_that_is_far_from_the_others_does_not_count_and_is_brought_to_them() {
    let mut clocks = Clocks::starting_at([clock(3, 0), clock(3, 10), clock(9, 0)]);
    clocks.tolerance = Some(15 * MINUTE.cast_unsigned());
    let met = synchronise(&clocks).unwrap();
    assert_eq!(met.clocks, [Some(clock(3, 5)); 3]);
    clocks.tolerance = None;
    assert_eq!(synchronise(&clocks).unwrap().clocks, [Some(clock(5, 3) + MINUTE / 3); 3]);
}

#[claims("4-berkeley")]
#[test]
fn after_a_round_clocks_are_as_far_apart_as_a_round_trip_is_uncertain() {
    let mut widest = 0;
    for seed in 1..=200 {
        let mut clocks = Clocks::starting_at([clock(3, 0), clock(3, 25), clock(2, 50), 0, 7]);
        (clocks.latency, clocks.seed) = (Span::between_units(2, 12), seed);
        let met = synchronise(&clocks).unwrap();
        assert!(met.spread <= 10 * UNIT, "seed {seed}: {}", met.spread);
        assert_eq!(met.adjustments.iter().flatten().sum::<i64>(), 0, "seed {seed}");
        widest = widest.max(met.spread);
    }
    assert!(widest > 5 * UNIT, "the bound would be too wide: {widest}");
}

/// Wherever the leader dies, in the middle of its round or after it.
#[claims("4-berkeley")]
#[test]
fn where_the_leader_dies_the_next_one_brings_those_together_who_are_left() {
    let mut taken_over = 0;
    for half in 1..20 {
        let mut clocks = Clocks::starting_at([clock(3, 0), clock(3, 25), clock(2, 50)]);
        clocks.crash = Some(half * UNIT / 2);
        let met = synchronise(&clocks).unwrap();
        assert_eq!(met.leaders.iter().map(|term| term.leader).max(), Some(p(2)), "{met:?}");
        assert_eq!((met.clocks[0], met.spread), (None, 0), "{met:?}");
        taken_over += u32::from(met.adjustments[1].len() + met.adjustments[2].len() > 2);
    }
    assert!(taken_over > 0, "some had been adjusted by the first leader");
}

#[claims("4-replication")]
#[test]
fn a_write_costs_an_update_and_an_answer_for_each_backup() {
    for size in 2..=6 {
        let written = write(&Writing::among(size)).unwrap();
        let per_write = u64::from(size - 1);
        assert_eq!(written.acknowledged.len(), 10);
        assert_eq!(written.messages["update"], 10 * per_write);
        // And one for what a new primary has stored before it serves.
        assert_eq!(written.messages["stored"], 11 * per_write);
        assert_eq!(written.refused, 10 * per_write, "only the primary takes writes");
        assert_eq!(written.lists, vec![written.lists[0].clone(); size as usize]);
    }
}

/// What the primary is killed in the middle of differs from seed to seed.
fn failover(seed: u64) -> Writing {
    let mut writing = Writing::among(3);
    (writing.seed, writing.every, writing.writes) = (seed, UNIT, 60);
    writing.crashes = vec![(p(1), 64 * UNIT + seed * UNIT / 7)];
    writing
}

#[claims("4-replication")]
#[test]
fn no_acknowledged_write_is_lost_when_the_primary_dies() {
    let mut later = 0;
    for seed in 1..=200 {
        let written = write(&failover(seed)).unwrap();
        assert_eq!(written.served.len(), 2, "seed {seed}");
        assert_eq!(written.lost, [0; 0], "seed {seed}: {written:?}");
        later += written.acknowledged.iter().filter(|(at, ..)| *at == p(2)).count();
    }
    assert!(later > 0, "the second primary serves");
}

/// The primary is cut off for a while, and goes on.
fn isolated(seed: u64) -> Writing {
    let from = 64 * UNIT + seed * UNIT / 7;
    let isolation = Some((from, from + 25 * UNIT));
    Writing { crashes: Vec::new(), isolation, ..failover(seed) }
}

#[claims("4-replication")]
#[test]
fn an_old_primary_that_does_not_know_it_acknowledges_nothing_that_is_lost() {
    for seed in 1..=200 {
        let written = write(&isolated(seed)).unwrap();
        assert_eq!(written.lost, [0; 0], "seed {seed}: {written:?}");
        let by_the_second = |it: &&(ProcessId, Term, u64, u64)| it.0 == p(2);
        assert!(written.acknowledged.iter().filter(by_the_second).count() > 0, "seed {seed}");
        assert!(written.messages["newer"] > 0, "seed {seed}: it is told");
    }
}

#[test]
fn an_acknowledgement_before_the_backups_have_it_loses_writes() {
    let lost = (1..=200).filter(|seed| {
        let mut writing = isolated(*seed);
        writing.variants = Variants::none().with(primary_backup::Switch::AcknowledgeEarly);
        !write(&writing).unwrap().lost.is_empty()
    });
    let lost = lost.count();
    assert!(lost > 20, "{lost}");
}

#[claims("4-commit")]
#[test]
fn a_transaction_costs_3p_messages_and_p_acknowledgements() {
    for size in 2..=7 {
        let done = transact(&Transacting::among(size)).unwrap();
        assert_eq!(done.decided, vec![Some(true); size as usize]);
        let kinds = ["prepare", "vote", "decision", "acknowledgement"];
        assert_eq!(kinds.map(|kind| done.messages[kind]), [u64::from(size - 1); 4]);
        assert_eq!(done.lasted, Some(3 * UNIT));
    }
}

#[test]
fn one_no_aborts_it_for_all() {
    for against in 1..=4 {
        let transacting = Transacting { against: vec![p(against)], ..Transacting::among(4) };
        let done = transact(&transacting).unwrap();
        let decided =
            if against == 1 { vec![Some(false), None, None, None] } else { vec![Some(false); 4] };
        assert_eq!(done.decided, decided, "{against} is against it");
    }
}

/// Votes arrive after two units: a coordinator that dies just before leaves all uncertain.
#[test]
fn participants_are_blocked_until_the_coordinator_is_back_with_its_log() {
    let crashed = Transacting { crash: Some(3 * UNIT / 2), ..Transacting::among(4) };
    let done = transact(&crashed).unwrap();
    assert_eq!(done.blocked, [p(2), p(3), p(4)], "{done:?}");
    assert_eq!(done.leaders.len(), 2, "there is a new leader, and it does not help: {done:?}");
    let back = transact(&Transacting { recovery: Some(50 * UNIT), ..crashed.clone() }).unwrap();
    assert_eq!((back.blocked.len(), back.decided), (0, vec![Some(false); 4]));
    // One that has not voted is enough: nobody can have committed.
    let done = transact(&Transacting { against: vec![p(3)], ..crashed.clone() }).unwrap();
    assert_eq!(done.decided[1..], [Some(false); 3]);
    // A coordinator that is down after its decision has told it.
    let late = transact(&Transacting { crash: Some(2 * UNIT + 1), ..crashed.clone() }).unwrap();
    assert_eq!(late.decided, [Some(true); 4]);
    // Whoever guesses is not blocked.
    let phases = Phases::Two(Variants::none().with(two_phase_commit::Switch::Guess));
    assert_eq!(transact(&Transacting { phases, ..crashed }).unwrap().blocked, []);
}

/// Skeen: whoever is up decides, as long as it is known who is; where the network parts, two sides
/// do.
#[test]
fn a_third_phase_blocks_nobody_when_the_coordinator_dies_and_splits_where_the_network_parts() {
    let three = Transacting { phases: Phases::Three(Variants::none()), ..Transacting::among(4) };
    let done = transact(&three).unwrap();
    assert_eq!((done.decided, done.messages["ready"], done.messages["told"]), (all(true), 3, 3));
    for (crash, commits) in [(3 * UNIT / 2, false), (7 * UNIT / 2, true)] {
        let done = transact(&Transacting { crash: Some(crash), ..three.clone() }).unwrap();
        assert_eq!(done.blocked, [], "{done:?}");
        assert_eq!(done.decided[1..], [Some(commits); 3], "{done:?}");
    }
    let cut = Some(5 * UNIT / 2);
    let done = transact(&Transacting { cut, ..three }).unwrap();
    assert_eq!(done.decided, [true, false, false, false].map(Some), "{done:?}");
    let cut = Some(3 * UNIT / 2);
    let done = transact(&Transacting { cut, ..Transacting::among(4) }).unwrap();
    assert_eq!(done.blocked, [p(2), p(3), p(4)], "{done:?}");
}

fn all(commits: bool) -> Vec<Option<bool>> {
    vec![Some(commits); 4]
}

#[claims("4-tree", "I-52")]
#[test]
fn explore_crosses_each_edge_twice_but_those_of_the_tree_and_with_echoes_all_twice() {
    for size in 2..=8 {
        let path: Vec<_> = (1..size).map(|it| (p(it), p(it + 1))).collect();
        let ring: Vec<_> = path.iter().copied().chain([(p(size), p(1))]).collect();
        let star: Vec<_> = (2..=size).map(|it| (p(1), p(it))).collect();
        let graphs = [Graph::of(size, path), Graph::of(size, star), Graph::complete(size)];
        let rings = (size > 2).then(|| Graph::of(size, ring));
        for (graph, seed) in graphs.into_iter().chain(rings).zip(1..) {
            let edges = graph.edges.len() as u64;
            let least = 2 * edges - u64::from(size - 1);
            let grown = grow(&Graph { seed, ..graph.clone() }).unwrap();
            assert_eq!(
                (grown.messages["explore"], grown.messages["echo"]),
                (least, u64::from(size - 1))
            );
            assert_eq!((grown.counted, grown.joined.len()), (Some(size), size as usize));
            let silent = grow(&Graph { echoes: false, seed, ..graph }).unwrap();
            assert_eq!((silent.messages["explore"], silent.messages.get("echo")), (least, None));
            reaches_the_root(&grown.parents);
            reaches_the_root(&silent.parents);
        }
    }
}

fn reaches_the_root(parents: &[Option<ProcessId>]) {
    assert_eq!(parents.iter().flatten().count(), parents.len() - 1, "N − 1 edges");
    for start in 0..parents.len() {
        let up = std::iter::successors(Some(ProcessId::at(start)), |it| parents[it.index()]);
        assert_eq!(up.take(parents.len() + 1).last(), Some(p(1)), "{parents:?}");
    }
}
