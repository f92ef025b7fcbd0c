//! Whoever has the token may enter, and passes it on.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::TokenRing;
use tenure_algorithms::mutex::token_ring::{Config, Switch, Timer};
use tenure_claims::claims;
use tenure_core::Order;
use tenure_core::service::mutex::Command;

use crate::support::mutex::{Plan, entered, run};
use crate::support::p;
use tenure_trace::Stage;

fn stage(size: u32) -> Stage<TokenRing> {
    Stage::alike(size, Order::Reordered, Config::default())
}

#[test]
fn the_token_starts_at_the_first_process_which_enters_without_a_message() {
    let mut stage = stage(3);
    stage.command(p(1), Command::Enter);
    assert_eq!(entered(&mut stage), [1]);
    assert_eq!((stage.total_sent(), stage.armed_timers()), (0, vec![]));
}

#[claims("A-RING", "I-33")]
#[test]
fn whoever_leaves_passes_the_token_on_even_if_it_wants_again() {
    let mut stage = stage(3);
    stage.command(p(1), Command::Enter);
    stage.command(p(1), Command::Exit);
    stage.command(p(1), Command::Enter);
    assert_eq!(entered(&mut stage), [1]);
    stage.pass((p(1), p(2)), 0);
    stage.fire(p(2), Timer::Pass);
    stage.pass((p(2), p(3)), 0);
    stage.fire(p(3), Timer::Pass);
    stage.pass((p(3), p(1)), 0);
    assert_eq!(entered(&mut stage), [1], "after a full lap");
}

#[claims("I-34")]
#[test]
fn an_idle_ring_never_rests() {
    let mut stage = stage(3);
    for hop in 1..=100 {
        let (at, timer) = stage.armed_timers()[0];
        stage.fire(at, timer);
        let link = stage.busy_links()[0];
        stage.pass(link, 0);
        assert_eq!(stage.total_sent(), hop);
    }
    stage.command(p(2), Command::Enter);
    assert_eq!(entered(&mut stage), [2], "the token had come to P2");
    assert_eq!(stage.armed_timers(), [], "while somebody is inside, nothing moves");
}

#[claims("A-RING", "I-35")]
#[test]
fn when_everybody_wants_to_enter_an_entry_costs_one_message() {
    let mut stage = stage(4);
    (1..=4).for_each(|at| stage.command(p(at), Command::Enter));
    for at in 1..=4 {
        assert_eq!(entered(&mut stage), [at]);
        stage.command(p(at), Command::Exit);
        stage.pass((p(at), p(at % 4 + 1)), 0);
    }
    assert_eq!(stage.total_sent(), 4);
}

#[test]
fn nobody_enters_twice_while_another_waits() {
    for size in 1..=5_u32 {
        for seed in 0..300 {
            let entries = vec![4; size as usize];
            let plan = Plan { order: Order::Reordered, entries, duplicates: 0, losses: 0, seed };
            let outcome = run::<TokenRing>(Config::default(), &plan).unwrap();
            assert!(outcome.bypass <= 1, "seed {seed}");
            assert!(size == 1 || outcome.messages >= outcome.entries, "seed {seed}");
        }
    }
}

#[test]
fn who_keeps_the_token_overtakes_a_neighbour_again_and_again() {
    let variants = Variants::none().with(Switch::KeepsToken);
    let worst = (0..50).map(|seed| {
        let plan =
            Plan { order: Order::Reordered, entries: vec![4; 2], duplicates: 0, losses: 0, seed };
        let config = Config { variants, ..Config::default() };
        run::<TokenRing>(config, &plan).expect("everybody is served, and alone inside").bypass
    });
    assert!(worst.max() > Some(1));
}

#[test]
fn who_is_alone_enters_again_and_again_without_a_message() {
    let mut stage = stage(1);
    for _ in 0..3 {
        stage.command(p(1), Command::Enter);
        assert_eq!(entered(&mut stage), [1]);
        stage.command(p(1), Command::Exit);
    }
    assert_eq!((stage.total_sent(), stage.armed_timers()), (0, vec![]));
}

#[claims("7-T2")]
#[test]
fn a_duplicated_token_lets_two_in() {
    let caught = (0..300).find_map(|seed| {
        let plan =
            Plan { order: Order::Reordered, entries: vec![2; 2], duplicates: 1, losses: 0, seed };
        run::<TokenRing>(Config::default(), &plan).err()
    });
    assert!(caught.is_some());
}

#[test]
fn two_tokens_that_meet_become_one() {
    let mut stage = stage(2);
    stage.fire(p(1), Timer::Pass);
    stage.duplicate((p(1), p(2)));
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(1), p(2)), 0);
    stage.fire(p(2), Timer::Pass);
    assert_eq!((stage.queue((p(2), p(1))).len(), stage.armed_timers()), (1, vec![]));
}

#[test]
fn a_lost_token_is_not_made_anew_by_a_process_that_recovers() {
    let mut stage = stage(2);
    stage.crash(p(1));
    stage.recover(p(1));
    stage.command(p(1), Command::Enter);
    assert_eq!((entered(&mut stage), stage.armed_timers()), (vec![], vec![]));
}

/// What the application says is not carried by the token.
#[claims("7-T1")]
#[test]
fn entries_follow_the_ring_and_not_what_happened_before() {
    let mut stage = stage(3);
    stage.command(p(2), Command::Enter);
    // Here P2 tells P1 that it waits; then P1, which has the token, wants to enter.
    stage.command(p(1), Command::Enter);
    assert_eq!(entered(&mut stage), [1]);
}
