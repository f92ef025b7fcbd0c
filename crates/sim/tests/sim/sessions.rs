//! Tests of sessions. A session is a run that is paused after each step.

use crate::by_service::{ServiceSimulation, simulation};
use crate::common::runs::{
    assert_hold, crash, crash_and_recover, is_violated, parsed, seeded, text, traced,
};
use crate::common::{Permission, Rule};
use tenure_algorithms::Variants;
use tenure_algorithms::agreement::{ChandyLamport, DrinkingPhilosophers, drinking_philosophers};
use tenure_algorithms::catalogue::SumTypeMember;
use tenure_algorithms::election::{Bully, RaftElection, bully, raft};
use tenure_algorithms::mutex::{RicartAgrawala, SuzukiKasami, ricart_agrawala};
use tenure_core::monitors::LinksOnly;
use tenure_core::{ChannelOrder, Graph, ProcessId, TICKS_PER_TIME_UNIT};
use tenure_sim::{
    Chance, CrashTrigger, Distribution, EndReason, Fault, InteractiveStepError, Intervention,
    PlannedRunError, RequestPattern, RunControls, RunReport, Settings, Simulation, Workload,
};
use tenure_trace::{RecordableProtocol, Schedule, ScriptAction, TraceBuffer};

fn action(words: &str) -> ScriptAction {
    words.parse().unwrap()
}

fn steered<P: RecordableProtocol>(
    simulation: &Simulation<P>,
    interventions: &[&str],
) -> Result<(RunReport, String), PlannedRunError> {
    let buffer = TraceBuffer::default();
    let steers: Vec<Intervention> =
        interventions.iter().map(|words| words.parse().unwrap()).collect();
    let report =
        simulation.run_with_interventions(&steers, None, buffer.clone(), RunControls::new())?;
    Ok((report, text(&buffer)))
}

/// Returns settings of a lock with random delays, losses, duplicates, crashes, recoveries and
/// partitions.
fn locks(seed: u64) -> Settings {
    let mut settings =
        seeded(4, seed, Workload::entries(3), Distribution::between_time_units(1, 5));
    settings.beyond_assumptions = true;
    match seed % 4 {
        0 => {
            settings.workload.locking.as_mut().unwrap().pattern =
                RequestPattern::Sequential { total: 9 }
        }
        1 => settings.network.loss = Chance::with_probability(0.05),
        2 => {
            settings.network.duplication = Chance::with_probability(0.2);
            settings.network.order = Some(ChannelOrder::Reordered);
        }
        _ => settings.faults = crash_and_cut(),
    }
    settings
}

fn crash_and_cut() -> Vec<Fault> {
    let (soon, later) = (4 * TICKS_PER_TIME_UNIT, 9 * TICKS_PER_TIME_UNIT);
    let when = CrashTrigger::Inside { entry: 1, after: TICKS_PER_TIME_UNIT / 2 };
    vec![
        crash_and_recover(2, when, later),
        Fault::Partition { side: vec![ProcessId(0)], from: soon, until: Some(later) },
    ]
}

fn elections(seed: u64) -> Settings {
    let mut settings = Settings { seed, workload: Workload::elect_by_all(), ..Settings::new(4) };
    settings.beyond_assumptions = true;
    settings.faults = vec![crash(3, CrashTrigger::At(seed * TICKS_PER_TIME_UNIT / 3))];
    settings.limits.until = seed.is_multiple_of(2).then_some(60 * TICKS_PER_TIME_UNIT);
    settings
}

/// Steps through a run to its end. Asserts that its report and trace equal the report and trace of
/// a run without pauses.
fn assert_steps_equal_run<P>(config: P::Config, settings: Settings)
where
    P: SumTypeMember<Sum: RecordableProtocol>,
{
    let seed = settings.seed;
    let simulation = simulation::<P>(config, settings);
    let (expected, trace) = traced(&simulation);
    let stepped = TraceBuffer::default();
    let mut session = simulation.interactive_run(stepped.clone()).unwrap();
    let mut unforeseen = 0;
    let ended = loop {
        let next = session.describe_next_step();
        let (steps, records, now) = (session.step_count(), session.record_count(), session.now());
        match session.step() {
            Err(InteractiveStepError::Ended(ended)) => break ended,
            Err(halt) => panic!("seed {seed}: {halt:?}"),
            Ok(()) => {
                let next = next.unwrap_or_else(|| panic!("seed {seed}: step {steps} was not next"));
                assert_eq!(session.step_count(), steps + 1, "seed {seed}");
                assert_eq!(session.now(), next.time.max(now), "seed {seed}: {next:?}");
                unforeseen += u32::from(session.record_count() == records);
            }
        }
    };
    assert!(unforeseen <= 1 + session.step_count() as u32 / 2, "seed {seed}: steps do something");
    assert_eq!(session.describe_next_step(), None, "seed {seed}");
    assert_eq!(
        session.step(),
        Err(InteractiveStepError::Ended(ended)),
        "seed {seed}: an end is an end"
    );
    assert_eq!(session.stop().unwrap(), expected, "seed {seed}");
    assert_eq!(text(&stepped), trace, "seed {seed}");
    assert_eq!(steered(&simulation, &[]).unwrap(), (expected, trace), "seed {seed}");
}

#[test]
fn stepped_session_equals_run() {
    for seed in 0..24 {
        assert_steps_equal_run::<RicartAgrawala>(ricart_agrawala::Config::default(), locks(seed));
        assert_steps_equal_run::<SuzukiKasami>((), locks(seed));
        assert_steps_equal_run::<Bully>(
            bully::Config::with_defaults(4, TICKS_PER_TIME_UNIT),
            elections(seed),
        );
        assert_steps_equal_run::<RaftElection>(
            raft::Config::with_defaults(4, TICKS_PER_TIME_UNIT),
            elections(seed),
        );
    }
}

#[test]
fn session_respects_run_limits() {
    for events in [1, 7, 40, 5000] {
        let mut settings = elections(3);
        settings.limits.until = Some(2000 * TICKS_PER_TIME_UNIT);
        settings.limits.events = Some(events);
        assert_steps_equal_run::<RaftElection>(
            raft::Config::with_defaults(4, TICKS_PER_TIME_UNIT),
            settings,
        );
    }
}

#[test]
fn reports_across_partition_are_steps() {
    for seed in 0..8 {
        let mut settings = elections(seed);
        let (from, until) = (5 * TICKS_PER_TIME_UNIT, Some(50 * TICKS_PER_TIME_UNIT));
        settings.faults = vec![Fault::Partition { side: vec![ProcessId(0)], from, until }];
        assert_steps_equal_run::<Bully>(
            bully::Config::with_defaults(4, TICKS_PER_TIME_UNIT),
            settings,
        );
    }
}

fn three(entries: u32) -> ServiceSimulation<RicartAgrawala> {
    let settings = Settings { workload: Workload::entries(entries), ..Settings::new(3) };
    simulation::<RicartAgrawala>(ricart_agrawala::Config::default(), settings)
}

#[test]
fn losing_request_leaves_sender_waiting() {
    let simulation = three(1);
    let (report, _) = steered(&simulation, &["1 lose p1→p2 request"]).unwrap();
    assert!(is_violated(&report, "starvation-freedom"));
    assert!(report.blocked.contains(&ProcessId(0)));
    assert_eq!(report.metrics.dropped, 1);
    let (served, _) = steered(&simulation, &[]).unwrap();
    assert_hold(&served, &["starvation-freedom"], "without it, all are served");
}

#[test]
fn intervention_takes_effect_immediately() {
    let simulation = three(1);
    let mut session = simulation.interactive_run(TraceBuffer::default()).unwrap();
    session.step().unwrap();
    let before = session.in_flight().len();
    session.intervene(&action("duplicate p1→p2 request")).unwrap();
    assert_eq!(session.in_flight().len(), before + 1);
    let ids: Vec<u64> = session.in_flight().iter().map(|sent| sent.id).collect();
    assert!(ids.iter().all(|id| ids.iter().filter(|other| *other == id).count() == 1), "{ids:?}");
    session.intervene(&action("lose p1→p2 request 2")).unwrap();
    session.intervene(&action("deliver p3→p1 request")).unwrap();
    assert_eq!((session.now(), session.step_count()), (0, 1), "no time passes");
    let due = |session: &tenure_sim::InteractiveRun<'_, <RicartAgrawala as SumTypeMember>::Sum>| {
        let sent = session.in_flight();
        sent.iter().find(|sent| (sent.from, sent.to) == (ProcessId(1), ProcessId(2))).unwrap().due
    };
    let usual = due(&session);
    session.intervene(&action("delay p2→p3 by 2.5")).unwrap();
    assert_eq!(due(&session), usual + 2_500_000);
    session.intervene(&action("crash p3")).unwrap();
    assert!(!session.is_up(ProcessId(2)));
    session.intervene(&action("recover p3")).unwrap();
    assert!(session.is_up(ProcessId(2)));
}

#[test]
fn impossible_intervention_changes_nothing() {
    let simulation = three(1);
    let buffer = TraceBuffer::default();
    let mut session = simulation.interactive_run(buffer.clone()).unwrap();
    session.step().unwrap();
    for words in [
        "lose p1→p2 reply",
        "lose p1→p2 request 2",
        "lose p1→p9",
        "deliver p2→p2",
        "crash p9",
        "recover p1",
        "fire p1 nothing",
        "enter p1",
        "exit p1",
        "suspect p1 p1",
        "suspect p1 p9",
        "enter p9",
        "tell p1→p2",
        "group 3",
        "stabilize",
        "look p1",
    ] {
        let refused = session.intervene(&action(words)).unwrap_err();
        assert_eq!(refused.to_string(), format!("`{words}` is not possible now"));
    }
    let unknown = session.intervene(&action("elect p1")).unwrap_err().to_string();
    assert!(unknown.starts_with("`elect p1` is not a command of this protocol"), "{unknown}");
    while session.step().is_ok() {}
    let report = session.stop().unwrap();
    assert_eq!((report, text(&buffer)), traced(&simulation));
}

/// Delays a message of a FIFO link at each moment at which one is in transit.
#[test]
fn delayed_message_keeps_fifo_order() {
    let mut checked = 0;
    for (seed, moment) in (0..5).flat_map(|seed| (1..60).map(move |moment| (seed, moment))) {
        let mut settings = Settings { seed, workload: Workload::entries(4), ..Settings::new(3) };
        settings.network.order = Some(ChannelOrder::Fifo);
        let config = ricart_agrawala::Config::default();
        let simulation = simulation::<RicartAgrawala>(config, settings);
        let delay = format!("{moment} delay p1→p2 by 5");
        let ran = steered(&simulation, &[&delay]);
        if let Err(PlannedRunError::Impossible(_)) = ran {
            continue;
        }
        let mut received = Vec::new();
        for line in ran.unwrap().1.lines().filter(|line| line.contains("\"receive\"")) {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            if line["process"] == 2 && line["data"]["peer"] == 1 {
                received.push(line["data"]["number"].as_u64().unwrap());
            }
        }
        let context = format!("seed {seed}, {delay}: {received:?}");
        assert!(received.len() > 4 && received.is_sorted(), "{context}");
        checked += 1;
    }
    assert!(checked >= 20, "a message was delayed in {checked} runs");
}

#[test]
fn intervention_crashes_leader_without_planned_fault() {
    let settings = Settings { workload: Workload::elect_by_all(), ..Settings::new(4) };
    let config = bully::Config::with_defaults(4, TICKS_PER_TIME_UNIT);
    let simulation = simulation::<Bully>(config, settings);
    let mut session = simulation.interactive_run(TraceBuffer::default()).unwrap();
    while session.step().is_ok() {}
    session.intervene(&action("crash p4")).unwrap();
    assert!(session.describe_next_step().is_some(), "the run continues");
    while session.step().is_ok() {}
    let report = session.stop().unwrap();
    assert_eq!((report.ended, report.leaders), (EndReason::Served, vec![ProcessId(2)]));
}

#[test]
fn reports_impossible_interventions() {
    let run = |words: &[&str]| steered(&three(1), words).map(drop).unwrap_err().to_string();
    let description = "'3 crash p9' is not possible after that step";
    assert_eq!(run(&["3 crash p9"]), description);
    let unknown = run(&["3 foo p1"]);
    assert!(unknown.starts_with("`foo p1` is not a command of this protocol"), "{unknown}");
    assert!(run(&["900 crash p1"]).starts_with("'900 crash p1' comes too late: the run ended"));
    assert_eq!(
        run(&["3 crash p1", "2 crash p2"]),
        "'2 crash p2' follows an intervention with a later step: order them by step"
    );
    for wrong in ["", "3", "x crash p1", "3 crash", "-1 crash p1", "3 delay p1→p2"] {
        assert!(wrong.parse::<Intervention>().is_err(), "{wrong}");
    }
}

#[test]
fn stopped_run_is_prefix_of_whole() {
    let simulation = three(2);
    let stopped = |most| {
        let buffer = TraceBuffer::default();
        simulation.run_with_interventions(&[], most, buffer.clone(), RunControls::new()).unwrap();
        text(&buffer)
    };
    let (whole, part) = (stopped(None), stopped(Some(10)));
    assert!(part.len() < whole.len() && whole.starts_with(&part));
}

/// A session that follows a complete schedule must repeat the run from which the schedule was made.
/// If the caller intervenes after a step, the session must drop the rest of the schedule and
/// continue the run.
#[test]
fn schedule_can_be_left_at_any_step() {
    let simulation = three(1);
    let schedule = Schedule::from_trace(&parsed(&traced(&simulation).1)).unwrap();
    let followed = TraceBuffer::default();
    simulation.run_schedule(&schedule, followed.clone()).unwrap();
    for left_after in 0..=schedule.actions.len() {
        let walked = TraceBuffer::default();
        let mut session =
            simulation.interactive_run_of_schedule(&schedule, walked.clone()).unwrap();
        for _ in 0..left_after {
            let next = session.describe_next_step().expect("the schedule continues");
            session.step().unwrap();
            assert_eq!(session.now(), next.time, "{}", next.description);
        }
        if left_after == schedule.actions.len() {
            let _ = session.stop().unwrap();
            let all: Vec<_> = text(&followed).lines().map(str::to_owned).collect();
            let walked: Vec<_> = text(&walked).lines().map(str::to_owned).collect();
            assert_eq!(walked[..], all[..walked.len()]);
            assert_eq!(walked.len() + 1, all.len(), "all but that the run is over");
            break;
        }
        session.intervene(&action("crash p3")).unwrap();
        while session.step().is_ok() {}
        let report = session.stop().unwrap();
        assert_eq!(report.ended, EndReason::Quiescent, "left after {left_after}");
    }
}

#[test]
fn refuses_processes_outside_the_group() {
    let unknown = ProcessId(8);
    let follow = |down_at_start, actions| {
        let schedule = Schedule { size: 3, down_at_start, actions, cycle_length: 0 };
        let followed = three(1).run_schedule(&schedule, TraceBuffer::default());
        followed.map(drop).unwrap_err().to_string()
    };
    let message = "the list of crashed processes names P9, but the group is P1 to P3";
    assert_eq!(follow(vec![unknown], Vec::new()), message);
    let tell = ScriptAction::Tell { from: ProcessId(0), to: unknown };
    assert!(follow(Vec::new(), vec![tell]).contains("tell p1→p9"));
    for words in ["enter p9", "fire p9 x", "suspect p1 p9", "recover p9", "delay p1→p9 by 5"] {
        assert!(follow(Vec::new(), vec![action(words)]).contains("p9"), "{words}");
    }
    let settings = Settings { workload: Workload::entries(1), ..Settings::new(3) };
    let command = tenure_core::service::mutex::Command::Enter;
    let simulation = Simulation::<Permission>::new(Rule::Stamps, settings.clone());
    let commanded = simulation.with_command(0, unknown, command).run();
    let message = "a command names P9, but the group is P1 to P3";
    assert_eq!(commanded.unwrap_err().to_string(), message);
    let line = std::sync::Arc::new(Graph::line(2));
    let mut conflicting = settings.clone();
    conflicting.monitoring.conflicts = Some(line.clone());
    let mut linked = settings;
    linked.monitoring.allowed_links = Some(LinksOnly::in_graph(line));
    for (settings, graph) in [(conflicting, "conflicts"), (linked, "links")] {
        let error = Simulation::<Permission>::new(Rule::Stamps, settings).run().unwrap_err();
        let message = format!("the graph of {graph} has 2 vertices for 3 processes: add vertices");
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn refuses_command_with_peer_outside_the_group() {
    let simulation =
        Simulation::<ChandyLamport>::for_algorithm(Variants::none(), Settings::new(2)).unwrap();
    let mut session = simulation.interactive_run(TraceBuffer::default()).unwrap();
    assert!(session.intervene(&action("give p1→p9 1")).is_err());
    session.intervene(&action("give p1→p2 1")).unwrap();
}

/// A trace with such a command could not be read again.
#[test]
fn refuses_command_that_lists_a_process_outside_the_group() {
    let config = drinking_philosophers::Config::with_graph(Graph::complete(3));
    let simulation =
        Simulation::<DrinkingPhilosophers>::for_algorithm(config, Settings::new(3)).unwrap();
    let buffer = TraceBuffer::default();
    let mut session = simulation.interactive_run(buffer.clone()).unwrap();
    assert!(session.intervene(&action("thirst p1 2,9")).is_err());
    session.intervene(&action("thirst p1 2,3")).unwrap();
    let _ = session.stop().unwrap();
    parsed(&text(&buffer));
}
