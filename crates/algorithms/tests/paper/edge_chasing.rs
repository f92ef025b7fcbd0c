//! K. M. Chandy, J. Misra, L. M. Haas, *Distributed deadlock detection*, ACM TOCS 1(2), 1983.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::EdgeChasing;
use tenure_algorithms::mutex::edge_chasing::{Config, Message, Switch};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Fence, Order};

use crate::support::mutex::{NOBODY, Plan, enter_and_exit, entered, is_caught, run};
use crate::support::p;
use tenure_trace::{Dice, Seen, Stage};

fn plain() -> Config {
    Config::default()
}

fn with(switch: Switch) -> Config {
    Config { variants: Variants::none().with(switch) }
}

/// Everybody has its first lock and has asked for its second, which is the next one's first.
fn all_hold_one(size: u32, config: Config) -> Stage<EdgeChasing> {
    let mut stage = Stage::alike(size, Order::Fifo, config);
    for number in 1..=size {
        stage.command(p(number), Command::Enter);
    }
    stage
}

/// Delivers everything, and again whenever somebody has left; who entered, in order.
fn served(stage: &mut Stage<EdgeChasing>, seed: u64) -> Vec<u32> {
    let mut order = Vec::new();
    loop {
        stage.drain(&mut Dice(seed));
        let inside = entered(stage);
        let Some(number) = inside.first() else { return order };
        order.extend(&inside);
        stage.command(p(*number), Command::Exit);
    }
}

#[test]
fn a_cycle_of_two_is_found_and_the_larger_gives_up_once() {
    for seed in 0..100 {
        let mut stage = all_hold_one(2, plain());
        assert_eq!(served(&mut stage, seed), [1, 2], "seed {seed}");
        assert_eq!([1, 2].map(|number| stage.process(p(number)).unwrap().attempts()), [1, 2]);
    }
}

#[test]
fn a_cycle_of_three_is_found_and_the_largest_gives_up_once() {
    for seed in 0..500 {
        let mut stage = all_hold_one(3, plain());
        // P3 gives back what P2 waits for, and so on round the circle.
        assert_eq!(served(&mut stage, seed), [2, 1, 3], "seed {seed}");
        let attempts = [1, 2, 3].map(|number| stage.process(p(number)).unwrap().attempts());
        assert_eq!(attempts, [1, 1, 2], "seed {seed}");
    }
}

/// The negative control: nothing else ends the cycle.
#[test]
fn without_detection_a_cycle_stays() {
    for size in [2, 3] {
        let mut stage = all_hold_one(size, with(Switch::NoDetection));
        assert_eq!(served(&mut stage, 0), NOBODY);
        assert_eq!(stage.sent_of("wait") + stage.sent_of("probe"), 0);
    }
    let plan = Plan::of(Order::Reordered, &[2, 2, 2]);
    assert!(is_caught::<EdgeChasing>(&with(Switch::NoDetection), &plan, "blocked"));
    assert!(!is_caught::<EdgeChasing>(&with(Switch::NoDetection), &plan, "exclusion"));
}

/// P4 has left and given P1's lock back, but P2's is still under way. P1 has its own and waits for
/// P2's: there is an edge to P4, and no cycle.
#[test]
fn no_probe_returns_when_there_is_no_cycle() {
    let mut stage = Stage::<EdgeChasing>::alike(4, Order::Fifo, plain());
    stage.command(p(4), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.command(p(4), Command::Exit);
    stage.pass((p(4), p(1)), 0);
    stage.command(p(1), Command::Enter);
    for (from, to) in [(1, 2), (2, 1), (1, 4)] {
        stage.pass((p(from), p(to)), 0);
    }
    assert_eq!(entered(&mut stage), [4]);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1]);
    assert_eq!((stage.sent_of("probe"), stage.sent_of("abort")), (1, 0));
    assert_eq!(stage.process(p(1)).unwrap().attempts(), 1, "nobody tried again");
}

#[test]
fn an_edge_that_is_told_twice_is_chased_once() {
    let mut stage = all_hold_one(2, plain());
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(1)), 0);
    let told = stage.queue((p(2), p(1)))[0].clone();
    stage.pass((p(2), p(1)), 0);
    stage.inject(p(2), p(1), told);
    assert_eq!(stage.sent_of("probe"), 1);
}

#[test]
fn an_entry_without_contention_costs_six_messages_and_no_probe_and_three_at_a_manager() {
    for (number, messages) in [(1, 3), (2, 3), (3, 3), (4, 6), (5, 6)] {
        let mut stage = Stage::<EdgeChasing>::alike(5, Order::Fifo, plain());
        assert_eq!(enter_and_exit(&mut stage, number), messages, "P{number}");
        assert_eq!(stage.sent_of("wait") + stage.sent_of("probe"), 0);
    }
    assert_eq!(enter_and_exit(&mut Stage::<EdgeChasing>::alike(1, Order::Fifo, plain()), 1), 0);
}

/// Any two share a lock, and each other two another one.
#[test]
fn every_fence_is_above_those_of_all_who_entered_before() {
    let mut stage = Stage::<EdgeChasing>::alike(4, Order::Fifo, plain());
    let mut fences = Vec::new();
    for number in [1, 1, 2, 3, 4, 2, 2, 1] {
        stage.command(p(number), Command::Enter);
        stage.drain(&mut Dice(0));
        stage.command(p(number), Command::Exit);
        stage.drain(&mut Dice(0));
        fences.extend(stage.take_seen().into_iter().filter_map(|(_, seen)| match seen {
            Seen::Event(Event::Entered { fence }) => Some(fence),
            _ => None,
        }));
    }
    // Of two grants each, but P1's own lock was granted once only since P1 was inside.
    assert_eq!(fences, [2, 4, 6, 8, 10, 12, 14, 15].map(|fence| Fence(0, fence)));
}

#[test]
fn those_that_collide_again_and_again_are_all_served() {
    for entries in [&[3, 3, 3][..], &[2, 2, 2, 2, 2]] {
        for seed in 0..2000 {
            let plan = Plan::of(Order::Reordered, entries).seeded(seed);
            run::<EdgeChasing>(plain(), &plan).unwrap_or_else(|says| panic!("seed {seed}: {says}"));
        }
    }
}

/// P2 gave up and asked again. It has its lock and waits for the grant of P1's, which nobody else
/// wants, when it is told a second time to give up.
fn told_to_give_up_late(config: Config) -> Stage<EdgeChasing> {
    let mut stage = all_hold_one(2, config);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1]);
    stage.command(p(1), Command::Exit);
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(1)), 0);
    assert_eq!(stage.process(p(2)).unwrap().attempts(), 2);
    stage.inject(p(1), p(2), Message::Abort { number: 1 });
    stage
}

#[test]
fn a_late_abort_is_a_phantom_deadlock_where_it_does_not_say_which_attempt_it_ends() {
    let mut numbered = told_to_give_up_late(plain());
    let mut unnumbered = told_to_give_up_late(with(Switch::UnnumberedAbort));
    assert_eq!(served(&mut numbered, 0), [2]);
    assert_eq!(numbered.process(p(2)).unwrap().attempts(), 2);
    assert_eq!(served(&mut unnumbered, 0), [2], "it costs a retry and nothing else");
    assert_eq!(unnumbered.process(p(2)).unwrap().attempts(), 3);
}

#[test]
fn who_has_entered_less_often_is_spared_so_the_largest_does_not_starve() {
    let mut stage = Stage::<EdgeChasing>::alike(2, Order::Fifo, plain());
    enter_and_exit(&mut stage, 1);
    stage.command(p(1), Command::Enter);
    stage.command(p(2), Command::Enter);
    assert_eq!(served(&mut stage, 0), [2, 1], "P1 has entered before, so it is the victim");
}

#[test]
fn duplicates_and_late_messages_are_harmless() {
    for seed in 0..2000 {
        let plan = Plan::of(Order::Reordered, &[2, 2, 2]).duplicating(4).seeded(seed);
        run::<EdgeChasing>(plain(), &plan).unwrap_or_else(|says| panic!("seed {seed}: {says}"));
    }
}

#[test]
fn whoever_takes_the_locks_in_one_order_sends_no_probes() {
    let mut stage = all_hold_one(3, with(Switch::Ordered));
    let mut order = served(&mut stage, 0);
    order.sort_unstable();
    assert_eq!(order, [1, 2, 3]);
    assert_eq!(stage.sent_of("wait") + stage.sent_of("probe"), 0);
    for seed in 0..500 {
        let plan = Plan::of(Order::Reordered, &[3, 3, 3]).seeded(seed);
        run::<EdgeChasing>(with(Switch::Ordered), &plan).unwrap();
    }
}
