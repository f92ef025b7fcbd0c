//! A moment as the page is told of it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tenure_core::service::agreement::Users;
use tenure_core::{ProcessId, Service, TICKS_PER_UNIT};
use tenure_sim::{Ended, Finding, Judgement, steering_options};
use tenure_trace::diagram::{Direction, LogPicture, Page, View, Window, lay_out};
use tenure_trace::{Asked, Asking, Header, Hold, Kind, Record, Spoken, Standings, Told};

use crate::look::Look;
use crate::sitting::{Present, Sitting};

/// How many records a drawing beside the processes shows.
const MOST_DRAWN: u64 = 200;

/// How many entries of a log a drawing shows.
const MOST_ENTRIES: u64 = 24;

/// Ticks as units.
fn units(ticks: u64) -> f64 {
    ticks as f64 / TICKS_PER_UNIT as f64
}

impl Sitting {
    /// All that the page shows of the present moment.
    pub(crate) fn view(&self, session: u64) -> Value {
        let Present { look, records, .. } = &self.shown;
        let card = &self.apparatus.card;
        let moment = &self.moments[self.at];
        let mut standings = Standings::default();
        records.iter().for_each(|record| drop(standings.read(record)));
        let next = look.next.as_ref().filter(|_| moment.broken.is_none()).map(
            |next| json!({ "says": next.says, "time": units(next.time), "message": next.message }),
        );
        json!({
            "session": session.to_string(),
            "words": self.apparatus.words,
            "algorithm": card.name,
            "service": card.service.name(),
            "n": self.apparatus.size,
            "ground": self.apparatus.ground,
            "moment": self.at,
            "time": units(look.time),
            "ended": self.ended(),
            "next": next,
            "happened": self.happened().iter().map(|it| it.in_words()).collect::<Vec<_>>(),
            "processes": processes(look, &standings, card.service, records),
            "messages": self.messages(),
            "verdicts": self.verdicts(),
            "figures": self.figures(),
            "tree": self.tree(),
            "commands": { "replay": self.replay() },
            "svg": self.svg(Some(MOST_DRAWN)),
            "logs": self.logs(),
        })
    }

    /// Why there is no next step, in words.
    fn ended(&self) -> Option<String> {
        if let Some(broken) = &self.moments[self.at].broken {
            return Some(broken.clone());
        }
        if self.shown.look.next.is_some() {
            return None;
        }
        Some(match self.shown.report.ended {
            Ended::Served => "everybody was served".to_owned(),
            Ended::Quiescent | Ended::Stopped => "nothing more can happen".to_owned(),
            Ended::Stalled => "things go on, but nobody is served any more".to_owned(),
            Ended::Until => "the time is up".to_owned(),
            Ended::Flooded => "messages make more messages without end".to_owned(),
            Ended::Events => "the limit on events is reached".to_owned(),
        })
    }

    fn messages(&self) -> Vec<Value> {
        let Present { look, records, .. } = &self.shown;
        let sent = records.iter().filter_map(|record| match &record.kind {
            Kind::Send(passage) => Some((passage.number, units(record.time))),
            _ => None,
        });
        let sent: BTreeMap<u64, f64> = sent.collect();
        let message = |message: &crate::look::Message| {
            json!({
                "message": message.id,
                "from": message.from.number(),
                "to": message.to.number(),
                "kind": message.kind,
                "says": message.says,
                "sent": sent.get(&message.number),
                "due": units(message.due),
            })
        };
        look.messages.iter().map(message).collect()
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
                "says": violation.map_or("", |violation| &violation.says),
                "moment": violation.and_then(|violation| self.moment_of(violation)),
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
            "entries": metrics.entered,
            "formula": self.apparatus.card.messages.formula,
        })
    }

    fn tree(&self) -> Vec<Value> {
        let moment = |(place, moment): (usize, &crate::sitting::Moment)| {
            json!({
                "moment": place,
                "parent": moment.parent,
                "says": moment.says,
                "time": units(moment.time),
                "violated": moment.violated,
            })
        };
        self.moments.iter().enumerate().map(moment).collect()
    }

    /// The command that makes this history again, to this moment.
    fn replay(&self) -> Option<String> {
        let command = self.apparatus.replay.as_ref()?;
        let (steers, steps) = self.steers();
        let goes_on = self.shown.look.next.is_some() || self.moments[self.at].broken.is_some();
        Some(format!("{command}{}", steering_options(&steers, goes_on.then_some(steps))))
    }

    /// The trace of the history to here, as that command writes it.
    pub(crate) fn trace(&self) -> Result<Vec<u8>, String> {
        let Present { header, text, .. } = &self.shown;
        let Some(replay) = self.replay() else { return Ok(text.clone()) };
        let header = Header { replay: Some(replay), ..header.clone() };
        let head = serde_json::to_vec(&header).map_err(|error| error.to_string())?;
        let records = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        Ok([&head, &text[records..]].concat())
    }

    /// The diagram of the history to here, or of its last records.
    pub(crate) fn svg(&self, most: Option<u64>) -> String {
        let Present { header, records, .. } = &self.shown;
        let all = records.len() as u64;
        let from = most.map_or(1, |most| all.saturating_sub(most) + 1);
        let window = Window { events: Some(from..=all.max(from)), ..Window::default() };
        let view = View { window, ..View::default() };
        lay_out(header, records, view).to_svg(Direction::Right)
    }

    /// What all have as their logs, drawn; nothing where nobody has any.
    fn logs(&self) -> Option<String> {
        let Present { header, records, .. } = &self.shown;
        let picture = LogPicture::of(header, records, &[]);
        (!picture.is_empty()).then(|| picture.to_svg(MOST_ENTRIES))
    }

    /// The history to here as a page of its own.
    pub(crate) fn page(&self) -> Result<Vec<u8>, String> {
        let Present { header, records, .. } = &self.shown;
        let mut page = Page::new(header, Window::default());
        records.iter().for_each(|record| page.read(record));
        let mut text = Vec::new();
        let written = page.write(Some(&self.apparatus.card), &mut text);
        written.map_err(|error| error.to_string())?;
        Ok(text)
    }
}

/// The users of a service of agreement, after what is recorded of them.
fn users(size: usize, service: Service, records: &[Record]) -> Option<Users> {
    let size = u32::try_from(size).ok()?;
    let mut users = Users::of(service, size, |_| u32::MAX)?;
    for record in records {
        let Some(at) = record.process.process() else { continue };
        match &record.kind {
            Kind::Command(Asked::Agreement(command)) => users.asked(at, command),
            Kind::Event(Told::Agreement(event)) => users.told(at, event),
            Kind::Crash => users.crashed(at),
            _ => {}
        }
    }
    Some(users)
}

/// What a user may ask next, as scripts say it.
fn asks_to_agree(users: &Users, at: ProcessId) -> Option<String> {
    let Asking { verb, words, .. } = users.next(at)?.say(at);
    Some([vec![verb], words].concat().join(" "))
}

fn processes(
    look: &Look,
    standings: &Standings,
    service: Service,
    records: &[Record],
) -> Vec<Value> {
    let users = users(look.processes.len(), service, records);
    let locks = matches!(service, Service::Mutex | Service::Office);
    let elects = matches!(service, Service::Election | Service::Office);
    let process = |(place, process): (usize, &crate::look::Process)| {
        let at = ProcessId::at(place);
        let standing = standings.of(at);
        let leads = standing.leader.is_some_and(|term| term.leader == at);
        let [waits, inside] =
            [Hold::Waiting, Hold::Inside].map(|hold| standing.since(hold).is_some());
        let hold = match () {
            () if !process.up => "down",
            () if waits => "waiting",
            () if inside => "inside",
            () => "idle",
        };
        let mut asks: Vec<String> = Vec::new();
        if process.up && locks && !waits && !standing.leaving {
            asks.push(if inside { "exit" } else { "enter" }.to_owned());
        }
        if process.up && elects {
            asks.push("elect".to_owned());
            asks.extend(leads.then(|| "resign".to_owned()));
        }
        if process.up {
            asks.extend(users.as_ref().and_then(|users| asks_to_agree(users, at)));
        }
        let timer = |(name, at): &(String, u64)| json!({ "name": name, "at": units(*at) });
        let term = standing.leader.map(|term| term.number).filter(|term| *term > 0);
        json!({
            "process": at.number(),
            "up": process.up,
            "hold": hold,
            "leads": leads,
            "leader": standing.leader.map(|term| term.leader.number()),
            "term": term,
            "token": process.up && has_token(&process.state),
            "state": process.state,
            "timers": process.timers.iter().map(timer).collect::<Vec<_>>(),
            "asks": asks,
            "suspects": standing.suspects.iter().map(|it| it.number()).collect::<Vec<_>>(),
        })
    };
    look.processes.iter().enumerate().map(process).collect()
}

/// Whether there is something in a state that it calls a token.
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
