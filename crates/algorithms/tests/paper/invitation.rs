//! H. Garcia-Molina, *Elections in a distributed computing system*, IEEE Transactions on Computers
//! C-31(1), 1982: the invitation algorithm.

use std::collections::BTreeSet;

use tenure_algorithms::Variants;
use tenure_algorithms::election::InvitationElection;
use tenure_algorithms::election::invitation::{Config, VariantId};
use tenure_core::monitors::{IncreasingOwnTerms, OneLeaderPerGroup};
use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Algorithm, ChannelOrder, Monitor, PeerVerdict, ProcessId, Property, TICKS_PER_TIME_UNIT,
};

use crate::support::election::{Beliefs, all_processes, process_with_id, ranks, unchecked_beliefs};
use crate::support::{
    command_and_drain, command_and_settle, crash_and_suspect, p, permutations, recover_and_trust,
};
use tenure_trace::{ProcessEvent, SplitMix64, TestCluster};

fn config(size: u32) -> Config {
    Config::with_defaults(size, TICKS_PER_TIME_UNIT)
}

fn cluster(size: u32) -> TestCluster<InvitationElection> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, config(size))
}

/// Starts all processes of `initiators`. Messages take no time, and timers fire in their order.
/// Returns the final cluster, and the leader that each process has reported.
fn elected(config: Config, initiators: &[ProcessId]) -> (TestCluster<InvitationElection>, Beliefs) {
    let size = config.ranks.len() as u32;
    let mut cluster = TestCluster::with_same_config(size, ChannelOrder::Reordered, config);
    initiators.iter().for_each(|at| cluster.issue_command(*at, Command::Elect));
    cluster.run_until_quiescent();
    let beliefs = unchecked_beliefs(&mut cluster);
    (cluster, beliefs)
}

/// Makes the failure detector of each process report `verdict` about every process on the opposite
/// side of the network.
fn report(cluster: &mut TestCluster<InvitationElection>, sides: [&[u32]; 2], verdict: PeerVerdict) {
    for (one, other) in sides[0].iter().flat_map(|one| sides[1].iter().map(move |it| (one, it))) {
        cluster.report_suspicion(p(*one), p(*other), verdict);
        cluster.report_suspicion(p(*other), p(*one), verdict);
    }
}

#[test]
fn first_election_costs_five_messages_per_other_process() {
    for size in 1..=8_u32 {
        let card = InvitationElection::card(&config(size), size).messages;
        for initiator in all_processes(size) {
            let (cluster, beliefs) = elected(config(size), &[initiator]);
            assert_eq!(beliefs, vec![Some(initiator); size as usize], "{initiator} of {size}");
            assert_eq!(cluster.total_sent(), 5 * u64::from(size - 1), "{initiator} of {size}");
            assert!(card.least <= cluster.total_sent());
        }
    }
}

#[test]
fn later_election_in_the_same_group_costs_three_per_process() {
    let (mut cluster, _) = elected(config(5), &[p(2)]);
    let before = cluster.total_sent();
    command_and_settle(&mut cluster, 2, Command::Elect);
    assert_eq!(cluster.total_sent() - before, 3 * 4);
    assert_eq!(unchecked_beliefs(&mut cluster), [Some(p(2)); 5]);
}

/// All processes find each other, and the process with the highest rank invites first.
#[test]
fn highest_rank_leads_if_all_start() {
    permutations(4, |ids| {
        let ranked = Config { ranks: ranks(ids), ..config(4) };
        let (cluster, beliefs) = elected(ranked, &all_processes(4));
        assert_eq!(beliefs, [process_with_id(4, ids); 4], "{ids:?}");
        assert_eq!(cluster.total_sent(), (2 * 4 + 3) * 3, "{ids:?}");
    });
}

#[test]
fn highest_rank_need_not_lead() {
    assert_eq!(elected(config(3), &[p(1)]).1, [Some(p(1)); 3]);
    let promises = InvitationElection::card(&config(3), 3).promises;
    assert!(!promises.contains(&Property::Validity));
    assert!(promises.contains(&Property::OneLeaderPerGroup));
}

#[test]
fn sides_of_a_partition_elect_and_merge() {
    let sides: [&[u32]; 2] = [&[1, 4], &[2, 3, 5]];
    let (mut cluster, _) = elected(config(5), &all_processes(5));
    report(&mut cluster, sides, PeerVerdict::Suspect);
    cluster.run_until_quiescent();
    // The previous leader still leads its side of the partition.
    let beliefs = unchecked_beliefs(&mut cluster);
    assert_eq!([beliefs[0], beliefs[3]], [Some(p(4)); 2]);
    report(&mut cluster, sides, PeerVerdict::Trust);
    cluster.run_until_quiescent();
    let beliefs = unchecked_beliefs(&mut cluster);
    let leaders: BTreeSet<_> = beliefs.iter().collect();
    assert_eq!(leaders.len(), 1, "{beliefs:?}");
    assert!(beliefs[0].is_some());
    assert_eq!(cluster.armed_timers(), [], "a complete group is quiet");
}

#[test]
fn crashed_leader_is_replaced_and_joins_again() {
    let (mut cluster, _) = elected(config(4), &all_processes(4));
    crash_and_suspect(&mut cluster, 4);
    cluster.run_until_quiescent();
    assert_eq!(unchecked_beliefs(&mut cluster)[..3], [Some(p(3)); 3]);
    recover_and_trust(&mut cluster, 4);
    cluster.run_until_quiescent();
    let beliefs = unchecked_beliefs(&mut cluster);
    assert!(beliefs[0].is_some() && beliefs.iter().all(|it| *it == beliefs[0]), "{beliefs:?}");
}

/// P1 forms a group before P2 has received the invitation. When P2 accepts the invitation later, P1
/// still admits P2 to the group.
#[test]
fn late_acceptance_joins_the_group() {
    let mut cluster = cluster(2);
    command_and_drain(&mut cluster, 1, Command::Elect);
    let fire = |cluster: &mut TestCluster<InvitationElection>| {
        let (at, timer) = cluster.next_timer().expect("a timer is armed");
        assert_eq!(at, p(1), "{timer:?}");
        cluster.fire_timer(at, timer);
    };
    fire(&mut cluster);
    // The invitation is not delivered in time.
    fire(&mut cluster);
    assert_eq!(cluster.links_in_use(), [(p(1), p(2))]);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(unchecked_beliefs(&mut cluster), [Some(p(1)); 2]);
    assert_eq!(cluster.armed_timers(), []);
}

/// Monitors that observe the events of a run. They report a violation as soon as no later event can
/// repair it.
struct Judge {
    groups: OneLeaderPerGroup,
    fresh: IncreasingOwnTerms,
    /// The last term of each process. Terms never decrease.
    terms: Vec<Option<tenure_core::Term>>,
    violation: Option<String>,
}

impl Judge {
    fn new(size: u32) -> Self {
        let terms = vec![None; size as usize];
        let (groups, fresh) = (OneLeaderPerGroup::new(), IncreasingOwnTerms::new());
        Judge { groups, fresh, terms, violation: None }
    }

    fn observe(&mut self, cluster: &mut TestCluster<InvitationElection>) {
        for (at, seen) in cluster.take_events() {
            let found = self.groups.observe(at, seen.to_observation());
            let found = found.and_then(|()| self.fresh.observe(at, seen.to_observation()));
            let mut found = found.err().map(|violation| violation.message);
            if let ProcessEvent::Event(Event::Elected { term, .. }) = seen {
                let before = self.terms[at.index()].replace(term);
                if before > Some(term) {
                    found = Some(format!("{at} went back from {before:?} to {term}"));
                }
            }
            self.violation = self.violation.take().or(found);
        }
    }
}

/// Takes one random step: delivers, loses or duplicates a message, fires a timer at any time,
/// crashes or recovers a process, makes a request, or reports a suspicion or its end.
fn random_step(cluster: &mut TestCluster<InvitationElection>, rng: &mut SplitMix64) {
    let size = cluster.size() as usize;
    let at = ProcessId::from_index(rng.below(size));
    match rng.below(12) {
        0..=5 => {
            let Some(link) = rng.pick(&cluster.links_in_use()).copied() else { return };
            match rng.below(10) {
                0 => cluster.lose_oldest(link),
                1 => cluster.duplicate_oldest(link),
                _ => cluster.deliver(link, rng),
            }
        }
        6..=8 => {
            if let Some((at, timer)) = rng.pick(&cluster.armed_timers()).cloned() {
                cluster.fire_timer(at, timer);
            }
        }
        9 if cluster.is_up(at) => match rng.below(4) {
            0 => cluster.crash(at),
            _ => cluster.issue_command(at, Command::Elect),
        },
        9 => cluster.recover(at),
        _ => {
            let peer = ProcessId::from_index(rng.below(size));
            if cluster.is_up(at) && peer != at {
                let verdict = if rng.one_in(3) { PeerVerdict::Suspect } else { PeerVerdict::Trust };
                cluster.report_suspicion(at, peer, verdict);
            }
        }
    }
}

/// Takes 200 random steps, and then lets the group come to rest without faults. Returns the first
/// violation, and true if all processes agree in the end.
fn random_run(config: Config, seed: u64) -> (Option<String>, bool) {
    let size = config.ranks.len() as u32;
    let mut cluster =
        TestCluster::<InvitationElection>::with_same_config(size, ChannelOrder::Reordered, config);
    let mut rng = SplitMix64(seed);
    let mut judge = Judge::new(size);
    cluster.issue_command(p(1), Command::Elect);
    for _ in 0..200 {
        random_step(&mut cluster, &mut rng);
        judge.observe(&mut cluster);
    }
    for at in cluster.process_ids() {
        if !cluster.is_up(at) {
            cluster.recover(at);
        }
    }
    for (at, peer) in cluster.process_ids().into_iter().flat_map(|at| {
        let peers = all_processes(size).into_iter().filter(move |peer| *peer != at);
        peers.map(move |peer| (at, peer))
    }) {
        cluster.report_suspicion(at, peer, PeerVerdict::Trust);
    }
    // A mistake may keep the group from coming to rest.
    for _ in 0..2000 {
        cluster.deliver_all(&mut rng);
        let Some((at, timer)) = cluster.next_timer() else { break };
        cluster.fire_timer(at, timer);
    }
    judge.observe(&mut cluster);
    let leaders: BTreeSet<_> = judge.terms.iter().collect();
    let merged = leaders.len() == 1 && judge.groups.check_final_state().is_ok();
    (judge.violation, merged && cluster.armed_timers().is_empty())
}

#[test]
fn each_group_has_one_leader_whatever_happens() {
    for seed in 0..1500 {
        let size = 2 + (seed % 4) as u32;
        let (violation, merged) = random_run(config(size), seed);
        assert_eq!(violation, None, "{size} processes, seed {seed}");
        assert!(merged, "{size} processes, seed {seed}");
    }
}

/// Negative control: for each variant with a known mistake, some seed violates a property, or
/// leaves groups that never merge.
#[test]
fn each_mistake_shows() {
    use VariantId::{AnyInvitation, FollowsEarly, ForgottenNumber, NoMerge, StaysBehind};
    for mistake in [FollowsEarly, AnyInvitation, ForgottenNumber] {
        let variants = Variants::none().with(mistake);
        let found = |seed| random_run(Config { variants, ..config(3) }, seed).0.is_some();
        assert!((0..200).any(found), "{mistake:?}");
    }
    for mistake in [NoMerge, StaysBehind] {
        let variants = Variants::none().with(mistake);
        let apart = |seed| !random_run(Config { variants, ..config(3) }, seed).1;
        assert!((0..200).any(apart), "{mistake:?}");
    }
}
