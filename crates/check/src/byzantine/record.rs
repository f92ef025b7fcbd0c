//! Converts runs of generals into traces and counterexamples.

use std::collections::BTreeMap;

use serde_json::json;
use tenure_core::byzantine::{COMMANDER, Plan};
use tenure_core::service::consensus::{Command, Event};
use tenure_core::{Layer, ProcessId, Property, Service, TICKS_PER_TIME_UNIT};
use tenure_trace::{
    Header, MessageRecord, Record, RecordKind, RecordSubject, RecordedCommand, RecordedEvent,
    Trace, TraceProducer,
};

use super::ByzantineGeneralsConfig;
use super::search::{SentOralMessage, ViolatingRun};
use crate::explain::description::StepwiseDescription;
use crate::report::{Counterexample, ViolationKind};

/// For each link from a sender to a receiver, the number of messages recorded so far.
type Numbers = BTreeMap<(ProcessId, ProcessId), u64>;

pub(crate) fn counterexample(
    config: &ByzantineGeneralsConfig,
    violation: &ViolatingRun,
) -> Counterexample {
    let mut trace = trace(config, violation);
    trace.header.violates = Some(violation.property.name().to_owned());
    let run = StepwiseDescription::from_checker_trace(&trace);
    let explanation = explanation(violation);
    let (property, kind) = (violation.property, ViolationKind::End);
    Counterexample { property, kind, explanation, run, trace }
}

fn explanation(violation: &ViolatingRun) -> String {
    let ViolatingRun { property, liars, plan, steps, lies } = violation;
    let obeyed: Vec<String> = steps
        .iter()
        .filter_map(|step| step.decision)
        .map(|(at, plan)| format!("{at} obeys {plan} ({})", value(plan)))
        .collect();
    let liars: Vec<String> = liars.iter().map(ToString::to_string).collect();
    let count = if *lies == 1 { "one lie".to_owned() } else { format!("{lies} lies") };
    let rule = match property {
        Property::Validity => format!("IC2, the loyal commander orders {plan} ({})", value(*plan)),
        _ => "IC1".to_owned(),
    };
    format!("{rule}: {} after {count} of {}", obeyed.join(", "), liars.join(" and "))
}

/// Returns the value that represents the commander's order in the commands and events of a trace.
const fn value(plan: Plan) -> u64 {
    match plan {
        Plan::Retreat => 0,
        Plan::Attack => 1,
    }
}

fn order(plan: Plan) -> RecordKind {
    let command = Command::Propose { value: value(plan) };
    RecordKind::Command(RecordedCommand::Agreement(command.into()))
}

fn trace(config: &ByzantineGeneralsConfig, violation: &ViolatingRun) -> Trace {
    let header =
        Header::new(&*config.name, Service::Consensus, config.size, TraceProducer::Checker);
    let mut records: Vec<Record> =
        (0..config.size).map(|at| Record::new(0, ProcessId(at), RecordKind::Boot)).collect();
    let liar = |at: &ProcessId| Record::new(0, *at, RecordKind::Note("is a liar".to_owned()));
    records.extend(violation.liars.iter().map(liar));
    let (mut sent, mut received) = (Numbers::new(), Numbers::new());
    let mut now = 0;
    // A commander that lies gives both orders, one after the other.
    let others = Plan::ALL.into_iter().filter(|plan| *plan != violation.plan);
    for plan in others.filter(|_| violation.liars.contains(&COMMANDER)) {
        now += TICKS_PER_TIME_UNIT;
        records.push(Record::new(now, COMMANDER, order(plan)));
    }
    for step in &violation.steps {
        now += TICKS_PER_TIME_UNIT;
        let at = step.received.as_ref().map_or(COMMANDER, |message| message.to);
        let mut record = |kind| records.push(Record::new(now, at, kind));
        match &step.received {
            Some(message) => {
                record(RecordKind::Receive(message_record(message, message.from, &mut received)));
            }
            None => {
                record(order(violation.plan));
            }
        }
        for message in &step.sent {
            record(RecordKind::Send(message_record(message, message.to, &mut sent)));
        }
        if let Some((_, plan)) = step.decision {
            let event = Event::Decided { value: value(plan) };
            record(RecordKind::Event(RecordedEvent::Agreement(event.into())));
        }
    }
    records.push(Record::new(now + TICKS_PER_TIME_UNIT, RecordSubject::Parent, RecordKind::End));
    Trace { header, records, torn: None }
}

/// Returns the trace record of a message for the process at one end of its link. `peer` is the
/// process at the other end. Counts the message in `numbers`, and the record contains the new
/// count.
fn message_record(sent: &SentOralMessage, peer: ProcessId, numbers: &mut Numbers) -> MessageRecord {
    let number = numbers.entry((sent.from, sent.to)).or_default();
    *number += 1;
    let name = match (sent.is_lie, sent.message.plan) {
        (false, plan) => plan.name(),
        (true, Plan::Attack) => "false-attack",
        (true, Plan::Retreat) => "false-retreat",
    };
    let path: Vec<String> = sent.message.path.iter().map(ToString::to_string).collect();
    MessageRecord {
        peer,
        layer: Layer::Agreement,
        message: name.into(),
        number: *number,
        session: 0,
        content: Some(Box::new(json!({ "path": path }))),
    }
}
