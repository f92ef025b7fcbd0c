//! A lock that ends by itself: C. Gray, D. Cheriton, *Leases*, SOSP 1989.

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::{Configured, Parameters};
use tenure_algorithms::mutex::lease::{Config, Switch, Timer};
use tenure_algorithms::mutex::{Lease, Side, Times};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Algorithm, Order, TICKS_PER_UNIT};

use crate::support::mutex::{NOBODY, entered, fences};
use crate::support::p;
use tenure_trace::{Dice, Seen, Stage};

fn config() -> Config {
    Config::plain(TICKS_PER_UNIT)
}

/// P1 grants.
fn stage(size: u32) -> Stage<Lease> {
    Stage::alike(size, Order::Reordered, config())
}

/// P2 is inside, and nothing is under way.
fn held_by_p2(stage: &mut Stage<Lease>) {
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(stage), [2]);
}

/// Who was told to be outside since this was last asked, by number.
fn exited(stage: &mut Stage<Lease>) -> Vec<u32> {
    let seen = stage.take_seen().into_iter();
    seen.filter(|(_, seen)| *seen == Seen::Event(Event::Exited))
        .map(|(at, _)| at.number())
        .collect()
}

#[test]
fn an_entry_takes_a_request_a_grant_and_a_release_and_the_grantors_own_none() {
    let mut stage = stage(3);
    held_by_p2(&mut stage);
    stage.command(p(2), Command::Exit);
    stage.drain(&mut Dice(0));
    assert_eq!(["request", "grant", "release"].map(|kind| stage.sent_of(kind)), [1; 3]);
    assert_eq!(stage.total_sent(), 3);
    stage.command(p(1), Command::Enter);
    assert_eq!(entered(&mut stage), [1]);
    stage.command(p(1), Command::Exit);
    assert_eq!(stage.total_sent(), 3);
    assert!(stage.armed_timers().is_empty(), "nothing is left to run");
}

#[test]
fn from_exit_to_the_next_entry_it_takes_four_messages_for_a_grant_is_as_old_as_the_question() {
    let mut stage = stage(3);
    held_by_p2(&mut stage);
    stage.command(p(3), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.command(p(2), Command::Exit);
    for link in [(2, 1), (1, 3), (3, 1), (1, 3)] {
        assert_eq!(entered(&mut stage), NOBODY);
        stage.pass((p(link.0), p(link.1)), 0);
    }
    assert_eq!(entered(&mut stage), [3]);
    assert_eq!(stage.sent_of("turn"), 1);
}

/// The holder first: it is told so, unasked, and whoever waits enters after that, with a higher
/// fence.
#[test]
fn whose_renewals_are_lost_is_put_out_before_the_lock_is_given_away() {
    let mut stage = stage(3);
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    let first = fences(&mut stage);
    stage.command(p(3), Command::Enter);
    stage.pass((p(3), p(1)), 0);
    let mut told = Vec::new();
    while told.len() < 2 {
        let (at, timer) = stage.next_timer().expect("somebody's time runs");
        stage.fire(at, timer);
        while !stage.queue((p(2), p(1))).is_empty() {
            stage.lose((p(2), p(1)));
        }
        stage.drain(&mut Dice(0));
        told.extend(stage.take_seen().into_iter().filter_map(|(at, seen)| match seen {
            Seen::Event(event) => Some((at.number(), event)),
            _ => None,
        }));
    }
    assert_eq!(told[0], (2, Event::Exited), "{told:?}");
    let (3, Event::Entered { fence }) = told[1] else { panic!("{told:?}") };
    assert!(fence > first[0], "{fence} after {first:?}");
}

#[test]
fn whoever_renews_stays_as_long_as_it_likes() {
    let mut stage = stage(2);
    held_by_p2(&mut stage);
    for _ in 0..20 {
        let (at, timer) = stage.next_timer().expect("a renewal is due");
        assert_eq!((at, timer), (p(2), Timer::Renewal));
        stage.fire(at, timer);
        stage.drain(&mut Dice(0));
    }
    assert_eq!(exited(&mut stage), NOBODY);
    assert_eq!((stage.sent_of("request"), stage.sent_of("grant")), (21, 21));
}

/// Who was stopped inside is out when its timer fires, and what its user wanted to do is over.
#[test]
fn an_exit_that_comes_too_late_is_none_and_the_next_request_is_another() {
    let mut stage = stage(2);
    held_by_p2(&mut stage);
    stage.fire(p(2), Timer::Deadline(Side::Left));
    assert_eq!(exited(&mut stage), [2]);
    let before = stage.total_sent();
    stage.command(p(2), Command::Exit);
    assert_eq!((stage.total_sent(), exited(&mut stage)), (before, NOBODY.to_vec()));
    held_by_p2(&mut stage);
}

#[test]
fn an_answer_that_comes_after_its_time_grants_nothing() {
    let mut stage = stage(2);
    stage.command(p(2), Command::Enter);
    stage.pass((p(2), p(1)), 0);
    stage.fire(p(2), Timer::Deadline(Side::Left));
    stage.pass((p(1), p(2)), 0);
    assert_eq!(entered(&mut stage), NOBODY);
    stage.fire(p(2), Timer::Renewal);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2]);
}

#[test]
fn a_crash_inside_ends_with_what_was_granted() {
    let mut stage = stage(3);
    held_by_p2(&mut stage);
    stage.command(p(3), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.crash(p(2));
    assert_eq!(entered(&mut stage), NOBODY);
    stage.fire(p(1), Timer::Expiry);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [3]);
}

/// The paper: a server that recovers honours leases by waiting for as long as the longest may last.
#[test]
fn a_grantor_that_comes_back_grants_nothing_until_what_it_may_have_granted_is_over() {
    for (forgets, at_once) in [(false, vec![]), (true, vec![3])] {
        let variants = match forgets {
            true => Variants::none().with(Switch::ForgottenGrants),
            false => Variants::none(),
        };
        let config = Config { variants, ..config() };
        let mut stage = Stage::<Lease>::alike(3, Order::Reordered, config);
        held_by_p2(&mut stage);
        stage.crash(p(1));
        stage.recover(p(1));
        stage.command(p(3), Command::Enter);
        stage.drain(&mut Dice(0));
        assert_eq!(entered(&mut stage), at_once);
        if !forgets {
            stage.fire(p(1), Timer::Expiry);
            stage.drain(&mut Dice(0));
            assert_eq!(entered(&mut stage), [3]);
        }
    }
}

#[test]
fn a_grant_that_nobody_wants_is_given_back() {
    let mut stage = stage(3);
    stage.command(p(2), Command::Enter);
    stage.duplicate((p(2), p(1)));
    stage.pass((p(2), p(1)), 0);
    stage.pass((p(1), p(2)), 0);
    stage.command(p(2), Command::Exit);
    // The release overtakes the other copy of the request.
    stage.pass((p(2), p(1)), 1);
    stage.drain(&mut Dice(0));
    assert_eq!((stage.sent_of("grant"), stage.sent_of("release")), (2, 2));
    assert_eq!(entered(&mut stage), [2]);
    stage.command(p(3), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [3]);
}

/// 9 and 10 delays: (1 + r) · 9 < (1 − r) · 10 as long as r is below one in 19.
#[test]
fn the_card_says_how_far_clocks_may_be_off() {
    let Times { lease, expiry, renewal, .. } = config().times;
    let drift = u64::from(Lease::card(&config(), 3).drift_ppm);
    let (fast, slow) = (1_000_000 + drift, 1_000_000 - drift);
    assert!(lease.max * fast < expiry.min * slow, "the holder is out first");
    assert!(2 * renewal.max + 2 * TICKS_PER_UNIT < lease.min, "one renewal may be lost");
}

/// The grantor keeps a grant for longer where a larger drift is known.
#[test]
fn expiry_follows_from_the_drift_of_clocks() {
    for drift_ppm in [0, 50_000, 100_000, 900_000] {
        let parameters = Parameters { drift_ppm, ..Parameters::plain(3) };
        let config = Config::configured(&parameters).unwrap();
        let Times { lease, expiry, .. } = config.times;
        let (slow, fast) = (1_000_000 - u64::from(drift_ppm), 1_000_000 + u64::from(drift_ppm));
        assert!(lease.max * fast < expiry.min * slow, "{drift_ppm}: {config:?}");
        assert!(Lease::card(&config, 3).drift_ppm >= drift_ppm, "{drift_ppm}: {config:?}");
    }
}
