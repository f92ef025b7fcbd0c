//! Tests that a run follows its settings, and that its findings are correct.

use std::sync::Arc;

use crate::by_service::{CoordinatedMember, unchecked};
use crate::common::runs::{
    assert_served, busy, crash, crash_and_recover, is_violated, parsed, seeded, simulate,
    talkative, traced,
};
use crate::common::{Extrema, Highest, Permission, Ring, Rule};
use tenure_algorithms::catalogue::{FromParameters, Parameters, SumTypeMember};
use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::mutex::{Central, Raymond, central, raymond};
use tenure_core::tree::TreeShape;
use tenure_core::{ChannelOrder, ProcessId, Property, Rank, TICKS_PER_TIME_UNIT};
use tenure_sim::{
    CrashTrigger, Distribution, EndReason, EndlessWaitKind, Fault, GroupSizeCondition, Initiators,
    Judgement, Latency, RecoveredState, RunReport, Settings, Simulation, Workload,
};
use tenure_trace::{Record, RecordKind};

const P1: ProcessId = ProcessId(0);
const P2: ProcessId = ProcessId(1);

fn permission(settings: Settings) -> RunReport {
    let seed = settings.seed;
    let report = Simulation::<Permission>::new(Rule::Stamps, settings).run().unwrap();
    assert_eq!(report.seed, seed);
    report
}

fn ring_of(ids: &[u32]) -> (Settings, tenure_sim::ProcessConfigs<u32>) {
    let mut settings =
        Settings { workload: Workload::elect_by_all(), ..Settings::new(ids.len() as u32) };
    settings.ranks = ids.iter().map(|id| Rank::from_id(*id)).collect();
    (settings, tenure_sim::ProcessConfigs::Each(ids.to_vec()))
}

#[test]
fn serves_all_requests_at_expected_cost() {
    for seed in 0..200 {
        let settings =
            seeded(5, seed, Workload::entries(3), Distribution::between_time_units(1, 9));
        let report = permission(settings);
        assert_served(&report, &format!("seed {seed}"));
        assert_eq!(report.metrics.entry_count, 15, "seed {seed}");
        assert_eq!(report.metrics.sent, 15 * 8, "seed {seed}");
    }
}

#[test]
fn unit_delays_match_literature() {
    let settings = Settings { workload: Workload::sequential(20), ..Settings::new(3) };
    let report = permission(settings);
    let delays = &report.metrics.entry_delay;
    assert_eq!((delays.count, delays.mean(), delays.longest), (20, 2e6, 2_000_000));
    assert_eq!(report.metrics.exit_delay.longest, 0);
    assert_eq!(report.metrics.synchronisation_delay.count, 0, "no process waited");

    let settings = Settings { workload: Workload::entries(2), ..Settings::new(3) };
    let report = permission(settings);
    let handed_on = &report.metrics.synchronisation_delay;
    assert_eq!((handed_on.mean(), handed_on.longest), (1e6, 1_000_000));
    assert_eq!(report.metrics.waiting.highest, 3);
}

#[test]
fn detects_wrong_rule() {
    let settings = Settings { workload: Workload::entries(1), ..Settings::new(3) };
    let reply_always = Simulation::<Permission>::new(Rule::ReplyAlways, settings.clone());
    let report = reply_always.run().unwrap();
    assert_eq!(report.judgement_of("mutual-exclusion"), Some(Judgement::Violated));
    assert_eq!(report.judgement_of("starvation-freedom"), Some(Judgement::Holds));
    let defer_always = Simulation::<Permission>::new(Rule::DeferAlways, settings).run().unwrap();
    assert_eq!(defer_always.judgement_of("mutual-exclusion"), Some(Judgement::Holds));
    assert_eq!(defer_always.judgement_of("starvation-freedom"), Some(Judgement::Violated));
    assert_eq!(defer_always.judgement_of("deadlock-freedom"), Some(Judgement::Violated));
    assert_eq!(defer_always.ended, EndReason::Quiescent);
    assert_eq!(defer_always.blocked.len(), 3);
    assert_eq!(defer_always.endless_wait_kind, Some(EndlessWaitKind::Deadlock));
}

#[test]
fn decreasing_ring_of_five_has_known_cost() {
    let (settings, ids) = ring_of(&[5, 4, 3, 2, 1]);
    let report =
        Simulation::<Extrema>::new(ids, settings).with_name("chang-roberts").run().unwrap();
    let json = serde_json::to_string(&report).unwrap();
    let expected = concat!(
        r#"{"algorithm":"chang-roberts","n":5,"ids":[5,4,3,2,1],"seed":1,"#,
        r#""messages":{"total":20,"received":20,"by_kind":{"elected":5,"election":15},"#,
        r#""dropped":0,"duplicated":0},"election":{"started":5,"took_part":5,"messages":[20]},"#,
        r#""elected":{"1":5,"2":5,"3":5,"4":5,"5":5},"leaders":[5],"#,
        r#""entries":{"total":0,"order":[]},"delays":{"entry":{"mean":0.0,"max":0.0},"#,
        r#""exit":{"mean":0.0,"max":0.0},"synchronisation":{"mean":0.0,"max":0.0}},"#,
        r#""bypass_max":0,"finished_at":10.0,"blocked":[],"#,
        r#""verdicts":{"agreement":"holds","validity":"holds","progress":"holds"}}"#,
    );
    assert_eq!(json, expected);
}

#[test]
fn equal_ids_violate_unique_leader() {
    let settings = Settings { workload: Workload::elect_by_all(), ..Settings::new(4) };
    let report = Simulation::<Extrema>::new(7, settings).run().unwrap();
    for property in ["uniqueness", "irrevocability", "agreement", "one-leader-at-a-time"] {
        assert!(is_violated(&report, property), "{property}");
    }
}

#[test]
fn election_that_no_process_starts_blocks_none() {
    let run = |down: &[ProcessId]| {
        let mut settings = Settings { workload: Workload::elect_by([P2]), ..Settings::new(2) };
        settings.down = down.to_vec();
        Simulation::<Extrema>::new(tenure_sim::ProcessConfigs::Each(vec![1, 2]), settings).run()
    };
    let absent = run(&[P2]).expect("the settings are valid");
    assert_eq!((absent.judgement_of("progress"), absent.blocked), (Some(Judgement::Holds), vec![]));
    let alone = run(&[P1]).expect("the settings are valid");
    assert_eq!(alone.judgement_of("progress"), Some(Judgement::Violated));
}

#[test]
fn run_ends_although_token_circulates() {
    let mut settings = Settings { workload: Workload::entries(2), ..Settings::new(4) };
    let report = Simulation::<Ring>::new((), settings.clone()).run().unwrap();
    assert_eq!((report.ended, report.metrics.entry_count), (EndReason::Served, 8));
    assert_eq!(report.bypass_max, 1);

    settings.workload = Workload::default();
    settings.limits.until = Some(100_000_000);
    let idle = Simulation::<Ring>::new((), settings).run().unwrap();
    assert_eq!((idle.ended, idle.finished_at), (EndReason::TimeLimit, 100_000_000));
    assert!((60..=80).contains(&idle.metrics.sent), "{} laps of 1 to 2", idle.metrics.sent);
}

#[test]
fn trace_ends_at_time_limit_only_if_all_are_served() {
    let ended = |until_units| {
        let mut settings = Settings { workload: Workload::entries(1), ..Settings::new(2) };
        settings.limits.until = Some(until_units * TICKS_PER_TIME_UNIT);
        let (report, trace) = traced(&Simulation::<Ring>::new((), settings));
        assert_eq!(report.ended, EndReason::TimeLimit);
        let last = parsed(&trace).records.last().map(|record| record.kind.clone());
        (report.judgement_of("starvation-freedom"), last == Some(RecordKind::End))
    };
    assert_eq!(ended(1), (Some(Judgement::Incomplete), false));
    assert_eq!(ended(100), (Some(Judgement::Holds), true));
}

#[test]
fn lost_token_blocks_all_waiters() {
    let mut settings = Settings { workload: Workload::entries(1), ..Settings::new(3) };
    settings.network.loss = tenure_sim::Chance::with_max_occurrences(1.0, 1);
    let report = Simulation::<Ring>::new((), settings).run().unwrap();
    assert_eq!(report.metrics.entry_count, 1);
    assert_eq!(report.blocked, [P2, ProcessId(2)]);
    let loss = report.faults.iter().find(|count| count.fault == "loss").unwrap();
    assert_eq!((loss.injected, loss.observed), (1, 1));
}

#[test]
fn duplicated_token_violates_exclusion() {
    let violated = (0..50).filter(|seed| {
        let mut settings =
            seeded(3, *seed, Workload::entries(3), Distribution::between_time_units(1, 5));
        settings.network.duplication = tenure_sim::Chance::with_max_occurrences(0.5, 1);
        let report = Simulation::<Ring>::new((), settings).run().unwrap();
        is_violated(&report, "mutual-exclusion")
    });
    assert!(violated.count() > 10);
}

#[test]
fn crash_triggers_fire_as_configured() {
    let cases = [
        CrashTrigger::At(1_500_000),
        CrashTrigger::OnMessage(2),
        CrashTrigger::Inside { entry: 1, after: 500_000 },
        CrashTrigger::Waiting { request: 1, after: 0 },
    ];
    for when in cases {
        let (workload, faults) = (Workload::entries(1), vec![crash(0, when)]);
        let report = permission(Settings { workload, faults, ..Settings::new(3) });
        assert_eq!(report.blocked, [P2, ProcessId(2)], "{when:?}");
        assert_eq!(report.warnings, [""; 0], "{when:?}");
        let crash = report.faults.iter().find(|count| count.fault == "crash").unwrap();
        assert_eq!((crash.injected, crash.observed), (1, 1), "{when:?}");
    }
}

/// Each crash of a process counts all messages, whatever the order of the crashes in the settings.
#[test]
fn crashes_of_one_process_count_the_same_messages() {
    let crash_at = |message| crash_and_recover(0, CrashTrigger::OnMessage(message), 1);
    let times = |faults: Vec<Fault>| {
        let settings = Settings { faults, ..busy(3, 3, 1) };
        let (_, trace) = traced(&Simulation::<Permission>::new(Rule::Stamps, settings));
        let crashed = |record: &&Record| record.kind == RecordKind::Crash;
        parsed(&trace).records.iter().filter(crashed).map(|record| record.time).collect::<Vec<_>>()
    };
    let ascending = times(vec![crash_at(1), crash_at(3)]);
    assert_eq!(ascending.len(), 2);
    assert_eq!(ascending, times(vec![crash_at(3), crash_at(1)]));
}

#[test]
fn messages_of_interrupted_step_are_not_counted_as_lost() {
    for seed in 0..8 {
        let faults = vec![crash(0, CrashTrigger::Sending(1))];
        let settings = Settings { workload: Workload::entries(1), faults, ..Settings::new(5) };
        let report = permission(Settings { seed, ..settings });
        let loss = report.faults.iter().find(|count| count.fault == "loss").unwrap();
        assert_eq!((loss.injected, loss.observed), (0, 0), "seed {seed}");
    }
}

#[test]
fn trace_shows_that_a_process_is_down_from_the_start() {
    let mut settings = Settings { workload: Workload::elect_by_all(), ..Settings::new(3) };
    settings.down = vec![ProcessId(2)];
    let (_, trace) = traced(&Simulation::<Highest>::new((), settings));
    let records = parsed(&trace).records;
    let down = records.iter().filter(|record| record.process == ProcessId(2).into());
    let kinds: Vec<&RecordKind> = down.map(|record| &record.kind).collect();
    assert_eq!(kinds, [&RecordKind::Boot, &RecordKind::Crash]);
    assert_eq!((records[3].time, &records[3].kind), (0, &RecordKind::Crash));
}

#[test]
fn automatic_recovery_is_not_counted_as_crash() {
    let faults = vec![crash_and_recover(0, CrashTrigger::At(1_500_000), 3_000_000)];
    let workload = Workload::entries(1);
    let report = permission(Settings { workload, faults, ..Settings::new(3) });
    let seen = |fault| {
        let count = report.faults.iter().find(|count| count.fault == fault).unwrap();
        (count.requested, count.injected, count.observed)
    };
    assert_eq!(["crash", "recovery"].map(seen), [(true, 1, 1), (true, 1, 1)]);
}

#[test]
fn automatic_recovery_ends_only_its_own_crash() {
    let crash_at = |time| {
        let when = CrashTrigger::At(time * TICKS_PER_TIME_UNIT);
        crash_and_recover(1, when, 10 * TICKS_PER_TIME_UNIT)
    };
    let memory = RecoveredState::Stable;
    let recovery = Fault::Recover { process: P2, at: 15 * TICKS_PER_TIME_UNIT, memory };
    let faults = vec![crash_at(10), recovery, crash_at(18)];
    let settings = Settings { workload: Workload::elect_by_all(), faults, ..Settings::new(3) };
    let (_, trace) = traced(&Simulation::<Highest>::new((), settings));
    let trace = parsed(&trace);
    let recovered = trace.records.iter().filter(|record| record.kind == RecordKind::Recover);
    let times: Vec<_> = recovered.map(|record| record.time / TICKS_PER_TIME_UNIT).collect();
    assert_eq!(times, [15, 28]);
}

#[test]
fn warns_about_faults_that_never_occur() {
    let mut settings = Settings { workload: Workload::entries(1), ..Settings::new(2) };
    settings.faults = vec![
        crash(1, CrashTrigger::OnMessage(1000)),
        Fault::Recover { process: P1, at: 1, memory: RecoveredState::Stable },
        Fault::Partition { side: vec![P1], from: 50_000_000, until: Some(60_000_000) },
    ];
    settings.network.loss = tenure_sim::Chance::with_probability(1e-9);
    let report = permission(settings);
    let expected = [
        "loss was requested but never occurred",
        "the crash of P2 never occurred",
        "the recovery of P1 never occurred",
        "a partition stopped no message",
    ];
    assert_eq!(report.warnings, expected);
}

/// The trace contains the groups that remain connected, also if only one of two partitions ends.
#[test]
fn trace_contains_groups_of_overlapping_partitions() {
    let partition = |side: u32, from, until: Option<u64>| Fault::Partition {
        side: vec![ProcessId(side)],
        from: from * TICKS_PER_TIME_UNIT,
        until: until.map(|until| until * TICKS_PER_TIME_UNIT),
    };
    let faults = vec![partition(0, 1, Some(8)), partition(1, 3, Some(5))];
    let mut settings = Settings { workload: Workload::default(), faults, ..Settings::new(3) };
    settings.limits.until = Some(9 * TICKS_PER_TIME_UNIT);
    let (_, trace) = traced(&Simulation::<Ring>::new((), settings));
    let groups = |record: &Record| match &record.kind {
        RecordKind::Partition(groups) => Some(groups.clone()),
        RecordKind::Heal => Some(Vec::new()),
        _ => None,
    };
    let groups: Vec<_> = parsed(&trace).records.iter().filter_map(groups).collect();
    let first = vec![vec![P1], vec![P2, ProcessId(2)]];
    let both = vec![vec![P2], vec![P1], vec![ProcessId(2)]];
    assert_eq!(groups, [first.clone(), both, first, Vec::new()]);
}

/// A message leaves at the end of its step. A partition that ends before does not stop it.
#[test]
fn partition_stops_messages_that_leave_while_it_lasts() {
    let dropped = |from, until: u64| {
        let partition = Fault::Partition {
            side: vec![P1],
            from: from * TICKS_PER_TIME_UNIT,
            until: Some(until * TICKS_PER_TIME_UNIT),
        };
        let faults = vec![partition];
        let mut settings = Settings { workload: Workload::entries(1), faults, ..Settings::new(2) };
        settings.time.step = Distribution::time_units(5);
        settings.limits.until = Some(12 * TICKS_PER_TIME_UNIT);
        permission(settings).metrics.dropped
    };
    assert_eq!(dropped(0, 3), 0, "both requests leave after the partition");
    let times: Vec<u64> = (0..12).filter(|time| dropped(*time, time + 1) == 2).collect();
    assert_eq!(times, [10, 11], "the second step ends at 10, and its messages arrive at 11");
}

#[test]
fn partition_stops_messages_until_it_heals() {
    let partitioned = |from, until| {
        let faults = vec![Fault::Partition { side: vec![P1], from, until }];
        permission(Settings { workload: Workload::entries(1), faults, ..Settings::new(2) })
    };
    let healed = partitioned(0, Some(0));
    assert_eq!(healed.blocked, []);
    let cut = partitioned(0, None);
    assert_eq!(cut.blocked, [P1, P2]);
    assert_eq!(cut.metrics.dropped, 2);
}

#[test]
fn detector_reports_crashes_and_stable_state_survives() {
    let run = |memory| {
        let mut settings = Settings { workload: Workload::elect_by_all(), ..Settings::new(3) };
        settings.faults = vec![
            crash(2, CrashTrigger::At(10_000_000)),
            Fault::Recover { process: ProcessId(2), at: 20_000_000, memory },
        ];
        Simulation::<Highest>::new((), settings).run_and_inspect().unwrap()
    };
    let (report, processes) = run(RecoveredState::Stable);
    assert_eq!(report.judgement_of("validity"), Some(Judgement::Holds));
    assert_eq!(report.leaders, [ProcessId(2)]);
    assert_eq!(processes[0].terms, 3, "elected, suspected, trusted");
    assert_eq!(processes[2].terms, 2, "elected and recovered");
    let (report, _) = run(RecoveredState::Lost);
    assert_eq!(report.blocked, [ProcessId(2)], "the restarted process waits for the leader");
}

#[test]
fn false_suspicion_creates_second_leader() {
    let mut settings = Settings { workload: Workload::elect_by_all(), ..Settings::new(2) };
    settings.faults =
        vec![Fault::Suspicion { observer: P1, peer: P2, from: 5_000_000, until: None }];
    let report = Simulation::<Highest>::new((), settings).run().unwrap();
    assert_eq!(report.judgement_of("agreement"), Some(Judgement::Violated));
    assert_eq!(report.judgement_of("one-leader-at-a-time"), Some(Judgement::Violated));
}

/// Duplicates the messages of Raymond's algorithm at random. A copy of a request causes an
/// additional token, and an additional token causes an additional request. The run must end with
/// the reason `EndReason::Flooded`.
#[test]
fn multiplying_messages_end_run() {
    let mut settings = Settings::new(3);
    (settings.seed, settings.beyond_assumptions) = (4, true);
    settings.workload = Workload::entries(9);
    let config = || raymond::Config::with_tree_shape(TreeShape::Star, 3);
    let run = |settings| unchecked::<Raymond>(config(), settings).run().unwrap();
    let report = run(settings.clone());
    assert_eq!((report.ended, report.metrics.entry_count), (EndReason::Served, 27));
    settings.network.duplication = tenure_sim::Chance::with_probability(0.4);
    let report = run(settings);
    assert_eq!(report.ended, EndReason::Flooded);
    let most = report.metrics.max_in_flight;
    assert!((1 << 16..1 << 18).contains(&most), "{most} messages were under way");
    assert_eq!(report.judgement_of("starvation-freedom"), Some(Judgement::Incomplete));
}

#[test]
fn application_causality_violates_only_wider_order() {
    let mut violated = [0, 0];
    for seed in 0..200 {
        let mut settings = Settings { seed, ..Settings::new(3) };
        settings.workload = talkative(2, Distribution::between_time_units(0, 20));
        settings.network.latency = Distribution::between_time_units(1, 9).into();
        settings.monitoring.order_check = GroupSizeCondition::Always;
        let report = Simulation::<Ring>::new((), settings).run().unwrap();
        violated[0] += u32::from(is_violated(&report, "order"));
        violated[1] += u32::from(is_violated(&report, "order-with-messages"));
    }
    assert!(violated[1] > violated[0], "{violated:?}");
}

#[test]
fn distinguishes_starvation_from_deadlock() {
    // P2's request never arrives in this run; the others take turns meanwhile.
    let mut spans = vec![Distribution::time_units(1); 9];
    spans[3] = Distribution::time_units(1_000_000);
    let mut settings = Settings { workload: Workload::entries(1000), ..Settings::new(3) };
    settings.network.latency = Latency::Links(Arc::from(spans));
    settings.limits.until = Some(1_000_000_000);
    settings.monitoring.properties = Some(vec![Property::Bypass(Some(9))]);
    let config = central::Config::default();
    let report = unchecked::<Central>(config, settings).run().unwrap();
    assert_eq!(
        (report.ended, report.endless_wait_kind),
        (EndReason::TimeLimit, Some(EndlessWaitKind::Starvation))
    );
    assert_eq!(report.judgement_of("starvation-freedom"), Some(Judgement::Incomplete));
    assert_eq!(report.judgement_of("bounded-bypass"), Some(Judgement::Violated));
    assert!(report.bypass_max >= 10, "{}", report.bypass_max);
}

#[test]
fn coordinated_is_judged_as_lock_and_election() {
    // The configuration of `coordinated:bully` in the catalogue.
    let parameters =
        Parameters { variants: vec!["greet".to_owned()], ..Parameters::with_defaults(4) };
    let election: bully::Config = FromParameters::from_parameters(&parameters).unwrap();
    for seed in 0..50 {
        let mut settings =
            seeded(4, seed, Workload::entries(5), Distribution::between_time_units(0, 1));
        settings.workload.initiators = Some(Initiators::All);
        let config = Bully::to_sum_type_config(election.clone()).into();
        let report = simulate::<CoordinatedMember<Bully>>(config, settings);
        assert_eq!(report.failures().next(), None, "seed {seed}");
        assert_eq!(report.metrics.entry_count, 20, "seed {seed}");
        assert_eq!(report.leaders, [ProcessId(3)], "seed {seed}");
        for property in ["mutual-exclusion", "starvation-freedom", "progress", "agreement"] {
            assert!(report.judgement_of(property).is_some(), "{property}");
        }
    }
}

#[test]
fn timestamped_replies_keep_request_order() {
    for seed in 0..300 {
        let mut settings =
            seeded(3, seed, Workload::entries(4), Distribution::exponential_units(3));
        settings.network.order = Some(ChannelOrder::Reordered);
        let report = permission(settings);
        assert_eq!(report.judgement_of("order"), Some(Judgement::Holds), "seed {seed}");
        assert!(report.bypass_max <= 2, "seed {seed}: {}", report.bypass_max);
    }
}
