//! D. Ongaro, *Consensus: bridging theory and practice*, Stanford 2014: log replication.

mod compaction;
mod election;
mod eviction;
mod membership;
mod pace;

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::RaftReplica;
use tenure_algorithms::agreement::raft_log::{Config, EntryId, Message, Stable, Timer, VariantId};
use tenure_core::service::log::{Command, Content, DeclineReason, Entry, Event, Payload};
use tenure_core::{Algorithm, ChannelOrder, ProcessId, Protocol, TICKS_PER_TIME_UNIT};
use tenure_trace::{SplitMix64, TestCluster};

use crate::support::{self, fire_and_drain, lose_all, p, pass_all, restart};

fn config(size: u32, switches: &[VariantId]) -> Config {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    Config { variants, ..Config::with_defaults(size, TICKS_PER_TIME_UNIT) }
}

fn cluster(size: u32, switches: &[VariantId]) -> TestCluster<RaftReplica> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, config(size, switches))
}

/// Returns a cluster led by P1. The first entry in the log is committed, and all processes know
/// that it is committed.
fn led_by_p1(size: u32, switches: &[VariantId]) -> TestCluster<RaftReplica> {
    let mut cluster = cluster(size, switches);
    fire_and_drain(&mut cluster, 1, Timer::Election);
    if switches.contains(&VariantId::Together) {
        cluster.fire_timer(p(1), Timer::Send);
    }
    if switches.contains(&VariantId::Ahead) {
        cluster.fire_timer(p(1), Timer::Store);
    }
    heartbeat(&mut cluster, 1);
    cluster.take_events();
    cluster
}

fn heartbeat(cluster: &mut TestCluster<RaftReplica>, at: u32) {
    fire_and_drain(cluster, at, Timer::Heartbeat);
}

fn append(cluster: &mut TestCluster<RaftReplica>, at: u32, ticket: u64) {
    cluster.issue_command(p(at), Command::Append { ticket, payload: Payload::from(ticket) });
}

fn append_and_drain(cluster: &mut TestCluster<RaftReplica>, at: u32, ticket: u64) {
    append(cluster, at, ticket);
    cluster.deliver_all(&mut SplitMix64(0));
}

/// Returns the events since the last call, except for stored entries.
fn events(cluster: &mut TestCluster<RaftReplica>) -> Vec<(u32, Event)> {
    let mut events = support::events(cluster);
    events.retain(|(_, event)| !matches!(event, Event::Stored { .. }));
    events
}

/// Returns the commit events. Each event is a pair: a process, and the commit index that the
/// process learned.
fn commits(events: &[(u32, Event)]) -> Vec<(u32, u64)> {
    let mut commits: Vec<(u32, u64)> = events
        .iter()
        .filter_map(|(at, event)| match event {
            Event::Committed { index, .. } => Some((*at, *index)),
            _ => None,
        })
        .collect();
    commits.sort_unstable();
    commits
}

fn commit_index(cluster: &TestCluster<RaftReplica>, at: u32) -> u64 {
    cluster.process(p(at)).expect("the process is up").commit_index()
}

/// Returns the event by which the process `at` declines a request and names P1 as the leader.
fn declined(at: u32, ticket: u64, reason: DeclineReason) -> (u32, Event) {
    (at, Event::Declined { ticket, reason, leader: Some(p(1)) })
}

fn terms(cluster: &TestCluster<RaftReplica>, at: u32) -> Vec<u64> {
    let log = cluster.process(p(at)).expect("the process is up").log();
    let here = log.first_index()..=log.last().index;
    here.map(|index| log.entry(index).expect("up to the last").term).collect()
}

fn of_terms(terms: &[u64]) -> Vec<Entry> {
    terms.iter().map(|term| Entry { term: *term, content: Content::Nothing }).collect()
}

/// Gives a process a log whose entries have these terms, as if leaders of those terms had sent
/// them.
fn give_log(cluster: &mut TestCluster<RaftReplica>, to: u32, terms: &[u64]) {
    let from = if to == 1 { p(2) } else { p(1) };
    for (place, term) in terms.iter().enumerate() {
        let before = place.checked_sub(1).map_or(0, |before| terms[before]);
        let prev = EntryId { index: place as u64, term: before };
        let entries = of_terms(&[*term]);
        let append = Message::Append { term: *term, prev, entries, commit: 0, round: 0, acked: 0 };
        cluster.inject_and_deliver(from, p(to), append);
    }
    cluster.take_events();
    for (from, to) in cluster.links_in_use() {
        lose_all(cluster, from.display_number(), to.display_number());
    }
}

fn isolate(cluster: &mut TestCluster<RaftReplica>, one: u32) {
    for other in
        cluster.process_ids().into_iter().map(ProcessId::display_number).filter(|it| *it != one)
    {
        lose_all(cluster, one, other);
        lose_all(cluster, other, one);
    }
}

#[test]
fn entry_costs_one_round_trip_per_peer() {
    for size in 1..=7 {
        let mut cluster = led_by_p1(size, &[]);
        let before = cluster.total_sent();
        append_and_drain(&mut cluster, 1, 1);
        let cost = RaftReplica::card(&config(size, &[]), size).messages;
        assert_eq!(
            (cluster.total_sent() - before, cost.least),
            (2 * u64::from(size - 1), cost.least)
        );
        let events = events(&mut cluster);
        assert_eq!(commits(&events), [(1, 2)], "followers learn of it with the next message");
        assert!(events.contains(&(1, Event::Acknowledged { ticket: 1, index: 2 })));
    }
}

#[test]
fn next_message_carries_the_commit_index() {
    let mut cluster = led_by_p1(3, &[]);
    append_and_drain(&mut cluster, 1, 1);
    events(&mut cluster);
    heartbeat(&mut cluster, 1);
    assert_eq!(commits(&events(&mut cluster)), [(2, 2), (3, 2)]);
}

/// Ongaro's thesis, section 3.5: the leader sends several messages before responses arrive, and
/// several entries in one message.
#[test]
fn pipelines_new_entries() {
    let mut cluster = led_by_p1(2, &[]);
    (1..=3).for_each(|ticket| append(&mut cluster, 1, ticket));
    assert_eq!(cluster.messages_on_link((p(1), p(2))).len(), 3);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(commit_index(&cluster, 1), 4);
    lose_all(&mut cluster, 1, 2);
    (4..=6).for_each(|ticket| append(&mut cluster, 1, ticket));
    lose_all(&mut cluster, 1, 2);
    // The next heartbeat reveals the loss, and one message then contains all lost entries.
    let before = cluster.total_sent();
    heartbeat(&mut cluster, 1);
    assert_eq!(cluster.total_sent() - before, 4);
    assert_eq!(commit_index(&cluster, 1), 7);
}

#[test]
fn commits_with_exactly_a_majority() {
    for (size, needed) in [(2, 2), (3, 2), (4, 3), (5, 3)] {
        let mut cluster = led_by_p1(size, &[]);
        append(&mut cluster, 1, 1);
        for voter in 2..=size {
            pass_all(&mut cluster, &[(1, voter), (voter, 1)]);
            let committed = commit_index(&cluster, 1) == 2;
            assert_eq!(committed, voter >= needed, "{voter} of {size}");
        }
    }
}

/// Figure 3.6 of Ongaro's thesis: followers lack entries, have extra entries, or both. Eventually
/// all logs are equal.
#[test]
fn repairs_every_log_of_figure_3_6() {
    let leader = [1, 1, 1, 4, 4, 5, 5, 6, 6, 6];
    let followers: [&[u64]; 6] = [
        &[1, 1, 1, 4, 4, 5, 5, 6, 6],
        &[1, 1, 1, 4],
        &[1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6],
        &[1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7],
        &[1, 1, 1, 4, 4, 4, 4],
        &[1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3],
    ];
    let rejections = [1, 1, 0, 0, 2, 2];
    let mut cluster = cluster(7, &[VariantId::NoPreVote]);
    give_log(&mut cluster, 1, &leader);
    for (place, log) in followers.iter().enumerate() {
        give_log(&mut cluster, place as u32 + 2, log);
    }
    cluster.inject_and_deliver(p(2), p(1), Message::Overtaken { term: 7 });
    fire_and_drain(&mut cluster, 1, Timer::Election);
    let wanted: Vec<u64> = leader.into_iter().chain([8]).collect();
    for at in 1..=7 {
        assert_eq!(terms(&cluster, at), wanted, "P{at}");
    }
    assert_eq!(
        cluster.sent_count("rejected"),
        rejections.iter().sum::<u64>(),
        "one probe per term"
    );
}

/// A voter rejects a candidate whose log is less up to date than the voter's log (Ongaro's thesis,
/// section 3.6.1).
#[test]
fn rejects_vote_for_outdated_log() {
    for (candidate, voter, votes) in [
        (&[1, 1][..], &[1, 1][..], true),
        (&[1, 2], &[1, 1, 1], true),
        (&[1, 1], &[1, 1, 1], false),
        (&[1, 1, 1], &[1, 2], false),
    ] {
        let mut cluster = cluster(2, &[VariantId::NoPreVote]);
        give_log(&mut cluster, 1, candidate);
        give_log(&mut cluster, 2, voter);
        for _ in 0..2 {
            fire_and_drain(&mut cluster, 1, Timer::Election);
        }
        let leads = events(&mut cluster).iter().any(|(_, it)| matches!(it, Event::Leading { .. }));
        assert_eq!(leads, votes, "{candidate:?} asks {voter:?}");
    }
}

/// Ongaro's thesis, figure 3.7: an entry of term 2 is not yet committed when a majority stores the
/// entry. The entry is committed only together with a later entry of term 4.
#[test]
fn does_not_commit_by_copies_of_older_term() {
    for (switches, alone) in [(&[][..], false), (&[VariantId::OldTermCommit], true)] {
        let switches = [&[VariantId::NoPreVote], switches].concat();
        let config = Config { max_batch_entries: 1, ..config(5, &switches) };
        let mut cluster = TestCluster::with_same_config(5, ChannelOrder::Reordered, config);
        give_log(&mut cluster, 1, &[1, 2]);
        give_log(&mut cluster, 2, &[1, 2]);
        give_log(&mut cluster, 3, &[1]);
        give_log(&mut cluster, 4, &[1]);
        give_log(&mut cluster, 5, &[1, 3]);
        // P1 knows term 2 and is a candidate in terms 3 and 4. P2, P3 and P4 vote for P1.
        cluster.fire_timer(p(1), Timer::Election);
        isolate(&mut cluster, 1);
        cluster.fire_timer(p(1), Timer::Election);
        for voter in [2, 3] {
            pass_all(&mut cluster, &[(1, voter), (voter, 1)]);
        }
        lose_all(&mut cluster, 1, 2);
        // P3 stores the entry of term 2, but not yet the entry of term 4.
        while terms(&cluster, 3) != [1, 2] {
            pass_all(&mut cluster, &[(1, 3), (3, 1)]);
        }
        lose_all(&mut cluster, 1, 3);
        heartbeat_to(&mut cluster, 1, 2);
        let committed = commit_index(&cluster, 1);
        assert_eq!(committed == 2, alone, "{switches:?}: {committed}");
    }
}

/// Delivers one heartbeat of `at` to process `to`, and the response. Messages to all other
/// processes are lost.
fn heartbeat_to(cluster: &mut TestCluster<RaftReplica>, at: u32, to: u32) {
    cluster.fire_timer(p(at), Timer::Heartbeat);
    pass_all(cluster, &[(at, to), (to, at)]);
    isolate(cluster, at);
}

#[test]
fn late_append_truncates_only_conflicts() {
    for (switches, kept) in [(&[][..], 3), (&[VariantId::EagerTruncation], 2)] {
        let mut cluster = led_by_p1(2, switches);
        let prev = EntryId { index: 1, term: 1 };
        append(&mut cluster, 1, 1);
        append_and_drain(&mut cluster, 1, 2);
        let entries = vec![Entry { term: 1, content: Content::Payload(Payload::from(1)) }];
        let late = Message::Append { term: 1, prev, entries, commit: 1, round: 0, acked: 0 };
        cluster.inject_and_deliver(p(1), p(2), late);
        assert_eq!(terms(&cluster, 2).len(), kept);
    }
}

#[test]
fn follower_declines_and_names_the_leader() {
    let mut cluster = led_by_p1(3, &[]);
    append(&mut cluster, 2, 7);
    cluster.issue_command(p(3), Command::Read { ticket: 8 });
    let expected =
        [declined(2, 7, DeclineReason::NotLeading), declined(3, 8, DeclineReason::NotLeading)];
    assert_eq!(events(&mut cluster), expected);
    assert_eq!(cluster.total_sent(), led_by_p1(3, &[]).total_sent(), "nothing is forwarded");
}

#[test]
fn deposed_leader_reports_unknown_outcome() {
    let mut cluster = led_by_p1(3, &[]);
    append(&mut cluster, 1, 1);
    cluster.issue_command(p(1), Command::Read { ticket: 2 });
    cluster.inject_and_deliver(p(2), p(1), Message::Overtaken { term: 5 });
    let expected = [
        Event::Following { term: 1, leader: None },
        Event::Unknown { ticket: 1 },
        Event::Declined { ticket: 2, reason: DeclineReason::Deposed, leader: None },
    ];
    assert_eq!(events(&mut cluster), expected.map(|event| (1, event)));
}

#[test]
fn declines_proposals_above_the_limit() {
    let config = Config { max_uncommitted: 2, ..config(3, &[]) };
    let mut cluster =
        TestCluster::<RaftReplica>::with_same_config(3, ChannelOrder::Reordered, config);
    fire_and_drain(&mut cluster, 1, Timer::Election);
    events(&mut cluster);
    (1..=3).for_each(|ticket| append(&mut cluster, 1, ticket));
    assert_eq!(events(&mut cluster), [declined(1, 3, DeclineReason::Full)]);
    cluster.deliver_all(&mut SplitMix64(0));
    append(&mut cluster, 1, 4);
    assert!(!events(&mut cluster).iter().any(|(_, it)| matches!(it, Event::Declined { .. })));
}

/// A leader answers a read only after a round of heartbeats has confirmed that it still leads.
/// Reads that arrive during a round wait for the next round, and share that round (Ongaro's thesis,
/// section 6.4).
#[test]
fn reads_share_confirmation_rounds() {
    let mut cluster = led_by_p1(5, &[]);
    let read = |cluster: &mut TestCluster<RaftReplica>, ticket| {
        cluster.issue_command(p(1), Command::Read { ticket })
    };
    let answer = |ticket| (1, Event::Answered { ticket, index: 1 });
    read(&mut cluster, 1);
    read(&mut cluster, 2);
    read(&mut cluster, 3);
    let before = cluster.sent_count("append");
    pass_all(&mut cluster, &[(1, 2), (2, 1)]);
    assert_eq!(events(&mut cluster), []);
    pass_all(&mut cluster, &[(1, 3), (3, 1)]);
    assert_eq!(events(&mut cluster), [answer(1)]);
    assert_eq!(cluster.sent_count("append") - before, 4, "one round for both reads");
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(events(&mut cluster), [answer(2), answer(3)]);
}

/// A new leader answers no read before it has committed an entry of its own term. Until then it
/// does not know the commit index (Ongaro's thesis, section 6.4).
#[test]
fn new_leader_answers_no_read_before_first_commit() {
    for (switches, early) in [(&[][..], false), (&[VariantId::EarlyRead], true)] {
        let config = Config {
            max_batch_entries: 1,
            ..config(2, &[&[VariantId::NoPreVote], switches].concat())
        };
        let mut cluster =
            TestCluster::<RaftReplica>::with_same_config(2, ChannelOrder::Reordered, config);
        give_log(&mut cluster, 1, &[1, 1]);
        cluster.fire_timer(p(1), Timer::Election);
        pass_all(&mut cluster, &[(1, 2), (2, 1)]);
        cluster.issue_command(p(1), Command::Read { ticket: 1 });
        // Both processes respond, one of them with an empty log.
        cluster.deliver_at((p(1), p(2)), 1);
        cluster.deliver_at((p(2), p(1)), 0);
        let answered = |events: Vec<(u32, Event)>| {
            events.into_iter().any(|(_, event)| matches!(event, Event::Answered { .. }))
        };
        assert_eq!(answered(events(&mut cluster)), early);
        cluster.deliver_all(&mut SplitMix64(0));
        assert_eq!(answered(events(&mut cluster)), !early);
    }
}

#[test]
fn persisted_state_survives_crash() {
    let mut cluster = led_by_p1(3, &[VariantId::NoPreVote]);
    append_and_drain(&mut cluster, 1, 1);
    restart(&mut cluster, 2);
    assert_eq!(terms(&cluster, 2), [1, 1]);
    assert_eq!(commit_index(&cluster, 2), 0, "the commit index is not saved");
    // P2 has voted for P1 in term 1, and does not vote for P3 in the same term.
    let last = EntryId { index: 9, term: 1 };
    cluster.inject_and_deliver(p(3), p(2), Message::RequestVote { term: 1, last });
    let answer = cluster.messages_on_link((p(2), p(3)));
    assert_eq!(answer, [&Message::Vote { term: 1, granted: false }]);
    events(&mut cluster);
    heartbeat(&mut cluster, 1);
    assert_eq!(commits(&events(&mut cluster)), [(2, 1), (2, 2), (3, 2)]);
}

#[test]
fn logs_converge_despite_faults() {
    for seed in 0..40 {
        let mut rng = SplitMix64(seed);
        let mut cluster = led_by_p1(5, &[]);
        for ticket in 1..=20 {
            append(&mut cluster, 1, ticket);
            for link in cluster.links_in_use() {
                match rng.below(4) {
                    0 => cluster.lose_oldest(link),
                    1 => cluster.duplicate_oldest(link),
                    2 => cluster.deliver(link, &mut rng),
                    _ => {}
                }
            }
        }
        for _ in 0..4 {
            cluster.deliver_all(&mut rng);
            cluster.fire_timer(p(1), Timer::Heartbeat);
        }
        cluster.deliver_all(&mut rng);
        for at in 1..=5 {
            assert_eq!(terms(&cluster, at), [1; 21], "P{at}, seed {seed}");
            assert_eq!(commit_index(&cluster, at), 21);
        }
    }
}

/// The leader transfers its leadership to P3 only after P3 has received all entries. P3 then starts
/// an election at once, without pre-votes. Until the transfer ends, the leader declines new entries
/// (Ongaro's thesis, section 3.10).
#[test]
fn transfers_leadership_to_up_to_date_target() {
    let mut cluster = led_by_p1(3, &[]);
    append(&mut cluster, 1, 1);
    cluster.issue_command(p(1), Command::Transfer { ticket: 2, to: p(3) });
    append(&mut cluster, 1, 3);
    assert_eq!(events(&mut cluster), [declined(1, 3, DeclineReason::HandingOver)]);
    assert_eq!(cluster.sent_count("timeout-now"), 0, "P3 lacks an entry");
    cluster.deliver_all(&mut SplitMix64(0));
    let events = events(&mut cluster);
    assert!(events.contains(&(1, Event::Acknowledged { ticket: 1, index: 2 })));
    assert!(events.contains(&(1, Event::HandedOver { ticket: 2 })));
    assert!(events.contains(&(3, Event::Leading { term: 2 })));
    assert_eq!(cluster.sent_count("request-pre-vote"), 2, "only those of the first election");
}

/// If a transfer names no target, the leader picks the first process whose log is up to date. A
/// fixed target that is down or behind would delay the transfer (Ongaro's thesis, section 3.10).
#[test]
fn transfer_without_target_picks_first_up_to_date() {
    let mut cluster = led_by_p1(5, &[]);
    cluster.crash(p(2));
    append(&mut cluster, 1, 1);
    cluster.lose_oldest((p(1), p(3)));
    cluster.deliver_all(&mut SplitMix64(0));
    cluster.take_events();
    cluster.issue_command(p(1), Command::HandOver { ticket: 2 });
    assert_eq!(cluster.sent_count("timeout-now"), 0, "responses are needed first");
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(cluster.sent_count("timeout-now"), 1);
    let events = events(&mut cluster);
    assert!(events.contains(&(1, Event::HandedOver { ticket: 2 })), "{events:?}");
    let leads = |at| events.contains(&(at, Event::Leading { term: 2 }));
    assert!(leads(4) || leads(5), "{events:?}");
}

/// A leader declines to transfer its leadership if no other process can lead. Here the leader is
/// the only process of its group.
#[test]
fn transfer_without_candidates_is_declined() {
    let mut cluster = led_by_p1(1, &[]);
    cluster.issue_command(p(1), Command::HandOver { ticket: 1 });
    assert_eq!(events(&mut cluster), [declined(1, 1, DeclineReason::NotTaken)]);
    append(&mut cluster, 1, 2);
    assert!(events(&mut cluster).contains(&(1, Event::Acknowledged { ticket: 2, index: 2 })));
}

/// The leader begins to transfer its leadership to P3, but P3 starts no election. The leader then
/// resumes its work (Ongaro's thesis, section 3.10).
#[test]
fn failed_transfer_is_aborted() {
    let mut cluster = led_by_p1(3, &[]);
    cluster.issue_command(p(1), Command::Transfer { ticket: 1, to: p(3) });
    cluster.crash(p(3));
    cluster.fire_timer(p(1), Timer::Election);
    assert_eq!(events(&mut cluster), [declined(1, 1, DeclineReason::NotTaken)]);
    append_and_drain(&mut cluster, 1, 2);
    assert!(events(&mut cluster).contains(&(1, Event::Acknowledged { ticket: 2, index: 2 })));
}

#[test]
fn saved_changes_rebuild_the_state() {
    let mut cluster = cluster(3, &[]);
    let mut rng = SplitMix64(7);
    let mut saved = cluster.process(p(2)).expect("the process is up").stable();
    for round in 0..60_u64 {
        let candidate = 1 + u32::try_from(rng.below(3)).expect("a small number");
        cluster.fire_timer(p(candidate), Timer::Election);
        cluster.deliver_all(&mut rng);
        random_step(&mut cluster, &mut rng, round);
        let process = cluster.process(p(2)).expect("the process is up");
        if let Some(change) = process.unsaved_change(&saved) {
            RaftReplica::apply_change(&mut saved, change);
        }
        assert_eq!(saved, process.stable(), "round {round}");
        assert_eq!(process.unsaved_change(&saved), None);
    }
}

/// Saves P2's urgent changes at once, and all other changes much later. In each round, the saved
/// state together with the unsaved changes must equal the current state.
#[test]
fn snapshots_are_not_urgent() {
    let config = Config { trailing_entries: 2, ..config(3, &[]) };
    let mut cluster =
        TestCluster::<RaftReplica>::with_same_config(3, ChannelOrder::Reordered, config);
    let mut rng = SplitMix64(7);
    let mut saved = cluster.process(p(2)).expect("the process is up").stable();
    let (mut rewriting, mut lags) = (None, 0);
    for round in 0..400_u64 {
        let candidate = 1 + u32::try_from(rng.below(3)).expect("a small number");
        if rng.one_in(2) {
            cluster.fire_timer(p(candidate), Timer::Election);
            cluster.deliver_all(&mut rng);
        }
        random_step(&mut cluster, &mut rng, round);
        let process = cluster.process(p(2)).expect("the process is up");
        if let Some(change) = process.urgent_change(&saved) {
            for written in rewriting.iter_mut().chain([&mut saved]) {
                RaftReplica::apply_change(written, change.clone());
            }
        }
        assert_eq!(process.urgent_change(&saved), None, "round {round}");
        let with_the_rest = |written: &Stable| {
            let mut whole = written.clone();
            let rest = process.unsaved_change(written);
            rest.into_iter().for_each(|rest| RaftReplica::apply_change(&mut whole, rest));
            whole
        };
        for written in rewriting.iter().chain([&saved]) {
            assert_eq!(with_the_rest(written), process.stable(), "round {round}");
        }
        lags += u32::from(saved != process.stable());
        if rewriting.is_none() && rng.one_in(4) {
            rewriting = Some(with_the_rest(&saved));
        } else if rng.one_in(4) {
            saved = rewriting.take().unwrap_or(saved);
        }
    }
    assert!((50..350).contains(&lags), "it lags in {lags} of 400 rounds");
}

/// Lets each process append an entry, and sometimes compact its log. Half of the messages are lost.
fn random_step(cluster: &mut TestCluster<RaftReplica>, rng: &mut SplitMix64, round: u64) {
    (1..=3).for_each(|at| append(cluster, at, round));
    if round.is_multiple_of(5) {
        (1..=3).for_each(|at| compact(cluster, at));
    }
    for link in cluster.links_in_use() {
        if rng.one_in(2) { cluster.lose_oldest(link) } else { cluster.deliver(link, rng) }
    }
}

/// Compacts a process's log up to its commit index.
fn compact(cluster: &mut TestCluster<RaftReplica>, at: u32) {
    let index = commit_index(cluster, at);
    let state = Payload::from(index);
    cluster.issue_command(p(at), Command::Compact { ticket: 1000 + index, index, state });
}
