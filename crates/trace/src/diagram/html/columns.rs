//! A layout in columns: one array for each field, and each text once.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::value::RawValue;
use tenure_core::ProcessId;

use super::super::layout::{Fate, Hold, Layout, Mark};
use crate::format::{Kind, Record, Who};
use crate::verify::Verification;

/// Stands for "none" among places and processes, which count from 0.
const NONE: i64 = -1;

/// Texts and data that the columns refer to by place, each of them once.
#[derive(Debug, Default, Serialize)]
pub(super) struct Names {
    texts: Vec<String>,
    data: Vec<Box<RawValue>>,
    #[serde(skip)]
    text_places: HashMap<String, i64>,
    #[serde(skip)]
    data_places: HashMap<String, i64>,
}

impl Names {
    pub(super) fn text(&mut self, text: &str) -> i64 {
        if let Some(place) = self.text_places.get(text) {
            return *place;
        }
        let place = self.texts.len() as i64;
        self.texts.push(text.to_owned());
        self.text_places.insert(text.to_owned(), place);
        place
    }

    fn data(&mut self, data: &impl Serialize) -> i64 {
        let Ok(raw) = serde_json::value::to_raw_value(data) else { return NONE };
        if let Some(place) = self.data_places.get(raw.get()) {
            return *place;
        }
        let place = self.data.len() as i64;
        self.data_places.insert(raw.get().to_owned(), place);
        self.data.push(raw);
        place
    }
}

/// What happened, in detail: the records, each with the step that it belongs to.
#[derive(Debug, Default, Serialize)]
pub(super) struct Records {
    #[serde(skip)]
    who: Vec<(u64, Who)>,
    /// The step of each record; -1 where it belongs to none.
    step: Vec<i64>,
    /// The name of its kind in the trace.
    kind: Vec<i64>,
    /// What happened, in words.
    says: Vec<i64>,
    /// Its data, of a message only what it says.
    data: Vec<i64>,
}

impl Records {
    pub(super) fn put(&mut self, number: u64, record: &Record, names: &mut Names) {
        self.who.push((number, record.process));
        self.kind.push(names.text(record.kind.name()));
        // A state is shown as the tree that it is.
        let is_state = matches!(record.kind, Kind::State(_));
        let says = if is_state { String::new() } else { record.in_words() };
        self.says.push(names.text(&says));
        self.data.push(match &record.kind {
            Kind::Command(asked) => names.data(asked),
            Kind::Event(told) => names.data(told),
            Kind::Access(access) => names.data(access),
            Kind::Suspicion { peer, verdict } => names.data(&(peer.index(), verdict)),
            Kind::State(data) | Kind::Other { data: Some(data), .. } => names.data(data),
            kind => match kind.passage().and_then(|passage| passage.content.as_ref()) {
                Some(content) => names.data(content),
                None => NONE,
            },
        });
    }

    /// Finds the step of each record: its own, or the last of its process before it.
    pub(super) fn place(&mut self, layout: &Layout) {
        let mut steps = layout.steps.iter().enumerate().peekable();
        let mut last = vec![NONE; layout.size()];
        for (number, who) in &self.who {
            let mut step = match who {
                Who::Process(at) => last.get(at.index()).copied().unwrap_or(NONE),
                Who::Resource | Who::Parent => NONE,
            };
            while let Some((place, found)) = steps.next_if(|(_, step)| step.record <= *number) {
                step = place as i64;
                if let (Some(at), true) = (found.at, found.is_own() && !is_note(&found.mark)) {
                    last[at.index()] = step;
                }
            }
            self.step.push(step);
        }
    }
}

fn is_note(mark: &Mark) -> bool {
    matches!(mark, Mark::Note(_))
}

/// The steps, in the order of the trace.
#[derive(Serialize)]
pub(super) struct Steps {
    /// In ticks since the step before.
    time: Vec<i64>,
    at: Vec<i64>,
    /// The number of the first record.
    record: Vec<u64>,
    /// What the step began with, as a number in the order of [`Mark`].
    mark: Vec<u8>,
    /// What the mark says.
    says: Vec<i64>,
    /// The message that arrived, was lost or was duplicated with it.
    about: Vec<i64>,
    /// Lamport's clock.
    clock: Vec<u64>,
}

impl Steps {
    pub(super) fn of(layout: &Layout, names: &mut Names) -> Self {
        let mut before = 0;
        let mut time = Vec::with_capacity(layout.steps.len());
        for step in &layout.steps {
            time.push(step.time as i64 - before);
            before = step.time as i64;
        }
        let each = layout.steps.iter();
        Steps {
            time,
            at: each.clone().map(|step| process(step.at)).collect(),
            record: each.clone().map(|step| step.record).collect(),
            mark: each.clone().map(|step| code(&step.mark)).collect(),
            says: each.clone().map(|step| said(&step.mark, names)).collect(),
            about: each.clone().map(|step| place(about(&step.mark).or(step.received))).collect(),
            clock: each.map(|step| step.clock.first().copied().unwrap_or(0)).collect(),
        }
    }
}

fn process(at: Option<ProcessId>) -> i64 {
    place(at.map(ProcessId::index))
}

fn place(place: Option<usize>) -> i64 {
    place.map_or(NONE, |place| place as i64)
}

const fn code(mark: &Mark) -> u8 {
    match mark {
        Mark::Receives => 0,
        Mark::Acts => 1,
        Mark::Says(_) => 2,
        Mark::Crashes => 3,
        Mark::Recovers => 4,
        Mark::Loses(_) => 5,
        Mark::Duplicates(_) => 6,
        Mark::Network(_) => 7,
        Mark::Note(_) => 8,
    }
}

fn said(mark: &Mark, names: &mut Names) -> i64 {
    match mark {
        Mark::Says(text) | Mark::Network(text) | Mark::Note(text) => names.text(text),
        _ => NONE,
    }
}

const fn about(mark: &Mark) -> Option<usize> {
    match mark {
        Mark::Loses(crossing) | Mark::Duplicates(crossing) => Some(*crossing),
        _ => None,
    }
}

/// The messages.
#[derive(Serialize)]
pub(super) struct Crossings {
    from: Vec<usize>,
    to: Vec<usize>,
    /// What each is called, and its layer.
    message: Vec<i64>,
    layer: Vec<i64>,
    sent: Vec<i64>,
    ended: Vec<i64>,
    /// 0 arrives, 1 lost, 2 under way.
    fate: Vec<u8>,
    /// 1 where it carries a token.
    token: Vec<u8>,
}

impl Crossings {
    pub(super) fn of(layout: &Layout, names: &mut Names) -> Self {
        let each = layout.crossings.iter();
        let layer = |crossing: &super::super::Crossing| format!("{:?}", crossing.layer);
        Crossings {
            from: each.clone().map(|crossing| crossing.from.index()).collect(),
            to: each.clone().map(|crossing| crossing.to.index()).collect(),
            message: each.clone().map(|crossing| names.text(&crossing.message)).collect(),
            layer: each.clone().map(|crossing| names.text(&layer(crossing))).collect(),
            sent: each.clone().map(|crossing| place(crossing.sent)).collect(),
            ended: each.clone().map(|crossing| place(crossing.ended)).collect(),
            fate: each
                .clone()
                .map(|crossing| match crossing.fate {
                    Fate::Arrives => 0,
                    Fate::Lost => 1,
                    Fate::UnderWay => 2,
                })
                .collect(),
            token: each.map(|crossing| u8::from(crossing.token)).collect(),
        }
    }
}

/// What lasted at processes.
#[derive(Serialize)]
pub(super) struct Spans {
    at: Vec<usize>,
    /// What, as a number in the order of [`Hold`].
    hold: Vec<u8>,
    from: Vec<i64>,
    until: Vec<i64>,
    /// The number of the term in which it leads.
    term: Vec<u64>,
}

impl Spans {
    pub(super) fn of(layout: &Layout) -> Self {
        let each = layout.spans.iter();
        let hold = |hold| match hold {
            Hold::Waiting => 0,
            Hold::Inside => 1,
            Hold::Leading(_) => 2,
            Hold::Token => 3,
            Hold::Down => 4,
            Hold::Stopped => 5,
        };
        let term = |hold| if let Hold::Leading(number) = hold { number } else { 0 };
        Spans {
            at: each.clone().map(|span| span.at.index()).collect(),
            hold: each.clone().map(|span| hold(span.hold)).collect(),
            from: each.clone().map(|span| place(span.from)).collect(),
            until: each.clone().map(|span| place(span.until)).collect(),
            term: each.map(|span| term(span.hold)).collect(),
        }
    }
}

/// While the network was split.
#[derive(Serialize)]
pub(super) struct Regions {
    from: Vec<i64>,
    until: Vec<i64>,
    sides: Vec<Vec<Vec<usize>>>,
}

impl Regions {
    pub(super) fn of(layout: &Layout) -> Self {
        let each = layout.regions.iter();
        let side = |side: &Vec<ProcessId>| side.iter().map(|at| at.index()).collect();
        Regions {
            from: each.clone().map(|region| place(region.from)).collect(),
            until: each.clone().map(|region| place(region.until)).collect(),
            sides: each.map(|region| region.sides.iter().map(side).collect()).collect(),
        }
    }
}

/// What went wrong.
#[derive(Serialize)]
pub(super) struct Crimes {
    step: Vec<usize>,
    until: Vec<i64>,
    who: Vec<Vec<usize>>,
}

impl Crimes {
    pub(super) fn of(layout: &Layout) -> Self {
        let each = layout.crimes.iter();
        Crimes {
            step: each.clone().map(|crime| crime.step).collect(),
            until: each.clone().map(|crime| place(crime.until)).collect(),
            who: each.map(|crime| crime.who.iter().map(|at| at.index()).collect()).collect(),
        }
    }
}

/// The step of each violation that a judge found who began with the record at `first`.
pub(super) fn violated(layout: &Layout, verification: &Verification, first: u64) -> Vec<i64> {
    let steps = verification.violations.iter().map(|it| layout.step_of(it, first));
    steps.map(place).collect()
}
