//! Spans for OpenTelemetry, as OTLP in JSON: what any collector takes at `/v1/traces`.

use std::collections::HashMap;

use serde_json::{Value, json};
use tenure_core::ProcessId;

use crate::fold::standing::{Change, Hold, Standings};
use crate::format::{Header, Kind, Record, Who};
use crate::merge::MessageKey;

/// The records of one run as spans.
///
/// Each session of a process is a span. In it lie its waits, its critical sections and its times
/// as a leader. A message is a link: from the span that its receiver was in to the span that its
/// sender was in, the innermost each. Virtual time counts from the start of 1970, a unit being a
/// millisecond. The same trace gives the same bytes.
pub fn otel<'r>(header: &Header, records: impl IntoIterator<Item = &'r Record>) -> String {
    let mut spans = Spans { trace: trace_id(header), ..Spans::default() };
    for record in records {
        spans.read(record);
    }
    let everybody = spans.finish();
    let resources: Vec<Value> = everybody
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

/// Sixteen bytes that differ from run to run: the header's FNV-1a hash.
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
    /// What lasts; nothing for a session, in which everything else lies.
    hold: Option<Hold>,
    begun: u64,
    links: Vec<Value>,
    attributes: Vec<Value>,
}

#[derive(Debug, Default)]
struct Process {
    /// The open ones, the innermost last.
    open: Vec<Span>,
    closed: Vec<Value>,
}

#[derive(Debug, Default)]
struct Spans {
    trace: String,
    standings: Standings,
    processes: Vec<Process>,
    numbers: u64,
    now: u64,
    /// The spans that messages were sent in.
    sent_in: HashMap<MessageKey, u64>,
}

impl Spans {
    fn read(&mut self, record: &Record) {
        self.now = record.time;
        let Who::Process(at) = record.process else { return };
        while self.processes.len() <= at.index() {
            self.processes.push(Process::default());
        }
        let changes = self.standings.read(record);
        if changes.iter().any(|change| matches!(change, Change::Crashes | Change::Recovers)) {
            self.close(at);
        }
        if record.kind == Kind::Crash {
            return;
        }
        if self.processes[at.index()].open.is_empty() {
            self.open(at, None);
        }
        for change in changes {
            match change {
                Change::Begins(Hold::Down | Hold::Stopped) => {}
                Change::Begins(hold) => self.open(at, Some(hold)),
                Change::Ends(hold, _) => self.end(at, hold),
                _ => {}
            }
        }
        match &record.kind {
            Kind::Send(passage) => {
                let key = MessageKey::sent(at, record.session, passage);
                let number = self.processes[at.index()].open.last().map(|span| span.number);
                self.sent_in.extend(number.map(|number| (key, number)));
            }
            Kind::Receive(passage) => {
                let Some(number) = self.sent_in.get(&MessageKey::received(at, passage)) else {
                    return;
                };
                let says = json!({"stringValue": passage.message});
                let from = json!({"stringValue": passage.peer.to_string()});
                let link = json!({
                    "traceId": self.trace,
                    "spanId": span_id(*number),
                    "attributes": [attribute("message", says), attribute("from", from)],
                });
                let innermost = self.processes[at.index()].open.last_mut();
                innermost.into_iter().for_each(|span| span.links.push(link.clone()));
            }
            _ => {}
        }
    }

    /// A span begins.
    fn open(&mut self, at: ProcessId, hold: Option<Hold>) {
        let fence = self.standings.of(at).fence.to_string();
        let attributes = match hold {
            Some(Hold::Inside) => vec![attribute("fence", json!({"stringValue": fence}))],
            Some(Hold::Leading(term)) => {
                vec![attribute("term", json!({"intValue": term.to_string()}))]
            }
            _ => Vec::new(),
        };
        self.numbers += 1;
        let process = &mut self.processes[at.index()];
        process.open.push(Span {
            number: self.numbers,
            parent: process.open.first().map(|session| session.number),
            hold,
            begun: self.now,
            links: Vec::new(),
            attributes,
        });
    }

    /// Ends the span of this, if one is open.
    fn end(&mut self, at: ProcessId, hold: Hold) {
        let process = &mut self.processes[at.index()];
        if let Some(place) = process.open.iter().rposition(|span| span.hold == Some(hold)) {
            let span = process.open.remove(place);
            let closed = self.closed(span);
            self.processes[at.index()].closed.push(closed);
        }
    }

    /// Ends all spans, the innermost first.
    fn close(&mut self, at: ProcessId) {
        while let Some(span) = self.processes[at.index()].open.pop() {
            let closed = self.closed(span);
            self.processes[at.index()].closed.push(closed);
        }
    }

    fn closed(&self, span: Span) -> Value {
        let Span { number, parent, hold, begun, links, attributes } = span;
        let mut closed = json!({
            "traceId": self.trace,
            "spanId": span_id(number),
            "name": name(hold),
            "kind": 1,
            "startTimeUnixNano": begun.to_string(),
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
        closed
    }

    fn finish(mut self) -> Vec<(ProcessId, Vec<Value>)> {
        for at in (0..self.processes.len()).map(ProcessId::at) {
            self.close(at);
        }
        let everybody = self.processes.into_iter().enumerate();
        everybody.map(|(index, process)| (ProcessId::at(index), process.closed)).collect()
    }
}

/// What a span is called.
const fn name(hold: Option<Hold>) -> &'static str {
    match hold {
        None => "session",
        Some(Hold::Leading(_)) => "leads",
        Some(Hold::Waiting) => "waits",
        Some(Hold::Inside) => "critical section",
        Some(Hold::Token | Hold::Down | Hold::Stopped) => "",
    }
}

fn span_id(number: u64) -> String {
    format!("{number:016x}")
}
