//! Export of traces to OpenTelemetry spans: OTLP in JSON, as collectors accept it at `/v1/traces`.

use std::collections::HashMap;

use serde_json::{Value, json};
use tenure_core::ProcessId;

use crate::fold::process_state::{
    ProcessCondition, ProcessStateChange, ProcessStates, ProcessStatus,
};
use crate::format::{Header, Record, RecordKind, RecordSubject};
use crate::merge::MessageKey;

/// Renders the records of one run as spans.
///
/// Each session of a process is a span. Within this span, each wait, each critical section and each
/// term as leader is a span of its own. If the trace contains the sending of a received message,
/// the innermost span of the receiver has a link to the innermost span of the sender. Virtual time
/// starts at the beginning of 1970, with one unit per millisecond. The output is deterministic.
pub fn to_otel<'r>(header: &Header, records: impl IntoIterator<Item = &'r Record>) -> String {
    let mut spans = Spans { trace: trace_id(header), ..Spans::default() };
    for record in records {
        spans.read(record);
    }
    let processes = spans.finish();
    let resources: Vec<Value> = processes
        .into_iter()
        .map(|(process, spans)| {
            json!({
                "resource": {"attributes": [
                    attribute("service.name", json!({"stringValue": header.algorithm})),
                    attribute("service.instance.id", json!({"stringValue": process.to_string()})),
                ]},
                "scopeSpans": [{"scope": {"name": "tenure"}, "spans": spans}],
            })
        })
        .collect();
    let mut text =
        serde_json::to_string_pretty(&json!({"resourceSpans": resources})).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns a trace id of sixteen bytes in hexadecimal digits: the FNV-1a hash of the header.
fn trace_id(header: &Header) -> String {
    let text = serde_json::to_string(header).unwrap_or_default();
    let hash = text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    format!("{hash:032x}")
}

fn attribute(key: &str, value: Value) -> Value {
    json!({"key": key, "value": value})
}

#[derive(Debug)]
struct Span {
    number: u64,
    parent: Option<u64>,
    /// Condition that holds during the span. `None` if this is the span of a session. The span of a
    /// session contains all other spans of the process in this session.
    condition: Option<ProcessCondition>,
    started: u64,
    links: Vec<Value>,
    attributes: Vec<Value>,
}

#[derive(Debug, Default)]
struct Process {
    /// Spans that have not ended. The innermost span is the last element.
    open: Vec<Span>,
    closed: Vec<Value>,
}

#[derive(Debug, Default)]
struct Spans {
    trace: String,
    process_states: ProcessStates,
    processes: Vec<Process>,
    numbers: u64,
    now: u64,
    /// For each message sent so far, the number of the span in which it was sent.
    sent_in: HashMap<MessageKey, u64>,
}

impl Spans {
    fn read(&mut self, record: &Record) {
        self.now = record.time;
        let RecordSubject::Process(at) = record.process else { return };
        while self.processes.len() <= at.index() {
            self.processes.push(Process::default());
        }
        let changes = self.process_states.apply_record(record);
        if changes.iter().any(|change| {
            matches!(change, ProcessStateChange::Crashes | ProcessStateChange::Recovers)
        }) {
            self.close(at);
        }
        // The loss or duplication of a message may be recorded at a sender that has crashed.
        if self.process_states.state(at).status == ProcessStatus::Down {
            return;
        }
        if self.processes[at.index()].open.is_empty() {
            self.open(at, None);
        }
        for change in changes {
            match change {
                ProcessStateChange::ConditionBegins(
                    ProcessCondition::Down | ProcessCondition::Stopped,
                ) => {}
                ProcessStateChange::ConditionBegins(condition) => self.open(at, Some(condition)),
                ProcessStateChange::ConditionEnds(condition, _) => self.end(at, condition),
                _ => {}
            }
        }
        match &record.kind {
            RecordKind::Send(message_record) => {
                let key = MessageKey::of_sent(at, record.session, message_record);
                let number = self.processes[at.index()].open.last().map(|span| span.number);
                self.sent_in.extend(number.map(|number| (key, number)));
            }
            RecordKind::Receive(message_record) => {
                let Some(number) = self.sent_in.get(&MessageKey::of_received(at, message_record))
                else {
                    return;
                };
                let description = json!({"stringValue": message_record.message});
                let from = json!({"stringValue": message_record.peer.to_string()});
                let link = json!({
                    "traceId": self.trace,
                    "spanId": span_id(*number),
                    "attributes": [attribute("message", description), attribute("from", from)],
                });
                let innermost = self.processes[at.index()].open.last_mut();
                innermost.into_iter().for_each(|span| span.links.push(link.clone()));
            }
            _ => {}
        }
    }

    /// Begins the span of a condition, within the span of the process's session. If `condition` is
    /// `None`, begins the span of the session itself.
    fn open(&mut self, at: ProcessId, condition: Option<ProcessCondition>) {
        let fence = self.process_states.state(at).fence.to_string();
        let attributes = match condition {
            Some(ProcessCondition::Inside) => {
                vec![attribute("fence", json!({"stringValue": fence}))]
            }
            Some(ProcessCondition::Leading(term)) => {
                vec![attribute("term", json!({"intValue": term.to_string()}))]
            }
            _ => Vec::new(),
        };
        self.numbers += 1;
        let process = &mut self.processes[at.index()];
        process.open.push(Span {
            number: self.numbers,
            parent: process.open.first().map(|session| session.number),
            condition,
            started: self.now,
            links: Vec::new(),
            attributes,
        });
    }

    /// Ends the open span of `condition` at the process `at`. Does nothing if there is no such
    /// span.
    fn end(&mut self, at: ProcessId, condition: ProcessCondition) {
        let process = &mut self.processes[at.index()];
        if let Some(place) = process.open.iter().rposition(|span| span.condition == Some(condition))
        {
            let span = process.open.remove(place);
            self.put(at, span);
        }
    }

    /// Ends all spans of a process, the innermost first.
    fn close(&mut self, at: ProcessId) {
        while let Some(span) = self.processes[at.index()].open.pop() {
            self.put(at, span);
        }
    }

    fn put(&mut self, at: ProcessId, span: Span) {
        let Span { number, parent, condition, started, links, attributes } = span;
        let mut closed = json!({
            "traceId": self.trace,
            "spanId": span_id(number),
            "name": name(condition),
            "kind": 1,
            "startTimeUnixNano": started.to_string(),
            "endTimeUnixNano": self.now.to_string(),
        });
        if let Some(parent) = parent {
            closed["parentSpanId"] = json!(span_id(parent));
        }
        if !attributes.is_empty() {
            closed["attributes"] = attributes.into();
        }
        if !links.is_empty() {
            closed["links"] = links.into();
        }
        self.processes[at.index()].closed.push(closed);
    }

    fn finish(mut self) -> Vec<(ProcessId, Vec<Value>)> {
        for at in (0..self.processes.len()).map(ProcessId::from_index) {
            self.close(at);
        }
        let processes = self.processes.into_iter().enumerate();
        processes.map(|(index, process)| (ProcessId::from_index(index), process.closed)).collect()
    }
}

const fn name(condition: Option<ProcessCondition>) -> &'static str {
    match condition {
        None => "session",
        Some(ProcessCondition::Leading(_)) => "leads",
        Some(ProcessCondition::Waiting) => "waits",
        Some(ProcessCondition::Inside) => "critical section",
        Some(ProcessCondition::Token | ProcessCondition::Down | ProcessCondition::Stopped) => "",
    }
}

fn span_id(number: u64) -> String {
    format!("{number:016x}")
}
