//! The queue of a lock service whose keys are attached to sessions: M. Burrows, *The Chubby lock
//! service*, OSDI 2006, and the recipe of etcd's clients.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::SessionMutex;
use tenure_algorithms::mutex::leased::{Config, DeadlineTimer, Timer, VariantId};
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, ChannelOrder, Fence, TICKS_PER_TIME_UNIT};

use crate::support::mutex::{NONE, entered, exited, fences};
use crate::support::{command_and_drain, fire_and_drain, p, pass_all};
use tenure_trace::{SplitMix64, TestCluster};

fn config() -> Config {
    Config::with_defaults(TICKS_PER_TIME_UNIT)
}

/// ID of the lease of P2's first session.
const LEASE: u64 = 200_100_001;

/// Returns a cluster in which P1 is the service.
fn cluster(size: u32) -> TestCluster<SessionMutex> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, config())
}

fn with(size: u32, switch: VariantId) -> TestCluster<SessionMutex> {
    let variants = Variants::none().with(switch);
    TestCluster::with_same_config(size, ChannelOrder::Reordered, Config { variants, ..config() })
}

/// Requests entry at a process and delivers all messages.
fn request(cluster: &mut TestCluster<SessionMutex>, number: u32) {
    command_and_drain(cluster, number, Command::Enter);
}

/// Lets the lease of P2 expire: fires the service's timers for this lease, and delivers all
/// messages.
fn expire_lease(cluster: &mut TestCluster<SessionMutex>) {
    cluster.fire_timer(p(1), Timer::Part(LEASE));
    cluster.fire_timer(p(1), Timer::Part(LEASE));
    fire_and_drain(cluster, 1, Timer::Commit(LEASE));
}

#[test]
fn entry_takes_five_messages_or_none_at_service() {
    let mut cluster = cluster(3);
    request(&mut cluster, 2);
    assert_eq!(entered(&mut cluster), [2]);
    command_and_drain(&mut cluster, 2, Command::Exit);
    let kinds = ["open", "alive", "look", "place", "release"];
    assert_eq!(kinds.map(|kind| cluster.sent_count(kind)), [1; 5]);
    assert_eq!(cluster.total_sent(), 5);
    request(&mut cluster, 1);
    assert_eq!(entered(&mut cluster), [1]);
    cluster.issue_command(p(1), Command::Exit);
    assert_eq!(cluster.total_sent(), 5);
}

/// The fence is the revision of the key. A waiting process is notified only when its predecessor in
/// the queue leaves.
#[test]
fn entries_follow_the_queue_with_its_fences() {
    let mut cluster = cluster(4);
    (2..=4).for_each(|number| request(&mut cluster, number));
    let mut seen = fences(&mut cluster);
    for number in [2, 3] {
        command_and_drain(&mut cluster, number, Command::Exit);
        seen.extend(fences(&mut cluster));
    }
    assert_eq!(seen, [Fence(0, 2), Fence(0, 3), Fence(0, 4)]);
    assert_eq!(["watch", "deleted"].map(|kind| cluster.sent_count(kind)), [2, 2]);
}

#[test]
fn next_entry_takes_four_messages() {
    let mut cluster = cluster(3);
    request(&mut cluster, 2);
    request(&mut cluster, 3);
    assert_eq!(entered(&mut cluster), [2]);
    cluster.issue_command(p(2), Command::Exit);
    for link in [(2, 1), (1, 3), (3, 1), (1, 3)] {
        assert_eq!(entered(&mut cluster), NONE);
        cluster.deliver_at((p(link.0), p(link.1)), 0);
    }
    assert_eq!(entered(&mut cluster), [3]);
}

/// Early lock release: the leader grants the lock to the next process before the log entry that
/// ends the previous lease is committed.
#[test]
fn early_next_entry_takes_two_messages() {
    let mut cluster = with(3, VariantId::EarlyRelease);
    request(&mut cluster, 2);
    request(&mut cluster, 3);
    assert_eq!(entered(&mut cluster), [2]);
    cluster.issue_command(p(2), Command::Exit);
    cluster.deliver_at((p(2), p(1)), 0);
    assert_eq!(entered(&mut cluster), NONE);
    cluster.deliver_at((p(1), p(3)), 0);
    assert_eq!(entered(&mut cluster), [3]);
    fire_and_drain(&mut cluster, 1, Timer::Commit(LEASE));
    assert_eq!(entered(&mut cluster), NONE, "no second entry");
}

#[test]
fn crash_inside_ends_with_the_lease() {
    let mut cluster = cluster(3);
    request(&mut cluster, 2);
    request(&mut cluster, 3);
    assert_eq!(entered(&mut cluster), [2]);
    cluster.crash(p(2));
    expire_lease(&mut cluster);
    assert_eq!(entered(&mut cluster), [3]);
}

#[test]
fn unanswered_renewals_end_the_session() {
    let mut cluster = cluster(3);
    request(&mut cluster, 2);
    assert_eq!(entered(&mut cluster), [2]);
    cluster.fire_timer(p(2), Timer::Renewal);
    cluster.lose_oldest((p(2), p(1)));
    cluster.fire_timer(p(2), Timer::Deadline(DeadlineTimer::Left));
    assert_eq!(exited(&mut cluster), [2]);
}

#[test]
fn response_moves_deadline_to_its_request() {
    let mut cluster = cluster(2);
    request(&mut cluster, 2);
    assert_eq!(entered(&mut cluster), [2]);
    fire_and_drain(&mut cluster, 2, Timer::Renewal);
    let armed = cluster.armed_timers();
    let sides = armed.iter().filter(|(at, _)| *at == p(2)).map(|(_, timer)| *timer);
    let sides: Vec<Timer> = sides.filter(|timer| *timer != Timer::Renewal).collect();
    assert_eq!(sides, [Timer::Deadline(DeadlineTimer::Right)], "of the second request");
}

/// etcd's issue 11456: the service grants the lock only to a waiter whose key exists. A waiter
/// whose lease has expired has lost its key, and must queue again.
#[test]
fn waiter_with_expired_lease_queues_again() {
    let mut cluster = cluster(4);
    request(&mut cluster, 3);
    request(&mut cluster, 2);
    assert_eq!(entered(&mut cluster), [3]);
    request(&mut cluster, 4);
    expire_lease(&mut cluster);
    command_and_drain(&mut cluster, 3, Command::Exit);
    assert_eq!(entered(&mut cluster), [4], "the waiter behind is next");
    command_and_drain(&mut cluster, 4, Command::Exit);
    assert_eq!(entered(&mut cluster), [2], "in a new session");
}

/// etcd's issue 9395: a new leader waits for the remaining time of a lease, not for its full
/// duration.
#[test]
fn leader_change_does_not_refill_a_lease() {
    for (mut cluster, at_once) in
        [(cluster(3), vec![3]), (with(3, VariantId::TtlJumpsBack), NONE.to_vec())]
    {
        request(&mut cluster, 2);
        request(&mut cluster, 3);
        assert_eq!(entered(&mut cluster), [2]);
        cluster.crash(p(2));
        cluster.fire_timer(p(1), Timer::Part(LEASE));
        cluster.fire_timer(p(1), Timer::Change);
        cluster.fire_timer(p(1), Timer::Part(LEASE));
        if !at_once.is_empty() {
            cluster.fire_timer(p(1), Timer::Commit(LEASE));
        }
        // A waiter watches again, now at the new leader.
        fire_and_drain(&mut cluster, 3, Timer::Renewal);
        assert_eq!(entered(&mut cluster), at_once);
    }
}

/// A leader that has been deposed does not renew leases. In etcd, a deposed leader once renewed
/// leases by mistake (issue 15247).
#[test]
fn unconfirmed_leader_answers_no_renewal() {
    for (mut cluster, answers) in [(cluster(2), 0), (with(2, VariantId::DeposedRenews), 1)] {
        request(&mut cluster, 2);
        let before = cluster.sent_count("alive");
        cluster.fire_timer(p(1), Timer::Change);
        cluster.fire_timer(p(2), Timer::Renewal);
        // The previous leader receives the request.
        cluster.set_random_values([0], 0);
        cluster.deliver_at((p(2), p(1)), 0);
        assert_eq!(cluster.sent_count("alive") - before, answers);
    }
}

#[test]
fn renewal_waits_for_pending_expiry() {
    let mut cluster = cluster(2);
    request(&mut cluster, 2);
    let before = cluster.sent_count("alive");
    cluster.fire_timer(p(1), Timer::Part(LEASE));
    cluster.fire_timer(p(1), Timer::Part(LEASE));
    fire_and_drain(&mut cluster, 2, Timer::Renewal);
    assert_eq!(cluster.sent_count("alive"), before);
}

#[test]
fn renewed_lease_lasts_from_its_renewal() {
    for (mut cluster, ends) in
        [(cluster(2), false), (with(2, VariantId::ExpiryDisregardsRenewal), true)]
    {
        request(&mut cluster, 2);
        cluster.fire_timer(p(1), Timer::Part(LEASE));
        fire_and_drain(&mut cluster, 2, Timer::Renewal);
        cluster.fire_timer(p(1), Timer::Part(LEASE));
        let armed = cluster.armed_timers();
        assert_eq!(armed.contains(&(p(1), Timer::Commit(LEASE))), ends);
    }
}

/// A waiter reads a key, and then watches the key from the revision of the read. The waiter is
/// notified even if the key is deleted between the read and the watch.
#[test]
fn watch_reports_earlier_deletion() {
    let mistake = with(3, VariantId::WatchFromWrongRevision);
    for (mut cluster, next) in [(cluster(3), vec![3]), (mistake, NONE.to_vec())] {
        request(&mut cluster, 2);
        cluster.issue_command(p(3), Command::Enter);
        pass_all(&mut cluster, &[(3, 1), (1, 3), (3, 1), (1, 3)]);
        assert_eq!(cluster.sent_count("watch"), 1);
        cluster.issue_command(p(2), Command::Exit);
        cluster.deliver_at((p(2), p(1)), 0);
        entered(&mut cluster);
        cluster.deliver_all(&mut SplitMix64(0));
        assert_eq!(entered(&mut cluster), next);
    }
}

/// The service keeps a lease for 10 message delays, but a client relies on the lease for only 9.
/// With clock drift r, the client stops before the lease ends if (1 + r) · 9 < (1 − r) · 10. This
/// condition holds if r is below 1/19.
#[test]
fn card_states_tolerated_clock_drift() {
    let times = config().session_durations;
    let drift = u64::from(SessionMutex::card(&config(), 3).drift_ppm);
    assert_eq!(drift, 52_631);
    let (fast, slow) = (1_000_000 + drift, 1_000_000 - drift);
    assert!(times.validity * fast < times.ttl * slow, "the owner leaves first");
    assert!(
        2 * times.renewal_interval + 2 * TICKS_PER_TIME_UNIT < times.validity,
        "one renewal may be lost"
    );
}
