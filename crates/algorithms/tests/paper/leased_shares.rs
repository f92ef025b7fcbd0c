//! Tests of read and write locks, of semaphores, and of several locks at once. A lock service keeps
//! a queue for each of them.

use tenure_algorithms::agreement::SessionSharedLock;
use tenure_algorithms::agreement::leased_shares::{Config, VariantId};
use tenure_algorithms::mutex::leased::Timer;
use tenure_core::monitors::{ShareExclusion, ShareFencing};
use tenure_core::service::shares::{Command, Event, LockShare, User};
use tenure_core::{ChannelOrder, Fence, TICKS_PER_TIME_UNIT};
use tenure_trace::{SplitMix64, TestCluster};

use crate::support::mutex::NONE;
use crate::support::{
    command_and_drain, events, fire_and_drain, p, pass_all, processes_with, sessions,
};

/// ID of the lease of P2's first session.
const LEASE: u64 = 200_100_001;

fn config(switches: &[VariantId]) -> Config {
    switches.iter().fold(Config::with_defaults(TICKS_PER_TIME_UNIT), |config, switch| {
        config.with_variant(*switch)
    })
}

/// Returns a cluster in which P1 is the service.
fn cluster(size: u32, switches: &[VariantId]) -> TestCluster<SessionSharedLock> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, config(switches))
}

/// Requests a share at a process and delivers everything.
fn lock(cluster: &mut TestCluster<SessionSharedLock>, number: u32, share: LockShare) {
    command_and_drain(cluster, number, Command::Lock { share });
}

fn unlock(cluster: &mut TestCluster<SessionSharedLock>, number: u32) {
    command_and_drain(cluster, number, Command::Unlock);
}

fn locked(cluster: &mut TestCluster<SessionSharedLock>) -> Vec<u32> {
    processes_with(cluster, |event| matches!(event, Event::Locked { .. }))
}

#[test]
fn writer_waits_until_all_earlier_readers_have_left() {
    let mut cluster = cluster(4, &[]);
    lock(&mut cluster, 2, LockShare::Part);
    lock(&mut cluster, 3, LockShare::Part);
    lock(&mut cluster, 4, LockShare::Whole);
    assert_eq!(locked(&mut cluster), [2, 3]);
    unlock(&mut cluster, 3);
    assert_eq!(locked(&mut cluster), NONE, "P2 still reads");
    unlock(&mut cluster, 2);
    assert_eq!(locked(&mut cluster), [4]);
}

/// Courtois, Heymans and Parnas, second problem: no reader that arrives later delays a writer.
#[test]
fn later_reader_does_not_overtake_waiting_writer() {
    for (switches, overtakes) in [(&[][..], false), (&[VariantId::ReadersOvertake][..], true)] {
        let mut cluster = cluster(4, switches);
        lock(&mut cluster, 2, LockShare::Part);
        lock(&mut cluster, 3, LockShare::Whole);
        lock(&mut cluster, 4, LockShare::Part);
        assert_eq!(locked(&mut cluster), if overtakes { vec![2, 4] } else { vec![2] });
        unlock(&mut cluster, 2);
        assert_eq!(locked(&mut cluster), [3], "beside P4 only by mistake");
        if !overtakes {
            unlock(&mut cluster, 3);
            assert_eq!(locked(&mut cluster), [4]);
        }
    }
}

/// All readers that wait for a writer are granted the lock together.
#[test]
fn fences_follow_the_queue() {
    let mut cluster = cluster(4, &[]);
    lock(&mut cluster, 2, LockShare::Whole);
    lock(&mut cluster, 3, LockShare::Part);
    lock(&mut cluster, 4, LockShare::Part);
    unlock(&mut cluster, 2);
    let fence = |(at, event)| match event {
        Event::Locked { fence, .. } => Some((at, fence)),
        Event::Unlocked => None,
    };
    let mut fences: Vec<_> = events(&mut cluster).into_iter().filter_map(fence).collect();
    fences.sort_unstable();
    assert_eq!(fences, [(2, Fence(0, 2)), (3, Fence(0, 3)), (4, Fence(0, 4))]);
}

#[test]
fn permit_is_free_when_any_holder_leaves() {
    let mut cluster = cluster(4, &[VariantId::Semaphore]);
    for number in 2..=4 {
        lock(&mut cluster, number, LockShare::Part);
    }
    lock(&mut cluster, 1, LockShare::Whole);
    assert_eq!(locked(&mut cluster), [2, 3], "of two permits");
    unlock(&mut cluster, 2);
    assert_eq!(locked(&mut cluster), [4]);
    unlock(&mut cluster, 4);
    assert_eq!(locked(&mut cluster), NONE, "P1 needs both permits");
    unlock(&mut cluster, 3);
    assert_eq!(locked(&mut cluster), [1]);
}

/// A waiter that repeats its watch is notified of the same deletion again. It does not count this
/// as a second free permit.
#[test]
fn repeated_notification_frees_no_second_permit() {
    for (more, mistaken) in [(&[][..], NONE.to_vec()), (&[VariantId::PermitCountedTwice], vec![4])]
    {
        let mut cluster = cluster(4, &[&[VariantId::Semaphore], more].concat());
        lock(&mut cluster, 2, LockShare::Part);
        lock(&mut cluster, 3, LockShare::Part);
        lock(&mut cluster, 4, LockShare::Whole);
        unlock(&mut cluster, 2);
        assert_eq!(locked(&mut cluster), [2, 3]);
        fire_and_drain(&mut cluster, 4, Timer::Renewal);
        assert_eq!(locked(&mut cluster), mistaken);
    }
}

#[test]
fn readers_enter_two_messages_after_early_release() {
    let mut cluster = cluster(4, &[VariantId::EarlyRelease]);
    lock(&mut cluster, 2, LockShare::Whole);
    lock(&mut cluster, 3, LockShare::Part);
    lock(&mut cluster, 4, LockShare::Part);
    assert_eq!(locked(&mut cluster), [2]);
    cluster.issue_command(p(2), Command::Unlock);
    pass_all(&mut cluster, &[(2, 1), (1, 3), (1, 4)]);
    assert_eq!(locked(&mut cluster), [3, 4], "before the end of the lease is committed");
}

/// A reader's release admits no writer early, because other readers may still hold their locks.
#[test]
fn early_release_of_reader_admits_no_writer() {
    use VariantId::{AnyHolderHandsOver, EarlyRelease};
    for (switches, mistaken) in
        [(&[EarlyRelease][..], NONE.to_vec()), (&[EarlyRelease, AnyHolderHandsOver], vec![4])]
    {
        let mut cluster = cluster(4, switches);
        lock(&mut cluster, 2, LockShare::Part);
        lock(&mut cluster, 3, LockShare::Part);
        lock(&mut cluster, 4, LockShare::Whole);
        assert_eq!(locked(&mut cluster), [2, 3]);
        unlock(&mut cluster, 3);
        assert_eq!(locked(&mut cluster), mistaken);
    }
}

#[test]
fn crashed_reader_ends_with_its_lease() {
    let mut cluster = cluster(3, &[]);
    lock(&mut cluster, 2, LockShare::Part);
    lock(&mut cluster, 3, LockShare::Whole);
    assert_eq!(locked(&mut cluster), [2]);
    cluster.crash(p(2));
    for timer in [Timer::Part(LEASE), Timer::Part(LEASE), Timer::Commit(LEASE)] {
        assert_eq!(locked(&mut cluster), NONE);
        cluster.fire_timer(p(1), timer);
    }
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(locked(&mut cluster), [3]);
}

/// Order of deliveries by which P2 and P3 request their first claims and receive the grants. Each
/// element is a link: the sender and the receiver of one message.
const FIRST_CLAIMS: [(u32, u32); 8] =
    [(2, 1), (3, 1), (1, 2), (1, 3), (2, 1), (3, 1), (1, 2), (1, 3)];

/// Returns the processes that hold the whole lock after P2 and P3 have requested it together.
fn both_request(switches: &[VariantId]) -> Vec<u32> {
    let mut cluster = cluster(3, switches);
    for number in [2, 3] {
        cluster.issue_command(p(number), Command::Lock { share: LockShare::Whole });
    }
    pass_all(&mut cluster, &FIRST_CLAIMS);
    cluster.deliver_all(&mut SplitMix64(0));
    locked(&mut cluster)
}

#[test]
fn common_order_of_two_locks_prevents_deadlock() {
    assert_eq!(both_request(&[VariantId::TwoLocks]), [2]);
    assert_eq!(both_request(&[VariantId::OppositeOrder]), NONE);
}

#[test]
fn two_readers_that_upgrade_wait_for_each_other() {
    assert_eq!(both_request(&[]), [2]);
    assert_eq!(both_request(&[VariantId::UpgradeWhileHolding]), NONE);
    let mut cluster = cluster(2, &[VariantId::UpgradeWhileHolding]);
    lock(&mut cluster, 2, LockShare::Whole);
    assert_eq!(locked(&mut cluster), [2], "one alone is served");
}

#[test]
fn second_lock_takes_two_more_messages() {
    let messages = |switches: &[VariantId]| {
        let mut cluster = cluster(2, switches);
        lock(&mut cluster, 2, LockShare::Whole);
        unlock(&mut cluster, 2);
        cluster.total_sent()
    };
    assert_eq!((messages(&[]), messages(&[VariantId::TwoLocks])), (5, 7));
}

#[test]
fn shares_exclude_each_other_in_random_schedules() {
    for switches in [&[][..], &[VariantId::Semaphore], &[VariantId::TwoLocks]] {
        let run = |seed| {
            let exclusion = ShareExclusion::default();
            let config = || config(switches);
            let run =
                sessions::run::<SessionSharedLock, User, _>(config(), &[3; 4], exclusion, seed);
            let fencing = ShareFencing::default();
            let fenced =
                sessions::run::<SessionSharedLock, User, _>(config(), &[3; 4], fencing, seed);
            fenced.and(run).map(|(_, most)| most)
        };
        let most = (0..100).map(|seed| run(seed).unwrap_or_else(|error| panic!("{error}"))).max();
        assert!(most >= Some(2), "{switches:?}: parts are held together");
    }
}

#[test]
fn random_schedules_find_readers_that_overtake() {
    let config = || config(&[VariantId::ReadersOvertake]);
    let is_violated = |seed| {
        let exclusion = ShareExclusion::default();
        sessions::run::<SessionSharedLock, User, _>(config(), &[3; 4], exclusion, seed).is_err()
    };
    assert!((0..100).any(is_violated));
}
