//! H. Garcia-Molina, *Elections in a distributed computing system*, IEEE ToC C-31(1), 1982, and
//! what textbooks make of it.

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::{Configured, Parameters};
use tenure_algorithms::election::Bully;
use tenure_algorithms::election::bully::{Config, Message, Switch, Timer};
use tenure_claims::claims;
use tenure_core::service::election::Command;
use tenure_core::{Algorithm, Delay, Order, Rank, TICKS_PER_UNIT, Verdict};

use crate::support::election::{beliefs, opinions};
use crate::support::p;
use tenure_trace::{Dice, Stage};

fn config(size: u32, switches: &[Switch]) -> Config {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    Config { variants, ..Config::plain(size, TICKS_PER_UNIT) }
}

fn stage(size: u32, switches: &[Switch]) -> Stage<Bully> {
    Stage::alike(size, Order::Fifo, config(size, switches))
}

/// The highest is down, everybody else knows, and the lowest starts.
fn lowest_starts(size: u32, switches: &[Switch]) -> Stage<Bully> {
    let mut stage = stage(size, switches);
    stage.crash(p(size));
    stage.command(p(1), Command::Elect);
    stage.settle();
    stage
}

fn counts(stage: &Stage<Bully>) -> (u64, u64, u64) {
    (stage.sent_of("election"), stage.sent_of("answer"), stage.sent_of("coordinator"))
}

/// The highest announces itself at once, and answers those who had started all the same.
#[test]
fn if_everybody_starts_it_costs_n_squared_minus_one_and_never_more() {
    for size in 2..=8_u32 {
        let mut stage = stage(size, &[]);
        for process in 1..=size {
            stage.command(p(process), Command::Elect);
        }
        stage.settle();
        let n = u64::from(size);
        assert_eq!(stage.total_sent(), n * n - 1);
        assert_eq!(Bully::card(&config(size, &[]), size).messages.most, Some(n * n - 1));
    }
}

/// Messages to the dead are counted.
#[claims("A-BUL2", "Q-31")]
#[test]
fn if_the_lowest_starts_and_the_highest_is_down_it_costs_n_times_n_minus_one() {
    for size in 3..=8_u32 {
        let mut stage = lowest_starts(size, &[]);
        let n = u64::from(size);
        assert_eq!(counts(&stage), (n * (n - 1) / 2, (n - 1) * (n - 2) / 2, n - 1));
        assert_eq!(stage.total_sent(), n * (n - 1));
        let believed = beliefs(&mut stage);
        assert!(believed[..size as usize - 1].iter().all(|belief| *belief == Some(p(size - 1))));
    }
}

#[claims("Q-31")]
#[test]
fn all_that_notice_at_once_send_no_more_than_the_lowest_alone() {
    let mut stage = stage(6, &[]);
    stage.crash(p(6));
    (1..=5).for_each(|at| stage.command(p(at), Command::Elect));
    stage.settle();
    assert_eq!(counts(&stage), (15, 10, 5));
}

#[claims("Q-31")]
#[test]
fn if_the_second_highest_notices_it_costs_one_election_message_and_a_round() {
    let mut stage = stage(6, &[]);
    stage.crash(p(6));
    stage.command(p(5), Command::Elect);
    stage.settle();
    assert_eq!(counts(&stage), (1, 0, 5));
}

/// It bullies the incumbent.
#[claims("A-BUL2", "I-66", "I-69")]
#[test]
fn the_highest_announces_itself_as_soon_as_it_recovers() {
    let mut stage = stage(4, &[]);
    stage.crash(p(4));
    stage.recover(p(4));
    assert_eq!(counts(&stage), (0, 0, 3));
    stage.settle();
    assert_eq!(beliefs(&mut stage), [Some(p(4)); 4]);
}

/// 2.11: who is down is not told where only lower ones are.
#[claims("Q-31")]
#[test]
fn to_announce_to_lower_ones_only_saves_one_message() {
    for size in 3..=8_u32 {
        let n = u64::from(size);
        let lower = lowest_starts(size, &[Switch::AnnounceLower]);
        assert_eq!(lower.total_sent(), n * (n - 1) - 1);
        let mut second = stage(size, &[Switch::AnnounceLower]);
        second.crash(p(size));
        second.command(p(size - 1), Command::Elect);
        second.settle();
        assert_eq!(counts(&second), (1, 0, n - 2));
    }
}

/// What the eight steps of the story cost: elections, answers and announcements by step.
fn recovery() -> Vec<(u64, u64, u64)> {
    let mut stage = stage(4, &[Switch::NoTerms]);
    stage.command(p(4), Command::Elect);
    stage.settle();
    assert_eq!(opinions(&mut stage), [Some(p(4)); 4], "step 1");
    let (mut steps, mut before) = (vec![(0, 0, 0)], counts(&stage));
    let mut step = |stage: &Stage<Bully>| {
        let now = counts(stage);
        steps.push((now.0 - before.0, now.1 - before.1, now.2 - before.2));
        before = now;
    };
    stage.crash(p(1));
    stage.crash(p(4));
    stage.suspicion(p(2), p(4), Verdict::Suspect);
    step(&stage);
    stage.pass((p(2), p(3)), 0);
    step(&stage);
    stage.drain(&mut Dice(0));
    step(&stage);
    stage.fire(p(3), Timer::Answer);
    step(&stage);
    stage.settle();
    let led = opinions(&mut stage);
    assert_eq!((led[1], led[2]), (Some(p(3)), Some(p(3))), "step 5");
    stage.recover(p(1));
    step(&stage);
    stage.settle();
    step(&stage);
    assert_eq!(opinions(&mut stage)[0], Some(p(3)), "step 7");
    stage.recover(p(4));
    step(&stage);
    stage.suspicion(p(2), p(4), Verdict::Trust);
    stage.settle();
    assert_eq!(opinions(&mut stage), [Some(p(4)); 4], "step 8");
    assert_eq!(counts(&stage), before, "nothing follows");
    steps
}

/// The rule sends to all that are higher, P4 among them, and the text to P3 alone.
#[claims("W-19")]
#[test]
fn two_crashes_and_two_recoveries_cost_22_messages_and_21_as_some_texts_tell_it() {
    let steps = recovery();
    let expected =
        [(0, 0, 0), (2, 0, 0), (1, 1, 0), (0, 0, 0), (0, 0, 3), (3, 0, 0), (3, 3, 3), (0, 0, 3)];
    assert_eq!(steps, expected);
    let add =
        |all: (u64, u64, u64), one: &(u64, u64, u64)| (all.0 + one.0, all.1 + one.1, all.2 + one.2);
    assert_eq!(steps.iter().fold((0, 0, 0), add), (9, 4, 9));
    let total: u64 =
        steps.iter().map(|(elections, answers, told)| elections + answers + told).sum();
    assert_eq!((total, total - steps[1].0 + 1), (22, 21));
}

/// Were every election message to start another election, they would multiply.
#[claims("A-BUL1")]
#[test]
fn the_once_rule_saves_exponentially_many_messages() {
    for size in 3..=9_u32 {
        let literal = lowest_starts(size, &[Switch::LiteralRestart]).total_sent();
        assert_eq!(literal, 3 * (1 << (size - 2)) + u64::from(size) - 3);
    }
}

/// Whoever answered may crash before it announces itself.
#[claims("I-67")]
#[test]
fn if_the_answerer_crashes_the_next_one_leads_after_one_restart() {
    let mut stage = stage(3, &[]);
    stage.crash(p(3));
    stage.command(p(1), Command::Elect);
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(1)), 0);
    stage.crash(p(2));
    stage.settle();
    assert_eq!(beliefs(&mut stage)[0], Some(p(1)));
    assert_eq!(stage.sent_of("election"), 2 + 1 + 2, "P1 has started twice");
}

/// The four rules of who is not the leader.
#[claims("A-BUL3", "I-71")]
#[test]
fn what_a_process_that_does_not_lead_does() {
    // An announcement of a higher one is believed.
    let mut one = stage(3, &[]);
    one.inject(p(3), p(2), Message::Coordinator { number: 1 });
    assert_eq!(beliefs(&mut one)[1], Some(p(3)));
    // One of a lower one means "I was down during the vote", and starts an election.
    let mut two = stage(3, &[]);
    two.inject(p(1), p(2), Message::Coordinator { number: 1 });
    assert_eq!((beliefs(&mut two)[1], two.sent_of("election")), (None, 1));
    // An election message of a lower one is answered, and starts an election, but only one.
    let mut three = stage(3, &[]);
    three.inject(p(1), p(2), Message::Election { number: 1 });
    three.inject(p(1), p(2), Message::Election { number: 1 });
    assert_eq!((three.sent_of("answer"), three.sent_of("election")), (2, 1));
    // Of a higher one, which told all, it is waited for; in the end we start ourselves.
    let mut four = stage(3, &[]);
    four.inject(p(3), p(2), Message::Election { number: 1 });
    assert_eq!((four.total_sent(), four.armed_timers()), (0, vec![(p(2), Timer::Coordinator)]));
    four.fire(p(2), Timer::Coordinator);
    assert_eq!(four.sent_of("election"), 1);
}

#[claims("Q-29")]
#[test]
fn to_tell_all_of_the_election_costs_more_and_elects_the_same() {
    let mut stage = lowest_starts(4, &[Switch::TellAll]);
    assert!(stage.total_sent() > lowest_starts(4, &[]).total_sent());
    assert_eq!(beliefs(&mut stage)[..3], [Some(p(3)); 3]);
}

#[test]
fn the_largest_rank_wins_whatever_the_ids() {
    let ranks = [3, 1, 4, 2].map(Rank::of_id).into();
    let mut stage = Stage::alike(4, Order::Fifo, Config { ranks, ..config(4, &[]) });
    stage.command(p(2), Command::Elect);
    stage.settle();
    assert_eq!(beliefs::<Bully>(&mut stage), [Some(p(3)); 4]);
}

/// P1's timeout was too short; P1 and P2 both announce, and each believes the other.
#[claims("7-B1")]
#[test]
fn with_wrong_timeouts_two_end_up_believing_each_other_unless_there_are_terms() {
    let views = |switches: &[Switch]| {
        let mut stage = stage(2, switches);
        stage.command(p(1), Command::Elect);
        stage.fire(p(1), Timer::Answer);
        stage.pass((p(1), p(2)), 0);
        stage.settle();
        opinions(&mut stage)
    };
    assert_eq!(views(&[Switch::NoTerms, Switch::AcceptLower]), [Some(p(2)), Some(p(1))]);
    assert_eq!(views(&[]), [Some(p(2)); 2]);
}

/// P1's announcement reaches P2 after P2 has recovered and announced itself.
#[claims("7-B3")]
#[test]
fn a_late_announcement_does_not_undo_a_later_one_where_there_are_terms() {
    let views = |switches: &[Switch]| {
        let mut stage = stage(2, switches);
        stage.crash(p(2));
        stage.command(p(1), Command::Elect);
        stage.pass((p(1), p(2)), 0);
        stage.fire(p(1), Timer::Answer);
        stage.recover(p(2));
        stage.settle();
        opinions(&mut stage)
    };
    assert_eq!(views(&[Switch::NoTerms, Switch::AcceptLower]), [Some(p(2)), Some(p(1))]);
    assert_eq!(views(&[]), [Some(p(2)); 2]);
}

/// P2's announcement reaches P1 after the later one of P3, which was down for a moment.
#[claims("7-B4")]
#[test]
fn a_third_that_hears_two_announcements_in_the_wrong_order_is_misled_unless_there_are_terms() {
    let views = |switches: &[Switch]| {
        let mut stage = stage(3, switches);
        stage.command(p(1), Command::Elect);
        stage.pass((p(1), p(2)), 0);
        stage.pass((p(2), p(1)), 0);
        stage.crash(p(3));
        stage.pass((p(1), p(3)), 0);
        stage.pass((p(2), p(3)), 0);
        stage.fire(p(2), Timer::Answer);
        stage.recover(p(3));
        stage.pass((p(3), p(1)), 0);
        stage.settle();
        opinions(&mut stage)
    };
    for rule in [Switch::IgnoreLower, Switch::AnnounceLower] {
        let misled = [Some(p(2)), Some(p(3)), Some(p(3))];
        assert_eq!(views(&[Switch::NoTerms, rule]), misled, "{rule:?}");
    }
    assert_eq!(views(&[]), [Some(p(3)); 3]);
}

/// Whose announcement is refused starts again under a higher number; also when its own was
/// equal, and the other's process has the larger id but the smaller rank.
#[test]
fn whoever_is_told_of_a_term_not_below_its_own_tries_again() {
    let ranks = [2, 1].map(Rank::of_id).into();
    let mut stage = Stage::<Bully>::alike(2, Order::Fifo, Config { ranks, ..config(2, &[]) });
    stage.command(p(2), Command::Elect);
    stage.lose((p(2), p(1)));
    stage.fire(p(2), Timer::Answer);
    stage.lose((p(2), p(1)));
    stage.command(p(1), Command::Elect);
    stage.settle();
    assert_eq!(beliefs(&mut stage), [Some(p(1)); 2]);
}

/// Else answers breed elections, and these breed answers.
#[test]
fn a_follower_that_hears_of_a_later_number_waits_for_its_announcement() {
    let mut stage = stage(3, &[]);
    stage.inject(p(3), p(1), Message::Coordinator { number: 1 });
    stage.inject(p(2), p(1), Message::Answer { number: 9 });
    assert_eq!((stage.total_sent(), stage.armed_timers()), (0, vec![]));
}

#[test]
fn a_leader_that_is_overtaken_stops_to_lead_at_once() {
    let mut stage = stage(3, &[]);
    stage.command(p(1), Command::Elect);
    stage.fire(p(1), Timer::Answer);
    assert_eq!(beliefs(&mut stage)[0], Some(p(1)));
    stage.inject(p(3), p(1), Message::Answer { number: 5 });
    let told = format!("{:?}", stage.take_seen());
    assert!(told.contains("Deposed"), "{told}");
}

/// What settles agrees, whatever was suspected in vain; the terms see to it.
#[test]
fn after_false_alarms_all_agree_on_the_highest() {
    for seed in 0..500 {
        let mut dice = Dice(seed);
        let mut stage = stage(4, &[]);
        stage.command(p(4), Command::Elect);
        stage.settle();
        for _ in 0..6 {
            let (at, peer) = (dice.below(4) as u32 + 1, dice.below(4) as u32 + 1);
            if at != peer {
                stage.suspicion(p(at), p(peer), Verdict::Suspect);
                stage.drain(&mut dice);
                stage.suspicion(p(at), p(peer), Verdict::Trust);
            }
        }
        stage.settle();
        assert_eq!(beliefs(&mut stage), [Some(p(4)); 4], "seed {seed}");
    }
}

#[claims("I-72")]
#[test]
fn an_answer_has_two_message_delays_and_a_step_and_a_coordinator_that_for_everybody() {
    for (size, delay) in [(2, 1_000_000), (5, 4), (9, 1_000)] {
        let Config { answer, coordinator, .. } = Config::plain(size, delay);
        assert!(answer.max > 2 * delay && answer.max < 3 * delay, "{answer:?}");
        let everybody = u64::from(size) * answer.max;
        assert!(coordinator.max >= everybody + delay, "{coordinator:?}");
        assert!(coordinator.max < everybody + answer.max, "{coordinator:?}");
    }
}

#[claims("I-59")]
#[test]
fn whoever_is_in_an_election_starts_no_second_one() {
    let config = Config::plain(3, 4);
    let mut stage = Stage::<Bully>::alike(3, Order::Fifo, config);
    stage.command(p(1), Command::Elect);
    let sent = stage.total_sent();
    assert_eq!(sent, 2, "to P2 and P3");
    stage.command(p(1), Command::Elect);
    assert_eq!(stage.total_sent(), sent);
    stage.settle();
    let settled = stage.total_sent();
    stage.command(p(1), Command::Elect);
    assert!(stage.total_sent() > settled, "this one is over, and another may begin");
}

#[test]
fn whoever_waits_for_an_announcement_in_vain_starts_again_under_a_higher_number() {
    for (rule, number) in [(&[][..], 2), (&[Switch::NoTerms], 0)] {
        let mut stage = stage(2, rule);
        stage.command(p(1), Command::Elect);
        stage.pass((p(1), p(2)), 0);
        stage.pass((p(2), p(1)), 0);
        stage.lose((p(2), p(1)));
        stage.fire(p(1), Timer::Coordinator);
        assert_eq!(*stage.queue((p(1), p(2)))[0], Message::Election { number });
    }
}

/// It may be older than its author's crash.
#[test]
fn an_announcement_of_a_suspect_is_doubted_until_that_one_is_trusted_again() {
    let doubting = || {
        let mut stage = stage(3, &[]);
        stage.suspicion(p(2), p(3), Verdict::Suspect);
        stage.inject(p(3), p(2), Message::Coordinator { number: 1 });
        assert_eq!(stage.armed_timers(), [(p(2), Timer::Coordinator)]);
        stage
    };
    let mut trusted = doubting();
    trusted.suspicion(p(2), p(3), Verdict::Trust);
    assert_eq!((trusted.total_sent(), trusted.armed_timers()), (0, vec![]));
    // That somebody else is trusted says nothing of the leader.
    let mut doubted = doubting();
    doubted.suspicion(p(2), p(1), Verdict::Trust);
    doubted.fire(p(2), Timer::Coordinator);
    assert_eq!(doubted.sent_of("election"), 1);
}

#[test]
fn only_a_leader_greets_and_only_where_that_is_switched_on() {
    for (leads, switches, greetings) in
        [(true, &[Switch::Greet][..], 1), (false, &[Switch::Greet], 0), (true, &[], 0)]
    {
        let mut stage = stage(2, switches);
        if leads {
            stage.command(p(2), Command::Elect);
            stage.settle();
        }
        let before = stage.total_sent();
        stage.suspicion(p(2), p(1), Verdict::Suspect);
        stage.suspicion(p(2), p(1), Verdict::Trust);
        assert_eq!(stage.total_sent() - before, greetings, "{leads} {switches:?}");
    }
}

/// Where an election is told to all.
#[test]
fn a_higher_one_is_not_waited_for_while_we_ask_ourselves_nor_if_it_asked_before_it_won() {
    let mut asking = stage(3, &[]);
    asking.command(p(2), Command::Elect);
    asking.inject(p(3), p(2), Message::Election { number: 1 });
    assert_eq!(asking.armed_timers(), [(p(2), Timer::Answer)]);
    let mut over = stage(3, &[]);
    over.inject(p(3), p(2), Message::Coordinator { number: 1 });
    over.inject(p(3), p(2), Message::Election { number: 1 });
    assert_eq!(over.armed_timers(), []);
}

#[test]
fn an_announcement_that_comes_twice_is_not_taken_for_a_late_one() {
    let mut stage = stage(2, &[]);
    stage.command(p(2), Command::Elect);
    stage.duplicate((p(2), p(1)));
    stage.settle();
    assert_eq!(stage.total_sent(), 1, "nobody is told that it was overtaken");
}

#[test]
fn a_leader_that_resigns_leaves_the_office_to_the_highest_below_that_it_trusts() {
    let mut stage = stage(5, &[]);
    stage.command(p(5), Command::Elect);
    stage.settle();
    beliefs(&mut stage);
    stage.crash(p(4));
    stage.suspicion(p(5), p(4), Verdict::Suspect);
    stage.command(p(5), Command::Resign);
    assert_eq!(beliefs(&mut stage)[4], None, "it has left before another leads");
    // Whoever asks it meanwhile gets no answer, as if it were down.
    stage.inject(p(1), p(5), Message::Election { number: 9 });
    assert_eq!(counts(&stage), (0, 0, 4));
    stage.settle();
    assert_eq!(counts(&stage), (0, 0, 8), "and no timeout was waited for");
    let believed = |leader| [1, 1, 1, 0, 1].map(|up| (up > 0).then(|| p(leader)));
    assert_eq!(beliefs(&mut stage), believed(3));
    // Asked to elect, it leads again.
    stage.command(p(5), Command::Elect);
    stage.settle();
    assert_eq!(beliefs(&mut stage), believed(5));
}

#[test]
fn whoever_resigns_leads_again_when_its_heir_is_suspected_and_stays_where_there_is_none() {
    let mut stage = stage(2, &[]);
    stage.command(p(2), Command::Elect);
    stage.settle();
    stage.command(p(2), Command::Resign);
    stage.crash(p(1));
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    stage.settle();
    assert_eq!(beliefs(&mut stage)[1], Some(p(2)));
    stage.command(p(2), Command::Resign);
    stage.settle();
    assert_eq!(stage.sent_of("nominate"), 1, "nobody else is there, so it stays");
}

#[test]
fn an_heir_leads_even_if_it_hears_that_it_is_one_before_it_hears_who_led() {
    let mut stage = stage(2, &[]);
    stage.command(p(2), Command::Elect);
    stage.command(p(2), Command::Resign);
    assert_eq!(stage.queue((p(2), p(1))).len(), 2);
    stage.pass((p(2), p(1)), 1);
    stage.settle();
    assert_eq!(beliefs(&mut stage), [Some(p(1)); 2]);
}

/// T1 covers the T of a process above on the slowest clock and two messages, on the fastest clock.
#[test]
fn t1_outlasts_t_on_the_slowest_clock() {
    for (size, drift_ppm) in [(2, 0), (3, 10_000), (5, 650_000), (8, 900_000), (3, 999_999)] {
        let delay = TICKS_PER_UNIT;
        let parameters = Parameters { delay, drift_ppm, ..Parameters::plain(size) };
        let Config { answer, coordinator, .. } = Config::configured(&parameters).unwrap();
        assert_eq!(answer, Config::plain(size, delay).answer);
        let (slow, fast) = (1_000_000 - u64::from(drift_ppm), 1_000_000 + u64::from(drift_ppm));
        let waits = u128::from(coordinator.min) * u128::from(slow);
        let awaited = u128::from(answer.max) * u128::from(fast);
        let messages = 2 * u128::from(delay) * u128::from(slow);
        assert!(waits >= awaited + messages, "{size} {drift_ppm}: {coordinator:?} {answer:?}");
    }
    let plain = Config::configured(&Parameters::plain(5)).unwrap();
    assert_eq!(plain.coordinator, Config::plain(5, TICKS_PER_UNIT).coordinator);
}

/// T1 follows from a T that a user sets, unless both are set.
#[test]
fn t1_follows_from_the_t_that_is_set() {
    let set = |timeouts: &[(&str, u64)]| {
        let timeouts = timeouts.iter().map(|(name, ticks)| ((*name).into(), Delay::ticks(*ticks)));
        let parameters = Parameters { timeouts: timeouts.collect(), ..Parameters::plain(4) };
        let Config { answer, coordinator, .. } = Config::configured(&parameters).unwrap();
        (answer.max, coordinator.max)
    };
    assert_eq!(set(&[("answer", 7)]), (7, 4 * 7 + TICKS_PER_UNIT));
    assert_eq!(set(&[("answer", 7), ("coordinator", 9)]), (7, 9));
}
