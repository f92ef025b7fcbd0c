use std::collections::{HashMap, VecDeque};

use serde::Serialize;
use tenure_core::service::mutex;
use tenure_core::{Fence, ProcessId, Term, Verdict};

use super::news::{Latest, News};
use super::strip::{Belt, Span, Strip, millis};
use crate::fold::standing::{Change, Hold, Life, Standing, Standings};
use crate::format::named::stranger;
use crate::format::{Access, Kind, Record, Who};

/// Rates are those of this time, in nanoseconds.
const RATED: u64 = 1_500_000_000;

/// What is known of a run now.
#[derive(Clone, Debug)]
pub struct View {
    /// The time that is told as 0.
    start: Option<u64>,
    standings: Standings,
    processes: Vec<Watched>,
    /// The highest fence of an entry, and whose.
    fence: Option<(Fence, ProcessId)>,
    refused: u64,
    refusal: Option<(u64, String)>,
    /// The highest term that anybody was told of, and when.
    term: Option<(Term, u64)>,
    latest: Latest,
    belt: Belt,
    /// When there were how many entries and messages, by process.
    counted: VecDeque<(u64, Vec<(u64, u64)>)>,
    /// When the run ended. What nodes do after that, when they are ended one after another, is not
    /// shown.
    ended: Option<u64>,
    /// When each suspicion that lasts began, by who suspects whom.
    suspicions: HashMap<(ProcessId, ProcessId), u64>,
}

/// What is counted of one process.
#[derive(Clone, Debug, Default)]
struct Watched {
    entries: u64,
    messages: u64,
    refused: u64,
}

/// Everything that a page shows, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    /// The moment, in milliseconds since the first record.
    pub now: f64,
    /// Everybody, in order.
    pub processes: Vec<Process>,
    /// The number of whom those who are up believe to lead, and of the term.
    pub leader: Option<(u32, u64)>,
    /// The highest fence of an entry, and the number of who got it.
    pub fence: Option<(String, u32)>,
    /// Entries so far.
    pub entries: u64,
    /// Entries in a second, of late.
    pub entries_per_second: f64,
    /// Messages sent so far, heartbeats left out.
    pub messages: u64,
    /// Messages in a second, of late.
    pub messages_per_second: f64,
    /// Accesses that the resource refused.
    pub refused: u64,
    /// The last of them, in words, and when it was.
    pub last_refused: Option<(String, f64)>,
    /// The latest of what people want to know of.
    pub news: Vec<News>,
    /// The last seconds.
    pub strip: Strip,
    /// Whether the run is over.
    pub over: bool,
}

/// One process at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Process {
    /// Its number, from 1.
    pub process: u32,
    /// `up`, `down`, `stopped`, or `unknown` to whoever tells.
    pub life: &'static str,
    /// `outside`, `waiting` or `inside`.
    pub lock: &'static str,
    /// For how long it waits or is inside, in milliseconds.
    pub for_ms: Option<f64>,
    /// The fence of its entry, while it is inside.
    pub fence: Option<String>,
    /// The number of whom it believes to lead, and of the term.
    pub leader: Option<(u32, u64)>,
    /// The numbers of whom it suspects.
    pub suspects: Vec<u32>,
    /// How often it entered.
    pub entries: u64,
    /// How often of late, in a second.
    pub entries_per_second: f64,
    /// How many messages it sent.
    pub messages: u64,
    /// How many of late, in a second.
    pub messages_per_second: f64,
    /// How many of its accesses the resource refused.
    pub refused: u64,
}

impl View {
    /// A view of a group of this size, of which nothing is known yet.
    pub fn new(size: u32) -> Self {
        View {
            start: None,
            standings: Standings::default(),
            processes: vec![Watched::default(); size as usize],
            fence: None,
            refused: 0,
            refusal: None,
            term: None,
            latest: Latest::default(),
            belt: Belt::default(),
            counted: VecDeque::new(),
            ended: None,
            suspicions: HashMap::new(),
        }
    }

    /// Takes note of a record. Those of one file come in its order; files need not be merged.
    pub fn read(&mut self, record: &Record) {
        let size = u32::try_from(self.processes.len()).unwrap_or(u32::MAX);
        if stranger(record, size).is_some() {
            return;
        }
        self.start.get_or_insert(record.time);
        match record.process {
            Who::Process(_) if self.is_past_end(record.time) => {}
            Who::Process(at) => self.of_process(at, record),
            Who::Resource => {
                if let Kind::Access(access) = &record.kind {
                    self.accessed(access, record);
                }
            }
            Who::Parent => match &record.kind {
                Kind::End => {
                    self.ended = Some(record.time);
                    self.tell(record, "end", None);
                }
                Kind::Partition(_) => self.tell(record, "partition", None),
                Kind::Heal => self.tell(record, "heal", None),
                _ => {}
            },
        }
    }

    fn is_past_end(&self, time: u64) -> bool {
        self.ended.is_some_and(|end| time > end)
    }

    /// So many messages were sent and entries made that nobody looks at one by one.
    pub(super) fn pass_over(&mut self, who: Who, (messages, entries): (u64, u64)) {
        let Who::Process(at) = who else { return };
        let Some(process) = self.processes.get_mut(at.index()) else { return };
        process.messages += messages;
        process.entries += entries;
        self.standings.pass_over(at);
    }

    fn of_process(&mut self, at: ProcessId, record: &Record) {
        let start = self.start.unwrap_or(record.time);
        // One that is written down after the next boot changes nothing.
        let is_late = record.kind == Kind::Crash
            && self.standings.of(at).session.is_some_and(|session| record.session < session);
        let changes = if is_late { Vec::new() } else { self.standings.read(record) };
        // A wait that was cut short was none.
        let cut_short = changes.contains(&Change::Crashes) || changes.contains(&Change::Recovers);
        for change in changes {
            match change {
                Change::Ends(Hold::Waiting, _) if cut_short => {}
                Change::Ends(hold, from) => {
                    let until = Some(record.time);
                    self.belt.end(Span { process: at, what: word(hold), from, until });
                }
                Change::Boots => self.tell(record, "boot", Some(at)),
                Change::Recovers => self.tell(record, "recover", Some(at)),
                Change::Opines(peer, verdict) => {
                    match verdict {
                        Verdict::Suspect => self.suspicions.insert((at, peer), record.time),
                        Verdict::Trust => self.suspicions.remove(&(at, peer)),
                    };
                    self.tell(record, "suspicion", Some(at));
                }
                Change::Believes(Some(term)) if self.term.is_none_or(|(last, _)| last < term) => {
                    self.term = Some((term, record.time));
                    let says = format!("{} leads in term {}", term.leader, term.number);
                    self.latest.tell(
                        millis(record.time, start),
                        "elected",
                        Some(term.leader),
                        says,
                    );
                }
                _ => {}
            }
        }
        let process = &mut self.processes[at.index()];
        match &record.kind {
            Kind::Crash => self.tell(record, "crash", Some(at)),
            Kind::Stop => self.tell(record, "stop", Some(at)),
            Kind::Continue => self.tell(record, "continue", Some(at)),
            Kind::Event(told) => {
                if let Some(mutex::Event::Entered { fence }) = told.mutex() {
                    process.entries += 1;
                    self.fence = self.fence.max(Some((*fence, at)));
                }
            }
            Kind::Send(passage) => {
                process.messages += 1;
                self.belt.send(at, record.session, passage, record.time);
            }
            Kind::Receive(passage) => self.belt.receive(at, passage, record.time, start),
            Kind::Drop(passage) => self.belt.lose(at, passage, record.time, start),
            _ => {}
        }
    }

    fn accessed(&mut self, access: &Access, record: &Record) {
        if access.accepted {
            return;
        }
        self.refused += 1;
        if let Some(process) = self.processes.get_mut(access.by.index()) {
            process.refused += 1;
        }
        self.refusal = Some((record.time, record.in_words()));
        self.tell(record, "refused", Some(access.by));
    }

    fn tell(&mut self, record: &Record, kind: &'static str, process: Option<ProcessId>) {
        let at = millis(record.time, self.start.unwrap_or(record.time));
        self.latest.tell(at, kind, process, record.in_words());
    }

    /// What is known at this moment, in nanoseconds since 1970.
    pub fn snapshot(&mut self, now: u64) -> Snapshot {
        let start = *self.start.get_or_insert(now);
        let rates = self.rates(now);
        let open = self.open();
        let strip = self.belt.cut(now, start, open);
        let sum = |each: fn(&Watched) -> u64| self.processes.iter().map(each).sum();
        let processes: Vec<Process> =
            (0..self.processes.len()).map(|place| self.process(place, now, rates[place])).collect();
        Snapshot {
            now: millis(now, start),
            leader: self.leader(),
            fence: self.fence.map(|(fence, at)| (fence.to_string(), at.number())),
            entries: sum(|process| process.entries),
            entries_per_second: tenths(rates.iter().map(|rate| rate.0).sum()),
            messages: sum(|process| process.messages),
            messages_per_second: tenths(rates.iter().map(|rate| rate.1).sum()),
            refused: self.refused,
            last_refused: self.refusal.clone().map(|(time, says)| (says, millis(time, start))),
            news: self.latest.all(),
            strip,
            over: self.ended.is_some(),
            processes,
        }
    }

    /// What still lasts.
    fn open(&self) -> Vec<Span> {
        let everybody = (0..self.processes.len()).map(ProcessId::at);
        let open = |process: ProcessId| {
            let lasting = self.standings.of(process).lasting.iter();
            lasting.map(move |(hold, from)| Span {
                process,
                what: word(*hold),
                from: *from,
                until: None,
            })
        };
        everybody.flat_map(open).chain(self.led_unheard()).collect()
    }

    /// That somebody leads of whom nothing else is known: a node's own page has only what the node
    /// was told itself.
    fn led_unheard(&self) -> Option<Span> {
        let (Term { number, leader: process }, from) = self.term?;
        let leads = self.leader() == Some((process.number(), number));
        let unheard = leads && self.standings.of(process).life == Life::Unknown;
        let what = word(Hold::Leading(number));
        unheard.then_some(Span { process, what, from, until: None })
    }

    /// Whom the live believe to lead, if whoever that is lives: the latest term counts.
    fn leader(&self) -> Option<(u32, u64)> {
        let up = |at: ProcessId| self.standings.of(at).life != Life::Down;
        let live = (0..self.processes.len()).map(ProcessId::at).filter(|at| up(*at));
        let term = live.filter_map(|at| self.standings.of(at).leader).max()?;
        let leads = term.leader.index() < self.processes.len() && up(term.leader);
        leads.then_some((term.leader.number(), term.number))
    }

    fn process(&self, place: usize, now: u64, rate: (f64, f64)) -> Process {
        let (watched, at) = (&self.processes[place], ProcessId::at(place));
        let standing = self.standings.of(at);
        let mut lock = ("outside", None, None);
        for (hold, since) in &standing.lasting {
            let fence = (*hold == Hold::Inside).then(|| standing.fence.to_string());
            if matches!(hold, Hold::Waiting | Hold::Inside) {
                lock = (word(*hold), Some(millis(now, *since)), fence);
            }
        }
        let (lock, for_ms, fence) = lock;
        Process {
            process: at.number(),
            life: match standing.life {
                Life::Unknown => "unknown",
                Life::Down => "down",
                _ if standing.since(Hold::Stopped).is_some() => "stopped",
                Life::Up | Life::Ended => "up",
            },
            lock,
            for_ms,
            fence,
            leader: standing.leader.map(|term| (term.leader.number(), term.number)),
            suspects: self.suspects(at, standing),
            entries: watched.entries,
            entries_per_second: tenths(rate.0),
            messages: watched.messages,
            messages_per_second: tenths(rate.1),
            refused: watched.refused,
        }
    }

    /// The numbers of the peers that a process suspects. Traces are not merged, so that a suspicion
    /// may be read before the end that it came after.
    fn suspects(&self, at: ProcessId, standing: &Standing) -> Vec<u32> {
        let since = |peer: &ProcessId| self.suspicions.get(&(at, *peer)).copied().unwrap_or(0);
        let peers = standing.suspects.iter().filter(|peer| !self.is_past_end(since(peer)));
        peers.map(|peer| peer.number()).collect()
    }

    /// Entries and messages in a second, by process.
    fn rates(&mut self, now: u64) -> Vec<(f64, f64)> {
        let counts: Vec<(u64, u64)> =
            self.processes.iter().map(|process| (process.entries, process.messages)).collect();
        while self.counted.len() > 1 && self.counted[1].0 + RATED <= now {
            self.counted.pop_front();
        }
        let rates = match self.counted.front() {
            Some((then, before)) if *then < now => {
                let seconds = (now - then) as f64 / 1e9;
                let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
                let both = counts.iter().zip(before);
                both.map(|(now, then)| (rate(now.0, then.0), rate(now.1, then.1))).collect()
            }
            _ => vec![(0.0, 0.0); counts.len()],
        };
        self.counted.push_back((now, counts));
        rates
    }
}

/// What a page calls it.
const fn word(hold: Hold) -> &'static str {
    match hold {
        Hold::Waiting => "waiting",
        Hold::Inside => "inside",
        Hold::Leading(_) => "leading",
        Hold::Token => "token",
        Hold::Down => "down",
        Hold::Stopped => "stopped",
    }
}

fn tenths(rate: f64) -> f64 {
    (rate * 10.0).round() / 10.0
}
