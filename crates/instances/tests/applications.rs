//! Runs of the applications of leader election.

use tenure_algorithms::Variants;
use tenure_algorithms::application::{primary_backup, two_phase_commit};
use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT, Term};
use tenure_sim::Distribution;

use tenure_instances::applications::berkeley::{BerkeleyScenario, synchronise_clocks};
use tenure_instances::applications::commit::{
    AtomicCommitScenario, CommitProtocol, run_transaction,
};
use tenure_instances::applications::replication::{ReplicationScenario, replicate_writes};
use tenure_instances::applications::tree::{SpanningTreeScenario, build_spanning_tree};

const MINUTE: i64 = 60_000 * TICKS_PER_TIME_UNIT.cast_signed();
const UNIT: u64 = TICKS_PER_TIME_UNIT;

fn p(number: u32) -> ProcessId {
    ProcessId(number - 1)
}

/// Converts hours and minutes to ticks.
fn clock(hours: i64, minutes: i64) -> i64 {
    (60 * hours + minutes) * MINUTE
}

#[test]
fn clocks_converge_to_their_average() {
    let met = synchronise_clocks(&BerkeleyScenario::with_initial_clocks([
        clock(3, 0),
        clock(3, 25),
        clock(2, 50),
    ]))
    .unwrap();
    assert_eq!(met.adjustments, [[5 * MINUTE], [-20 * MINUTE], [15 * MINUTE]]);
    assert_eq!(met.clock_offsets, [Some(clock(3, 5)); 3]);
    assert_eq!(met.leaders.len(), 1);
    assert_eq!(["poll", "reading", "adjust"].map(|kind| met.messages[kind]), [2; 3]);
    // Negative control: other initial values have another average.
    let met = synchronise_clocks(&BerkeleyScenario::with_initial_clocks([
        clock(3, 0),
        clock(3, 25),
        clock(3, 5),
    ]))
    .unwrap();
    assert_eq!(met.clock_offsets, [Some(clock(3, 10)); 3]);
}

#[test]
fn average_excludes_outlier_but_outlier_is_adjusted() {
    let mut clocks =
        BerkeleyScenario::with_initial_clocks([clock(3, 0), clock(3, 10), clock(9, 0)]);
    clocks.tolerance = Some(15 * MINUTE.cast_unsigned());
    let met = synchronise_clocks(&clocks).unwrap();
    assert_eq!(met.clock_offsets, [Some(clock(3, 5)); 3]);
    clocks.tolerance = None;
    assert_eq!(
        synchronise_clocks(&clocks).unwrap().clock_offsets,
        [Some(clock(5, 3) + MINUTE / 3); 3]
    );
}

#[test]
fn spread_is_bounded_by_round_trip_uncertainty() {
    let mut widest = 0;
    for seed in 1..=200 {
        let mut clocks =
            BerkeleyScenario::with_initial_clocks([clock(3, 0), clock(3, 25), clock(2, 50), 0, 7]);
        (clocks.latency, clocks.seed) = (Distribution::between_time_units(2, 12), seed);
        let met = synchronise_clocks(&clocks).unwrap();
        assert!(met.spread <= 10 * UNIT, "seed {seed}: {}", met.spread);
        assert_eq!(met.adjustments.iter().flatten().sum::<i64>(), 0, "seed {seed}");
        widest = widest.max(met.spread);
    }
    assert!(widest > 5 * UNIT, "the bound is not tight: {widest}");
}

/// If the leader crashes during or after its synchronisation round, the next leader synchronises
/// the remaining clocks.
#[test]
fn next_leader_synchronises_remaining_clocks() {
    let mut taken_over = 0;
    for half in 1..20 {
        let mut clocks =
            BerkeleyScenario::with_initial_clocks([clock(3, 0), clock(3, 25), clock(2, 50)]);
        clocks.crash_after = Some(half * UNIT / 2);
        let met = synchronise_clocks(&clocks).unwrap();
        assert_eq!(met.leaders.iter().map(|term| term.leader).max(), Some(p(2)), "{met:?}");
        assert_eq!((met.clock_offsets[0], met.spread), (None, 0), "{met:?}");
        taken_over += u32::from(met.adjustments[1].len() + met.adjustments[2].len() > 2);
    }
    assert!(taken_over > 0, "in some runs the first leader had adjusted clocks");
}

#[test]
fn write_costs_one_update_and_reply_per_backup() {
    for size in 2..=6 {
        let written = replicate_writes(&ReplicationScenario::fault_free(size)).unwrap();
        let per_write = u64::from(size - 1);
        assert_eq!(written.acknowledged.len(), 10);
        assert_eq!(written.messages["update"], 10 * per_write);
        // Each backup sends 11 `stored` messages: one for the initial state of the new primary, and
        // one for each write.
        assert_eq!(written.messages["stored"], 11 * per_write);
        assert_eq!(written.refused, 10 * per_write, "only the primary accepts writes");
        assert_eq!(written.stored_writes, vec![written.stored_writes[0].clone(); size as usize]);
    }
}

/// Returns a scenario whose primary crashes at a moment that depends on the seed.
fn failover(seed: u64) -> ReplicationScenario {
    let mut writing = ReplicationScenario::fault_free(3);
    (writing.seed, writing.write_interval, writing.writes) = (seed, UNIT, 60);
    writing.crashes = vec![(p(1), 64 * UNIT + seed * UNIT / 7)];
    writing
}

#[test]
fn acknowledged_writes_survive_primary_crash() {
    let mut later = 0;
    for seed in (1..=200).step_by(4) {
        let written = replicate_writes(&failover(seed)).unwrap();
        assert_eq!(written.served.len(), 2, "seed {seed}");
        assert_eq!(written.lost, [0; 0], "seed {seed}: {written:?}");
        later += written.acknowledged.iter().filter(|(at, ..)| *at == p(2)).count();
    }
    assert!(later > 0, "the second primary serves");
}

/// Returns a scenario in which a partition isolates the primary for a while. The primary continues
/// to run.
fn isolated(seed: u64) -> ReplicationScenario {
    let from = 64 * UNIT + seed * UNIT / 7;
    let isolation = Some((from, from + 25 * UNIT));
    ReplicationScenario { crashes: Vec::new(), isolation, ..failover(seed) }
}

#[test]
fn deposed_primary_acknowledges_no_lost_write() {
    for seed in (1..=200).step_by(4) {
        let written = replicate_writes(&isolated(seed)).unwrap();
        assert_eq!(written.lost, [0; 0], "seed {seed}: {written:?}");
        let by_the_second = |it: &&(ProcessId, Term, u64, u64)| it.0 == p(2);
        assert!(written.acknowledged.iter().filter(by_the_second).count() > 0, "seed {seed}");
        assert!(
            written.messages["newer"] > 0,
            "seed {seed}: the old primary learns of the new term"
        );
    }
}

#[test]
fn early_acknowledgement_loses_writes() {
    let lost = (1..=200).step_by(4).filter(|seed| {
        let mut writing = isolated(*seed);
        writing.variants = Variants::none().with(primary_backup::VariantId::AcknowledgeEarly);
        !replicate_writes(&writing).unwrap().lost.is_empty()
    });
    let lost = lost.count();
    assert!(lost > 5, "{lost}");
}

#[test]
fn transaction_costs_3p_messages_and_p_acknowledgements() {
    for size in 2..=7 {
        let done = run_transaction(&AtomicCommitScenario::fault_free(size)).unwrap();
        assert_eq!(done.decided, vec![Some(true); size as usize]);
        let kinds = ["prepare", "vote", "decision", "acknowledgement"];
        assert_eq!(kinds.map(|kind| done.messages[kind]), [u64::from(size - 1); 4]);
        assert_eq!(done.decided_after, Some(3 * UNIT));
    }
}

#[test]
fn one_no_vote_aborts_the_transaction() {
    for no_votes in 1..=4 {
        let scenario = AtomicCommitScenario {
            no_votes: vec![p(no_votes)],
            ..AtomicCommitScenario::fault_free(4)
        };
        let done = run_transaction(&scenario).unwrap();
        let decided =
            if no_votes == 1 { vec![Some(false), None, None, None] } else { vec![Some(false); 4] };
        assert_eq!(done.decided, decided, "P{no_votes} votes no");
    }
}

/// Crashes the coordinator after one and a half units. The votes would arrive after two units. All
/// participants have voted yes, and must stay uncertain until the coordinator recovers.
#[test]
fn participants_block_until_coordinator_recovers() {
    let crashed = AtomicCommitScenario {
        crash_after: Some(3 * UNIT / 2),
        ..AtomicCommitScenario::fault_free(4)
    };
    let done = run_transaction(&crashed).unwrap();
    assert_eq!(done.blocked, [p(2), p(3), p(4)], "{done:?}");
    assert_eq!(done.leaders.len(), 2, "a new leader cannot decide: {done:?}");
    let back = run_transaction(&AtomicCommitScenario {
        recovery_after: Some(50 * UNIT),
        ..crashed.clone()
    })
    .unwrap();
    assert_eq!((back.blocked.len(), back.decided), (0, vec![Some(false); 4]));
    // If one participant has not voted yes, the others can abort, because no process can have
    // committed.
    let done =
        run_transaction(&AtomicCommitScenario { no_votes: vec![p(3)], ..crashed.clone() }).unwrap();
    assert_eq!(done.decided[1..], [Some(false); 3]);
    // A coordinator that crashes after it sent its decision blocks no participant.
    let late = run_transaction(&AtomicCommitScenario {
        crash_after: Some(2 * UNIT + 1),
        ..crashed.clone()
    })
    .unwrap();
    assert_eq!(late.decided, [Some(true); 4]);
    // A participant that guesses is not blocked.
    let protocol = CommitProtocol::Two(Variants::none().with(two_phase_commit::VariantId::Guess));
    assert_eq!(run_transaction(&AtomicCommitScenario { protocol, ..crashed }).unwrap().blocked, []);
}

/// In three-phase commit (Skeen 1981), all live processes make the same decision if they suspect
/// only crashed processes. In a partition, the two sides suspect each other and make different
/// decisions.
#[test]
fn three_phase_commit_survives_crash_but_splits_on_partition() {
    let three = AtomicCommitScenario {
        protocol: CommitProtocol::Three(Variants::none()),
        ..AtomicCommitScenario::fault_free(4)
    };
    let done = run_transaction(&three).unwrap();
    assert_eq!((done.decided, done.messages["ready"], done.messages["told"]), (all(true), 3, 3));
    for (crash, commits) in [(3 * UNIT / 2, false), (7 * UNIT / 2, true)] {
        let done =
            run_transaction(&AtomicCommitScenario { crash_after: Some(crash), ..three.clone() })
                .unwrap();
        assert_eq!(done.blocked, [], "{done:?}");
        assert_eq!(done.decided[1..], [Some(commits); 3], "{done:?}");
    }
    let partition = Some(5 * UNIT / 2);
    let done =
        run_transaction(&AtomicCommitScenario { partition_after: partition, ..three }).unwrap();
    assert_eq!(done.decided, [true, false, false, false].map(Some), "{done:?}");
    let partition = Some(3 * UNIT / 2);
    let done = run_transaction(&AtomicCommitScenario {
        partition_after: partition,
        ..AtomicCommitScenario::fault_free(4)
    })
    .unwrap();
    assert_eq!(done.blocked, [p(2), p(3), p(4)], "{done:?}");
}

fn all(commits: bool) -> Vec<Option<bool>> {
    vec![Some(commits); 4]
}

#[test]
fn explore_and_echo_messages_match_edge_count() {
    for size in 2..=8 {
        let path: Vec<_> = (1..size).map(|it| (p(it), p(it + 1))).collect();
        let ring: Vec<_> = path.iter().copied().chain([(p(size), p(1))]).collect();
        let star: Vec<_> = (2..=size).map(|it| (p(1), p(it))).collect();
        let graphs = [
            SpanningTreeScenario::with_edges(size, path),
            SpanningTreeScenario::with_edges(size, star),
            SpanningTreeScenario::on_complete_graph(size),
        ];
        let rings = (size > 2).then(|| SpanningTreeScenario::with_edges(size, ring));
        for (graph, seed) in graphs.into_iter().chain(rings).zip(1..) {
            let edges = graph.edges.len() as u64;
            let least = 2 * edges - u64::from(size - 1);
            let grown =
                build_spanning_tree(&SpanningTreeScenario { seed, ..graph.clone() }).unwrap();
            assert_eq!(
                (grown.messages["explore"], grown.messages["echo"]),
                (least, u64::from(size - 1))
            );
            assert_eq!((grown.counted, grown.joined.len()), (Some(size), size as usize));
            let silent =
                build_spanning_tree(&SpanningTreeScenario { has_echoes: false, seed, ..graph })
                    .unwrap();
            assert_eq!((silent.messages["explore"], silent.messages.get("echo")), (least, None));
            reaches_the_root(&grown.parents);
            reaches_the_root(&silent.parents);
        }
    }
}

fn reaches_the_root(parents: &[Option<ProcessId>]) {
    assert_eq!(parents.iter().flatten().count(), parents.len() - 1, "N − 1 edges");
    for start in 0..parents.len() {
        let up =
            std::iter::successors(Some(ProcessId::from_index(start)), |it| parents[it.index()]);
        assert_eq!(up.take(parents.len() + 1).last(), Some(p(1)), "{parents:?}");
    }
}
