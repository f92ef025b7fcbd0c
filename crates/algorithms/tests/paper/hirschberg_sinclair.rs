//! D. S. Hirschberg, J. B. Sinclair, *Decentralized extrema-finding in circular configurations
//! of processors*, CACM 23(11), 1980.

use tenure_algorithms::election::HirschbergSinclair;
use tenure_algorithms::election::hirschberg_sinclair::{Config, Message};
use tenure_claims::claims;
use tenure_core::service::election::Command;
use tenure_core::{Algorithm, Order, Rank};

use crate::support::election::{beliefs, elect, everybody};
use crate::support::p;
use tenure_trace::{Dice, Seen, Stage};

fn ring(ids: &[u32]) -> Config {
    Config::of(ids.iter().map(|id| Rank::of_id(*id)).collect())
}

fn stage(ids: &[u32]) -> Stage<HirschbergSinclair> {
    Stage::alike(ids.len() as u32, Order::Fifo, ring(ids))
}

/// All start at once; by phase, how many messages are sent and how many candidates probe.
fn by_phase(ids: &[u32]) -> (Vec<u64>, Vec<u64>) {
    let mut stage = stage(ids);
    everybody(stage.size()).into_iter().for_each(|at| stage.command(at, Command::Elect));
    let (mut messages, mut candidates) = (vec![0; 16], vec![0; 16]);
    while let Some(link) = stage.busy_links().first().copied() {
        match stage.queue(link)[0] {
            Message::Probe { phase, hops, .. } => {
                messages[usize::from(*phase)] += 1;
                candidates[usize::from(*phase)] += u64::from(*hops == 1);
            }
            Message::Reply { phase, .. } => messages[usize::from(*phase)] += 1,
            Message::Elected { .. } => {}
        }
        stage.pass(link, 0);
    }
    messages.retain(|count| *count > 0);
    candidates.retain(|count| *count > 0);
    (messages, candidates.iter().map(|probes| probes / 2).collect())
}

/// Phases 0 to 3; in the last the probes go 2³ = n hops.
#[claims("W-18", "A-HS")]
#[test]
fn of_eight_the_eighth_gets_its_own_probe_back_in_phase_3() {
    for seed in 0..200 {
        let mut ids: Vec<u32> = (1..=8).collect();
        Dice(seed).shuffle(&mut ids);
        let largest = ids.iter().position(|id| *id == 8).map(tenure_core::ProcessId::at);
        let (_, beliefs) =
            elect::<HirschbergSinclair>(8, Order::Fifo, ring(&ids), &everybody(8), 0, seed);
        assert_eq!(beliefs, [largest; 8]);
        let (messages, candidates) = by_phase(&ids);
        assert_eq!(candidates.len(), 4, "phases 0 to 3");
        assert_eq!((candidates[0], candidates[3]), (8, 1));
        assert_eq!((messages[0], messages[3]), (3 * 8, 2 * 8));
    }
}

/// The winners of a phase are more than its reach apart.
#[claims("W-16", "A-HS", "I-65", "I-77")]
#[test]
fn candidates_become_few_as_their_neighbourhoods_grow() {
    for size in 2..=40_u64 {
        for seed in 0..20 {
            let mut ids: Vec<u32> = (1..=size as u32).collect();
            Dice(seed).shuffle(&mut ids);
            let (messages, candidates) = by_phase(&ids);
            assert_eq!(1 << (candidates.len() - 1), size.next_power_of_two());
            // 3N in phase 0 alone: 2^(k + 1) a candidate would be 2N.
            assert!(size == 2 || messages[0] == 3 * candidates[0], "{ids:?}");
            for phase in 1..candidates.len() {
                let most = size / ((1 << (phase - 1)) + 1);
                assert!(candidates[phase] <= most, "{ids:?} phase {phase}");
                assert!(messages[phase] <= 4 * (1 << phase) * candidates[phase]);
            }
        }
    }
    // Two candidates in phase 2 of six: n/2^k is no bound.
    assert_eq!(by_phase(&[6, 1, 2, 5, 3, 4]).1, [6, 2, 2, 1]);
}

#[claims("W-17")]
#[test]
fn the_bound_of_the_paper_holds_and_the_card_is_below_it() {
    for size in 2..=1024_u32 {
        let (n, log) = (u64::from(size), u64::from(size.next_power_of_two().ilog2()));
        let most = HirschbergSinclair::card(&Config::plain(size), size).messages.most;
        assert!(most.is_some_and(|most| most < 8 * n * (log + 2) + 5 * n), "{size}: {most:?}");
    }
}

#[test]
fn on_a_ring_of_two_a_probe_knows_where_it_travels() {
    let (stage, beliefs) =
        elect::<HirschbergSinclair>(2, Order::Reordered, ring(&[1, 2]), &everybody(2), 0, 1);
    assert_eq!(beliefs, [Some(p(2)); 2]);
    assert_eq!((stage.sent_of("probe"), stage.sent_of("reply")), (4 + 4, 2));
}

#[test]
fn who_is_alone_leads_without_a_message() {
    let (stage, beliefs) = elect::<HirschbergSinclair>(1, Order::Fifo, ring(&[1]), &[p(1)], 0, 1);
    assert_eq!((stage.total_sent(), beliefs), (0, vec![Some(p(1))]));
}

/// Were it only to swallow the probe, nobody would ever lead.
#[test]
fn whoever_swallows_a_probe_starts_too() {
    for at in 1..=4 {
        let ids = [4, 1, 3, 2];
        let (_, beliefs) = elect::<HirschbergSinclair>(4, Order::Fifo, ring(&ids), &[p(at)], 0, 1);
        assert_eq!(beliefs, [Some(p(1)); 4], "P{at} starts");
    }
}

#[test]
fn duplicates_and_reordering_do_not_change_who_leads() {
    for seed in 0..1000 {
        let mut ids: Vec<u32> = (1..=6).collect();
        Dice(seed).shuffle(&mut ids);
        let largest = ids.iter().position(|id| *id == 6).map(tenure_core::ProcessId::at);
        let (_, beliefs) =
            elect::<HirschbergSinclair>(6, Order::Reordered, ring(&ids), &everybody(6), 5, seed);
        assert_eq!(beliefs, [largest; 6], "seed {seed}");
    }
}

#[test]
fn what_one_election_leaves_under_way_does_not_start_the_next() {
    let mut stage = stage(&[3, 2, 1]);
    stage.command(p(1), Command::Elect);
    stage.command(p(3), Command::Elect);
    // P3's probe to P2 is overtaken by all that follows; P2 is larger, and has not started.
    let slow = (p(3), p(2));
    loop {
        let others = stage.busy_links().into_iter().find(|link| *link != slow);
        match others {
            Some(link) => stage.pass(link, 0),
            None if stage.queue((p(3), p(2))).len() > 1 => stage.pass((p(3), p(2)), 1),
            None => break,
        }
    }
    assert_eq!(beliefs(&mut stage), [Some(p(1)); 3]);
    let sent = stage.total_sent();
    stage.pass((p(3), p(2)), 0);
    assert_eq!(stage.total_sent(), sent, "the election is over: P2 is not called to it");
    stage.command(p(3), Command::Elect);
    stage.drain(&mut Dice(0));
    assert_eq!(stage.sent_of("elected"), 6, "but it is called to the next one");
}

#[test]
fn whoever_has_only_heard_of_an_election_may_join_it_and_nobody_starts_twice() {
    let mut stage = stage(&[3, 2, 1]);
    stage.command(p(1), Command::Elect);
    stage.pass((p(1), p(2)), 0);
    let probes = stage.sent_of("probe");
    stage.command(p(2), Command::Elect);
    assert_eq!(stage.sent_of("probe"), probes + 2, "both ways");
    stage.command(p(2), Command::Elect);
    stage.command(p(1), Command::Elect);
    assert_eq!(stage.sent_of("probe"), probes + 2);
}

#[test]
fn a_reply_of_an_earlier_phase_does_not_count_in_the_next() {
    let mut stage = stage(&[5, 1, 2, 3, 4]);
    stage.command(p(1), Command::Elect);
    for neighbour in [2, 5] {
        stage.pass((p(1), p(neighbour)), 0);
        stage.duplicate((p(neighbour), p(1)));
        stage.pass((p(neighbour), p(1)), 0);
    }
    let probes = stage.sent_of("probe");
    for neighbour in [2, 5] {
        stage.pass((p(neighbour), p(1)), 0);
    }
    assert_eq!(stage.sent_of("probe"), probes);
}

#[test]
fn an_announcement_that_comes_twice_is_told_once() {
    let mut stage = stage(&[3, 2, 1]);
    stage.command(p(1), Command::Elect);
    while stage.sent_of("elected") == 0 {
        let (from, to) = stage.busy_links()[0];
        stage.pass((from, to), 0);
    }
    stage.duplicate((p(1), p(2)));
    stage.drain(&mut Dice(0));
    let told = |seen: &Seen<HirschbergSinclair>| matches!(seen, Seen::Event(_));
    let told = stage.take_seen().into_iter().filter(|(_, seen)| told(seen)).count();
    assert_eq!(told, 3);
}

/// Six with 4 probes and replies each, three with 8, two with 16; and the fixed parts.
#[test]
fn the_card_bounds_the_messages_of_a_ring_as_the_paper_counts_them() {
    let bounds = |size| {
        let cost = HirschbergSinclair::card(&Config::plain(size), size).messages;
        (cost.least, cost.most)
    };
    assert_eq!(bounds(1), (0, Some(0)));
    assert_eq!(bounds(4), (24, Some(40)));
    assert_eq!(bounds(8), (52, Some(112)));
}
