//! A lock whose grants come from an elected leader, and changes of this leader.

use tenure_algorithms::catalogue::{self, Parameters};
use tenure_algorithms::compose::CoordinatedLock;
use tenure_algorithms::compose::coordinated::{self, Timer};
use tenure_algorithms::election::{
    Bully, ChangRoberts, HirschbergSinclair, bully, chang_roberts, hirschberg_sinclair,
};
use tenure_algorithms::mutex::{DeadlineSlot, LeaseDurations};
use tenure_core::service::mutex::Event;
use tenure_core::service::{election, mutex, mutex_and_election};
use tenure_core::{
    ChannelOrder, Election, Fence, Labelled, Layer, PeerVerdict, TICKS_PER_TIME_UNIT,
};

use crate::support::mutex::NONE;
use crate::support::{
    command_and_drain, command_and_settle, crash_and_suspect, events, fire_and_drain, p,
    processes_with, restart,
};
use tenure_trace::{Link, SplitMix64, TestCluster};

const ENTER: mutex_and_election::Command =
    mutex_and_election::Command::Mutex(mutex::Command::Enter);
const EXIT: mutex_and_election::Command = mutex_and_election::Command::Mutex(mutex::Command::Exit);
const ELECT: mutex_and_election::Command =
    mutex_and_election::Command::Election(election::Command::Elect);

/// Returns a cluster of four processes led by P4.
fn cluster() -> TestCluster<CoordinatedLock<Bully>> {
    led_by_p4(bully::Config::with_defaults(4, TICKS_PER_TIME_UNIT).into())
}

fn led_by_p4(config: coordinated::Config<bully::Config>) -> TestCluster<CoordinatedLock<Bully>> {
    let mut cluster = TestCluster::with_same_config(4, ChannelOrder::Fifo, config);
    command_and_settle(&mut cluster, 4, ELECT);
    cluster.take_events();
    cluster
}

fn entered<E: Election>(cluster: &mut TestCluster<CoordinatedLock<E>>) -> Vec<(u32, Fence)> {
    let entry = |(at, event)| match event {
        mutex_and_election::Event::Mutex(Event::Entered { fence }) => Some((at, fence)),
        _ => None,
    };
    events(cluster).into_iter().filter_map(entry).collect()
}

fn entered_processes<E: Election>(cluster: &mut TestCluster<CoordinatedLock<E>>) -> Vec<u32> {
    entered(cluster).into_iter().map(|(at, _)| at).collect()
}

fn crash_leader(cluster: &mut TestCluster<CoordinatedLock<Bully>>) {
    crash_and_suspect(cluster, 4);
    cluster.run_until_quiescent();
}

fn mutex_messages<E: Election>(cluster: &TestCluster<CoordinatedLock<E>>) -> u64 {
    let of_mutex = cluster.sent_counts().iter().filter(|((layer, _), _)| *layer == Layer::Mutex);
    of_mutex.map(|(_, count)| count).sum()
}

#[test]
fn entry_costs_three_messages_or_none_at_leader() {
    let mut cluster = cluster();
    let before = mutex_messages(&cluster);
    cluster.issue_command(p(4), ENTER);
    cluster.issue_command(p(4), EXIT);
    assert_eq!((entered_processes(&mut cluster), mutex_messages(&cluster)), (vec![4], before));
    command_and_settle(&mut cluster, 1, ENTER);
    command_and_settle(&mut cluster, 1, EXIT);
    assert_eq!((entered_processes(&mut cluster), mutex_messages(&cluster)), (vec![1], before + 3));
}

#[test]
fn leader_change_costs_two_messages_per_peer() {
    let mut cluster = cluster();
    let before = mutex_messages(&cluster);
    crash_leader(&mut cluster);
    // P3 sends no inquiry to P4, because it suspects P4.
    assert_eq!(mutex_messages(&cluster), before + 2 * 2);
}

/// P1 is inside the critical section and P2 waits when the leader crashes. P2 enters only after
/// P1's exit (`docs/checklist.md`, section 3.12).
#[test]
fn holder_survives_leader_change() {
    let mut cluster = cluster();
    command_and_settle(&mut cluster, 1, ENTER);
    command_and_settle(&mut cluster, 2, ENTER);
    let first = entered(&mut cluster);
    crash_leader(&mut cluster);
    assert_eq!(entered_processes(&mut cluster), NONE, "P2 still waits, at P3");
    command_and_settle(&mut cluster, 1, EXIT);
    let second = entered(&mut cluster);
    assert_eq!((first[0].0, second[0].0), (1, 2));
    assert!(first[0].1 < second[0].1, "{first:?} {second:?}");
}

#[test]
fn waiter_survives_leader_change() {
    let mut cluster = cluster();
    cluster.issue_command(p(1), ENTER);
    crash_leader(&mut cluster);
    assert_eq!(entered_processes(&mut cluster), [1]);
}

#[test]
fn old_grant_is_void_after_inquiry() {
    let mut cluster = cluster();
    cluster.issue_command(p(1), ENTER);
    cluster.deliver_at((p(1), p(4)), 0);
    assert_eq!(cluster.messages_on_link((p(4), p(1))).len(), 1, "the grant");
    cluster.issue_command(p(2), ENTER);
    crash_and_suspect(&mut cluster, 4);
    let (grant, report) = ((p(4), p(1)), (p(1), p(3)));
    deliver_all_but(&[grant], &mut cluster);
    cluster.fire_timer(p(3), Timer::Election(bully::Timer::Answer));
    deliver_all_but(&[grant, report], &mut cluster);
    deliver_all_but(&[grant], &mut cluster);
    assert_eq!(entered_processes(&mut cluster), [2], "P2's report arrived first");
    cluster.deliver_at((p(4), p(1)), 0);
    assert_eq!(entered_processes(&mut cluster), NONE, "P1 has reported to P3, and waits for it");
}

fn deliver_all_but(slow: &[Link], cluster: &mut TestCluster<CoordinatedLock<Bully>>) {
    while let Some(link) = cluster.links_in_use().into_iter().find(|link| !slow.contains(link)) {
        cluster.deliver_at(link, 0);
    }
}

/// P1 requests the lock and crashes. The leader suspects P1 and ignores its request, so P2 can
/// enter. If the leader granted the request, P1 would hold the lock forever.
#[test]
fn messages_of_suspect_are_ignored() {
    let mut cluster = cluster();
    cluster.issue_command(p(1), ENTER);
    cluster.crash(p(1));
    cluster.report_suspicion(p(4), p(1), PeerVerdict::Suspect);
    cluster.run_until_quiescent();
    command_and_settle(&mut cluster, 2, ENTER);
    assert_eq!(entered_processes(&mut cluster), [2]);
}

#[test]
fn falsely_suspected_process_is_asked_again() {
    let mut cluster = cluster();
    cluster.issue_command(p(1), ENTER);
    cluster.report_suspicion(p(4), p(1), PeerVerdict::Suspect);
    cluster.run_until_quiescent();
    assert_eq!(entered_processes(&mut cluster), NONE);
    cluster.report_suspicion(p(4), p(1), PeerVerdict::Trust);
    cluster.run_until_quiescent();
    assert_eq!(entered_processes(&mut cluster), [1]);
}

/// The leader sends an inquiry to each process once, and a process sends a release once. If such a
/// message is lost, no process enters any more. So the card claims no tolerance of losses, even if
/// the election tolerates them. The adapter `fifo` repeats lost messages.
#[test]
fn lost_lock_message_blocks_until_next_leader() {
    for kind in ["inquire", "report", "release"] {
        let mut cluster = cluster();
        if kind == "release" {
            command_and_settle(&mut cluster, 1, ENTER);
            cluster.issue_command(p(1), EXIT);
        } else {
            crash_and_suspect(&mut cluster, 4);
            cluster.fire_timer(p(3), Timer::Election(bully::Timer::Answer));
        }
        cluster.take_events();
        lose_first(&mut cluster, kind);
        command_and_settle(&mut cluster, 2, ENTER);
        assert_eq!(entered_processes(&mut cluster), NONE, "a lost {kind}");
    }
    let parameters = Parameters::with_defaults(3);
    let card = |name: &str| catalogue::card(name, &parameters).expect("a name of the catalogue");
    let names = catalogue::composition_names().filter(|name| name.starts_with("coordinated:"));
    let tolerant = names.filter(|name| card(name).faults.loss).collect::<Vec<_>>();
    assert_eq!(tolerant, [""; 0]);
    assert!(card("raft").faults.loss && card("fifo:coordinated:raft").faults.loss);
}

/// Loses a message of this kind, when it is the oldest on its link. Until then, delivers the oldest
/// messages of links.
fn lose_first(cluster: &mut TestCluster<CoordinatedLock<Bully>>, kind: &str) {
    loop {
        let links = cluster.links_in_use();
        let oldest = |link: Link| cluster.messages_on_link(link)[0].label().kind;
        match links.iter().find(|link| oldest(**link) == kind) {
            Some(link) => return cluster.lose_oldest(*link),
            None => cluster.deliver_at(links[0], 0),
        }
    }
}

/// P1 is inside the critical section, and the leader suspects it falsely. P2 then enters, too. P2's
/// fence is higher, so a resource can reject P1.
#[test]
fn later_entry_has_higher_fence_after_false_suspicion() {
    let mut cluster = cluster();
    command_and_settle(&mut cluster, 1, ENTER);
    cluster.report_suspicion(p(4), p(1), PeerVerdict::Suspect);
    command_and_settle(&mut cluster, 2, ENTER);
    let inside = entered(&mut cluster);
    assert_eq!(inside.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 2]);
    assert!(inside[0].1 < inside[1].1);
}

#[test]
fn superseded_entry_stays_superseded() {
    let mut cluster = cluster();
    command_and_settle(&mut cluster, 1, ENTER);
    cluster.report_suspicion(p(4), p(1), PeerVerdict::Suspect);
    for at in [2, 3] {
        command_and_settle(&mut cluster, at, ENTER);
    }
    cluster.report_suspicion(p(4), p(1), PeerVerdict::Trust);
    cluster.run_until_quiescent();
    assert_eq!(entered_processes(&mut cluster), [1, 2], "P1 and P2 are inside, and P2 rightly so");
    command_and_settle(&mut cluster, 1, EXIT);
    assert_eq!(entered_processes(&mut cluster), NONE);
    command_and_settle(&mut cluster, 2, EXIT);
    assert_eq!(entered_processes(&mut cluster), [3]);
}

/// P1 becomes the leader by mistake, and then learns of a later term. P1 must not grant the lock in
/// its old term, even after all other processes have crashed.
#[test]
fn overtaken_leader_grants_nothing() {
    let mut cluster = cluster();
    command_and_settle(&mut cluster, 3, ENTER);
    let first = entered(&mut cluster);
    cluster.crash(p(4));
    restart(&mut cluster, 1);
    cluster.report_suspicion(p(1), p(4), PeerVerdict::Suspect);
    cluster.crash(p(2));
    cluster.report_suspicion(p(1), p(2), PeerVerdict::Suspect);
    cluster.run_until_quiescent();
    cluster.crash(p(3));
    cluster.report_suspicion(p(1), p(3), PeerVerdict::Suspect);
    command_and_settle(&mut cluster, 1, ENTER);
    let second = entered(&mut cluster);
    assert_eq!((first[0].0, second[0].0), (3, 1));
    assert!(first[0].1 < second[0].1, "{first:?} {second:?}");
}

#[test]
fn works_with_any_election_without_crashes() {
    fn all_enter<E: Election>(config: E::Config) {
        for seed in 0..100 {
            let mut rng = SplitMix64(seed);
            let mut cluster = TestCluster::<CoordinatedLock<E>>::with_same_config(
                4,
                ChannelOrder::Fifo,
                config.clone().into(),
            );
            let mut order = Vec::new();
            (1..=4).for_each(|at| cluster.issue_command(p(at), ENTER));
            while order.len() < 4 {
                cluster.deliver_all(&mut rng);
                if let Some((at, timer)) = cluster.next_timer() {
                    cluster.fire_timer(at, timer);
                    continue;
                }
                let inside = entered_processes(&mut cluster);
                assert_eq!(inside.len(), 1, "seed {seed}: after {order:?}");
                cluster.issue_command(p(inside[0]), EXIT);
                order.extend(inside);
            }
        }
    }
    all_enter::<Bully>(bully::Config::with_defaults(4, TICKS_PER_TIME_UNIT));
    all_enter::<ChangRoberts>(chang_roberts::Config::with_defaults(4));
    all_enter::<HirschbergSinclair>(hirschberg_sinclair::Config::with_defaults(4));
}

fn expiring_cluster() -> TestCluster<CoordinatedLock<Bully>> {
    let times = Some(LeaseDurations::for_message_delay(TICKS_PER_TIME_UNIT));
    let election = bully::Config::with_defaults(4, TICKS_PER_TIME_UNIT);
    led_by_p4(coordinated::Config { election, entry_durations: times })
}

fn exited(cluster: &mut TestCluster<CoordinatedLock<Bully>>) -> Vec<u32> {
    processes_with(cluster, |event| *event == mutex_and_election::Event::Mutex(Event::Exited))
}

/// Crashes the leader and lets all others suspect it before any time passes. The function does not
/// wait until the cluster is quiet: processes send renewals forever, so the wait would not end.
fn crash_leader_at_once(cluster: &mut TestCluster<CoordinatedLock<Bully>>) {
    crash_and_suspect(cluster, 4);
    cluster.deliver_all(&mut SplitMix64(0));
    // P3 also sends an election message to P4, which is down. P3 wins only after its timer fires.
    fire_and_drain(cluster, 3, Timer::Election(bully::Timer::Answer));
}

#[test]
fn expiring_entry_costs_three_and_renewal_two() {
    let mut cluster = expiring_cluster();
    let before = mutex_messages(&cluster);
    command_and_drain(&mut cluster, 2, ENTER);
    assert_eq!(entered_processes(&mut cluster), [2]);
    for _ in 0..5 {
        fire_and_drain(&mut cluster, 2, Timer::Renewal);
    }
    assert_eq!(exited(&mut cluster), NONE);
    command_and_drain(&mut cluster, 2, EXIT);
    assert_eq!(mutex_messages(&cluster) - before, 3 + 5 * 2);
}

#[test]
fn isolated_holder_exits_before_next_entry() {
    let mut cluster = expiring_cluster();
    command_and_drain(&mut cluster, 2, ENTER);
    command_and_drain(&mut cluster, 3, ENTER);
    assert_eq!(entered_processes(&mut cluster), [2]);
    cluster.report_suspicion(p(4), p(2), PeerVerdict::Suspect);
    fire_and_drain(&mut cluster, 2, Timer::Renewal);
    assert_eq!(
        entered_processes(&mut cluster),
        NONE,
        "the lock is not reassigned, and no renewal is answered"
    );
    cluster.fire_timer(p(2), Timer::Deadline(DeadlineSlot::Right));
    assert_eq!(exited(&mut cluster), NONE, "a late response no longer counts");
    fire_and_drain(&mut cluster, 2, Timer::Deadline(DeadlineSlot::Left));
    assert_eq!(exited(&mut cluster), [2]);
    cluster.issue_command(p(2), EXIT);
    fire_and_drain(&mut cluster, 4, Timer::Expiry);
    assert_eq!(entered_processes(&mut cluster), [3]);
}

/// After a crash of the leader, a suspected process may be inside the critical section: the crashed
/// leader, or a process that only the crashed leader could reach. Therefore the new leader grants
/// no lock before the entries of all suspected processes have expired.
#[test]
fn new_leader_waits_for_entries_of_suspects() {
    let mut cluster = expiring_cluster();
    command_and_drain(&mut cluster, 4, ENTER);
    command_and_drain(&mut cluster, 1, ENTER);
    assert_eq!(entered_processes(&mut cluster), [4]);
    crash_leader_at_once(&mut cluster);
    assert_eq!(entered_processes(&mut cluster), NONE);
    fire_and_drain(&mut cluster, 3, Timer::Expiry);
    assert_eq!(entered_processes(&mut cluster), [1]);
    // P3 does not wait for P2, because P2 has reported that it is outside of the critical section.
    cluster.crash(p(2));
    cluster.report_suspicion(p(3), p(2), PeerVerdict::Suspect);
    assert!(!cluster.armed_timers().contains(&(p(3), Timer::Expiry)));
}

#[test]
fn entry_survives_leader_change_by_renewal() {
    let mut cluster = expiring_cluster();
    command_and_drain(&mut cluster, 1, ENTER);
    assert_eq!(entered_processes(&mut cluster), [1]);
    crash_leader_at_once(&mut cluster);
    cluster.fire_timer(p(3), Timer::Expiry);
    fire_and_drain(&mut cluster, 1, Timer::Renewal);
    fire_and_drain(&mut cluster, 1, Timer::Renewal);
    assert_eq!((exited(&mut cluster), cluster.sent_count("release")), (NONE.to_vec(), 0));
    command_and_drain(&mut cluster, 2, ENTER);
    assert_eq!(entered_processes(&mut cluster), NONE);
    command_and_drain(&mut cluster, 1, EXIT);
    assert_eq!(entered_processes(&mut cluster), [2]);
}
