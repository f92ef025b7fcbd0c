//! A lock that expires by itself: C. Gray, D. Cheriton, *Leases*, SOSP 1989.

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::{FromParameters, Parameters};
use tenure_algorithms::mutex::lease::{Config, Timer, VariantId};
use tenure_algorithms::mutex::{DeadlineSlot, LeaseDurations, LeaseMutex};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Algorithm, ChannelOrder, TICKS_PER_TIME_UNIT};

use crate::support::mutex::{NONE, entered, exited, fences};
use crate::support::{command_and_drain, events, fire_and_drain, lose_all, p, pass_all, restart};
use tenure_trace::{SplitMix64, TestCluster};

fn config() -> Config {
    Config::with_defaults(TICKS_PER_TIME_UNIT)
}

/// Returns a cluster in which P1 is the grantor.
fn cluster(size: u32) -> TestCluster<LeaseMutex> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, config())
}

fn held_by_p2(cluster: &mut TestCluster<LeaseMutex>) {
    command_and_drain(cluster, 2, Command::Enter);
    assert_eq!(entered(cluster), [2]);
}

#[test]
fn entry_takes_three_messages_or_none_at_grantor() {
    let mut cluster = cluster(3);
    held_by_p2(&mut cluster);
    command_and_drain(&mut cluster, 2, Command::Exit);
    assert_eq!(["request", "grant", "release"].map(|kind| cluster.sent_count(kind)), [1; 3]);
    assert_eq!(cluster.total_sent(), 3);
    cluster.issue_command(p(1), Command::Enter);
    assert_eq!(entered(&mut cluster), [1]);
    cluster.issue_command(p(1), Command::Exit);
    assert_eq!(cluster.total_sent(), 3);
    assert!(cluster.armed_timers().is_empty(), "no timer is set");
}

#[test]
fn next_entry_takes_four_messages() {
    let mut cluster = cluster(3);
    held_by_p2(&mut cluster);
    command_and_drain(&mut cluster, 3, Command::Enter);
    cluster.issue_command(p(2), Command::Exit);
    for link in [(2, 1), (1, 3), (3, 1), (1, 3)] {
        assert_eq!(entered(&mut cluster), NONE);
        cluster.deliver_at((p(link.0), p(link.1)), 0);
    }
    assert_eq!(entered(&mut cluster), [3]);
    assert_eq!(cluster.sent_count("turn"), 1);
}

#[test]
fn holder_without_renewals_exits_before_next_entry() {
    let mut cluster = cluster(3);
    command_and_drain(&mut cluster, 2, Command::Enter);
    let first = fences(&mut cluster);
    cluster.issue_command(p(3), Command::Enter);
    cluster.deliver_at((p(3), p(1)), 0);
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let (at, timer) = cluster.next_timer().expect("a timer is set");
        cluster.fire_timer(at, timer);
        lose_all(&mut cluster, 2, 1);
        cluster.deliver_all(&mut SplitMix64(0));
        seen.extend(events(&mut cluster));
    }
    assert_eq!(seen[0], (2, Event::Exited), "{seen:?}");
    let (3, Event::Entered { fence }) = seen[1] else { panic!("{seen:?}") };
    assert!(fence > first[0], "{fence} after {first:?}");
}

#[test]
fn renewals_keep_the_lease() {
    let mut cluster = cluster(2);
    held_by_p2(&mut cluster);
    for _ in 0..20 {
        let (at, timer) = cluster.next_timer().expect("a renewal is due");
        assert_eq!((at, timer), (p(2), Timer::Renewal));
        cluster.fire_timer(at, timer);
        cluster.deliver_all(&mut SplitMix64(0));
    }
    assert_eq!(exited(&mut cluster), NONE);
    assert_eq!((cluster.sent_count("request"), cluster.sent_count("grant")), (21, 21));
}

/// A process is paused inside the critical section, and exits when its timer fires. Later, the user
/// of the process issues the command to exit. The process ignores this command.
#[test]
fn late_exit_is_ignored() {
    let mut cluster = cluster(2);
    held_by_p2(&mut cluster);
    cluster.fire_timer(p(2), Timer::Deadline(DeadlineSlot::Left));
    assert_eq!(exited(&mut cluster), [2]);
    let before = cluster.total_sent();
    cluster.issue_command(p(2), Command::Exit);
    assert_eq!((cluster.total_sent(), exited(&mut cluster)), (before, NONE.to_vec()));
    held_by_p2(&mut cluster);
}

#[test]
fn late_grant_is_ignored() {
    let mut cluster = cluster(2);
    cluster.issue_command(p(2), Command::Enter);
    cluster.deliver_at((p(2), p(1)), 0);
    cluster.fire_timer(p(2), Timer::Deadline(DeadlineSlot::Left));
    cluster.deliver_at((p(1), p(2)), 0);
    assert_eq!(entered(&mut cluster), NONE);
    fire_and_drain(&mut cluster, 2, Timer::Renewal);
    assert_eq!(entered(&mut cluster), [2]);
}

#[test]
fn crash_inside_ends_with_the_grant() {
    let mut cluster = cluster(3);
    held_by_p2(&mut cluster);
    command_and_drain(&mut cluster, 3, Command::Enter);
    cluster.crash(p(2));
    assert_eq!(entered(&mut cluster), NONE);
    fire_and_drain(&mut cluster, 1, Timer::Expiry);
    assert_eq!(entered(&mut cluster), [3]);
}

/// The paper: a restarted server waits for the longest possible lease, and so honours all leases.
#[test]
fn restarted_grantor_waits_for_old_grants() {
    for (forgets, at_once) in [(false, vec![]), (true, vec![3])] {
        let variants = match forgets {
            true => Variants::none().with(VariantId::ForgottenGrants),
            false => Variants::none(),
        };
        let config = Config { variants, ..config() };
        let mut cluster =
            TestCluster::<LeaseMutex>::with_same_config(3, ChannelOrder::Reordered, config);
        held_by_p2(&mut cluster);
        restart(&mut cluster, 1);
        command_and_drain(&mut cluster, 3, Command::Enter);
        assert_eq!(entered(&mut cluster), at_once);
        if !forgets {
            fire_and_drain(&mut cluster, 1, Timer::Expiry);
            assert_eq!(entered(&mut cluster), [3]);
        }
    }
}

#[test]
fn unwanted_grant_is_released() {
    let mut cluster = cluster(3);
    cluster.issue_command(p(2), Command::Enter);
    cluster.duplicate_oldest((p(2), p(1)));
    pass_all(&mut cluster, &[(2, 1), (1, 2)]);
    cluster.issue_command(p(2), Command::Exit);
    // The release overtakes the other copy of the request.
    cluster.deliver_at((p(2), p(1)), 1);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!((cluster.sent_count("grant"), cluster.sent_count("release")), (2, 2));
    assert_eq!(entered(&mut cluster), [2]);
    command_and_drain(&mut cluster, 3, Command::Enter);
    assert_eq!(entered(&mut cluster), [3]);
}

/// A lease lasts 9 message delays at the client, and the reservation lasts 10 message delays at the
/// grantor. With clock drift r, the lease ends first if (1 + r) · 9 < (1 − r) · 10. This condition
/// holds if r is below 1/19.
#[test]
fn card_states_tolerated_clock_drift() {
    let LeaseDurations { lease, reservation: expiry, renewal_interval: renewal, .. } =
        config().durations;
    let drift = u64::from(LeaseMutex::card(&config(), 3).drift_ppm);
    let (fast, slow) = (1_000_000 + drift, 1_000_000 - drift);
    assert!(lease.max * fast < expiry.min * slow, "the holder leaves first");
    assert!(2 * renewal.max + 2 * TICKS_PER_TIME_UNIT < lease.min, "one renewal may be lost");
}

#[test]
fn expiry_follows_from_clock_drift() {
    for drift_ppm in [0, 50_000, 100_000, 900_000] {
        let parameters = Parameters { drift_ppm, ..Parameters::with_defaults(3) };
        let config = Config::from_parameters(&parameters).unwrap();
        let LeaseDurations { lease, reservation: expiry, .. } = config.durations;
        let (slow, fast) = (1_000_000 - u64::from(drift_ppm), 1_000_000 + u64::from(drift_ppm));
        assert!(lease.max * fast < expiry.min * slow, "{drift_ppm}: {config:?}");
        assert!(LeaseMutex::card(&config, 3).drift_ppm >= drift_ppm, "{drift_ppm}: {config:?}");
    }
}
