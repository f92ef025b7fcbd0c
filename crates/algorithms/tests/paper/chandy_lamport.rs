//! Snapshots of Chandy and Lamport: a marker in each channel separates the messages that were sent
//! before the snapshot from the messages sent after it.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::ChandyLamport;
use tenure_algorithms::agreement::chandy_lamport::{Message, VariantId};
use tenure_core::monitors::ConsistentCut;
use tenure_core::service::snapshot::{Command, Event, INITIAL_TOKENS, SnapshotId};
use tenure_core::{ChannelOrder, Monitor, ProcessId};
use tenure_trace::{ProcessEvent, SplitMix64, TestCluster};

use crate::support::{command_and_drain, events, p, pass_all};

fn cluster(size: u32) -> TestCluster<ChandyLamport> {
    TestCluster::with_same_config(size, ChannelOrder::Fifo, Variants::none())
}

fn give(to: u32) -> Command {
    Command::Give { to: p(to), tokens: 1 }
}

/// Transfers tokens at random, while each of `initiators` takes a snapshot at some moment. Returns
/// the numbers of tokens held and in flight in each snapshot. A violation is returned as an error.
fn run(
    size: u32,
    order: ChannelOrder,
    variants: Variants<VariantId>,
    initiators: u32,
    seed: u64,
) -> Result<Vec<(u64, u64)>, String> {
    let mut cluster = TestCluster::<ChandyLamport>::with_same_config(size, order, variants);
    let (mut monitor, mut rng, mut shown) =
        (ConsistentCut::default(), SplitMix64(seed), Vec::new());
    let mut moments: Vec<(usize, u32)> = (1..=initiators).map(|at| (rng.below(30), at)).collect();
    for moment in 0..60 {
        let due = |(when, _): &(usize, u32)| *when == moment;
        moments.iter().filter(|it| due(it)).for_each(|(_, at)| {
            cluster.issue_command(p(*at), Command::Record);
        });
        moments.retain(|it| !due(it));
        match rng.pick(&cluster.links_in_use()) {
            Some(link) if rng.one_in(2) => cluster.deliver(*link, &mut rng),
            _ => {
                let (at, to) = (rng.below(size as usize), rng.below(size as usize));
                cluster.issue_command(
                    ProcessId::from_index(at),
                    give(ProcessId::from_index(to).display_number()),
                );
            }
        }
    }
    cluster.deliver_all(&mut rng);
    for (at, seen) in cluster.take_events() {
        monitor.observe(at, seen.to_observation()).map_err(|violation| violation.message)?;
        if let ProcessEvent::Event(Event::Collected { held, under_way, .. }) = seen {
            shown.push((held, under_way));
        }
    }
    Ok(shown)
}

/// The paper's first example: a token moves from a process to the channel. The snapshot contains
/// the state of the sender after the token was sent, and the state of the receiver before the token
/// arrived.
#[test]
fn records_messages_in_flight_as_channel_state() {
    let mut cluster = cluster(2);
    cluster.issue_command(p(1), give(2));
    cluster.issue_command(p(2), Command::Record);
    cluster.deliver_at((p(2), p(1)), 0);
    cluster.deliver_all(&mut SplitMix64(0));
    let snapshot = SnapshotId { by: p(2), number: 1 };
    let events = events(&mut cluster);
    for event in [
        (2, Event::Recorded { snapshot, tokens: INITIAL_TOKENS }),
        (1, Event::Recorded { snapshot, tokens: INITIAL_TOKENS - 1 }),
        (2, Event::Closed { snapshot, channels: vec![(p(1), 1)] }),
        (2, Event::Collected { snapshot, held: 2 * INITIAL_TOKENS - 1, under_way: 1 }),
    ] {
        assert!(events.contains(&event), "{event:?} in {events:?}");
    }
}

#[test]
fn snapshot_need_not_be_an_actual_state() {
    let mut cluster = cluster(2);
    cluster.issue_command(p(1), Command::Record);
    cluster.issue_command(p(1), give(2));
    command_and_drain(&mut cluster, 2, give(1));
    let snapshot = SnapshotId { by: p(1), number: 1 };
    let events = events(&mut cluster);
    // The cluster never had these token counts at one time, because P2 gives away a token only
    // after P1 has given away one.
    assert!(events.contains(&(1, Event::Recorded { snapshot, tokens: INITIAL_TOKENS })));
    assert!(events.contains(&(2, Event::Recorded { snapshot, tokens: INITIAL_TOKENS - 1 })));
    let all = Event::Collected { snapshot, held: 2 * INITIAL_TOKENS - 1, under_way: 1 };
    assert!(events.contains(&(1, all)), "{events:?}");
}

#[test]
fn snapshot_costs_a_marker_per_channel_and_reports() {
    for size in 1..=7 {
        let mut cluster = cluster(size);
        command_and_drain(&mut cluster, size, Command::Record);
        let size = u64::from(size);
        let sent = [cluster.sent_count("marker"), cluster.sent_count("report")];
        assert_eq!(sent, [size * (size - 1), size - 1]);
    }
}

#[test]
fn markers_precede_later_messages() {
    let mut cluster = cluster(3);
    cluster.issue_command(p(1), Command::Record);
    cluster.issue_command(p(1), give(2));
    let queue = cluster.messages_on_link((p(1), p(2)));
    assert!(matches!(queue[..], [Message::Marker { .. }, Message::Tokens { tokens: 1 }]));
    // P3 first receives the marker of P1. When the marker of P2 arrives, P3 has recorded its state.
    cluster.deliver_at((p(1), p(3)), 0);
    assert_eq!(cluster.messages_on_link((p(3), p(2))).len(), 1);
    pass_all(&mut cluster, &[(1, 2), (2, 3)]);
    assert_eq!(cluster.sent_count("marker"), 6);
}

#[test]
fn snapshots_preserve_the_number_of_tokens() {
    let mut under_way = 0;
    for seed in 0..300 {
        let size = 1 + seed as u32 % 5;
        let shown = run(size, ChannelOrder::Fifo, Variants::none(), size, seed);
        let shown = shown.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(shown.len(), size as usize, "seed {seed}: every snapshot is complete");
        let all = u64::from(size) * INITIAL_TOKENS;
        assert!(
            shown.iter().all(|(held, passing)| held + passing == all),
            "seed {seed}: {shown:?}"
        );
        under_way += shown.iter().map(|(_, passing)| passing).sum::<u64>();
    }
    assert!(under_way > 100, "channels contained tokens");
}

#[test]
fn each_mistake_is_caught() {
    for switch in [VariantId::LateMarkers, VariantId::NoChannels] {
        let variants = Variants::none().with(switch);
        let caught = (0..300).any(|seed| run(3, ChannelOrder::Fifo, variants, 1, seed).is_err());
        assert!(caught, "{switch:?}");
    }
}

#[test]
fn reordering_breaks_the_snapshot() {
    let wrong = |seed| run(3, ChannelOrder::Reordered, Variants::none(), 1, seed).is_err();
    assert!((0..300).any(wrong));
}
