//! JSON view of the current moment of a session.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tenure_core::service::agreement::Users;
use tenure_core::{ProcessId, Service, TICKS_PER_TIME_UNIT};
use tenure_sim::{EndReason, Finding, Judgement, steering_command_line_options};
use tenure_trace::diagram::{
    DiagramOptions, DiagramPage, ReplicatedLogDiagram, TimeDirection, TraceWindow, lay_out,
};
use tenure_trace::{
    Header, ProcessCondition, ProcessStates, Record, RecordKind, RecordedCommand, RecordedEvent,
    ScriptCommand, ServiceCommand,
};

use crate::run_state::RunState;
use crate::session::{CurrentMoment, LabSession};

/// Maximum number of trace records in the diagram next to the processes.
const MAX_DRAWN_RECORDS: u64 = 200;

/// Maximum number of entries that the drawing shows of each log.
const MAX_LOG_ENTRIES: u64 = 24;

fn units(ticks: u64) -> f64 {
    ticks as f64 / TICKS_PER_TIME_UNIT as f64
}

impl LabSession {
    /// Returns the JSON data of the current moment for the page. `session` is the number of this
    /// session in the table of sessions.
    pub(crate) fn view_json(&self, session: u64) -> Value {
        let CurrentMoment { state, records, .. } = &self.shown;
        let card = &self.run.card;
        let moment = &self.moments[self.current_moment];
        let mut process_states = ProcessStates::default();
        records.iter().for_each(|record| drop(process_states.apply_record(record)));
        let next = state.next.as_ref().filter(|_| moment.panic_message.is_none());
        let next = next.map(|next| {
            let time = units(next.time);
            json!({ "description": next.description, "time": time, "message": next.message })
        });
        json!({
            "session": session.to_string(),
            "words": self.run.origin,
            "algorithm": card.name,
            "service": card.service.name(),
            "n": self.run.size,
            "layout": self.run.layout,
            "moment": self.current_moment,
            "initial": self.initial_moment_count,
            "time": units(state.time),
            "ended": self.ended(),
            "next": next,
            "happened": self.latest_records().iter().map(|it| it.describe()).collect::<Vec<_>>(),
            "processes": processes(state, &process_states, card.service, records),
            "messages": self.messages(),
            "verdicts": self.verdicts(),
            "figures": self.figures(),
            "tree": self.tree(),
            "commands": { "replay": self.replay() },
            "svg": self.diagram_svg(Some(MAX_DRAWN_RECORDS)),
            "logs": self.logs(),
        })
    }

    /// Returns the reason why the run has no next step. Returns `None` if the run has a next step.
    fn ended(&self) -> Option<String> {
        if let Some(broken) = &self.moments[self.current_moment].panic_message {
            return Some(broken.clone());
        }
        if self.shown.state.next.is_some() {
            return None;
        }
        Some(match self.shown.report.ended {
            EndReason::Served => "all requests were served".to_owned(),
            EndReason::Quiescent | EndReason::Stopped => "nothing more can happen".to_owned(),
            EndReason::Stalled => "the run continues, but no request is served any more".to_owned(),
            EndReason::TimeLimit => "the time limit was reached".to_owned(),
            EndReason::TimeExhausted => "the maximum time of a run is reached".to_owned(),
            EndReason::Flooded => "messages multiply without limit".to_owned(),
            EndReason::EventLimit => "the limit on events is reached".to_owned(),
        })
    }

    fn messages(&self) -> Vec<Value> {
        let CurrentMoment { state, records, .. } = &self.shown;
        let sent = records.iter().filter_map(|record| match &record.kind {
            RecordKind::Send(message_record) => Some((message_record.number, units(record.time))),
            _ => None,
        });
        let sent: BTreeMap<u64, f64> = sent.collect();
        let message = |message: &crate::run_state::MessageView| {
            json!({
                "message": message.id,
                "from": message.from.display_number(),
                "to": message.to.display_number(),
                "kind": message.kind,
                "description": message.description,
                "sent": sent.get(&message.number),
                "due": units(message.due),
            })
        };
        state.messages.iter().map(message).collect()
    }

    fn verdicts(&self) -> Vec<Value> {
        let verdict = |finding: &Finding| {
            let violation = finding.violation.as_ref();
            json!({
                "property": finding.property,
                "verdict": match finding.judgement {
                    Judgement::Holds => "holds",
                    Judgement::Violated => "violated",
                    Judgement::Incomplete => "open",
                },
                "message": violation.map_or("", |violation| &violation.message),
                "moment": self.moment_of_violation(finding.property),
                "promised": self.is_promised(finding.property),
            })
        };
        self.shown.report.findings.iter().map(verdict).collect()
    }

    fn figures(&self) -> Value {
        let metrics = &self.shown.report.metrics;
        let kinds = metrics.kinds.iter().filter(|kind| kind.sent > 0);
        let mut by_kind = Map::new();
        for kind in kinds {
            let count = by_kind.entry(kind.label.kind).or_insert(json!(0));
            *count = json!(count.as_u64().unwrap_or(0) + kind.sent);
        }
        json!({
            "messages": metrics.sent,
            "by_kind": by_kind,
            "entries": metrics.entry_count,
            "formula": self.run.card.messages.formula,
        })
    }

    fn tree(&self) -> Vec<Value> {
        let moment = |(place, moment): (usize, &crate::session::Moment)| {
            let mut data = json!({
                "moment": place,
                "parent": moment.parent,
                "description": moment.description,
                "time": units(moment.time),
                "violated": moment.violated,
            });
            if let Some(request) = &moment.request {
                data["act"] = json!(request);
            }
            data
        };
        self.moments.iter().enumerate().map(moment).collect()
    }

    /// Returns the command that reproduces the run up to the current moment. Returns `None` if no
    /// command can reproduce the run.
    fn replay(&self) -> Option<String> {
        let command = self.run.replay.as_ref()?;
        let (interventions, steps) = self.interventions_and_steps();
        let has_next = self.shown.state.next.is_some()
            || self.moments[self.current_moment].panic_message.is_some();
        Some(format!(
            "{command}{}",
            steering_command_line_options(&interventions, has_next.then_some(steps))
        ))
    }

    /// Returns the trace of the run up to the current moment, as bytes of the trace format. If a
    /// command of `tenure` can reproduce the run, the header of the trace contains this command.
    pub(crate) fn trace_bytes(&self) -> Result<Vec<u8>, String> {
        let CurrentMoment { header, encoded_trace: text, .. } = &self.shown;
        let Some(replay) = self.replay() else { return Ok(text.clone()) };
        let header = Header { replay: Some(replay), ..header.clone() };
        let head = serde_json::to_vec(&header).map_err(|error| error.to_string())?;
        let records = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        Ok([&head, &text[records..]].concat())
    }

    /// Returns the diagram of the run up to the current moment, as SVG. If `max_records` is given,
    /// the diagram shows only the last `max_records` records.
    pub(crate) fn diagram_svg(&self, max_records: Option<u64>) -> String {
        let CurrentMoment { header, records, .. } = &self.shown;
        let all = records.len() as u64;
        let from = max_records.map_or(1, |count| all.saturating_sub(count) + 1);
        let window =
            TraceWindow { record_numbers: Some(from..=all.max(from)), ..TraceWindow::default() };
        let view = DiagramOptions { window, ..DiagramOptions::default() };
        lay_out(header, records, view).to_svg(TimeDirection::Right)
    }

    /// Returns a drawing of the logs of all processes, as SVG. Returns `None` if the processes have
    /// no logs.
    fn logs(&self) -> Option<String> {
        let CurrentMoment { header, records, .. } = &self.shown;
        let picture = ReplicatedLogDiagram::from_records(header, records, &[]);
        (!picture.is_empty()).then(|| picture.to_svg(MAX_LOG_ENTRIES))
    }

    /// Returns an interactive HTML page that shows the run up to the current moment.
    pub(crate) fn diagram_html(&self) -> Result<Vec<u8>, String> {
        let CurrentMoment { header, records, .. } = &self.shown;
        let mut page = DiagramPage::new(header, TraceWindow::default());
        records.iter().for_each(|record| page.add_record(record));
        let mut text = Vec::new();
        let written = page.write_html(Some(&self.run.card), &mut text);
        written.map_err(|error| error.to_string())?;
        Ok(text)
    }
}

/// Returns the users of an agreement service in the state that the records show. Returns `None` for
/// other services.
fn users(size: usize, service: Service, records: &[Record]) -> Option<Users> {
    let size = u32::try_from(size).ok()?;
    let mut users = Users::new(service, size, |_| u32::MAX)?;
    for record in records {
        let Some(at) = record.process.process() else { continue };
        match &record.kind {
            RecordKind::Command(RecordedCommand::Agreement(command)) => {
                users.on_command(at, command)
            }
            RecordKind::Event(RecordedEvent::Agreement(event)) => users.on_event(at, event),
            RecordKind::Crash => users.on_crash(at),
            _ => {}
        }
    }
    Some(users)
}

/// Returns the next command of the user of process `at`, in the syntax of scripts. Returns `None`
/// if the user may not issue a command now.
fn next_agreement_command(users: &Users, at: ProcessId) -> Option<String> {
    let ScriptCommand { verb, words, .. } = users.next_command(at)?.to_script_command(at);
    Some([vec![verb], words].concat().join(" "))
}

/// Returns the data of each process for the page, in the order of the processes.
fn processes(
    state: &RunState,
    process_states: &ProcessStates,
    service: Service,
    records: &[Record],
) -> Vec<Value> {
    let users = users(state.processes.len(), service, records);
    let locks = matches!(service, Service::Mutex | Service::MutexAndElection);
    let elects = matches!(service, Service::Election | Service::MutexAndElection);
    let process = |(place, process): (usize, &crate::run_state::ProcessView)| {
        let at = ProcessId::from_index(place);
        let process_state = process_states.state(at);
        let leads = process_state.leader.is_some_and(|term| term.leader == at);
        let [waits, inside] = [ProcessCondition::Waiting, ProcessCondition::Inside]
            .map(|hold| process_state.condition_start(hold).is_some());
        let hold = match () {
            () if !process.up => "down",
            () if waits => "waiting",
            () if inside => "inside",
            () => "idle",
        };
        let mut commands: Vec<String> = Vec::new();
        if process.up && locks && !waits && !process_state.is_exiting {
            commands.push(if inside { "exit" } else { "enter" }.to_owned());
        }
        if process.up && elects {
            commands.push("elect".to_owned());
            commands.extend(leads.then(|| "resign".to_owned()));
        }
        if process.up {
            commands.extend(users.as_ref().and_then(|users| next_agreement_command(users, at)));
        }
        let timer = |(name, at): &(String, u64)| json!({ "name": name, "at": units(*at) });
        let term = process_state.leader.map(|term| term.number).filter(|term| *term > 0);
        let suspects = process_state.suspects.iter();
        json!({
            "process": at.display_number(),
            "up": process.up,
            "hold": hold,
            "leads": leads,
            "leader": process_state.leader.map(|term| term.leader.display_number()),
            "term": term,
            "token": process.up && has_token(&process.state),
            "state": process.state,
            "timers": process.timers.iter().map(timer).collect::<Vec<_>>(),
            "commands": commands,
            "suspects": suspects.map(|it| it.display_number()).collect::<Vec<_>>(),
        })
    };
    state.processes.iter().enumerate().map(process).collect()
}

/// Returns true if the state of a process contains a token. The state contains a token if a field
/// `token`, at any depth, is true, a number, a list or an object.
fn has_token(state: &Value) -> bool {
    match state {
        Value::Object(fields) => fields.iter().any(|(name, value)| match (name.as_str(), value) {
            ("token", Value::Bool(has)) => *has,
            ("token", Value::Null) => false,
            ("token", Value::Object(_) | Value::Array(_) | Value::Number(_)) => true,
            (_, value) => has_token(value),
        }),
        Value::Array(values) => values.iter().any(has_token),
        _ => false,
    }
}
