//! Group mutual exclusion: Y.-J. Joung, Distributed Computing 15(3), 2002 (RA1).

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::CongenialPhilosophers;
use tenure_algorithms::agreement::congenial_philosophers::VariantId;
use tenure_core::ChannelOrder;
use tenure_core::monitors::ForumExclusion;
use tenure_core::service::forum::{Command, Event, User};

use crate::support::{command_and_settle, p, processes_with, sessions};
use tenure_trace::TestCluster;

fn cluster(size: u32, variants: Variants<VariantId>) -> TestCluster<CongenialPhilosophers> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, variants)
}

fn attending(cluster: &mut TestCluster<CongenialPhilosophers>) -> Vec<u32> {
    processes_with(cluster, |event| matches!(event, Event::Attending { .. }))
}

fn run(switch: Option<VariantId>, times: &[u32], seed: u64) -> Result<(u64, usize), String> {
    let variants = switch.map_or(Variants::none(), |switch| Variants::none().with(switch));
    let monitor = ForumExclusion::default();
    sessions::run::<CongenialPhilosophers, User, _>(variants, times, monitor, seed)
}

#[test]
fn session_takes_2n_minus_2_messages() {
    for size in 1..=6_u64 {
        for seed in 0..100 {
            let times = vec![3; size as usize];
            let (messages, _) = run(None, &times, seed).unwrap();
            assert_eq!(messages, 3 * size * 2 * (size - 1), "n = {size}, seed {seed}");
        }
    }
}

/// Concurrent entering: if all processes request the same forum, every process enters before any
/// process leaves.
#[test]
fn all_of_one_forum_are_inside_together() {
    let enter_all = |variants| {
        let mut cluster = cluster(5, variants);
        for at in 1..=5 {
            cluster.issue_command(p(at), Command::Attend { forum: 7 });
        }
        cluster.run_until_quiescent();
        attending(&mut cluster).len()
    };
    assert_eq!(enter_all(Variants::none()), 5);
    assert_eq!(enter_all(Variants::none().with(VariantId::OneAtATime)), 1);
}

#[test]
fn processes_share_a_forum_in_random_schedules() {
    let most = |switch| (0..200).map(|seed| run(switch, &[4; 5], seed).unwrap().1).max();
    assert!(most(None) >= Some(3));
    assert_eq!(most(Some(VariantId::OneAtATime)), Some(1));
}

/// P1 attends forum 1. Then P2 requests forum 2, and after that P3 requests forum 1. Requests are
/// served in order: P3 must not pass P2, although forum 1 is in session.
#[test]
fn earlier_request_for_another_forum_is_not_passed() {
    let mut cluster = cluster(3, Variants::none());
    for (at, forum) in [(1, 1), (2, 2), (3, 1)] {
        command_and_settle(&mut cluster, at, Command::Attend { forum });
    }
    assert_eq!(attending(&mut cluster), [1]);
    command_and_settle(&mut cluster, 1, Command::Depart);
    assert_eq!(attending(&mut cluster), [2]);
    command_and_settle(&mut cluster, 2, Command::Depart);
    assert_eq!(attending(&mut cluster), [3]);
}

#[test]
fn mistakes_violate_safety_or_block() {
    for (switch, expected) in [
        (VariantId::RepliesInside, "attends forum"),
        (VariantId::NoPriority, "attends forum"),
        (VariantId::FrozenClock, "attends forum"),
        (VariantId::DropsDeferred, "blocked"),
    ] {
        let mut found = (0..1000).filter_map(|seed| run(Some(switch), &[2; 3], seed).err());
        assert!(found.any(|error| error.contains(expected)), "{switch:?}");
    }
}
