//! Tests of properties that all pictures and exported logs must have, for many simulated runs.

use std::collections::{BTreeMap, HashMap};

use tenure_algorithms::catalogue::SumTypeMember;
use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::mutex::{
    Lamport, RicartAgrawala, SuzukiKasami, TokenRing, lamport, ricart_agrawala, token_ring,
};
use tenure_core::{Algorithm, ProcessId, TICKS_PER_TIME_UNIT};
use tenure_sim::{Chance, CrashTrigger, Distribution, Simulation, Workload};
use tenure_trace::diagram::{
    DiagramClock, DiagramOptions, MessageOutcome, RowLabel, TimeAxis, TimeDirection, lay_out,
};
use tenure_trace::export::{from_shiviz, to_mermaid, to_otel, to_shiviz};
use tenure_trace::{Record, RecordKind, RecordSubject, RecordableProtocol, Trace};

use crate::by_service::CoordinatedMember;
use crate::common::runs::{crash_and_recover, parsed, seeded, traced};

/// Returns the trace of a run in which many faults occur.
fn eventful<P: Algorithm + RecordableProtocol>(config: P::Config, seed: u64) -> Trace {
    let mut settings =
        seeded(4, seed, Workload::entries(2), Distribution::between_time_units(1, 6));
    settings.network.loss = Chance::with_probability(0.05);
    settings.network.duplication = Chance::with_probability(0.05);
    settings.faults = vec![crash_and_recover(1, CrashTrigger::At(7_000_000), 9_000_000)];
    settings.beyond_assumptions = true;
    settings.limits.events = Some(400);
    parsed(&traced(&Simulation::<P>::for_algorithm(config, settings).unwrap()).1)
}

/// Returns the trace of a run in which many faults occur. The simulated type is the sum type that
/// all algorithms of a service share, so the simulator is compiled once for them.
fn eventful_member<P: SumTypeMember<Sum: RecordableProtocol>>(
    config: P::Config,
    seed: u64,
) -> Trace {
    eventful::<P::Sum>(P::to_sum_type_config(config), seed)
}

fn every_run(check: impl Fn(&Trace, &str)) {
    for seed in 1..=4 {
        let bully = bully::Config::with_defaults(4, TICKS_PER_TIME_UNIT);
        let runs = [
            eventful_member::<RicartAgrawala>(ricart_agrawala::Config::default(), seed),
            eventful_member::<Lamport>(lamport::Config::default(), seed),
            eventful_member::<SuzukiKasami>((), seed),
            eventful_member::<TokenRing>(token_ring::Config::default(), seed),
            eventful_member::<Bully>(bully.clone(), seed),
            eventful::<CoordinatedMember<Bully>>(Bully::to_sum_type_config(bully).into(), seed),
        ];
        for trace in runs {
            let context = format!("{}, seed {seed}", trace.header.algorithm);
            assert!(trace.records.len() > 8, "{context}: something happens");
            check(&trace, &context);
        }
    }
}

/// Returns the relation *happened before* as a matrix: `pasts[i][j]` is true if the record `j`
/// happened before the record `i`. The function derives the relation from the order of records at
/// each process, and from the messages.
fn pasts(records: &[Record]) -> Vec<Vec<bool>> {
    let mut latest: BTreeMap<RecordSubject, usize> = BTreeMap::new();
    let mut sent: HashMap<(ProcessId, u64, ProcessId, u64), usize> = HashMap::new();
    let mut pasts: Vec<Vec<bool>> = Vec::new();
    for (place, record) in records.iter().enumerate() {
        let mut causes: Vec<usize> = latest.insert(record.process, place).into_iter().collect();
        match (record.process, &record.kind) {
            (RecordSubject::Process(at), RecordKind::Send(message_record)) => {
                sent.insert(
                    (at, record.session, message_record.peer, message_record.number),
                    place,
                );
            }
            (RecordSubject::Process(at), RecordKind::Receive(message_record)) => {
                let key = (message_record.peer, message_record.session, at, message_record.number);
                causes.extend(sent.get(&key));
            }
            _ => {}
        }
        let mut past = vec![false; records.len()];
        for cause in causes {
            past.iter_mut().zip(&pasts[cause]).for_each(|(mine, theirs)| *mine |= theirs);
            past[cause] = true;
        }
        pasts.push(past);
    }
    pasts
}

/// Returns the host and the vector clock of each event in an exported log.
fn clocks(log: &str) -> Vec<(String, BTreeMap<String, u64>)> {
    let lines: Vec<&str> = log.lines().skip(3).collect();
    let clock = |event: &[&str]| {
        let (host, clock) = event[0].split_once(' ').unwrap();
        (host.to_owned(), serde_json::from_str(clock).unwrap())
    };
    lines.chunks(3).map(clock).collect()
}

#[test]
fn shiviz_round_trip_keeps_events_and_causality() {
    every_run(|trace, context| {
        let log = to_shiviz(&trace.header, &trace.records);
        let back = from_shiviz(&log).unwrap();
        assert_eq!(&back, trace, "{context}");
        let (pasts, clocks) = (pasts(&back.records), clocks(&log));
        assert_eq!(clocks.len(), pasts.len(), "{context}");
        for (later, past) in pasts.iter().enumerate() {
            for (earlier, (host, clock)) in clocks.iter().enumerate() {
                let known = clocks[later].1.get(host).copied().unwrap_or(0);
                let before = earlier != later && clock[host] <= known;
                assert_eq!(before, past[earlier], "{context}: {earlier} before {later}?");
            }
        }
    });
}

#[test]
#[ignore = "long: 5 s"]
fn diagram_messages_go_forward_in_time() {
    every_run(|trace, context| {
        for scale in [TimeAxis::Time, TimeAxis::Causal] {
            let view =
                DiagramOptions { scale, clock: DiagramClock::Vector, ..DiagramOptions::default() };
            let layout = lay_out(&trace.header, &trace.records, view);
            for arrow in layout.arrows.iter().filter(|it| it.outcome == MessageOutcome::Arrives) {
                let (Some(sent), Some(ended)) = (arrow.sent_in_step, arrow.ended_in_step) else {
                    panic!("{context}: the whole run is shown");
                };
                assert!(
                    layout.axis_position(ended) >= layout.axis_position(sent) + 100,
                    "{context}"
                );
                let (from, to) = (&layout.steps[sent].clock, &layout.steps[ended].clock);
                assert!(from.iter().zip(to).all(|(one, other)| one <= other), "{context}");
                assert!(from != to, "{context}");
            }
            let received =
                trace.records.iter().filter(|it| matches!(it.kind, RecordKind::Receive(_)));
            let arrived =
                layout.arrows.iter().filter(|it| it.outcome == MessageOutcome::Arrives).count();
            assert_eq!(arrived, received.count(), "{context}: each arrow is one arrival");
            for direction in [TimeDirection::Down, TimeDirection::Right] {
                let text = layout.to_text(direction, RowLabel::Place);
                assert!(text.lines().all(|line| line.chars().count() <= 100), "{context}");
                assert!(layout.to_svg(direction).ends_with("</svg>\n"), "{context}");
            }
        }
    });
}

#[test]
fn exports_contain_every_delivered_message() {
    every_run(|trace, context| {
        let received = trace.records.iter().filter(|it| matches!(it.kind, RecordKind::Receive(_)));
        let received = received.count();
        let sequence = to_mermaid(&trace.header, &trace.records);
        assert_eq!(sequence.matches("->>").count(), received, "{context}");
        let spans = to_otel(&trace.header, &trace.records);
        assert_eq!(spans.matches("\"key\": \"message\"").count(), received, "{context}");
    });
}
