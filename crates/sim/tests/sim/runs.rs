//! A run does what its settings say, and is judged rightly.

use std::sync::Arc;

use crate::common::{Extrema, Highest, Permission, Ring, Rule};
use tenure_algorithms::mutex::{Central, Raymond, central, raymond};
use tenure_core::tree::Shape;
use tenure_core::{Algorithm, Office, Order, ProcessId, Property, Rank};
use tenure_sim::{
    Chatter, Ended, Entries, Fault, Initiators, Judgement, Latency, Locking, Memory, Pattern,
    Report, Settings, Simulation, Span, Stuck, Watched, When, Workload,
};

const P1: ProcessId = ProcessId(0);
const P2: ProcessId = ProcessId(1);

fn permission(settings: Settings) -> Report {
    let seed = settings.seed;
    let report = Simulation::<Permission>::new(Rule::Stamps, settings).run().unwrap();
    assert_eq!(report.seed, seed);
    report
}

fn ring_of(ids: &[u32]) -> (Settings, tenure_sim::Configs<u32>) {
    let mut settings = Settings::new(ids.len() as u32);
    settings.ranks = ids.iter().map(|id| Rank::of_id(*id)).collect();
    settings.workload = Workload::elect();
    (settings, tenure_sim::Configs::Each(ids.to_vec()))
}

#[test]
fn everybody_enters_as_often_as_asked_at_two_messages_for_each_peer() {
    for seed in 0..200 {
        let mut settings = Settings::new(5);
        settings.seed = seed;
        settings.workload = Workload::entries(3);
        settings.network.latency = Span::between_units(1, 9).into();
        let report = permission(settings);
        assert_eq!(report.ended, Ended::Served, "seed {seed}");
        assert_eq!(report.metrics.entered, 15, "seed {seed}");
        assert_eq!(report.metrics.sent, 15 * 8, "seed {seed}");
        assert_eq!(report.failures().next(), None, "seed {seed}");
    }
}

#[test]
fn unit_delays_give_the_delays_of_the_books() {
    let mut settings = Settings::new(3);
    settings.workload = Workload::sequential(20);
    let report = permission(settings);
    let delays = &report.metrics.entry_delay;
    assert_eq!((delays.count, delays.mean(), delays.longest), (20, 2e6, 2_000_000));
    assert_eq!(report.metrics.exit_delay.longest, 0);
    assert_eq!(report.metrics.synchronisation_delay.count, 0, "nobody ever waited");

    let mut settings = Settings::new(3);
    settings.workload = Workload::entries(2);
    let report = permission(settings);
    let handed_on = &report.metrics.synchronisation_delay;
    assert_eq!((handed_on.mean(), handed_on.longest), (1e6, 1_000_000));
    assert_eq!(report.metrics.waiting.highest, 3);
}

#[test]
fn a_mistake_in_the_rule_is_seen() {
    let mut settings = Settings::new(3);
    settings.workload = Workload::entries(1);
    let everybody = Simulation::<Permission>::new(Rule::ReplyAlways, settings.clone());
    let report = everybody.run().unwrap();
    assert_eq!(report.verdict("mutual-exclusion"), Some(Judgement::Violated));
    assert_eq!(report.verdict("starvation-freedom"), Some(Judgement::Holds));
    let nobody = Simulation::<Permission>::new(Rule::DeferAlways, settings).run().unwrap();
    assert_eq!(nobody.verdict("mutual-exclusion"), Some(Judgement::Holds));
    assert_eq!(nobody.verdict("starvation-freedom"), Some(Judgement::Violated));
    assert_eq!(nobody.verdict("deadlock-freedom"), Some(Judgement::Violated));
    assert_eq!(nobody.ended, Ended::Quiescent);
    assert_eq!(nobody.blocked.len(), 3);
    assert_eq!(nobody.stuck, Some(Stuck::Deadlock));
}

#[test]
fn the_decreasing_ring_of_five_costs_twenty_messages_and_ten_units() {
    let (settings, ids) = ring_of(&[5, 4, 3, 2, 1]);
    let report = Simulation::<Extrema>::new(ids, settings).named("chang-roberts").run().unwrap();
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
fn equal_ids_make_several_leaders_and_that_is_a_violation() {
    let mut settings = Settings::new(4);
    settings.workload = Workload::elect();
    let report = Simulation::<Extrema>::new(7, settings).run().unwrap();
    assert_eq!(report.verdict("uniqueness"), Some(Judgement::Violated));
    assert_eq!(report.verdict("irrevocability"), Some(Judgement::Violated));
    assert_eq!(report.verdict("agreement"), Some(Judgement::Violated));
    assert_eq!(report.verdict("one-leader-at-a-time"), Some(Judgement::Violated));
}

#[test]
fn a_run_ends_although_the_token_goes_round_for_ever() {
    let mut settings = Settings::new(4);
    settings.workload = Workload::entries(2);
    let report = Simulation::<Ring>::new((), settings.clone()).run().unwrap();
    assert_eq!((report.ended, report.metrics.entered), (Ended::Served, 8));
    assert_eq!(report.bypass_max, 1);

    settings.workload = Workload::default();
    settings.limits.until = Some(100_000_000);
    let idle = Simulation::<Ring>::new((), settings).run().unwrap();
    assert_eq!((idle.ended, idle.finished_at), (Ended::Until, 100_000_000));
    assert!((60..=80).contains(&idle.metrics.sent), "{} laps of 1 to 2", idle.metrics.sent);
}

#[test]
fn a_lost_token_blocks_everybody_who_waits() {
    let mut settings = Settings::new(3);
    settings.workload = Workload::entries(1);
    settings.network.loss = tenure_sim::Chance::at_most(1.0, 1);
    let report = Simulation::<Ring>::new((), settings).run().unwrap();
    assert_eq!(report.metrics.entered, 1);
    assert_eq!(report.blocked, [P2, ProcessId(2)]);
    let loss = report.faults.iter().find(|count| count.fault == "loss").unwrap();
    assert_eq!((loss.injected, loss.observed), (1, 1));
}

#[test]
fn a_duplicated_token_lets_two_in() {
    let violated = (0..50).filter(|seed| {
        let mut settings = Settings::new(3);
        settings.seed = *seed;
        settings.workload = Workload::entries(3);
        settings.network.latency = Span::between_units(1, 5).into();
        settings.network.duplication = tenure_sim::Chance::at_most(0.5, 1);
        let report = Simulation::<Ring>::new((), settings).run().unwrap();
        report.verdict("mutual-exclusion") == Some(Judgement::Violated)
    });
    assert!(violated.count() > 10);
}

#[test]
fn crashes_come_at_a_time_on_a_message_inside_and_while_waiting() {
    let cases = [
        When::At(1_500_000),
        When::OnMessage(2),
        When::Inside { entry: 1, after: 500_000 },
        When::Waiting { request: 1, after: 0 },
    ];
    for when in cases {
        let mut settings = Settings::new(3);
        settings.workload = Workload::entries(1);
        settings.faults = vec![Fault::Crash { process: P1, when, recovery: None }];
        let report = permission(settings);
        assert_eq!(report.blocked, [P2, ProcessId(2)], "{when:?}");
        assert_eq!(report.warnings, [""; 0], "{when:?}");
        let crash = report.faults.iter().find(|count| count.fault == "crash").unwrap();
        assert_eq!((crash.injected, crash.observed), (1, 1), "{when:?}");
    }
}

#[test]
fn a_comeback_is_a_recovery_and_not_another_crash() {
    let mut settings = Settings::new(3);
    settings.workload = Workload::entries(1);
    let recovery = Some(tenure_sim::Recovery { after: 3_000_000, memory: Memory::Stable });
    settings.faults = vec![Fault::Crash { process: P1, when: When::At(1_500_000), recovery }];
    let report = permission(settings);
    let seen = |fault| {
        let count = report.faults.iter().find(|count| count.fault == fault).unwrap();
        (count.asked, count.injected, count.observed)
    };
    assert_eq!(["crash", "recovery"].map(seen), [(true, 1, 1), (true, 1, 1)]);
}

#[test]
fn a_fault_that_never_fires_is_a_warning() {
    let mut settings = Settings::new(2);
    settings.workload = Workload::entries(1);
    let when = When::OnMessage(1000);
    settings.faults = vec![
        Fault::Crash { process: P2, when, recovery: None },
        Fault::Recover { process: P1, at: 1, memory: Memory::Stable },
        Fault::Partition { side: vec![P1], from: 50_000_000, until: Some(60_000_000) },
    ];
    settings.network.loss = tenure_sim::Chance::of(1e-9);
    let report = permission(settings);
    let expected = [
        "loss was asked for but never happened",
        "the crash of P2 never happened",
        "the recovery of P1 never happened",
        "a partition stopped no message",
    ];
    assert_eq!(report.warnings, expected);
}

#[test]
fn a_partition_stops_messages_until_it_heals() {
    let partitioned = |from, until| {
        let mut settings = Settings::new(2);
        settings.workload = Workload::entries(1);
        settings.faults = vec![Fault::Partition { side: vec![P1], from, until }];
        permission(settings)
    };
    let healed = partitioned(0, Some(0));
    assert_eq!(healed.blocked, []);
    let cut = partitioned(0, None);
    assert_eq!(cut.blocked, [P1, P2]);
    assert_eq!(cut.metrics.dropped, 2);
}

#[test]
fn the_detector_tells_of_crashes_and_recoveries_and_stable_state_survives() {
    let run = |memory| {
        let mut settings = Settings::new(3);
        settings.workload = Workload::elect();
        let crash = When::At(10_000_000);
        settings.faults = vec![
            Fault::Crash { process: ProcessId(2), when: crash, recovery: None },
            Fault::Recover { process: ProcessId(2), at: 20_000_000, memory },
        ];
        let simulation = Simulation::<Highest>::new((), settings);
        simulation.run_and_inspect().unwrap()
    };
    let (report, processes) = run(Memory::Stable);
    assert_eq!(report.verdict("validity"), Some(Judgement::Holds));
    assert_eq!(report.leaders, [ProcessId(2)]);
    assert_eq!(processes[0].terms(), 3, "elected, suspected, trusted");
    assert_eq!(processes[2].terms(), 2, "elected and recovered");
    let (report, _) = run(Memory::Lost);
    assert_eq!(report.blocked, [ProcessId(2)], "who forgot everything waits to be told");
}

#[test]
fn a_false_suspicion_makes_a_second_leader() {
    let mut settings = Settings::new(2);
    settings.workload = Workload::elect();
    settings.faults =
        vec![Fault::Suspicion { observer: P1, peer: P2, from: 5_000_000, until: None }];
    let report = Simulation::<Highest>::new((), settings).run().unwrap();
    assert_eq!(report.verdict("agreement"), Some(Judgement::Violated));
    assert_eq!(report.verdict("one-leader-at-a-time"), Some(Judgement::Violated));
}

/// Each copy of a request brings the token once more, and each token asks again.
#[test]
fn messages_that_make_more_of_themselves_end_a_run() {
    let mut settings = Settings::new(3);
    (settings.seed, settings.beyond_assumptions) = (4, true);
    settings.workload = Workload::entries(9);
    let config = || raymond::Config::of(Shape::Star, 3);
    let run = |settings| Simulation::<Raymond>::new(config(), settings).run().unwrap();
    let report = run(settings.clone());
    assert_eq!((report.ended, report.metrics.entered), (Ended::Served, 27));
    settings.network.duplication = tenure_sim::Chance::of(0.4);
    let report = run(settings);
    assert_eq!(report.ended, Ended::Flooded);
    let most = report.metrics.in_flight_most;
    assert!((1 << 16..1 << 18).contains(&most), "{most} messages were under way");
    assert_eq!(report.verdict("starvation-freedom"), Some(Judgement::Incomplete));
}

#[test]
fn a_request_told_past_the_lock_is_overtaken_only_in_the_wider_order() {
    let mut violated = [0, 0];
    for seed in 0..200 {
        let mut settings = Settings::new(3);
        settings.seed = seed;
        let locking = Locking {
            pattern: Pattern::Closed { think: Span::between_units(0, 20) },
            entries: Entries::Each(2),
            hold: Span::units(1),
        };
        let chatter = Chatter::always(Span::units(1));
        settings.workload = Workload::locking(locking).with_chatter(chatter);
        settings.network.latency = Span::between_units(1, 9).into();
        settings.watch.order = Watched::Always;
        let report = Simulation::<Ring>::new((), settings).run().unwrap();
        let of = |property| report.verdict(property) == Some(Judgement::Violated);
        violated[0] += u32::from(of("order"));
        violated[1] += u32::from(of("order-with-messages"));
    }
    assert!(violated[1] > violated[0], "{violated:?}");
}

#[test]
fn starvation_is_told_apart_from_deadlock() {
    // P2's request takes for ever, as far as this run goes; the others take turns meanwhile.
    let mut spans = vec![Span::units(1); 9];
    spans[3] = Span::units(1_000_000);
    let mut settings = Settings::new(3);
    settings.network.latency = Latency::Links(Arc::from(spans));
    settings.workload = Workload::entries(1000);
    settings.limits.until = Some(1_000_000_000);
    settings.watch.properties = Some(vec![Property::Bypass(Some(9))]);
    let config = central::Config::default();
    let report = Simulation::<Central>::new(config, settings).run().unwrap();
    assert_eq!((report.ended, report.stuck), (Ended::Until, Some(Stuck::Starvation)));
    assert_eq!(report.verdict("starvation-freedom"), Some(Judgement::Incomplete));
    assert_eq!(report.verdict("bounded-bypass"), Some(Judgement::Violated));
    assert!(report.bypass_max >= 10, "{}", report.bypass_max);
}

#[test]
fn an_office_elects_and_locks_and_is_judged_by_both() {
    use tenure_algorithms::catalogue::{OfficeVisitor, Parameters, visit_office};
    struct Run(Settings);
    impl OfficeVisitor for Run {
        type Output = Report;

        fn office<P: Office + Algorithm>(self, config: P::Config) -> Report {
            Simulation::<P>::of(config, self.0).unwrap().run().unwrap()
        }
    }
    for seed in 0..50 {
        let mut settings = Settings::new(4);
        settings.seed = seed;
        settings.workload = Workload::entries(5);
        settings.workload.initiators = Some(Initiators::All);
        settings.network.latency = Span::between_units(0, 1).into();
        let parameters = Parameters::plain(4);
        let report = visit_office("coordinated:bully", "bully", &parameters, Run(settings));
        let report = report.unwrap();
        assert_eq!(report.failures().next(), None, "seed {seed}");
        assert_eq!(report.metrics.entered, 20, "seed {seed}");
        assert_eq!(report.leaders, [ProcessId(3)], "seed {seed}");
        for property in ["mutual-exclusion", "starvation-freedom", "progress", "agreement"] {
            assert!(report.verdict(property).is_some(), "{property}");
        }
    }
}

#[test]
fn stamped_replies_keep_the_order_of_requests() {
    for seed in 0..300 {
        let mut settings = Settings::new(3);
        settings.seed = seed;
        settings.workload = Workload::entries(4);
        settings.network.latency = Span::exponential_units(3).into();
        settings.network.order = Some(Order::Reordered);
        let report = permission(settings);
        assert_eq!(report.verdict("order"), Some(Judgement::Holds), "seed {seed}");
        assert!(report.bypass_max <= 2, "seed {seed}: {}", report.bypass_max);
    }
}
