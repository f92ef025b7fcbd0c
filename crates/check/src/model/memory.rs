//! What one thread remembers of the model, so that it asks only once: in steady state a step of
//! a world is a few look-ups and additions.

use std::sync::Arc;

#[cfg(doc)]
use crate::model::intern::NONE;
use crate::model::intern::{Change, Interned};
use crate::model::memo::Memo;
use crate::model::{MonitorFacts, Stand};
use crate::world::VIOLATED;
use crate::world::action::{Cause, MOST_OUTCOMES};
use crate::world::parcel::Item;
use crate::world::rules::Rules;

/// What a thread knows of a local state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalRow {
    pub(crate) fingerprint: u64,
    pub(crate) down: bool,
    pub(crate) mute: bool,
    pub(crate) may_crash: bool,
    pub(crate) stand: Stand,
    pub(crate) urgent: bool,
    pub(crate) beyond: bool,
    pub(crate) suspected: u32,
    pub(crate) smallest: Option<u64>,
    menu: (u32, u32),
}

/// What a thread knows of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueRow {
    pub(crate) fingerprint: u64,
    pub(crate) urgent: bool,
    pub(crate) smallest: Option<u64>,
    items: (u32, u32),
}

/// What a thread knows of an outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutcomeRow {
    pub(crate) local: u32,
    /// What it adds to the world's fingerprint.
    pub(crate) change: u64,
    pub(crate) observation: u32,
    sent: (u32, u32),
    /// Where the next outcome of the same cause lies, from 1; 0 after the last.
    next: u32,
}

/// A parcel that is sent, and where it goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) parcel: u32,
    pub(crate) slot: u32,
    pub(crate) to: u32,
}

/// One thread's memory.
pub(crate) struct Memory {
    rules: Arc<Rules>,
    locals: Vec<Option<LocalRow>>,
    menus: Vec<(Cause, u32)>,
    queues: Vec<Option<QueueRow>>,
    items: Vec<Item>,
    /// The first outcome of each cause.
    outcomes: Memo<OutcomeRow>,
    /// All others.
    more_outcomes: Vec<OutcomeRow>,
    sent: Vec<Sent>,
    pushes: Memo<Change>,
    doubles: Memo<Change>,
    judged: Vec<Memo<Change>>,
    aged: Memo<Change>,
    shifted: Memo<Change>,
    renamed: Memo<u64>,
    monitors: Vec<Vec<Option<MonitorFacts>>>,
    /// Whether a process sent to another than its successor.
    pub(crate) strayed: bool,
    /// Which handler was run last: the one to blame, if it panicked.
    pub(crate) ran_last: Option<(u32, Cause)>,
}

impl Memory {
    pub(crate) fn new(rules: Arc<Rules>) -> Self {
        let monitors = rules.layout.monitors;
        Memory {
            rules,
            locals: Vec::new(),
            menus: Vec::new(),
            queues: Vec::new(),
            items: Vec::new(),
            outcomes: Memo::new(),
            more_outcomes: Vec::new(),
            sent: Vec::new(),
            pushes: Memo::new(),
            doubles: Memo::new(),
            judged: vec![Memo::new(); monitors],
            aged: Memo::new(),
            shifted: Memo::new(),
            renamed: Memo::new(),
            monitors: vec![Vec::new(); monitors],
            strayed: false,
            ran_last: None,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let memos = [&self.pushes, &self.doubles, &self.aged, &self.shifted];
        let memos = memos.into_iter().chain(&self.judged).map(Memo::bytes).sum::<usize>();
        memos
            + self.outcomes.bytes()
            + self.locals.capacity() * size_of::<Option<LocalRow>>()
            + self.queues.capacity() * size_of::<Option<QueueRow>>()
            + self.items.capacity() * size_of::<Item>()
            + self.more_outcomes.capacity() * size_of::<OutcomeRow>()
            + self.sent.capacity() * size_of::<Sent>()
            + self.menus.capacity() * size_of::<(Cause, u32)>()
    }

    #[inline]
    pub(crate) fn local(&mut self, id: u32) -> LocalRow {
        if let Some(Some(row)) = self.locals.get(id as usize) {
            return *row;
        }
        let facts = self.rules.model.local(id);
        let row = LocalRow {
            fingerprint: facts.fingerprint,
            down: facts.down,
            mute: facts.mute,
            may_crash: facts.may_crash,
            stand: facts.standing,
            urgent: facts.urgent,
            beyond: facts.beyond,
            suspected: facts.suspected,
            smallest: facts.smallest,
            menu: span(&self.menus, facts.menu.len()),
        };
        self.menus.extend(facts.menu);
        put(&mut self.locals, id, row);
        row
    }

    #[inline]
    pub(crate) fn menu(&self, row: LocalRow) -> impl Iterator<Item = usize> + use<> {
        places(row.menu)
    }

    pub(crate) fn menu_item(&self, place: usize) -> (Cause, u32) {
        self.menus[place]
    }

    /// The item at `place` of a menu.
    pub(crate) fn cause(&self, row: LocalRow, place: usize) -> Cause {
        self.menus[row.menu.0 as usize + place].0
    }

    #[inline]
    pub(crate) fn queue(&mut self, id: u32) -> QueueRow {
        if let Some(Some(row)) = self.queues.get(id as usize) {
            return *row;
        }
        let facts = self.rules.freight.facts(id);
        let smallest = if self.rules.stamped { self.smallest_in(id) } else { None };
        let row = QueueRow {
            fingerprint: facts.fingerprint,
            urgent: facts.urgent,
            smallest,
            items: span(&self.items, facts.items.len()),
        };
        self.items.extend(facts.items);
        put(&mut self.queues, id, row);
        row
    }

    fn smallest_in(&self, queue: u32) -> Option<u64> {
        let freight = &self.rules.freight;
        let messages = freight.content(queue).into_iter().map(|id| freight.parcel_of(id).message);
        messages
            .filter(|message| *message != 0)
            .filter_map(|message| self.rules.model.smallest_in_message(message))
            .min()
    }

    #[inline]
    pub(crate) fn items(&self, row: QueueRow) -> impl ExactSizeIterator<Item = usize> + use<> {
        places(row.items)
    }

    #[inline]
    pub(crate) fn item(&self, place: usize) -> Item {
        self.items[place]
    }

    /// The item at `place` of a queue.
    pub(crate) fn item_of(&self, row: QueueRow, place: usize) -> Item {
        self.items[row.items.0 as usize + place]
    }

    /// What may come of a cause: the first of its outcomes.
    #[inline]
    pub(crate) fn outcome(&mut self, local: u32, cause: Cause) -> OutcomeRow {
        let key = u64::from(local) << 32 | u64::from(cause.code());
        match self.outcomes.get(key) {
            Some(first) => first,
            None => self.learn_outcomes(key, local, cause),
        }
    }

    /// The next outcome of the same cause.
    #[inline]
    pub(crate) fn next_outcome(&self, row: OutcomeRow) -> Option<OutcomeRow> {
        let place = row.next.checked_sub(1)?;
        Some(self.more_outcomes[place as usize])
    }

    /// The outcome at `place` among those of a cause.
    pub(crate) fn outcome_at(&mut self, local: u32, cause: Cause, place: usize) -> OutcomeRow {
        let mut row = self.outcome(local, cause);
        for _ in 0..place {
            row =
                self.next_outcome(row).expect("a cause has the outcomes that it was seen to have");
        }
        row
    }

    fn learn_outcomes(&mut self, key: u64, local: u32, cause: Cause) -> OutcomeRow {
        let before = self.local(local).fingerprint;
        self.ran_last = Some((local, cause));
        let outcomes = self.rules.model.outcomes(local, cause);
        assert!(!outcomes.is_empty() && outcomes.len() <= MOST_OUTCOMES);
        let mut row = OutcomeRow::default();
        for (place, outcome) in outcomes.into_iter().enumerate().rev() {
            let sent = span(&self.sent, outcome.parcels.len());
            for id in outcome.parcels {
                let parcel = self.rules.freight.parcel_of(id);
                let layout = self.rules.layout;
                let slot = layout.link(parcel.from, parcel.to, parcel.message == 0) as u32;
                self.strayed |= !layout.is_on_the_ring(slot as usize);
                self.sent.push(Sent { parcel: id, slot, to: parcel.to });
            }
            row = OutcomeRow {
                local: outcome.local.id,
                change: outcome.local.fingerprint.wrapping_sub(before),
                observation: outcome.observation,
                sent,
                next: row.next,
            };
            if place > 0 {
                self.more_outcomes.push(row);
                row.next = u32::try_from(self.more_outcomes.len()).expect("fewer than 2^32");
            }
        }
        self.outcomes.insert(key, row);
        row
    }

    #[inline]
    pub(crate) fn sent(&self, row: OutcomeRow) -> impl Iterator<Item = usize> + use<> {
        places(row.sent)
    }

    #[inline]
    pub(crate) fn sent_item(&self, place: usize) -> Sent {
        self.sent[place]
    }

    /// The queue with one more parcel; [`NONE`] when there is no room.
    #[inline]
    pub(crate) fn push(&mut self, queue: u32, parcel: u32) -> Change {
        let key = u64::from(queue) << 32 | u64::from(parcel);
        if let Some(change) = self.pushes.get(key) {
            return change;
        }
        let pushed = self.rules.freight.push(queue, parcel);
        let change = Change::of(pushed, self.queue(queue).fingerprint);
        self.pushes.insert(key, change);
        change
    }

    /// The queue with one of its parcels twice; [`NONE`] when there is no room.
    pub(crate) fn double(&mut self, queue: u32, parcel: u32) -> Change {
        let key = u64::from(queue) << 32 | u64::from(parcel);
        if let Some(change) = self.doubles.get(key) {
            return change;
        }
        let doubled = self.rules.freight.doubled(queue, parcel);
        let change = Change::of(doubled, self.queue(queue).fingerprint);
        self.doubles.insert(key, change);
        change
    }

    /// The monitor after an observation; [`VIOLATED`] when it is violated.
    #[inline]
    pub(crate) fn judge(&mut self, place: usize, monitor: u32, observation: u32) -> Change {
        let key = u64::from(monitor) << 32 | u64::from(observation);
        if let Some(change) = self.judged[place].get(key) {
            return change;
        }
        let judged = self.rules.model.judge(place, monitor, observation);
        let violated = Interned { id: VIOLATED, fingerprint: 0 };
        let before = self.monitor(place, monitor).fingerprint;
        let change = Change::of(Some(judged.unwrap_or(violated)), before);
        self.judged[place].insert(key, change);
        change
    }

    /// What is known of a monitor's state.
    pub(crate) fn monitor(&mut self, place: usize, monitor: u32) -> MonitorFacts {
        if let Some(Some(facts)) = self.monitors[place].get(monitor as usize) {
            return *facts;
        }
        let facts = self.rules.model.monitor(place, monitor);
        put(&mut self.monitors[place], monitor, facts);
        facts
    }

    /// A process or a queue one unit of time later.
    pub(crate) fn age(&mut self, id: u32, is_queue: bool) -> Change {
        let key = u64::from(is_queue) << 32 | u64::from(id);
        if let Some(change) = self.aged.get(key) {
            return change;
        }
        let (aged, before) = if is_queue {
            (self.rules.freight.aged(id), self.queue(id).fingerprint)
        } else {
            (self.rules.model.aged(id), self.local(id).fingerprint)
        };
        let change = Change::of(Some(aged), before);
        self.aged.insert(key, change);
        change
    }

    /// A part of a world with its stamps made smaller.
    pub(crate) fn shift(&mut self, part: Part, id: u32, by: u64) -> Change {
        assert!(by < 1 << 24, "stamps grow by small steps");
        let key = u64::from(id) << 32 | by << 8 | part.code();
        if let Some(change) = self.shifted.get(key) {
            return change;
        }
        let (shifted, before) = match part {
            Part::Local => (self.rules.model.shifted(id, by), self.local(id).fingerprint),
            Part::Queue => (self.shifted_queue(id, by), self.queue(id).fingerprint),
            Part::Monitor(place) => {
                let before = self.monitor(place, id).fingerprint;
                (self.rules.model.shifted_monitor(place, id, by), before)
            }
        };
        let change = Change::of(Some(shifted), before);
        self.shifted.insert(key, change);
        change
    }

    /// The fingerprint of a part of a world under other names.
    pub(crate) fn rename(&mut self, part: Part, id: u32, renaming: usize) -> u64 {
        let key = u64::from(id) << 32 | (renaming as u64) << 8 | part.code();
        if let Some(print) = self.renamed.get(key) {
            return print;
        }
        let model = &self.rules.model;
        let print = match part {
            Part::Local => model.renamed(id, renaming),
            Part::Queue => self.rules.freight.renamed(id, model.renaming(renaming), |message| {
                model.renamed_message(message, renaming)
            }),
            Part::Monitor(_) => 0,
        };
        self.renamed.insert(key, print);
        print
    }

    fn shifted_queue(&self, queue: u32, by: u64) -> Interned {
        self.rules.freight.mapped(queue, |(mut parcel, print)| {
            if parcel.message == 0 {
                return (parcel, print);
            }
            let shifted = self.rules.model.shifted_message(parcel.message, by);
            parcel.message = shifted.id;
            (parcel, shifted.fingerprint)
        })
    }
}

/// What kind of part of a world it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Local,
    Queue,
    Monitor(usize),
}

impl Part {
    fn code(self) -> u64 {
        match self {
            Part::Local => 1,
            Part::Queue => 2,
            Part::Monitor(place) => 3 + place as u64,
        }
    }
}

fn span<T>(rows: &[T], count: usize) -> (u32, u32) {
    let first = u32::try_from(rows.len()).expect("fewer than 2^32 rows");
    (first, count as u32)
}

fn places((first, count): (u32, u32)) -> std::ops::Range<usize> {
    first as usize..(first + count) as usize
}

fn put<T: Clone>(rows: &mut Vec<Option<T>>, id: u32, row: T) {
    let place = id as usize;
    if rows.len() <= place {
        rows.resize(place + 1, None);
    }
    rows[place] = Some(row);
}
