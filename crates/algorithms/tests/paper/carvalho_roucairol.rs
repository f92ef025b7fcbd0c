//! O. S. F. Carvalho, G. Roucairol, *On mutual exclusion in computer networks*, CACM 26(2), 1983.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::CarvalhoRoucairol;
use tenure_algorithms::mutex::carvalho_roucairol::{Config, Switch};
use tenure_claims::claims;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, Order, Property};

use crate::support::mutex::{NOBODY, Plan, enter_and_exit, entered, is_caught, run};
use crate::support::p;
use tenure_trace::{Dice, Stage};

fn plain() -> Config {
    Config::default()
}

fn without_asking_again() -> Config {
    Config { variants: Variants::none().with(Switch::NoRerequest) }
}

fn stage(size: u32, config: Config) -> Stage<CarvalhoRoucairol> {
    Stage::alike(size, Order::Fifo, config)
}

#[test]
fn whoever_has_every_permission_enters_without_a_message() {
    let mut stage = stage(4, plain());
    for _ in 0..5 {
        assert_eq!(enter_and_exit(&mut stage, 1), 0, "P1 has them all at first");
    }
    assert_eq!(enter_and_exit(&mut stage, 4), 6, "P4 has none");
    assert_eq!(enter_and_exit(&mut stage, 4), 0, "nobody has asked them back");
}

#[claims("A-MANY")]
#[test]
fn an_entry_costs_twice_the_permissions_that_are_missing() {
    for size in 1..=7_u32 {
        for seed in 0..50 {
            let (mut stage, mut dice) = (stage(size, plain()), Dice(seed));
            // By pair, the smaller number first: who has the permission.
            let mut has: Vec<Vec<usize>> =
                (0..size as usize).map(|one| vec![one; size as usize]).collect();
            for _ in 0..30 {
                let at = dice.below(size as usize);
                let mut missing = 0;
                for peer in (0..size as usize).filter(|peer| *peer != at) {
                    let owner = &mut has[at.min(peer)][at.max(peer)];
                    missing += u64::from(*owner != at);
                    *owner = at;
                }
                assert_eq!(enter_and_exit(&mut stage, at as u32 + 1), 2 * missing, "seed {seed}");
            }
        }
    }
}

#[test]
fn of_two_that_ask_at_once_the_smaller_stamp_enters_first() {
    let mut stage = stage(3, plain());
    stage.command(p(3), Command::Enter);
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2]);
    stage.command(p(2), Command::Exit);
    assert_eq!(stage.queue((p(2), p(3))).len(), 1, "one message from exit to the next entry");
    stage.pass((p(2), p(3)), 0);
    assert_eq!(entered(&mut stage), [3]);
}

/// P2 waits for P1 and has P3's permission, which P3 wants with the smaller stamp.
fn give_up_while_waiting(config: Config) -> Stage<CarvalhoRoucairol> {
    let mut stage = stage(3, config);
    enter_and_exit(&mut stage, 2);
    enter_and_exit(&mut stage, 1);
    stage.command(p(3), Command::Enter);
    stage.command(p(2), Command::Enter);
    let before = (stage.sent_of("request"), stage.sent_of("reply"));
    stage.pass((p(3), p(2)), 0);
    let asked_again = stage.sent_of("request") - before.0;
    assert_eq!(stage.sent_of("reply") - before.1, 1);
    assert_eq!(stage.queue((p(2), p(3))).len(), 1 + asked_again as usize);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [3]);
    stage.command(p(3), Command::Exit);
    stage.drain(&mut Dice(0));
    stage
}

#[test]
fn whoever_gives_up_a_permission_while_it_waits_asks_for_it_again() {
    let mut stage = give_up_while_waiting(plain());
    assert_eq!(entered(&mut stage), [2]);
}

#[claims("7-CR1")]
#[test]
fn whoever_does_not_ask_again_waits_for_ever() {
    let mut stage = give_up_while_waiting(without_asking_again());
    assert_eq!(entered(&mut stage), NOBODY);
    let plan = Plan::of(Order::Fifo, &[2, 2, 2]);
    assert!(is_caught::<CarvalhoRoucairol>(&without_asking_again(), &plan, "blocked"));
    assert!(!is_caught::<CarvalhoRoucairol>(&without_asking_again(), &plan, "exclusion"));
}

#[test]
fn an_entry_costs_at_most_twice_as_many_messages_as_there_are_peers() {
    for size in 1..=6_u32 {
        for order in [Order::Fifo, Order::Reordered] {
            for seed in 0..200 {
                let plan = Plan::of(order, &vec![3; size as usize]).seeded(seed);
                let outcome = run::<CarvalhoRoucairol>(plain(), &plan).unwrap();
                let most = CarvalhoRoucairol::card(&plain(), size).messages.most.unwrap();
                assert!(outcome.messages <= most * outcome.entries, "seed {seed}: {outcome:?}");
                assert_eq!(outcome.messages % 2, 0, "seed {seed}: a reply for every request");
            }
        }
    }
}

#[claims("7-CR2")]
#[test]
fn whoever_has_its_permissions_enters_as_often_as_it_likes_while_another_waits() {
    let mut stage = stage(2, plain());
    stage.command(p(2), Command::Enter);
    for _ in 0..20 {
        stage.command(p(1), Command::Enter);
        stage.command(p(1), Command::Exit);
    }
    assert_eq!(entered(&mut stage), [1; 20]);
    let card = CarvalhoRoucairol::card(&plain(), 2);
    assert!(!card.promises.contains(&Property::Order) && card.most_bypass().is_none());
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2], "but it is served once its request has arrived");
}

#[test]
fn channels_need_no_order() {
    for seed in 0..3000 {
        let plan = Plan::of(Order::Reordered, &[3, 3, 3]).seeded(seed);
        run::<CarvalhoRoucairol>(plain(), &plan).unwrap();
    }
}

#[test]
fn a_duplicate_makes_two_permissions_of_one() {
    let plan = Plan::of(Order::Fifo, &[2, 2]).duplicating(1);
    assert!(is_caught::<CarvalhoRoucairol>(&plain(), &plan, "exclusion"));
}

#[test]
fn one_that_recovers_begins_with_no_permission() {
    let mut stage = stage(3, plain());
    stage.crash(p(1));
    stage.recover(p(1));
    assert_eq!(enter_and_exit(&mut stage, 1), 4);
}
