//! G. Le Lann, *Distributed systems: towards a formal approach*, IFIP Congress, 1977.

use tenure_algorithms::Variants;
use tenure_algorithms::election::LeLann;
use tenure_algorithms::election::lelann::{Config, Switch};
use tenure_claims::claims;
use tenure_core::service::election::Command;
use tenure_core::{Algorithm, Order};

use crate::support::election::{beliefs, choices, elect, everybody, opinions, place_of, ranks};
use crate::support::{p, permutations};
use tenure_trace::{Dice, Seen, Stage};

fn ring(ids: &[u32]) -> Config {
    Config::of(ranks(ids), Variants::none())
}

fn stage(ids: &[u32]) -> Stage<LeLann> {
    Stage::alike(ids.len() as u32, Order::Fifo, ring(ids))
}

/// P3 of three leads.
fn elected() -> Stage<LeLann> {
    let mut stage = stage(&[1, 2, 3]);
    stage.command(p(1), Command::Elect);
    stage.drain(&mut Dice(0));
    stage
}

#[claims("A-LL")]
#[test]
fn whoever_starts_it_costs_exactly_n_squared() {
    for size in 1..=5_u32 {
        let ids: Vec<u32> = (1..=size).collect();
        let messages = LeLann::card(&ring(&ids), size).messages;
        for initiators in choices(size) {
            for seed in 0..20 {
                let (stage, beliefs) =
                    elect::<LeLann>(size, Order::Fifo, ring(&ids), &initiators, 0, seed);
                let n = if size == 1 { 0 } else { u64::from(size) };
                let told = format!("{initiators:?} of {size}, seed {seed}");
                assert_eq!(stage.total_sent(), n * n, "{told}");
                assert_eq!((messages.least, messages.most), (n * n, Some(n * n)));
                assert!(beliefs.iter().all(|belief| *belief == Some(p(size))), "{told}");
            }
        }
    }
}

#[test]
fn on_every_ring_of_five_all_decide_on_the_largest() {
    let mut seed = 0;
    permutations(5, |ids| {
        seed += 1;
        let (_, beliefs) = elect::<LeLann>(5, Order::Fifo, ring(ids), &[p(1), p(3)], 0, seed);
        assert_eq!(beliefs, [place_of(5, ids); 5], "{ids:?}, seed {seed}");
    });
}

/// The order of sending that some texts print.
#[claims("7-LL", "A-LL")]
#[test]
fn to_pass_on_before_the_own_rank_lets_the_initiator_decide_on_itself() {
    let views = |switches| {
        let config = Config { variants: switches, ..ring(&[1, 2, 3]) };
        let mut stage = Stage::<LeLann>::alike(3, Order::Fifo, config);
        stage.command(p(1), Command::Elect);
        stage.drain(&mut Dice(0));
        opinions(&mut stage)
    };
    let forward_first = Variants::none().with(Switch::ForwardFirst);
    assert_eq!(views(forward_first), [Some(p(1)), Some(p(3)), Some(p(3))]);
    assert_eq!(views(Variants::none()), [Some(p(3)); 3]);
}

/// P2's rank overtakes P1's, which it was to be driven by.
#[claims("7-LL")]
#[test]
fn a_channel_that_reorders_hides_a_candidate() {
    let mut stage = stage(&[1, 2, 3]);
    stage.command(p(1), Command::Elect);
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(3)), 1);
    stage.pass((p(3), p(1)), 1);
    assert_eq!(opinions(&mut stage), [Some(p(1)), None, None]);
}

/// Each election costs N² and the last one is forgotten: it drives no messages of the next.
#[test]
fn whoever_starts_after_having_decided_starts_another_election_of_the_same_leader() {
    let mut stage = elected();
    let first = stage.total_sent();
    stage.command(p(2), Command::Elect);
    stage.command(p(2), Command::Elect);
    stage.drain(&mut Dice(1));
    assert_eq!((first, stage.total_sent()), (9, 18));
    assert_eq!(beliefs(&mut stage), [Some(p(3)); 3]);
}

#[claims("I-62")]
#[test]
fn whoever_comes_back_asks_round_the_ring_and_nobody_elects() {
    for size in 2..=6_u32 {
        let ids: Vec<u32> = (1..=size).collect();
        for at in 1..=size {
            let mut stage = stage(&ids);
            stage.command(p(1), Command::Elect);
            stage.drain(&mut Dice(0));
            let before = stage.total_sent();
            stage.take_seen();
            stage.crash(p(at));
            stage.recover(p(at));
            stage.drain(&mut Dice(0));
            assert_eq!(stage.sent_of("query"), u64::from(size), "P{at} of {size}");
            assert_eq!(stage.total_sent(), before + u64::from(size), "P{at} of {size}");
            let told = stage.take_seen().into_iter().filter_map(|(who, seen)| match seen {
                Seen::Event(event) => Some((who, format!("{event:?}"))),
                _ => None,
            });
            let told: Vec<_> = told.collect();
            assert_eq!(told.len(), 1, "{told:?}");
            assert_eq!(told[0].0, p(at));
            assert!(told[0].1.contains(&format!("leader: P{size}")), "{told:?}");
        }
    }
}

#[test]
fn whoever_comes_back_where_nobody_knows_believes_in_nobody_and_may_elect() {
    let mut stage = stage(&[1, 2, 3]);
    stage.crash(p(2));
    stage.recover(p(2));
    stage.drain(&mut Dice(0));
    assert_eq!((stage.total_sent(), opinions(&mut stage)), (3, vec![None; 3]));
    stage.command(p(2), Command::Elect);
    stage.drain(&mut Dice(0));
    assert_eq!(beliefs(&mut stage), [Some(p(3)); 3]);
}

/// The saved number: else its rank would lap alone among processes that take it for an old one.
#[test]
fn whoever_comes_back_and_elects_at_once_decides_with_all_others() {
    let mut stage = elected();
    stage.crash(p(1));
    stage.recover(p(1));
    stage.command(p(1), Command::Elect);
    stage.drain(&mut Dice(0));
    assert_eq!(beliefs(&mut stage), [Some(p(3)); 3]);
    assert_eq!(stage.sent_of("elect"), 2 * 9);
}

/// 5.7: what was sent to P3 while it was down is gone.
#[test]
fn a_crash_during_an_election_leaves_the_others_undecided_for_ever() {
    let mut stage = stage(&[1, 2, 3]);
    stage.command(p(1), Command::Elect);
    stage.pass((p(1), p(2)), 0);
    stage.crash(p(3));
    stage.drain(&mut Dice(0));
    stage.recover(p(3));
    stage.command(p(3), Command::Elect);
    stage.drain(&mut Dice(0));
    assert_eq!(opinions(&mut stage), [None, None, Some(p(3))]);
    stage.command(p(1), Command::Elect);
    assert_eq!(stage.busy_links(), [], "P1 goes on to wait for its own rank");
}

#[test]
fn duplicates_do_not_change_who_leads() {
    for seed in 0..1000 {
        let mut ids = vec![1, 2, 3, 4, 5];
        Dice(seed).shuffle(&mut ids);
        let (_, beliefs) = elect::<LeLann>(5, Order::Fifo, ring(&ids), &everybody(5), 4, seed);
        assert_eq!(beliefs, [place_of(5, &ids); 5], "seed {seed}");
    }
}
