//! Traces told as a story, a line per event.

use std::fmt::{self, Write};

use serde::Serialize;
use serde_json::Value;
use tenure_core::service::{clock, commit, election, mutex, replication, stream, tree};
use tenure_core::{Fence, ProcessId, Term, Verdict};

use crate::format::{
    Access, ApplicationCommand, ApplicationEvent, Asked, Choice, ClockUnit, Header, Kind,
    Operation, Passage, Record, Told, Who,
};
use crate::plain::Plain;
use crate::state::Shown;

/// Tells a trace, record by record, in words.
#[derive(Clone, Debug, Default)]
pub struct Show {
    /// Only what happened to these; to anybody when empty.
    pub processes: Vec<Who>,
    /// Only these kinds of events, or messages of this name; any when empty.
    pub kinds: Vec<String>,
    /// Whether to tell what messages say.
    pub contents: bool,
    /// Whether to tell what processes hold after each step; naming the kind tells it, too.
    pub states: bool,
    /// The time that is told as 0.
    start: Option<u64>,
}

impl Show {
    /// A story-teller for the trace with this header, who tells everything but what messages
    /// say and processes hold. Virtual time is told as it is, real time from the first record.
    pub fn new(header: &Header) -> Self {
        let start = (header.clock == ClockUnit::Tick).then_some(0);
        Show { start, ..Show::default() }
    }

    /// The line for this record: the time in units (milliseconds of real time), and what
    /// happened. `None` when the record is filtered out.
    pub fn line(&mut self, record: &Record) -> Option<String> {
        let start = *self.start.get_or_insert(record.time);
        if !self.wants(record) {
            return None;
        }
        let time = units(record.time.saturating_sub(start));
        let mut line = format!("{time:>10}  {}", record.in_words());
        if let Some(content) = record.kind.passage().and_then(|passage| passage.content.as_deref())
            && self.contents
        {
            let _ = write!(Plain(&mut line), ": {content}");
        }
        Some(line)
    }

    fn wants(&self, record: &Record) -> bool {
        let message = record.kind.passage().map_or("", |passage| &passage.message);
        let name = record.kind.name();
        let is_named = self.kinds.iter().any(|kind| kind == name || kind == message);
        let is_state = matches!(record.kind, Kind::State(_));
        let is_usual = if is_state { self.states } else { self.kinds.is_empty() };
        (is_named || is_usual)
            && (self.processes.is_empty() || self.processes.contains(&record.process))
    }
}

/// Ticks as units, to the thousandth, without idle zeros.
pub(crate) fn units(ticks: u64) -> String {
    let thousandths = ticks / 1_000;
    let text = format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Record {
    /// What happened, in words.
    pub fn in_words(&self) -> String {
        let mut words = String::new();
        let _ = tell(&mut Plain(&mut words), self);
        words
    }
}

fn tell(f: &mut impl Write, record: &Record) -> fmt::Result {
    let Record { process: at, kind, .. } = record;
    match kind {
        Kind::Boot => write!(f, "{at} boots"),
        Kind::Command(asked) => asks(f, *at, asked),
        Kind::Event(told) => is_told(f, *at, told),
        Kind::Send(Passage { peer, message, .. }) => {
            write!(f, "{at} sends {message} to {peer}")
        }
        Kind::Receive(Passage { peer, message, .. }) => {
            write!(f, "{at} receives {message} from {peer}")
        }
        Kind::Drop(Passage { peer, message, .. }) => {
            write!(f, "{message} from {at} to {peer} is lost")
        }
        Kind::Duplicate(Passage { peer, message, .. }) => {
            write!(f, "{message} from {at} to {peer} is duplicated")
        }
        Kind::Timer(timer) => write!(f, "{at}'s timer {timer} fires"),
        Kind::Suspicion { peer, verdict: Verdict::Suspect } => {
            write!(f, "{at} suspects {peer}")
        }
        Kind::Suspicion { peer, verdict: Verdict::Trust } => write!(f, "{at} trusts {peer}"),
        Kind::Mute => {
            write!(f, "what {at} does from here on is saved, and nobody hears of it: it will crash")
        }
        Kind::Unsaved => write!(f, "{at} crashes before it saves what its last step changed"),
        Kind::Crash => write!(f, "{at} crashes"),
        Kind::Recover => write!(f, "{at} recovers"),
        Kind::Stop => write!(f, "{at} is stopped"),
        Kind::Continue => write!(f, "{at} continues"),
        Kind::Partition(sides) => write!(f, "the network splits: {}", splits(sides)),
        Kind::Heal => f.write_str("the network is whole again"),
        Kind::Access(access) => accesses(f, access),
        Kind::Choice(choice) => {
            let Choice { value, bound } = choice;
            write!(f, "{at} draws {value} of 0 to {}", bound.saturating_sub(1))
        }
        Kind::Note(text) => write!(f, "{at} notes: {text}"),
        Kind::State(state) => write!(f, "{at} holds {}", Shown(state)),
        Kind::End if *at == Who::Parent => f.write_str("the run is over"),
        Kind::End => write!(f, "{at} ends"),
        Kind::Other { kind, data: None } => write!(f, "{at}: {kind}"),
        Kind::Other { kind, data: Some(data) } => write!(f, "{at}: {kind} {data}"),
    }
}

fn asks(f: &mut impl Write, at: Who, asked: &Asked) -> fmt::Result {
    match (asked.mutex(), asked.election(), asked) {
        (Some(mutex::Command::Enter), ..) => write!(f, "{at} asks to enter"),
        (Some(mutex::Command::Exit), ..) => write!(f, "{at} asks to exit"),
        (_, Some(election::Command::Elect), _) => write!(f, "{at} asks for an election"),
        (_, Some(election::Command::Resign), _) => write!(f, "{at} asks to resign"),
        (.., Asked::Stream(stream::Command::Send { to, item })) => {
            write!(f, "{at} asks to send item {item} to {to}")
        }
        (.., Asked::Agreement(command)) => write!(f, "{at} {command}"),
        (.., asked) => match asked.application() {
            Some(command) => write!(f, "{at} {}", asks_an_application(command)),
            None => write!(f, "{at} asks {}", json(asked)),
        },
    }
}

fn is_told(f: &mut impl Write, at: Who, told: &Told) -> fmt::Result {
    match (told.mutex(), told.election(), told) {
        (Some(mutex::Event::Entered { fence: Fence::NONE }), ..) => write!(f, "{at} enters"),
        (Some(mutex::Event::Entered { fence }), ..) => write!(f, "{at} enters (fence {fence})"),
        (Some(mutex::Event::Exited), ..) => write!(f, "{at} exits"),
        (_, Some(election::Event::Elected { leader, term }), _) => {
            let term = in_term(*term);
            if at == Who::Process(*leader) {
                write!(f, "{at} is elected{term}")
            } else {
                write!(f, "{at} learns that {leader} leads{term}")
            }
        }
        (_, Some(election::Event::Deposed { term }), _) => {
            write!(f, "{at} learns that {} leads no more{}", term.leader, in_term(*term))
        }
        (.., Told::Stream(stream::Event::Received { from, item })) => {
            write!(f, "{at} gets item {item} of {from}")
        }
        (.., Told::Agreement(event)) => write!(f, "{at} {event}"),
        (.., told) => match told.application() {
            Some(event) => write!(f, "{at} {}", told_by_an_application(event)),
            None => write!(f, "{at} is told {}", json(told)),
        },
    }
}

fn asks_an_application(command: &ApplicationCommand) -> String {
    use {clock::Command as Clock, commit::Command as Commit};
    let words = match command {
        ApplicationCommand::Clock(Clock::Set { to }) => return format!("sets its clock to {to}"),
        ApplicationCommand::Clock(Clock::Synchronise) => "asks to bring the clocks together",
        ApplicationCommand::Clock(Clock::Read) => "reads its clock",
        ApplicationCommand::Replication(replication::Command::Write { value }) => {
            return format!("asks to write {value}");
        }
        ApplicationCommand::Commit(Commit::Begin) => "asks for a transaction",
        ApplicationCommand::Commit(Commit::Veto) => "is against transactions",
        ApplicationCommand::Tree(tree::Command::Grow) => "asks for a tree",
    };
    words.to_owned()
}

fn told_by_an_application(event: &ApplicationEvent) -> String {
    use {clock::Event as Clock, commit::Event as Commit};
    use {replication::Event as Replication, tree::Event as Tree};
    match event {
        ApplicationEvent::Clock(Clock::Adjusted { by, .. }) => format!("adjusts its clock by {by}"),
        ApplicationEvent::Clock(Clock::Shows { time }) => format!("sees {time} on its clock"),
        ApplicationEvent::Replication(Replication::Serving { term, writes }) => {
            format!("serves {writes:?}{}", in_term(*term))
        }
        ApplicationEvent::Replication(Replication::Acknowledged { term, place, value }) => {
            format!("has {value} as write {place}{}", in_term(*term))
        }
        ApplicationEvent::Commit(Commit::Prepared { transaction }) => {
            format!("has voted for {transaction}")
        }
        ApplicationEvent::Commit(Commit::Committed { transaction }) => {
            format!("commits {transaction}")
        }
        ApplicationEvent::Commit(Commit::Aborted { transaction }) => {
            format!("aborts {transaction}")
        }
        ApplicationEvent::Replication(Replication::Refused { .. })
        | ApplicationEvent::Commit(Commit::Refused) => "is refused".to_owned(),
        ApplicationEvent::Tree(Tree::Joined { parent: Some(parent), .. }) => {
            format!("joins through {parent}")
        }
        ApplicationEvent::Tree(Tree::Joined { parent: None, .. }) => "is the root".to_owned(),
        ApplicationEvent::Tree(Tree::Completed { size, .. }) => {
            format!("knows of a tree of {size}")
        }
    }
}

fn json(said: &impl Serialize) -> Value {
    serde_json::to_value(said).unwrap_or_default()
}

/// ` (term 2)`, or nothing in elections without terms.
pub(crate) fn in_term(term: Term) -> String {
    if term.number == 0 { String::new() } else { format!(" (term {})", term.number) }
}

/// The sides of a partition: `P1 P2 | P3`.
pub(crate) fn splits(sides: &[Vec<ProcessId>]) -> String {
    let names =
        |side: &Vec<ProcessId>| side.iter().map(ProcessId::to_string).collect::<Vec<_>>().join(" ");
    sides.iter().map(names).collect::<Vec<_>>().join(" | ")
}

fn accesses(f: &mut impl Write, access: &Access) -> fmt::Result {
    let Access { by, operation, fence, value, accepted, highest } = access;
    match (accepted, operation) {
        (true, Operation::Get) => write!(f, "the resource gives {value} to {by}")?,
        (true, Operation::Put) => write!(f, "the resource takes {value} from {by}")?,
        (false, Operation::Get) => write!(f, "the resource refuses to give to {by}")?,
        (false, Operation::Put) => write!(f, "the resource refuses {value} from {by}")?,
    }
    match (fence, highest) {
        (Some(fence), Some(highest)) if !accepted => write!(f, " (fence {fence} after {highest})"),
        (Some(fence), _) => write!(f, " (fence {fence})"),
        (None, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_core::Layer;
    use tenure_core::service::office;

    use super::*;
    use crate::format::Source;
    use tenure_core::Service;

    const P1: ProcessId = ProcessId(0);
    const P3: ProcessId = ProcessId(2);

    fn show() -> Show {
        Show::new(&Header::new("central", Service::Office, 3, Source::Simulator))
    }

    fn told(who: impl Into<Who>, kind: Kind) -> String {
        let mut show = Show { states: true, ..show() };
        let line = show.line(&Record::new(12_500_000, who, kind)).unwrap();
        line.trim_start().to_owned()
    }

    fn request() -> Passage {
        let content = Some(Box::new(json!({"stamp": [1, 0]})));
        let message = "request".into();
        Passage { peer: P3, layer: Layer::Mutex, message, number: 1, session: 0, content }
    }

    fn elected(leader: ProcessId, number: u64) -> Kind {
        let event = election::Event::Elected { leader, term: Term { number, leader } };
        Kind::Event(office::Event::Election(event).into())
    }

    fn access(operation: Operation, accepted: bool) -> Kind {
        let (fence, highest) = (Some(Fence(1, 2)), Some(Fence(1, 3)));
        Kind::Access(Access { by: P1, operation, fence, value: 7, accepted, highest })
    }

    #[test]
    fn every_event_is_told_in_words() {
        let entered = mutex::Event::Entered { fence: Fence(1, 2) };
        let sides = vec![vec![P1], vec![ProcessId(1), P3]];
        let suspects = Kind::Suspicion { peer: P3, verdict: Verdict::Suspect };
        for (kind, says) in [
            (Kind::Command(mutex::Command::Enter.into()), "P1 asks to enter"),
            (Kind::Command(election::Command::Elect.into()), "P1 asks for an election"),
            (Kind::Event(entered.into()), "P1 enters (fence 1.2)"),
            (Kind::Event(office::Event::Mutex(mutex::Event::Exited).into()), "P1 exits"),
            (elected(P1, 2), "P1 is elected (term 2)"),
            (elected(P3, 2), "P1 learns that P3 leads (term 2)"),
            (elected(P3, 0), "P1 learns that P3 leads"),
            (Kind::Send(request()), "P1 sends request to P3"),
            (Kind::Receive(request()), "P1 receives request from P3"),
            (Kind::Drop(request()), "request from P1 to P3 is lost"),
            (Kind::Timer("Answer".into()), "P1's timer Answer fires"),
            (suspects, "P1 suspects P3"),
            (Kind::Crash, "P1 crashes"),
            (Kind::Partition(sides), "the network splits: P1 | P2 P3"),
            (access(Operation::Get, true), "the resource gives 7 to P1 (fence 1.2)"),
            (access(Operation::Put, true), "the resource takes 7 from P1 (fence 1.2)"),
            (access(Operation::Put, false), "the resource refuses 7 from P1 (fence 1.2 after 1.3)"),
            (Kind::End, "P1 ends"),
            (Kind::State(json!({"type": "A", "b": [1, "P2"]})), "P1 holds A {b: [1, P2]}"),
            (Kind::Other { kind: "eclipse".into(), data: Some(json!(1)) }, "P1: eclipse 1"),
        ] {
            assert_eq!(told(P1, kind), format!("12.5  {says}"));
        }
        assert_eq!(told(Who::Parent, Kind::End), "12.5  the run is over");
    }

    #[test]
    fn times_are_told_to_the_thousandth_without_idle_zeros() {
        let texts = [0, 1_000_000, 1_500_000, 20_000_000, 1_234_567].map(units);
        assert_eq!(texts, ["0", "1", "1.5", "20", "1.234"]);
    }

    #[test]
    fn real_time_is_told_from_the_first_record_even_when_that_is_filtered_out() {
        let mut header = Header::new("central", Service::Mutex, 3, Source::Node);
        header.clock = ClockUnit::Nanosecond;
        let mut show = Show::new(&header);
        show.kinds = vec!["crash".into()];
        assert_eq!(show.line(&Record::new(5_000_000_000, P1, Kind::Boot)), None);
        let line = show.line(&Record::new(5_002_000_000, P1, Kind::Crash)).unwrap();
        assert_eq!(line, "         2  P1 crashes");
    }

    #[test]
    fn states_are_told_to_whoever_asks_for_them() {
        let record = Record::new(0, P1, Kind::State(json!({"type": "A"})));
        let told = |with: fn(&mut Show)| {
            let mut show = show();
            with(&mut show);
            show.line(&record).is_some()
        };
        assert!(!told(|_| {}) && !told(|show| show.kinds = vec!["crash".into()]));
        assert!(told(|show| show.states = true) && told(|show| show.kinds = vec!["state".into()]));
    }

    #[test]
    fn filters_name_processes_kinds_and_messages() {
        let sent = Record::new(0, P1, Kind::Send(request()));
        let passes = |change: fn(&mut Show)| {
            let mut show = show();
            change(&mut show);
            show.line(&sent).is_some()
        };
        assert!(passes(|show| show.processes = vec![Who::Process(P3), Who::Process(P1)]));
        assert!(!passes(|show| show.processes = vec![Who::Process(P3)]));
        assert!(passes(|show| show.kinds = vec!["send".into()]));
        assert!(passes(|show| show.kinds = vec!["request".into()]));
        assert!(!passes(|show| show.kinds = vec!["reply".into()]));
    }

    #[test]
    fn what_messages_say_is_told_on_demand() {
        let mut show = Show { contents: true, ..show() };
        let line = show.line(&Record::new(0, P1, Kind::Send(request()))).unwrap();
        assert!(line.ends_with("P1 sends request to P3: {\"stamp\":[1,0]}"), "{line}");
    }
}
