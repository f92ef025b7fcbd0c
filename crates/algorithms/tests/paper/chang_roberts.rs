//! E. Chang, R. Roberts, *An improved algorithm for decentralized extrema-finding in circular
//! configurations of processes*, CACM 22(5), 1979.

use tenure_algorithms::Variants;
use tenure_algorithms::election::ChangRoberts;
use tenure_algorithms::election::chang_roberts::{Config, Message, Switch, messages};
use tenure_claims::claims;
use tenure_core::service::election::Command;
use tenure_core::{Order, ProcessId, Rank};

use crate::support::election::{beliefs, elect, everybody, opinions, place_of};
use crate::support::p;
use tenure_trace::{Dice, Seen, Stage};

fn ring(ids: &[u32]) -> Config {
    let ranks = ids.iter().map(|id| Rank::of_id(*id)).collect();
    Config::of(ranks, Variants::none())
}

fn stage(ids: &[u32]) -> Stage<ChangRoberts> {
    Stage::alike(ids.len() as u32, Order::Fifo, ring(ids))
}

/// Starts at `initiators` at once, delivers everything; the messages sent and the leader's id.
fn count(ids: &[u32], initiators: &[ProcessId]) -> (u64, u32) {
    let size = ids.len() as u32;
    let (stage, beliefs) = elect::<ChangRoberts>(size, Order::Fifo, ring(ids), initiators, 0, 1);
    let leader = beliefs[0].expect("everybody believes in somebody");
    assert!(beliefs.iter().all(|belief| *belief == Some(leader)));
    (stage.total_sent(), ids[leader.index()])
}

/// As many as there are hops to the largest, N for its rank to come round, N to announce.
#[claims("W-10", "A-CR")]
#[test]
fn a_single_initiator_costs_its_distance_to_the_largest_and_two_laps() {
    for size in 1..=8_u32 {
        let ids: Vec<u32> = (1..=size).collect();
        for at in 1..=size {
            let distance = u64::from(size - at);
            let messages = if size == 1 { 0 } else { distance + 2 * u64::from(size) };
            assert_eq!(count(&ids, &[p(at)]), (messages, size), "P{at} of {size}");
        }
    }
    let worst = (1..=8).map(|at| count(&[1, 2, 3, 4, 5, 6, 7, 8], &[p(at)]).0).max();
    assert_eq!(worst, Some(3 * 8 - 1));
}

/// Messages after each round of a ring whose ids decrease in the direction of messages.
#[claims("W-11")]
#[test]
fn a_decreasing_ring_sends_5_then_9_then_12_then_14_then_15_and_5_to_announce() {
    let mut stage = stage(&[5, 4, 3, 2, 1]);
    everybody(5).into_iter().for_each(|at| stage.command(at, Command::Elect));
    let mut rounds = vec![stage.sent_of("election")];
    while stage.sent_of("elected") == 0 {
        for (from, to) in stage.busy_links() {
            stage.pass((from, to), 0);
        }
        rounds.push(stage.sent_of("election"));
    }
    assert_eq!(rounds, [5, 9, 12, 14, 15, 15]);
    stage.drain(&mut Dice(0));
    assert_eq!((stage.total_sent(), stage.sent_of("elected")), (20, 5));
}

#[claims("W-12")]
#[test]
fn the_worst_ring_costs_half_n_times_n_plus_one_and_a_lap() {
    for size in 2..=12_u32 {
        let ids: Vec<u32> = (1..=size).rev().collect();
        let n = u64::from(size);
        assert_eq!(count(&ids, &everybody(size)), (n * (n + 1) / 2 + n, size));
    }
}

/// 28 is on the ring and nobody is higher.
#[claims("W-13")]
#[test]
fn whoever_gets_its_own_rank_back_leads() {
    let ids = [17, 9, 28, 3, 24, 15];
    for at in 1..=6 {
        assert_eq!(count(&ids, &[p(at)]).1, 28);
    }
    let mut stage = stage(&ids);
    stage.command(p(3), Command::Elect);
    (3..=6).chain(1..=1).for_each(|at| stage.pass((p(at), p(at % 6 + 1)), 0));
    assert_eq!(beliefs(&mut stage), [None; 6], "28 has not come round yet");
    stage.pass((p(2), p(3)), 0);
    assert_eq!(beliefs(&mut stage)[2], Some(p(3)));
}

/// What P2, whose id is 5, does with a rank that arrives: whether it participates afterwards,
/// what it sends, and whether it believes that it leads.
fn arrives(rank: u32, participant: bool) -> (bool, Vec<Message>, bool) {
    let mut stage = stage(&[1, 5, 3]);
    if participant {
        stage.command(p(2), Command::Elect);
        stage.lose((p(2), p(3)));
    }
    stage.inject(p(1), p(2), Message::Election { rank: Rank::of_id(rank) });
    let participates = format!("{:?}", stage.process(p(2)).unwrap()).contains("phase: Participant");
    let sent = stage.queue((p(2), p(3))).into_iter().cloned().collect();
    (participates, sent, opinions(&mut stage)[1] == Some(p(2)))
}

/// The table of cases, and the announcement that ends it.
#[claims("W-14", "A-CR")]
#[test]
fn a_rank_that_arrives_goes_on_or_gives_way_or_is_discarded_or_wins() {
    let election = |id| vec![Message::Election { rank: Rank::of_id(id) }];
    let announced = vec![Message::Elected { rank: Rank::of_id(5), leader: p(2) }];
    assert_eq!(arrives(7, false), (true, election(7), false), "a higher one goes on");
    assert_eq!(arrives(7, true), (true, election(7), false), "a higher one goes on");
    assert_eq!(arrives(3, false), (true, election(5), false), "a lower one gives way");
    assert_eq!(arrives(3, true), (true, vec![], false), "a lower one is discarded");
    assert_eq!(arrives(5, true), (false, announced.clone(), true), "the own one wins");
    assert_eq!(arrives(5, false), (false, announced, true), "and so it does in the end");
    let mut stage = stage(&[1, 5, 7]);
    stage.command(p(2), Command::Elect);
    stage.lose((p(2), p(3)));
    let elected = Message::Elected { rank: Rank::of_id(7), leader: p(3) };
    stage.inject(p(1), p(2), elected.clone());
    assert!(format!("{:?}", stage.process(p(2)).unwrap()).contains("phase: NonParticipant"));
    assert_eq!(opinions(&mut stage)[1], Some(p(3)));
    assert_eq!(stage.queue((p(2), p(3)))[0], &elected);
}

#[claims("W-15")]
#[test]
fn any_initiators_agree_on_the_largest() {
    let ids = [3, 1, 5, 2, 4];
    for chosen in 1..32_u32 {
        let initiators: Vec<_> =
            everybody(5).into_iter().filter(|at| chosen & (1 << at.0) != 0).collect();
        for seed in 0..50 {
            let (_, beliefs) =
                elect::<ChangRoberts>(5, Order::Fifo, ring(&ids), &initiators, 0, seed);
            assert_eq!(beliefs, [Some(p(3)); 5], "initiators {initiators:?}, seed {seed}");
        }
    }
}

#[test]
fn the_least_loaded_process_wins_with_ranks_of_load() {
    let load = |load, id| Rank::of_load(std::num::NonZeroU32::new(load).unwrap(), id);
    let ranks = [load(50, 1), load(25, 2), load(25, 3)].into();
    let config = Config::of(ranks, Variants::none());
    let (_, beliefs) = elect::<ChangRoberts>(3, Order::Fifo, config, &everybody(3), 0, 1);
    assert_eq!(beliefs, [Some(p(3)); 3]);
}

/// Nothing tells equal processes apart.
#[claims("I-57")]
#[test]
fn of_equals_everybody_leads_after_one_hop() {
    let mut stage = stage(&[7, 7, 7, 7]);
    everybody(4).into_iter().for_each(|at| stage.command(at, Command::Elect));
    for at in 1..=4 {
        stage.pass((p(at), p(at % 4 + 1)), 0);
    }
    let led = stage.take_seen().into_iter().filter(|(_, seen)| matches!(seen, Seen::Event(_)));
    assert_eq!(led.count(), 4);
}

/// Both come round, and each takes the other's announcement for its own.
#[claims("I-57")]
#[test]
fn of_two_largest_both_lead() {
    for seed in 0..200 {
        let mut stage = stage(&[7, 2, 7, 3, 1]);
        everybody(5).into_iter().for_each(|at| stage.command(at, Command::Elect));
        stage.drain(&mut Dice(seed));
        let beliefs = opinions(&mut stage);
        assert_eq!((beliefs[0], beliefs[2]), (Some(p(1)), Some(p(3))), "seed {seed}");
    }
}

#[test]
fn whoever_participates_starts_no_second_election() {
    let mut stage = stage(&[1, 2, 3]);
    stage.command(p(1), Command::Elect);
    stage.command(p(1), Command::Elect);
    stage.pass((p(1), p(2)), 0);
    stage.command(p(2), Command::Elect);
    stage.drain(&mut Dice(0));
    assert_eq!(stage.total_sent(), 2 + 2 * 3);
}

/// Legal, and the reason why counts are taken with all initiators at once.
#[test]
fn whoever_starts_after_the_announcement_starts_a_second_election_of_the_same_leader() {
    let mut stage = stage(&[1, 2, 3]);
    stage.command(p(1), Command::Elect);
    stage.drain(&mut Dice(0));
    let first = stage.total_sent();
    stage.command(p(2), Command::Elect);
    stage.drain(&mut Dice(0));
    assert_eq!(beliefs(&mut stage), [Some(p(3)); 3]);
    assert_eq!(stage.total_sent(), first + 1 + 2 * 3);
}

/// The mark on passing on is not needed where channels are first in, first out.
#[claims("7-CR-LE")]
#[test]
fn without_the_mark_on_passing_on_all_agree_as_well() {
    let variants = Variants::none().with(Switch::UnmarkedForward);
    for seed in 0..500 {
        let mut ids = vec![1, 2, 3, 4, 5];
        Dice(seed).shuffle(&mut ids);
        let largest = ids.iter().position(|id| *id == 5).map(ProcessId::at);
        let config = Config { variants, ..ring(&ids) };
        let (_, beliefs) = elect::<ChangRoberts>(5, Order::Fifo, config, &[p(1), p(4)], 0, seed);
        assert_eq!(beliefs, [largest; 5]);
    }
}

/// Ids 3, 1, 2 clockwise; the announcement is overtaken by a late starter's rank.
#[claims("7-CR-LE")]
#[test]
fn a_rank_that_overtakes_the_announcement_leaves_a_participant_for_ever() {
    let mut stage = stage(&[3, 1, 2]);
    stage.command(p(1), Command::Elect);
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(3)), 0);
    stage.pass((p(3), p(1)), 0);
    stage.pass((p(1), p(2)), 0);
    assert_eq!(beliefs(&mut stage)[..2], [Some(p(1)); 2]);
    stage.command(p(2), Command::Elect);
    stage.pass((p(2), p(3)), 1);
    stage.drain(&mut Dice(0));
    let stuck = format!("{:?}", stage.process(p(2)).unwrap());
    assert!(stuck.contains("phase: Participant"), "{stuck}");
    stage.command(p(2), Command::Elect);
    assert_eq!(stage.busy_links(), [], "P2 will never start an election again");
}

#[test]
fn duplicates_do_not_change_who_leads() {
    for seed in 0..1000 {
        let mut ids = vec![1, 2, 3, 4, 5];
        Dice(seed).shuffle(&mut ids);
        let largest = ids.iter().position(|id| *id == 5).map(ProcessId::at);
        let (_, beliefs) =
            elect::<ChangRoberts>(5, Order::Fifo, ring(&ids), &everybody(5), 4, seed);
        assert_eq!(beliefs, [largest; 5]);
    }
}

/// Failures before the election: the ring is one of those who are alive, and costs what a ring of
/// so many costs.
#[test]
fn on_the_ring_of_those_who_are_alive_it_costs_what_so_many_cost() {
    let ids = [3, 6, 1, 5, 2, 4];
    for down in 0..63_u32 {
        let is_down = |place: usize| down & (1 << place) != 0;
        let living: Vec<u32> = (0..6).filter(|it| !is_down(*it)).map(|it| ids[it]).collect();
        let absent = (0..6).filter(|it| is_down(*it)).map(ProcessId::at).collect();
        let config = Config { absent, ..ring(&ids) };
        let mut stage = Stage::<ChangRoberts>::alike(6, Order::Fifo, config);
        for at in everybody(6) {
            if is_down(at.index()) {
                stage.crash(at);
            } else {
                stage.command(at, Command::Elect);
            }
        }
        stage.drain(&mut Dice(down.into()));
        let expected = if living.len() == 1 { 0 } else { messages(&living) };
        assert_eq!(stage.total_sent(), expected, "{down:b} down");
        let leader = place_of(*living.iter().max().unwrap(), &ids);
        for (at, belief) in opinions(&mut stage).into_iter().enumerate() {
            assert_eq!(belief, leader.filter(|_| !is_down(at)), "P{} of {down:b}", at + 1);
        }
    }
}
