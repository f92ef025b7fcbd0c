//! H. Garcia-Molina, *Elections in a distributed computing system*, IEEE ToC C-31(1), 1982, and the
//! form that textbooks give.

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::{FromParameters, Parameters};
use tenure_algorithms::election::Bully;
use tenure_algorithms::election::bully::{Config, Message, Timer, VariantId};
use tenure_core::service::election::Command;
use tenure_core::{Algorithm, ChannelOrder, Delay, PeerVerdict, Rank, TICKS_PER_TIME_UNIT};

use crate::support::election::{beliefs, unchecked_beliefs};
use crate::support::{command_and_settle, p, pass_all, restart};
use tenure_trace::{SplitMix64, TestCluster};

fn config(size: u32, switches: &[VariantId]) -> Config {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    Config { variants, ..Config::with_defaults(size, TICKS_PER_TIME_UNIT) }
}

fn cluster(size: u32, switches: &[VariantId]) -> TestCluster<Bully> {
    TestCluster::with_same_config(size, ChannelOrder::Fifo, config(size, switches))
}

/// Runs an election that the lowest process starts while the highest process is down.
fn lowest_starts(size: u32, switches: &[VariantId]) -> TestCluster<Bully> {
    let mut cluster = cluster(size, switches);
    cluster.crash(p(size));
    command_and_settle(&mut cluster, 1, Command::Elect);
    cluster
}

fn counts(cluster: &TestCluster<Bully>) -> (u64, u64, u64) {
    (
        cluster.sent_count("election"),
        cluster.sent_count("answer"),
        cluster.sent_count("coordinator"),
    )
}

/// All processes start an election at the same time. The highest process announces itself
/// immediately, and answers every election message. The election costs N² − 1 messages.
#[test]
fn concurrent_starts_cost_n_squared_minus_one() {
    for size in 2..=8_u32 {
        let mut cluster = cluster(size, &[]);
        for process in 1..=size {
            cluster.issue_command(p(process), Command::Elect);
        }
        cluster.run_until_quiescent();
        let n = u64::from(size);
        assert_eq!(cluster.total_sent(), n * n - 1);
        assert_eq!(Bully::card(&config(size, &[]), size).messages.most, Some(n * n - 1));
    }
}

/// The highest process has crashed and the lowest process starts the election. The election costs
/// N(N − 1) messages, including the messages to the crashed process.
#[test]
fn lowest_initiator_costs_n_times_n_minus_one() {
    for size in 3..=8_u32 {
        let mut cluster = lowest_starts(size, &[]);
        let n = u64::from(size);
        assert_eq!(counts(&cluster), (n * (n - 1) / 2, (n - 1) * (n - 2) / 2, n - 1));
        assert_eq!(cluster.total_sent(), n * (n - 1));
        let believed = beliefs(&mut cluster);
        assert!(believed[..size as usize - 1].iter().all(|belief| *belief == Some(p(size - 1))));
    }
}

#[test]
fn concurrent_suspicions_cost_no_more_than_lowest_alone() {
    let mut cluster = cluster(6, &[]);
    cluster.crash(p(6));
    (1..=5).for_each(|at| cluster.issue_command(p(at), Command::Elect));
    cluster.run_until_quiescent();
    assert_eq!(counts(&cluster), (15, 10, 5));
}

#[test]
fn second_highest_initiator_costs_one_message_and_a_round() {
    let mut cluster = cluster(6, &[]);
    cluster.crash(p(6));
    command_and_settle(&mut cluster, 5, Command::Elect);
    assert_eq!(counts(&cluster), (1, 0, 5));
}

#[test]
fn highest_announces_itself_on_recovery() {
    let mut cluster = cluster(4, &[]);
    restart(&mut cluster, 4);
    assert_eq!(counts(&cluster), (0, 0, 3));
    cluster.run_until_quiescent();
    assert_eq!(beliefs(&mut cluster), [Some(p(4)); 4]);
}

/// With the variant `announce-lower`, a new leader announces itself only to lower processes. It
/// then sends no announcement to the highest process, which has crashed, and saves one message
/// (`docs/checklist.md`, section 2.11).
#[test]
fn announcing_to_lower_only_saves_one_message() {
    for size in 3..=8_u32 {
        let n = u64::from(size);
        let lower = lowest_starts(size, &[VariantId::AnnounceLower]);
        assert_eq!(lower.total_sent(), n * (n - 1) - 1);
        let mut second = cluster(size, &[VariantId::AnnounceLower]);
        second.crash(p(size));
        command_and_settle(&mut second, size - 1, Command::Elect);
        assert_eq!(counts(&second), (1, 0, n - 2));
    }
}

/// Runs the textbook's example of two crashes and two recoveries. Returns, for each of its eight
/// steps, the numbers of election, answer and coordinator messages sent.
fn recovery_counts() -> Vec<(u64, u64, u64)> {
    let mut cluster = cluster(4, &[VariantId::NoTerms]);
    command_and_settle(&mut cluster, 4, Command::Elect);
    assert_eq!(unchecked_beliefs(&mut cluster), [Some(p(4)); 4], "step 1");
    let (mut steps, mut before) = (vec![(0, 0, 0)], counts(&cluster));
    let mut step = |cluster: &TestCluster<Bully>| {
        let now = counts(cluster);
        steps.push((now.0 - before.0, now.1 - before.1, now.2 - before.2));
        before = now;
    };
    cluster.crash(p(1));
    cluster.crash(p(4));
    cluster.report_suspicion(p(2), p(4), PeerVerdict::Suspect);
    step(&cluster);
    cluster.deliver_at((p(2), p(3)), 0);
    step(&cluster);
    cluster.deliver_all(&mut SplitMix64(0));
    step(&cluster);
    cluster.fire_timer(p(3), Timer::Answer);
    step(&cluster);
    cluster.run_until_quiescent();
    let led = unchecked_beliefs(&mut cluster);
    assert_eq!((led[1], led[2]), (Some(p(3)), Some(p(3))), "step 5");
    cluster.recover(p(1));
    step(&cluster);
    cluster.run_until_quiescent();
    step(&cluster);
    assert_eq!(unchecked_beliefs(&mut cluster)[0], Some(p(3)), "step 7");
    cluster.recover(p(4));
    step(&cluster);
    cluster.report_suspicion(p(2), p(4), PeerVerdict::Trust);
    cluster.run_until_quiescent();
    assert_eq!(unchecked_beliefs(&mut cluster), [Some(p(4)); 4], "step 8");
    assert_eq!(counts(&cluster), before, "no further message is sent");
    steps
}

/// P2 starts an election while P4 is down. By the algorithm's rule, P2 sends an election message to
/// both higher processes, P3 and P4. The whole example then costs 22 messages. In some texts P2
/// sends to P3 only, and the example costs 21.
#[test]
fn two_crashes_and_recoveries_cost_22_messages() {
    let steps = recovery_counts();
    let expected =
        [(0, 0, 0), (2, 0, 0), (1, 1, 0), (0, 0, 0), (0, 0, 3), (3, 0, 0), (3, 3, 3), (0, 0, 3)];
    assert_eq!(steps, expected);
    let add =
        |all: (u64, u64, u64), one: &(u64, u64, u64)| (all.0 + one.0, all.1 + one.1, all.2 + one.2);
    assert_eq!(steps.iter().fold((0, 0, 0), add), (9, 4, 9));
    let total: u64 = steps
        .iter()
        .map(|(elections, answers, coordinators)| elections + answers + coordinators)
        .sum();
    assert_eq!((total, total - steps[1].0 + 1), (22, 21));
}

/// With the variant `literal-restart`, a process starts another election for every election message
/// that it receives. The number of messages then grows exponentially with the size of the group.
#[test]
fn once_rule_saves_exponentially_many_messages() {
    for size in 3..=9_u32 {
        let literal = lowest_starts(size, &[VariantId::LiteralRestart]).total_sent();
        assert_eq!(literal, 3 * (1 << (size - 2)) + u64::from(size) - 3);
    }
}

#[test]
fn next_process_leads_if_answerer_crashes() {
    let mut cluster = cluster(3, &[]);
    cluster.crash(p(3));
    cluster.issue_command(p(1), Command::Elect);
    pass_all(&mut cluster, &[(1, 2), (2, 1)]);
    cluster.crash(p(2));
    cluster.run_until_quiescent();
    assert_eq!(beliefs(&mut cluster)[0], Some(p(1)));
    assert_eq!(cluster.sent_count("election"), 2 + 1 + 2, "P1 has started twice");
}

#[test]
fn follows_the_four_rules_of_non_leaders() {
    // The announcement of a higher process is accepted.
    let mut one = cluster(3, &[]);
    one.inject_and_deliver(p(3), p(2), Message::Coordinator { number: 1 });
    assert_eq!(beliefs(&mut one)[1], Some(p(3)));
    // The announcement of a lower process shows that P2 missed the election, so P2 starts another.
    let mut two = cluster(3, &[]);
    two.inject_and_deliver(p(1), p(2), Message::Coordinator { number: 1 });
    assert_eq!((beliefs(&mut two)[1], two.sent_count("election")), (None, 1));
    // An election message of a lower process is answered, and starts one election only.
    let mut three = cluster(3, &[]);
    three.inject_and_deliver(p(1), p(2), Message::Election { number: 1 });
    three.inject_and_deliver(p(1), p(2), Message::Election { number: 1 });
    assert_eq!((three.sent_count("answer"), three.sent_count("election")), (2, 1));
    // After the election message of a higher process, P2 only waits for the result. When the timer
    // fires, P2 starts an election itself.
    let mut four = cluster(3, &[]);
    four.inject_and_deliver(p(3), p(2), Message::Election { number: 1 });
    assert_eq!((four.total_sent(), four.armed_timers()), (0, vec![(p(2), Timer::Coordinator)]));
    four.fire_timer(p(2), Timer::Coordinator);
    assert_eq!(four.sent_count("election"), 1);
}

#[test]
fn tell_all_costs_more_and_elects_the_same() {
    let mut cluster = lowest_starts(4, &[VariantId::TellAll]);
    assert!(cluster.total_sent() > lowest_starts(4, &[]).total_sent());
    assert_eq!(beliefs(&mut cluster)[..3], [Some(p(3)); 3]);
}

#[test]
fn largest_rank_wins_regardless_of_ids() {
    let ranks = [3, 1, 4, 2].map(Rank::from_id).into();
    let mut cluster =
        TestCluster::with_same_config(4, ChannelOrder::Fifo, Config { ranks, ..config(4, &[]) });
    command_and_settle(&mut cluster, 2, Command::Elect);
    assert_eq!(beliefs::<Bully>(&mut cluster), [Some(p(3)); 4]);
}

/// P1's timeout is too short, so P1 and P2 both announce themselves. Without terms, P1 then follows
/// P2, and P2 follows P1. With terms, both follow P2.
#[test]
fn terms_resolve_mutual_announcements() {
    let views = |switches: &[VariantId]| {
        let mut cluster = cluster(2, switches);
        cluster.issue_command(p(1), Command::Elect);
        cluster.fire_timer(p(1), Timer::Answer);
        cluster.deliver_at((p(1), p(2)), 0);
        cluster.run_until_quiescent();
        unchecked_beliefs(&mut cluster)
    };
    assert_eq!(views(&[VariantId::NoTerms, VariantId::AcceptLower]), [Some(p(2)), Some(p(1))]);
    assert_eq!(views(&[]), [Some(p(2)); 2]);
}

/// P1's announcement reaches P2 after P2 has recovered and announced itself. With terms, P2 rejects
/// the announcement.
#[test]
fn terms_reject_late_announcement() {
    let views = |switches: &[VariantId]| {
        let mut cluster = cluster(2, switches);
        cluster.crash(p(2));
        cluster.issue_command(p(1), Command::Elect);
        cluster.deliver_at((p(1), p(2)), 0);
        cluster.fire_timer(p(1), Timer::Answer);
        cluster.recover(p(2));
        cluster.run_until_quiescent();
        unchecked_beliefs(&mut cluster)
    };
    assert_eq!(views(&[VariantId::NoTerms, VariantId::AcceptLower]), [Some(p(2)), Some(p(1))]);
    assert_eq!(views(&[]), [Some(p(2)); 2]);
}

/// P2 announces itself while P3 is down. P3 then recovers and announces itself, and P3's
/// announcement reaches P1 first. With terms, P1 recognises P2's announcement as older, and still
/// follows P3.
#[test]
fn terms_order_reordered_announcements() {
    let views = |switches: &[VariantId]| {
        let mut cluster = cluster(3, switches);
        cluster.issue_command(p(1), Command::Elect);
        pass_all(&mut cluster, &[(1, 2), (2, 1)]);
        cluster.crash(p(3));
        pass_all(&mut cluster, &[(1, 3), (2, 3)]);
        cluster.fire_timer(p(2), Timer::Answer);
        cluster.recover(p(3));
        cluster.deliver_at((p(3), p(1)), 0);
        cluster.run_until_quiescent();
        unchecked_beliefs(&mut cluster)
    };
    for rule in [VariantId::IgnoreLower, VariantId::AnnounceLower] {
        let expected = [Some(p(2)), Some(p(3)), Some(p(3))];
        assert_eq!(views(&[VariantId::NoTerms, rule]), expected, "{rule:?}");
    }
    assert_eq!(views(&[]), [Some(p(3)); 3]);
}

/// P2 and P1 announce themselves with the same number. P2 has the larger id, but P1 has the larger
/// rank. So P2 refuses P1's announcement, and P1 starts the election again with a higher number.
#[test]
fn refused_announcer_retries_with_higher_number() {
    let ranks = [2, 1].map(Rank::from_id).into();
    let mut cluster = TestCluster::<Bully>::with_same_config(
        2,
        ChannelOrder::Fifo,
        Config { ranks, ..config(2, &[]) },
    );
    cluster.issue_command(p(2), Command::Elect);
    cluster.lose_oldest((p(2), p(1)));
    cluster.fire_timer(p(2), Timer::Answer);
    cluster.lose_oldest((p(2), p(1)));
    command_and_settle(&mut cluster, 1, Command::Elect);
    assert_eq!(beliefs(&mut cluster), [Some(p(1)); 2]);
}

#[test]
fn follower_waits_for_announcement_of_later_number() {
    let mut cluster = cluster(3, &[]);
    cluster.inject_and_deliver(p(3), p(1), Message::Coordinator { number: 1 });
    cluster.inject_and_deliver(p(2), p(1), Message::Answer { number: 9 });
    assert_eq!((cluster.total_sent(), cluster.armed_timers()), (0, vec![]));
}

#[test]
fn overtaken_leader_is_deposed_at_once() {
    let mut cluster = cluster(3, &[]);
    cluster.issue_command(p(1), Command::Elect);
    cluster.fire_timer(p(1), Timer::Answer);
    assert_eq!(beliefs(&mut cluster)[0], Some(p(1)));
    cluster.inject_and_deliver(p(3), p(1), Message::Answer { number: 5 });
    let events = format!("{:?}", cluster.take_events());
    assert!(events.contains("Deposed"), "{events}");
}

#[test]
fn all_agree_on_highest_after_false_suspicions() {
    for seed in 0..500 {
        let mut rng = SplitMix64(seed);
        let mut cluster = cluster(4, &[]);
        command_and_settle(&mut cluster, 4, Command::Elect);
        for _ in 0..6 {
            let (at, peer) = (rng.below(4) as u32 + 1, rng.below(4) as u32 + 1);
            if at != peer {
                cluster.report_suspicion(p(at), p(peer), PeerVerdict::Suspect);
                cluster.deliver_all(&mut rng);
                cluster.report_suspicion(p(at), p(peer), PeerVerdict::Trust);
            }
        }
        cluster.run_until_quiescent();
        assert_eq!(beliefs(&mut cluster), [Some(p(4)); 4], "seed {seed}");
    }
}

#[test]
fn timeouts_cover_message_delays() {
    for (size, delay) in [(2, 1_000_000), (5, 4), (9, 1_000)] {
        let Config { answer_timeout: answer, coordinator_timeout: coordinator, .. } =
            Config::with_defaults(size, delay);
        assert!(answer.max > 2 * delay && answer.max < 3 * delay, "{answer:?}");
        let all_processes = u64::from(size) * answer.max;
        assert!(coordinator.max >= all_processes + delay, "{coordinator:?}");
        assert!(coordinator.max < all_processes + answer.max, "{coordinator:?}");
    }
}

#[test]
fn starts_one_election_at_a_time() {
    let config = Config::with_defaults(3, 4);
    let mut cluster = TestCluster::<Bully>::with_same_config(3, ChannelOrder::Fifo, config);
    cluster.issue_command(p(1), Command::Elect);
    let sent = cluster.total_sent();
    assert_eq!(sent, 2, "to P2 and P3");
    cluster.issue_command(p(1), Command::Elect);
    assert_eq!(cluster.total_sent(), sent);
    cluster.run_until_quiescent();
    let settled = cluster.total_sent();
    cluster.issue_command(p(1), Command::Elect);
    assert!(cluster.total_sent() > settled, "the first is over, and another may start");
}

#[test]
fn restarts_with_higher_number_without_announcement() {
    for (rule, number) in [(&[][..], 2), (&[VariantId::NoTerms], 0)] {
        let mut cluster = cluster(2, rule);
        cluster.issue_command(p(1), Command::Elect);
        pass_all(&mut cluster, &[(1, 2), (2, 1)]);
        cluster.lose_oldest((p(2), p(1)));
        cluster.fire_timer(p(1), Timer::Coordinator);
        assert_eq!(*cluster.messages_on_link((p(1), p(2)))[0], Message::Election { number });
    }
}

/// P2 suspects P3 and then receives an announcement of P3. P2 follows P3 only once it trusts P3
/// again, because P3 may have sent the announcement before a crash.
#[test]
fn doubts_announcement_of_suspect_until_trusted() {
    let doubting = || {
        let mut cluster = cluster(3, &[]);
        cluster.report_suspicion(p(2), p(3), PeerVerdict::Suspect);
        cluster.inject_and_deliver(p(3), p(2), Message::Coordinator { number: 1 });
        assert_eq!(cluster.armed_timers(), [(p(2), Timer::Coordinator)]);
        cluster
    };
    let mut trusted = doubting();
    trusted.report_suspicion(p(2), p(3), PeerVerdict::Trust);
    assert_eq!((trusted.total_sent(), trusted.armed_timers()), (0, vec![]));
    // P2 begins to trust P1, which is not the sender of the announcement. So P2 still waits, and
    // then starts an election.
    let mut doubted = doubting();
    doubted.report_suspicion(p(2), p(1), PeerVerdict::Trust);
    doubted.fire_timer(p(2), Timer::Coordinator);
    assert_eq!(doubted.sent_count("election"), 1);
}

#[test]
fn only_a_leader_greets_with_variant() {
    for (leads, switches, greetings) in
        [(true, &[VariantId::Greet][..], 1), (false, &[VariantId::Greet], 0), (true, &[], 0)]
    {
        let mut cluster = cluster(2, switches);
        if leads {
            command_and_settle(&mut cluster, 2, Command::Elect);
        }
        let before = cluster.total_sent();
        cluster.report_suspicion(p(2), p(1), PeerVerdict::Suspect);
        cluster.report_suspicion(p(2), p(1), PeerVerdict::Trust);
        assert_eq!(cluster.total_sent() - before, greetings, "{leads} {switches:?}");
    }
}

#[test]
fn ignores_election_of_higher_while_asking() {
    let mut candidate = cluster(3, &[]);
    candidate.issue_command(p(2), Command::Elect);
    candidate.inject_and_deliver(p(3), p(2), Message::Election { number: 1 });
    assert_eq!(candidate.armed_timers(), [(p(2), Timer::Answer)]);
    let mut over = cluster(3, &[]);
    over.inject_and_deliver(p(3), p(2), Message::Coordinator { number: 1 });
    over.inject_and_deliver(p(3), p(2), Message::Election { number: 1 });
    assert_eq!(over.armed_timers(), []);
}

#[test]
fn accepts_duplicate_announcement() {
    let mut cluster = cluster(2, &[]);
    cluster.issue_command(p(2), Command::Elect);
    cluster.duplicate_oldest((p(2), p(1)));
    cluster.run_until_quiescent();
    assert_eq!(cluster.total_sent(), 1, "no answer is sent");
}

#[test]
fn resigning_leader_nominates_highest_trusted_below() {
    let mut cluster = cluster(5, &[]);
    command_and_settle(&mut cluster, 5, Command::Elect);
    beliefs(&mut cluster);
    cluster.crash(p(4));
    cluster.report_suspicion(p(5), p(4), PeerVerdict::Suspect);
    cluster.issue_command(p(5), Command::Resign);
    assert_eq!(beliefs(&mut cluster)[4], None, "it is deposed before another leads");
    // P5 has resigned, so it does not answer an election message, as if it were down.
    cluster.inject_and_deliver(p(1), p(5), Message::Election { number: 9 });
    assert_eq!(counts(&cluster), (0, 0, 4));
    cluster.run_until_quiescent();
    assert_eq!(counts(&cluster), (0, 0, 8), "without a timeout");
    let believed = |leader| [1, 1, 1, 0, 1].map(|up| (up > 0).then(|| p(leader)));
    assert_eq!(beliefs(&mut cluster), believed(3));
    // The announcement of P3 has ended the retirement of P5, so P5 answers and leads again.
    cluster.inject_and_deliver(p(1), p(5), Message::Election { number: 99 });
    cluster.run_until_quiescent();
    assert_eq!(beliefs(&mut cluster), believed(5));
    cluster.issue_command(p(5), Command::Resign);
    cluster.run_until_quiescent();
    assert_eq!(beliefs(&mut cluster), believed(3));
    // P5 leads again after a command to start an election.
    command_and_settle(&mut cluster, 5, Command::Elect);
    assert_eq!(beliefs(&mut cluster), believed(5));
}

#[test]
fn resigned_leader_returns_if_heir_is_suspected() {
    let mut cluster = cluster(2, &[]);
    command_and_settle(&mut cluster, 2, Command::Elect);
    cluster.issue_command(p(2), Command::Resign);
    cluster.crash(p(1));
    cluster.report_suspicion(p(2), p(1), PeerVerdict::Suspect);
    cluster.run_until_quiescent();
    assert_eq!(beliefs(&mut cluster)[1], Some(p(2)));
    command_and_settle(&mut cluster, 2, Command::Resign);
    assert_eq!(cluster.sent_count("nominate"), 1, "without an heir it stays the leader");
}

#[test]
fn nomination_may_precede_announcement() {
    let mut cluster = cluster(2, &[]);
    cluster.issue_command(p(2), Command::Elect);
    cluster.issue_command(p(2), Command::Resign);
    assert_eq!(cluster.messages_on_link((p(2), p(1))).len(), 2);
    cluster.deliver_at((p(2), p(1)), 1);
    cluster.run_until_quiescent();
    assert_eq!(beliefs(&mut cluster), [Some(p(1)); 2]);
}

/// T is the time within which a process must answer. T1 is the time within which a process that has
/// answered must announce a leader. Checks that T1 on the fastest clock lasts at least two message
/// delays longer than T on the slowest clock.
#[test]
fn t1_outlasts_t_on_the_slowest_clock() {
    for (size, drift_ppm) in [(2, 0), (3, 10_000), (5, 650_000), (8, 900_000), (3, 999_999)] {
        let delay = TICKS_PER_TIME_UNIT;
        let parameters = Parameters { delay, drift_ppm, ..Parameters::with_defaults(size) };
        let Config { answer_timeout: answer, coordinator_timeout: coordinator, .. } =
            Config::from_parameters(&parameters).unwrap();
        assert_eq!(answer, Config::with_defaults(size, delay).answer_timeout);
        let (slow, fast) = (1_000_000 - u64::from(drift_ppm), 1_000_000 + u64::from(drift_ppm));
        let waits = u128::from(coordinator.min) * u128::from(slow);
        let awaited = u128::from(answer.max) * u128::from(fast);
        let messages = 2 * u128::from(delay) * u128::from(slow);
        assert!(waits >= awaited + messages, "{size} {drift_ppm}: {coordinator:?} {answer:?}");
    }
    let plain = Config::from_parameters(&Parameters::with_defaults(5)).unwrap();
    assert_eq!(
        plain.coordinator_timeout,
        Config::with_defaults(5, TICKS_PER_TIME_UNIT).coordinator_timeout
    );
}

/// If the user sets only T, then T1 is computed from T. If the user sets both, both values are
/// used.
#[test]
fn t1_follows_from_configured_t() {
    let set = |timeouts: &[(&str, u64)]| {
        let timeouts = timeouts.iter().map(|(name, ticks)| ((*name).into(), Delay::ticks(*ticks)));
        let parameters =
            Parameters { timeouts: timeouts.collect(), ..Parameters::with_defaults(4) };
        let Config { answer_timeout: answer, coordinator_timeout: coordinator, .. } =
            Config::from_parameters(&parameters).unwrap();
        (answer.max, coordinator.max)
    };
    assert_eq!(set(&[("answer", 7)]), (7, 4 * 7 + TICKS_PER_TIME_UNIT));
    assert_eq!(set(&[("answer", 7), ("coordinator", 9)]), (7, 9));
}
