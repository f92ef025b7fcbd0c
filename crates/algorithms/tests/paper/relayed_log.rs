//! Tests of the relayed log, a protocol that forwards requests to the leader of a replicated log.
//! The replicated log itself has its own tests.

use tenure_algorithms::agreement::ForwardingLog;
use tenure_algorithms::agreement::raft_log::{self, Timer};
use tenure_algorithms::agreement::relayed_log::{Config, Message};
use tenure_core::service::log::{self, DeclineReason, Members, Payload};
use tenure_core::service::relayed_log::{Command, Event, QueryId};
use tenure_core::{Algorithm, ChannelOrder, PeerVerdict, Protocol, TICKS_PER_TIME_UNIT};
use tenure_trace::{SplitMix64, TestCluster};

use crate::support::{self, command_and_drain, fire_and_drain, p};

fn config(size: u32, incarnation: u64) -> Config {
    Config::with_log_config(raft_log::Config::with_defaults(size, TICKS_PER_TIME_UNIT))
        .in_session(incarnation)
}

fn led_by_p1(size: u32, incarnation: u64) -> TestCluster<ForwardingLog> {
    let mut cluster =
        TestCluster::with_same_config(size, ChannelOrder::Reordered, config(size, incarnation));
    fire_and_drain(&mut cluster, 1, Timer::Election);
    heartbeat(&mut cluster);
    cluster
}

fn heartbeat(cluster: &mut TestCluster<ForwardingLog>) {
    fire_and_drain(cluster, 1, Timer::Heartbeat);
    cluster.take_events();
}

fn append(ticket: u64) -> Command {
    Command::Log(log::Command::Append { ticket, payload: Payload::from(ticket) })
}

fn read(ticket: u64) -> Command {
    Command::Log(log::Command::Read { ticket })
}

fn ask(ticket: u64) -> Command {
    Command::Query { ticket, query: word("how long?") }
}

fn word(word: &str) -> Payload {
    Payload::new(word.as_bytes())
}

/// Returns the events at a process since the last call, except the events of the log.
fn events(cluster: &mut TestCluster<ForwardingLog>, at: u32) -> Vec<Event> {
    let is_answer = |event: &Event| match event {
        Event::Log(event) => event.answered_ticket().is_some(),
        _ => true,
    };
    let here = support::events(cluster).into_iter().filter(|(process, _)| *process == at);
    here.map(|(_, event)| event).filter(is_answer).collect()
}

fn declined(ticket: u64, reason: DeclineReason, leader: Option<u32>) -> Event {
    Event::Log(log::Event::Declined { ticket, reason, leader: leader.map(p) })
}

fn unknown(ticket: u64) -> Event {
    Event::Log(log::Event::Unknown { ticket })
}

#[test]
fn forwarded_entry_costs_two_more_messages() {
    for size in 2..=7 {
        for (at, more) in [(1, 0), (2, 2)] {
            let mut cluster = led_by_p1(size, 0);
            let before = cluster.total_sent();
            command_and_drain(&mut cluster, at, append(1));
            let (sent, least) = (cluster.total_sent() - before, 2 * u64::from(size - 1));
            assert_eq!(ForwardingLog::card(&config(size, 0), size).messages.least, least);
            assert_eq!(sent, least + more);
            heartbeat(&mut cluster);
        }
    }
}

#[test]
fn concurrent_requests_are_answered_by_ticket() {
    let mut cluster = led_by_p1(3, 0);
    for at in [1, 2, 3] {
        for command in [append(1), read(2), append(3), read(4)] {
            cluster.issue_command(p(at), command);
        }
    }
    cluster.deliver_all(&mut SplitMix64(7));
    // The others learn the commit index with the next messages.
    for _ in 0..2 {
        cluster.fire_timer(p(1), Timer::Heartbeat);
        cluster.deliver_all(&mut SplitMix64(7));
    }
    let seen = support::events(&mut cluster);
    for at in [1, 2, 3] {
        let answers = seen.iter().filter_map(|(process, event)| match event {
            Event::Log(event) if *process == at => match event {
                log::Event::Acknowledged { ticket, .. } => Some((*ticket, true)),
                log::Event::Answered { ticket, .. } => Some((*ticket, false)),
                other => other.answered_ticket().map(|_| panic!("{other} at P{at}")),
            },
            _ => None,
        });
        let mut answers: Vec<_> = answers.collect();
        answers.sort_unstable();
        assert_eq!(answers, [(1, true), (2, false), (3, true), (4, false)], "at P{at}");
    }
}

#[test]
fn question_is_asked_at_the_leader() {
    for at in [1, 2] {
        let mut cluster = led_by_p1(3, 4);
        command_and_drain(&mut cluster, at, ask(9));
        let ticket = QueryId { incarnation: 4, number: 9 };
        let received = Event::QueryReceived { by: p(at), ticket, query: word("how long?") };
        assert_eq!(events(&mut cluster, 1), [received]);
        command_and_drain(
            &mut cluster,
            1,
            Command::Reply { to: p(at), ticket, reply: word("for ever") },
        );
        let replied = Event::Replied { ticket: 9, reply: word("for ever") };
        assert_eq!(events(&mut cluster, at), [replied], "at P{at}");
    }
}

/// A leader answers a query only after a majority has confirmed that it still leads. Here, another
/// leader is elected before the confirmation, so the old leader declines the query.
#[test]
fn question_waits_for_leadership_confirmation() {
    let mut cluster = led_by_p1(3, 0);
    cluster.issue_command(p(1), ask(9));
    assert_eq!(events(&mut cluster, 1), []);
    for link in [(p(1), p(2)), (p(1), p(3))] {
        cluster.lose_oldest(link);
    }
    // P2 and P3 ask for pre-votes first. Neither gets a pre-vote while both follow P1.
    for at in [2, 3] {
        cluster.fire_timer(p(at), Timer::Election);
    }
    cluster.deliver_all(&mut SplitMix64(0));
    fire_and_drain(&mut cluster, 3, Timer::Election);
    assert_eq!(events(&mut cluster, 1), [declined(9, DeclineReason::Deposed, None)]);
}

#[test]
fn request_to_crashed_leader_is_unknown() {
    let mut cluster = led_by_p1(3, 0);
    for command in [append(1), read(2), ask(3)] {
        cluster.issue_command(p(2), command);
    }
    cluster.take_events();
    cluster.report_suspicion(p(2), p(3), PeerVerdict::Suspect);
    assert_eq!(events(&mut cluster, 2), [], "another process crashed");
    cluster.report_suspicion(p(2), p(1), PeerVerdict::Suspect);
    let read = declined(2, DeclineReason::Deposed, Some(1));
    assert_eq!(events(&mut cluster, 2), [unknown(1), read, unknown(3)]);
    cluster.deliver_all(&mut SplitMix64(0));
    heartbeat(&mut cluster);
    assert_eq!(events(&mut cluster, 2), [], "a late answer is ignored");
}

#[test]
fn request_survives_suspicion_within_a_term() {
    let mut cluster = led_by_p1(3, 0);
    for command in [append(1), read(2)] {
        cluster.issue_command(p(2), command);
    }
    cluster.take_events();
    // P2 was paused, and its election timeout fires before it reads a heartbeat.
    cluster.fire_timer(p(2), Timer::Election);
    assert_eq!(
        events(&mut cluster, 2),
        [declined(2, DeclineReason::Deposed, None)],
        "a read is repeated"
    );
    cluster.deliver_all(&mut SplitMix64(0));
    fire_and_drain(&mut cluster, 1, Timer::Heartbeat);
    let done =
        |event: &Event| matches!(event, Event::Log(log::Event::Acknowledged { ticket: 1, .. }));
    let events = events(&mut cluster, 2);
    assert!(events.iter().any(done), "{events:?}");
}

#[test]
fn request_ends_with_the_term_or_a_pre_vote_without_majority() {
    let mut cluster = led_by_p1(3, 0);
    cluster.issue_command(p(2), append(1));
    for fires in [0, 0, 1] {
        cluster.fire_timer(p(2), Timer::Election);
        let lost = events(&mut cluster, 2);
        assert_eq!(lost.len(), fires, "{lost:?}");
    }
    let mut cluster = led_by_p1(3, 0);
    cluster.issue_command(p(2), append(1));
    cluster.lose_oldest((p(2), p(1)));
    // P2 and P3 both suspect the leader. P2 then votes for P3.
    for at in [2, 3, 3] {
        cluster.fire_timer(p(at), Timer::Election);
    }
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(events(&mut cluster, 2), [unknown(1)]);
}

/// Completes a request of the process `at`, with the copies of P1 and `other`. Only the answer
/// reaches `at`, so its log does not reach the index of the request.
fn complete_unseen(
    cluster: &mut TestCluster<ForwardingLog>,
    at: u32,
    other: u32,
    command: Command,
) {
    cluster.issue_command(p(at), command);
    let mut rng = SplitMix64(0);
    for link in [(at, 1), (1, other), (other, 1)].map(|(from, to)| (p(from), p(to))) {
        while !cluster.messages_on_link(link).is_empty() {
            cluster.deliver(link, &mut rng);
        }
    }
    let messages = cluster.messages_on_link((p(1), p(at)));
    let answer = messages.iter().position(|it| matches!(it, Message::Answer { .. }));
    cluster.deliver_at((p(1), p(at)), answer.expect("the request is completed"));
}

#[test]
fn completed_request_ends_with_pre_vote_without_majority() {
    let mut cluster = led_by_p1(3, 0);
    for command in [append(1), read(2)] {
        complete_unseen(&mut cluster, 2, 3, command);
    }
    assert_eq!(events(&mut cluster, 2), [], "the log of P2 is behind");
    for ended in [&[][..], &[], &[unknown(1), declined(2, DeclineReason::Deposed, None)]] {
        cluster.fire_timer(p(2), Timer::Election);
        assert_eq!(events(&mut cluster, 2), ended);
    }
    cluster.deliver_all(&mut SplitMix64(0));
    fire_and_drain(&mut cluster, 1, Timer::Heartbeat);
    assert_eq!(events(&mut cluster, 2), [], "each request has one outcome");
}

/// A learner has no vote, so it never requests pre-votes.
#[test]
fn completed_request_of_learner_ends_without_a_leader() {
    let members = Some(Members::parse("1,2/3").expect("members"));
    let log = raft_log::Config {
        initial_members: members,
        ..raft_log::Config::with_defaults(3, TICKS_PER_TIME_UNIT)
    };
    let mut cluster: TestCluster<ForwardingLog> =
        TestCluster::with_same_config(3, ChannelOrder::Reordered, Config::with_log_config(log));
    fire_and_drain(&mut cluster, 1, Timer::Election);
    heartbeat(&mut cluster);
    complete_unseen(&mut cluster, 3, 2, append(1));
    for ended in [&[][..], &[unknown(1)]] {
        cluster.fire_timer(p(3), Timer::Election);
        assert_eq!(events(&mut cluster, 3), ended);
    }
}

/// A leader sends no entries to a removed process. P2 is removed, has no vote any more, and still
/// knows the leader. Its request is committed, but its log never reaches the index of the request.
#[test]
fn completed_request_of_removed_process_ends() {
    let mut cluster = led_by_p1(3, 0);
    let Members { voters, learners, .. } = Members::parse("1,3").expect("members");
    let change = log::Command::ChangeMembers { ticket: 50, voters, learners };
    command_and_drain(&mut cluster, 1, Command::Log(change));
    cluster.take_events();
    command_and_drain(&mut cluster, 2, append(1));
    fire_and_drain(&mut cluster, 1, Timer::Heartbeat);
    assert_eq!(events(&mut cluster, 2), [], "P2 learns of no commit");
    for ended in [&[][..], &[unknown(1)]] {
        fire_and_drain(&mut cluster, 2, Timer::Election);
        assert_eq!(events(&mut cluster, 2), ended);
    }
}

#[test]
fn declines_requests_without_a_leader() {
    let mut cluster: TestCluster<ForwardingLog> =
        TestCluster::with_same_config(3, ChannelOrder::Reordered, config(3, 0));
    for command in [append(1), read(2), ask(3)] {
        cluster.issue_command(p(2), command);
    }
    let all = [1, 2, 3].map(|ticket| declined(ticket, DeclineReason::NotLeading, None));
    assert_eq!(events(&mut cluster, 2), all);
    assert_eq!(cluster.total_sent(), 0);
}

/// A restarted process rejects an answer to its earlier incarnation, even if the answer has the
/// right number. It also rejects an answer from a process that it did not ask.
#[test]
fn answer_needs_matching_incarnation_and_sender() {
    let reply = |incarnation| {
        let ticket = QueryId { incarnation, number: 9 };
        Command::Reply { to: p(2), ticket, reply: word("for ever") }
    };
    let mut cluster = led_by_p1(3, 5);
    cluster.issue_command(p(2), ask(9));
    for (from, incarnation, is_accepted) in
        [(1, 4, false), (3, 5, false), (1, 5, true), (1, 5, false)]
    {
        cluster.issue_command(p(from), reply(incarnation));
        let link = (p(from), p(2));
        cluster.deliver_at(link, cluster.messages_on_link(link).len() - 1);
        let accepted = !events(&mut cluster, 2).is_empty();
        assert_eq!(accepted, is_accepted, "from P{from} in incarnation {incarnation}");
    }
}

#[test]
fn notice_reaches_its_recipients() {
    let mut cluster = led_by_p1(3, 0);
    let to = [p(2), p(3)].into_iter().collect();
    command_and_drain(&mut cluster, 1, Command::Notify { to, payload: word("so long") });
    let notices = support::events(&mut cluster).into_iter().filter_map(|(at, event)| match event {
        Event::Notified { payload } => Some((at, payload)),
        _ => None,
    });
    let mut notices: Vec<_> = notices.collect();
    notices.sort_unstable();
    assert_eq!(notices, [(2, word("so long")), (3, word("so long"))]);
}

#[test]
fn only_answers_wait_for_the_disk() {
    let mut cluster = led_by_p1(3, 0);
    let (to, payload) = ([p(1)].into_iter().collect(), word("so long"));
    let ticket = QueryId { incarnation: 0, number: 1 };
    let answer = Command::Reply { to: p(1), ticket, reply: word("for ever") };
    let sends = [ask(1), Command::Notify { to, payload }, answer].map(|command| {
        cluster.issue_command(p(2), command);
        let link = (p(2), p(1));
        ForwardingLog::must_wait_for_save(
            cluster.messages_on_link(link).last().expect("it is sent"),
        )
    });
    assert_eq!(sends, [false, false, true]);
}
