//! Log compaction: D. Ongaro, *Consensus: bridging theory and practice*, Stanford 2014, chapter 5.

use std::num::NonZeroU64;

use tenure_algorithms::agreement::RaftReplica;
use tenure_algorithms::agreement::raft_log::{
    Config, EntryId, Message, SnapshotChunk, Timer, VariantId,
};
use tenure_core::service::log::{Command, DeclineReason, Event, Members, Payload};
use tenure_core::{ChannelOrder, ProcessSet};
use tenure_trace::{SplitMix64, TestCluster};

use super::{
    append, append_and_drain, cluster, commit_index, commits, config, declined, events, give_log,
    heartbeat, of_terms, terms,
};
use crate::support::{fire_and_drain, lose_all, p, pass_all, restart};

/// Returns a cluster of three processes that P1 leads. After the leader's first entry, three
/// entries are committed, and P1 compacts its log. P3 has received none of the three entries.
fn compacted(switches: &[VariantId], piece: usize) -> TestCluster<RaftReplica> {
    let config = Config { trailing_entries: 0, snapshot_piece_bytes: piece, ..config(3, switches) };
    let mut cluster =
        TestCluster::<RaftReplica>::with_same_config(3, ChannelOrder::Reordered, config);
    fire_and_drain(&mut cluster, 1, Timer::Election);
    for ticket in 1..=3 {
        append(&mut cluster, 1, ticket);
        lose_all(&mut cluster, 1, 3);
        cluster.deliver_all(&mut SplitMix64(0));
    }
    cluster.issue_command(
        p(1),
        Command::Compact { ticket: 9, index: 4, state: Payload::new(*b"1,2,3") },
    );
    assert!(events(&mut cluster).contains(&(1, Event::Compacted { ticket: 9, index: 4 })));
    cluster
}

/// A process is asked for a snapshot when its log index plus its `snapshot_offset` is a multiple of
/// `snapshot_interval`. The processes have different offsets, and therefore take snapshots at
/// different times. In this test, P1 compacts its log late, at index 7. The next snapshot of P1 is
/// still due at index 12.
#[test]
fn snapshot_requests_are_staggered() {
    let mut cluster = TestCluster::<RaftReplica>::new(3, ChannelOrder::Reordered, |group| Config {
        snapshot_interval: NonZeroU64::new(6),
        snapshot_offset: 2 * u64::from(group.me().0),
        ..config(3, &[])
    });
    fire_and_drain(&mut cluster, 1, Timer::Election);
    let mut needed = vec![];
    for ticket in 1..=13 {
        append_and_drain(&mut cluster, 1, ticket);
        heartbeat(&mut cluster, 1);
        needed.extend(events(&mut cluster).into_iter().filter_map(|(at, event)| match event {
            Event::SnapshotNeeded { index } => Some((at, index)),
            _ => None,
        }));
        if ticket == 7 {
            let state = Payload::from(7);
            cluster.issue_command(p(1), Command::Compact { ticket: 100, index: 7, state });
        }
    }
    needed.sort_unstable();
    let expected = [(1, 6), (1, 12), (2, 4), (2, 10), (3, 2), (3, 8), (3, 14)];
    assert_eq!(needed, expected);
}

#[test]
fn snapshot_replaces_committed_prefix() {
    let mut cluster = compacted(&[], 2);
    assert!(terms(&cluster, 1).is_empty());
    append(&mut cluster, 1, 4);
    let compact = |ticket, index| Command::Compact { ticket, index, state: Payload::from(7) };
    for (ticket, index) in [(10, 5), (11, 4), (12, 3)] {
        cluster.issue_command(p(1), compact(ticket, index));
        assert_eq!(events(&mut cluster), [declined(1, ticket, DeclineReason::NotThere)]);
    }
    // The snapshot survives a crash, and the user receives the snapshot after the restart.
    restart(&mut cluster, 1);
    let events = events(&mut cluster);
    let Some((1, Event::Restored { index: 4, term: 1, members, state })) = events.last() else {
        panic!("{events:?}");
    };
    assert_eq!(
        (&**members, state.bytes()),
        (&Members::from_voters(ProcessSet::first_n(3)), &b"1,2,3"[..])
    );
    assert_eq!((terms(&cluster, 1), commit_index(&cluster, 1)), (vec![1], 4));
}

#[test]
fn lagging_follower_receives_snapshot_in_pieces() {
    let mut cluster = compacted(&[], 2);
    // P3 rejects the heartbeat. P1 then sends the first piece of the snapshot, which is lost.
    cluster.fire_timer(p(1), Timer::Heartbeat);
    pass_all(&mut cluster, &[(1, 3), (3, 1)]);
    assert_eq!(cluster.sent_count("piece"), 1);
    lose_all(&mut cluster, 1, 3);
    // After the next heartbeat, P1 first sends a probe, which asks how much P3 has received. Then
    // it sends each piece once.
    heartbeat(&mut cluster, 1);
    assert_eq!(cluster.sent_count("piece"), 1 + 1 + 3, "a probe, and three pieces of two bytes");
    let seen = events(&mut cluster);
    let restored = seen.iter().find_map(|event| match event {
        (3, Event::Restored { index, state, .. }) => Some((*index, state.clone())),
        _ => None,
    });
    assert_eq!(restored, Some((4, Payload::new(*b"1,2,3"))));
    append_and_drain(&mut cluster, 1, 4);
    heartbeat(&mut cluster, 1);
    assert!(commits(&events(&mut cluster)).contains(&(3, 5)), "replication continues after it");
    assert_eq!(terms(&cluster, 3), [1]);
}

#[test]
fn restarted_process_receives_the_snapshot() {
    let mut cluster = compacted(&[], 2);
    cluster.fire_timer(p(1), Timer::Heartbeat);
    for _ in 0..2 {
        pass_all(&mut cluster, &[(1, 3), (3, 1)]);
    }
    restart(&mut cluster, 3);
    cluster.deliver_all(&mut SplitMix64(0));
    events(&mut cluster);
    heartbeat(&mut cluster, 1);
    let is_restored =
        |(at, event): &(u32, Event)| *at == 3 && matches!(event, Event::Restored { .. });
    assert_eq!(events(&mut cluster).iter().filter(|event| is_restored(event)).count(), 1);
}

/// A follower that installs a snapshot keeps the log entries after the snapshot: it has
/// acknowledged these entries, and the leader has counted them.
#[test]
fn snapshot_keeps_matching_entries() {
    for (switches, kept) in [(&[][..], 5), (&[VariantId::SnapshotCutsTail], 4)] {
        let mut cluster = cluster(3, switches);
        give_log(&mut cluster, 3, &[1, 1, 1, 1, 1]);
        let members = Members::from_voters(ProcessSet::first_n(3));
        let (last, bytes) = (EntryId { index: 4, term: 1 }, Payload::new(*b"late"));
        let piece = Box::new(SnapshotChunk { last, members, offset: 0, bytes, size: 4 });
        cluster.inject_and_deliver(
            p(1),
            p(3),
            Message::Piece { term: 1, round: 0, acked: 0, piece },
        );
        let log = cluster.process(p(3)).expect("it is up").log();
        assert_eq!(log.last().index, kept, "{switches:?}");
    }
    // A log with another history is discarded.
    let mut cluster = cluster(3, &[]);
    give_log(&mut cluster, 3, &[1, 1, 2, 2, 2]);
    let members = Members::from_voters(ProcessSet::first_n(3));
    let last = EntryId { index: 4, term: 3 };
    let piece =
        Box::new(SnapshotChunk { last, members, offset: 0, bytes: Payload::new(*b""), size: 0 });
    cluster.inject_and_deliver(p(1), p(3), Message::Piece { term: 3, round: 0, acked: 0, piece });
    let log = cluster.process(p(3)).expect("it is up").log();
    assert_eq!((log.last_compacted(), log.last()), (last, last));
}

#[test]
fn ignores_late_entries_covered_by_snapshot() {
    let mut cluster = compacted(&[], 2);
    restart(&mut cluster, 1);
    let prev = EntryId { index: 2, term: 1 };
    let entries = of_terms(&[1, 1, 2]);
    cluster.inject_and_deliver(
        p(2),
        p(1),
        Message::Append { term: 2, prev, entries, commit: 0, round: 0, acked: 0 },
    );
    assert_eq!(terms(&cluster, 1), [2]);
    let answer = cluster.messages_on_link((p(1), p(2)));
    assert_eq!(answer, [&Message::Appended { term: 2, match_index: 5, round: 0 }]);
}
