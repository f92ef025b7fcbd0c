//! G. S. Ho, C. V. Ramamoorthy, *Protocols for deadlock detection in distributed database systems*,
//! IEEE TSE SE-8(6), 1982.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::CentralDeadlockDetection;
use tenure_algorithms::agreement::central_detection::{
    Config, Message, ResourceRequest, VariantId,
};
use tenure_core::monitors::{NoPhantomDeadlock, OneHolder};
use tenure_core::service::resources::{Command, Event, Resource, User};
use tenure_core::service::user::{ServiceUser, UserModelConfig, UserState};
use tenure_core::{ChannelOrder, Monitor, ProcessId, Service, Violation};
use tenure_trace::{ProcessEvent, SplitMix64, TestCluster};

use crate::support::{events, p};

fn cluster(size: u32, switches: &[VariantId]) -> TestCluster<CentralDeadlockDetection> {
    let variants = switches.iter().fold(Variants::none(), |all, switch| all.with(*switch));
    TestCluster::with_same_config(
        size,
        ChannelOrder::Reordered,
        Config { variants, ..Config::default() },
    )
}

fn acquire(cluster: &mut TestCluster<CentralDeadlockDetection>, at: u32, resource: u64) {
    cluster.issue_command(p(at), Command::Acquire { resource: Resource(resource) });
}

fn release(cluster: &mut TestCluster<CentralDeadlockDetection>, at: u32, resource: u64) {
    cluster.issue_command(p(at), Command::Release { resource: Resource(resource) });
}

fn acquired(at: u32, resource: u64) -> (u32, Event) {
    (at, Event::Acquired { resource: Resource(resource) })
}

/// Returns a cluster in which each process holds its own resource and waits for the resource of the
/// next process.
fn deadlocked(size: u32, switches: &[VariantId]) -> TestCluster<CentralDeadlockDetection> {
    let mut cluster = cluster(size, switches);
    for at in 1..=size {
        acquire(&mut cluster, at, at.into());
    }
    for at in 1..=size {
        acquire(&mut cluster, at, u64::from(at % size) + 1);
    }
    events(&mut cluster);
    cluster
}

struct Outcome {
    is_complete: bool,
    aborted: u32,
    messages: u64,
}

/// Runs a random schedule. The user of process *i* performs `rounds[i]` rounds, and uses two
/// resources in each round.
fn run(
    rounds: &[u32],
    switches: &[VariantId],
    mut duplicates: u32,
    seed: u64,
) -> Result<Outcome, Violation> {
    let size = rounds.len() as u32;
    let (mut cluster, mut rng) = (cluster(size, switches), SplitMix64(seed));
    let user = |(at, times): (usize, &u32)| {
        let (service, at) = (Service::Resources, ProcessId::from_index(at));
        User::new(&UserModelConfig { service, at, size, work_count: *times })
    };
    let mut users: Vec<User> = rounds.iter().enumerate().map(user).collect();
    let (mut one_holder, mut no_phantom) = (OneHolder::default(), NoPhantomDeadlock::default());
    let mut aborted = 0;
    loop {
        for (at, seen) in cluster.take_events() {
            one_holder.observe(at, seen.to_observation())?;
            no_phantom.observe(at, seen.to_observation())?;
            if let ProcessEvent::Event(event) = seen {
                users[at.index()].on_event(&event);
                aborted += u32::from(event == Event::Aborted);
            }
        }
        let links = cluster.links_in_use();
        let ready = |at: &usize| users[*at].next_command().is_some();
        let ready: Vec<usize> = (0..users.len()).filter(ready).collect();
        if ready.is_empty() && links.is_empty() {
            break;
        }
        let choice = rng.below(ready.len() + links.len());
        if let Some(at) = ready.get(choice) {
            let command = users[*at].next_command().expect("it is ready");
            users[*at].on_command(&command);
            cluster.issue_command(ProcessId::from_index(*at), command);
        } else {
            let link = links[choice - ready.len()];
            if duplicates > 0 && rng.one_in(8) {
                duplicates -= 1;
                cluster.duplicate_oldest(link);
            }
            cluster.deliver(link, &mut rng);
        }
    }
    let is_complete = users.iter().all(|user| user.state() == UserState::Idle);
    Ok(Outcome { is_complete, aborted, messages: cluster.total_sent() })
}

/// Runs schedules with many seeds and with the variant `switch`. Returns true if one of the runs
/// violates a property and the text of the violation contains `description`.
fn is_violated(rounds: &[u32], switch: VariantId, description: &str) -> bool {
    let run = |seed| run(rounds, &[switch], 0, seed);
    (0..4000).filter_map(|seed| run(seed).err()).any(|it| it.message.contains(description))
}

#[test]
fn free_resource_costs_three_messages() {
    for (at, resource, messages) in [(1, 1, 0), (1, 2, 3), (3, 1, 3), (2, 2, 0)] {
        let mut cluster = cluster(3, &[]);
        acquire(&mut cluster, at, resource);
        cluster.run_until_quiescent();
        assert_eq!(events(&mut cluster), [acquired(at, resource)]);
        release(&mut cluster, at, resource);
        cluster.run_until_quiescent();
        assert_eq!(cluster.total_sent(), messages);
    }
}

#[test]
fn collection_costs_two_messages_per_peer() {
    for size in 2..=6 {
        let mut cluster = cluster(size, &[]);
        acquire(&mut cluster, 1, 2);
        cluster.run_until_quiescent();
        acquire(&mut cluster, 2, 2);
        cluster.run_until_quiescent();
        let peers = u64::from(size) - 1;
        assert_eq!((cluster.sent_count("collect"), cluster.sent_count("status")), (peers, peers));
        assert_eq!((cluster.sent_count("blocked"), cluster.sent_count("abort")), (1, 0));
    }
}

#[test]
fn victim_of_a_cycle_is_aborted_once() {
    for size in 2..=5 {
        for switches in [&[][..], &[VariantId::DoubleCollection], &[VariantId::TwoPhase]] {
            for seed in 0..50 {
                let mut cluster = deadlocked(size, switches);
                cluster.deliver_all(&mut SplitMix64(seed));
                let seen = events(&mut cluster);
                let before = size - 1;
                assert_eq!(seen, [(size, Event::Aborted), acquired(before, size.into())]);
            }
        }
    }
}

#[test]
fn process_with_fewest_rounds_is_spared() {
    let mut cluster = cluster(2, &[]);
    acquire(&mut cluster, 1, 1);
    release(&mut cluster, 1, 1);
    acquire(&mut cluster, 1, 1);
    acquire(&mut cluster, 2, 2);
    acquire(&mut cluster, 1, 2);
    acquire(&mut cluster, 2, 1);
    cluster.take_events();
    cluster.run_until_quiescent();
    assert_eq!(events(&mut cluster), [(1, Event::Aborted), acquired(2, 1)]);
}

#[test]
fn deadlock_persists_without_detection() {
    let mut cluster = deadlocked(3, &[VariantId::NoDetection]);
    cluster.run_until_quiescent();
    assert_eq!(events(&mut cluster), []);
}

/// An abort that arrives late names a request that has ended, and has no effect.
#[test]
fn late_abort_is_ignored() {
    let mut cluster = deadlocked(2, &[]);
    cluster.run_until_quiescent();
    acquire(&mut cluster, 2, 2);
    cluster.take_events();
    cluster.inject_and_deliver(p(1), p(2), Message::Abort { number: 2 });
    cluster.run_until_quiescent();
    assert_eq!(events(&mut cluster), []);
}

/// The manager grants a resource for a request that the process has withdrawn. The process returns
/// the grant, so the manager can grant the resource again.
#[test]
fn unwanted_grant_is_released() {
    let mut cluster = cluster(2, &[]);
    let of = ResourceRequest { resource: Resource(2), number: 7 };
    cluster.inject_and_deliver(p(1), p(2), Message::Request { of });
    cluster.run_until_quiescent();
    acquire(&mut cluster, 2, 2);
    cluster.run_until_quiescent();
    assert_eq!(events(&mut cluster), [acquired(2, 2)]);
}

#[test]
fn random_schedules_complete_without_phantoms() {
    let mut aborted = 0;
    for (rounds, seeds) in [(&[2, 2][..], 300), (&[2, 2, 2], 300), (&[1, 1, 1, 1, 1], 100)] {
        for switches in [&[][..], &[VariantId::DoubleCollection]] {
            for seed in 0..seeds {
                let outcome = run(rounds, switches, 4, seed);
                let outcome = outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                assert!(outcome.is_complete, "{rounds:?}, seed {seed}");
                aborted += outcome.aborted;
            }
        }
    }
    assert!(aborted > 100, "{aborted} processes were aborted");
}

#[test]
fn late_reports_show_phantoms() {
    assert!(is_violated(&[1, 1, 1], VariantId::Reports, "is aborted, but"));
    assert!(is_violated(&[2, 2, 2], VariantId::FirstPhase, "is aborted, but"));
    assert!(is_violated(&[1, 1, 1], VariantId::AllVictims, "is aborted, but"));
}

#[test]
fn late_release_ends_the_next_grant() {
    assert!(is_violated(&[2, 2], VariantId::UnnumberedRelease, "which P"));
}

/// The coordinator handles its own messages without sending them.
#[test]
fn single_process_sends_no_message() {
    let outcome = run(&[3], &[], 0, 0).expect("no violation");
    assert_eq!((outcome.is_complete, outcome.aborted, outcome.messages), (true, 0, 0));
}
