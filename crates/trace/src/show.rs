//! Text form of traces, with one line per event.

use std::fmt::{self, Write};

use serde::Serialize;
use serde_json::Value;
use tenure_core::service::{
    clock_synchronisation, commit, election, leader_tree, mutex, replicated_list, stream,
};
use tenure_core::{Fence, PeerVerdict, ProcessId, Term};

use crate::escaping::EscapingWriter;
use crate::format::{
    ApplicationCommand, ApplicationEvent, ClockUnit, Header, MemoryAccess, MemoryOperation,
    MessageRecord, RandomChoice, Record, RecordKind, RecordSubject, RecordedCommand, RecordedEvent,
    ResourceAccessRecord, ResourceOperation,
};
use crate::state::CompactTree;

/// Formats the records of a trace as lines of text, with filters.
#[derive(Clone, Debug, Default)]
pub struct RecordFormatter {
    /// Subjects whose records are formatted. Empty means all.
    pub subjects: Vec<RecordSubject>,
    /// Names of record kinds or of messages. Only records with one of these names are formatted.
    /// Empty means all records.
    pub kind_or_message_names: Vec<String>,
    /// True if lines include the contents of messages.
    pub shows_contents: bool,
    /// True if the output includes the records of states, which show the state of a process after a
    /// step. If `kinds` contains the name `state`, the output includes these records in any case.
    pub shows_states: bool,
    /// Time that is displayed as 0. In virtual time it is 0. In real time it is the time of the
    /// first record, and `None` before that.
    start: Option<u64>,
}

impl RecordFormatter {
    /// Creates a formatter for the trace with this header. It omits the contents of messages and
    /// the records of states.
    ///
    /// Virtual times are displayed as they are. Real times are relative to the first record.
    pub fn new(header: &Header) -> Self {
        let start = (header.clock == ClockUnit::Tick).then_some(0);
        RecordFormatter { start, ..RecordFormatter::default() }
    }

    /// Formats a record as one line: its time, and a description. The time is in units of virtual
    /// time or in milliseconds of real time. Returns `None` if a filter excludes the record.
    pub fn format_line(&mut self, record: &Record) -> Option<String> {
        let start = *self.start.get_or_insert(record.time);
        if !self.wants(record) {
            return None;
        }
        let time = format_ticks_briefly(record.time.saturating_sub(start));
        let mut line = format!("{time:>10}  {}", record.describe());
        if let Some(content) = record
            .kind
            .message_record()
            .and_then(|message_record| message_record.content.as_deref())
            && self.shows_contents
        {
            let _ = write!(EscapingWriter(&mut line), ": {content}");
        }
        Some(line)
    }

    fn wants(&self, record: &Record) -> bool {
        let message =
            record.kind.message_record().map_or("", |message_record| &message_record.message);
        let name = record.kind.name();
        let is_named =
            self.kind_or_message_names.iter().any(|kind| kind == name || kind == message);
        let is_state = matches!(record.kind, RecordKind::State(_));
        let is_usual =
            if is_state { self.shows_states } else { self.kind_or_message_names.is_empty() };
        (is_named || is_usual)
            && (self.subjects.is_empty() || self.subjects.contains(&record.process))
    }
}

/// Formats ticks as a number of units, or nanoseconds as milliseconds, with up to three decimals
/// and no trailing zeros. Further decimals are cut off.
pub(crate) fn format_ticks_briefly(ticks: u64) -> String {
    let thousandths = ticks / 1_000;
    let text = format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Record {
    /// Describes the record in words.
    pub fn describe(&self) -> String {
        let mut words = String::new();
        let _ = write_record(&mut EscapingWriter(&mut words), self);
        words
    }
}

fn write_record(f: &mut impl Write, record: &Record) -> fmt::Result {
    let Record { process: at, kind, .. } = record;
    match kind {
        RecordKind::Boot => write!(f, "{at} boots"),
        RecordKind::Command(command) => write_command(f, *at, command),
        RecordKind::Event(event) => write_event(f, *at, event),
        RecordKind::Send(MessageRecord { peer, message, .. }) => {
            write!(f, "{at} sends {message} to {peer}")
        }
        RecordKind::Receive(MessageRecord { peer, message, .. }) => {
            write!(f, "{at} receives {message} from {peer}")
        }
        RecordKind::Drop(MessageRecord { peer, message, .. }) => {
            write!(f, "{message} from {at} to {peer} is lost")
        }
        RecordKind::Duplicate(MessageRecord { peer, message, .. }) => {
            write!(f, "{message} from {at} to {peer} is duplicated")
        }
        RecordKind::Timer(timer) => write!(f, "{at}'s timer {timer} fires"),
        RecordKind::Suspicion { peer, verdict: PeerVerdict::Suspect } => {
            write!(f, "{at} suspects {peer}")
        }
        RecordKind::Suspicion { peer, verdict: PeerVerdict::Trust } => {
            write!(f, "{at} trusts {peer}")
        }
        RecordKind::Mute => {
            write!(
                f,
                "{at} is mute: it saves its steps without releasing their effects, and will crash"
            )
        }
        RecordKind::Unsaved => write!(f, "{at} crashes before it saves what its last step changed"),
        RecordKind::Crash => write!(f, "{at} crashes"),
        RecordKind::Recover => write!(f, "{at} recovers"),
        RecordKind::Stop => write!(f, "{at} is stopped"),
        RecordKind::Continue => write!(f, "{at} continues"),
        RecordKind::Partition(sides) => write!(f, "the network splits: {}", format_sides(sides)),
        RecordKind::Heal => f.write_str("the network is whole again"),
        RecordKind::Access(access) => write_access(f, access),
        RecordKind::Memory(access) => write_memory_access(f, *at, access),
        RecordKind::Choice(choice) => {
            let RandomChoice { value, bound } = choice;
            write!(f, "{at} draws {value} of 0 to {}", bound.saturating_sub(1))
        }
        RecordKind::Note(text) => write!(f, "{at} notes: {text}"),
        RecordKind::State(state) => write!(f, "{at} holds {}", CompactTree(state)),
        RecordKind::End if *at == RecordSubject::Parent => f.write_str("the run is over"),
        RecordKind::End => write!(f, "{at} ends"),
        RecordKind::Other { kind, data: None } => write!(f, "{at}: {kind}"),
        RecordKind::Other { kind, data: Some(data) } => write!(f, "{at}: {kind} {data}"),
    }
}

fn write_command(f: &mut impl Write, at: RecordSubject, command: &RecordedCommand) -> fmt::Result {
    match (command.mutex(), command.election(), command) {
        (Some(mutex::Command::Enter), ..) => write!(f, "{at} asks to enter"),
        (Some(mutex::Command::Exit), ..) => write!(f, "{at} asks to exit"),
        (_, Some(election::Command::Elect), _) => write!(f, "{at} asks for an election"),
        (_, Some(election::Command::Resign), _) => write!(f, "{at} asks to resign"),
        (.., RecordedCommand::Stream(stream::Command::Send { to, item })) => {
            write!(f, "{at} asks to send item {item} to {to}")
        }
        (.., RecordedCommand::Agreement(command)) => write!(f, "{at} {command}"),
        (.., command) => match command.application() {
            Some(command) => write!(f, "{at} {}", describe_application_command(command)),
            None => write!(f, "{at} asks {}", json(command)),
        },
    }
}

fn write_event(f: &mut impl Write, at: RecordSubject, event: &RecordedEvent) -> fmt::Result {
    match (event.mutex(), event.election(), event) {
        (Some(mutex::Event::Entered { fence: Fence::NONE }), ..) => write!(f, "{at} enters"),
        (Some(mutex::Event::Entered { fence }), ..) => write!(f, "{at} enters (fence {fence})"),
        (Some(mutex::Event::Exited), ..) => write!(f, "{at} exits"),
        (_, Some(election::Event::Elected { leader, term }), _) => {
            let term = term_suffix(*term);
            if at == RecordSubject::Process(*leader) {
                write!(f, "{at} is elected{term}")
            } else {
                write!(f, "{at} learns that {leader} leads{term}")
            }
        }
        (_, Some(election::Event::Deposed { term }), _) => {
            write!(f, "{at} learns that {} no longer leads{}", term.leader, term_suffix(*term))
        }
        (.., RecordedEvent::Stream(stream::Event::Received { from, item })) => {
            write!(f, "{at} gets item {item} of {from}")
        }
        (.., RecordedEvent::Agreement(event)) => write!(f, "{at} {event}"),
        (.., event) => match event.application() {
            Some(event) => write!(f, "{at} {}", describe_application_event(event)),
            None => write!(f, "{at} emits {}", json(event)),
        },
    }
}

fn describe_application_command(command: &ApplicationCommand) -> String {
    use {clock_synchronisation::Command as Clock, commit::Command as Commit};
    let words = match command {
        ApplicationCommand::Clock(Clock::Set { to }) => return format!("sets its clock to {to}"),
        ApplicationCommand::Clock(Clock::Synchronise) => "asks to synchronize the clocks",
        ApplicationCommand::Clock(Clock::Read) => "reads its clock",
        ApplicationCommand::Replication(replicated_list::Command::Write { value }) => {
            return format!("asks to write {value}");
        }
        ApplicationCommand::Commit(Commit::Begin) => "asks for a transaction",
        ApplicationCommand::Commit(Commit::Veto) => "votes against transactions",
        ApplicationCommand::Tree(leader_tree::Command::Grow) => "asks for a tree",
    };
    words.to_owned()
}

fn describe_application_event(event: &ApplicationEvent) -> String {
    use {clock_synchronisation::Event as Clock, commit::Event as Commit};
    use {leader_tree::Event as Tree, replicated_list::Event as Replication};
    match event {
        ApplicationEvent::Clock(Clock::Adjusted { by, .. }) => format!("adjusts its clock by {by}"),
        ApplicationEvent::Clock(Clock::Shows { time }) => format!("sees {time} on its clock"),
        ApplicationEvent::Replication(Replication::Serving { term, writes }) => {
            format!("serves {writes:?}{}", term_suffix(*term))
        }
        ApplicationEvent::Replication(Replication::Acknowledged { term, place, value }) => {
            format!("has {value} as write {place}{}", term_suffix(*term))
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

fn json(data: &impl Serialize) -> Value {
    serde_json::to_value(data).unwrap_or_default()
}

/// Formats a term as text to append, such as ` (term 2)`. Returns an empty string for elections
/// without terms.
pub(crate) fn term_suffix(term: Term) -> String {
    if term.number == 0 { String::new() } else { format!(" (term {})", term.number) }
}

/// Formats the sides of a partition, such as `P1 P2 | P3`.
pub(crate) fn format_sides(sides: &[Vec<ProcessId>]) -> String {
    let names =
        |side: &Vec<ProcessId>| side.iter().map(ProcessId::to_string).collect::<Vec<_>>().join(" ");
    sides.iter().map(names).collect::<Vec<_>>().join(" | ")
}

fn write_memory_access(
    f: &mut impl Write,
    at: RecordSubject,
    access: &MemoryAccess,
) -> fmt::Result {
    match access.operation {
        MemoryOperation::Read => write!(f, "{at} reads {access}"),
        MemoryOperation::Write => write!(f, "{at} writes {access}"),
        MemoryOperation::TestAndSet => {
            write!(f, "{at} tests and sets {} = {}", access.register, access.value)
        }
    }
}

fn write_access(f: &mut impl Write, access: &ResourceAccessRecord) -> fmt::Result {
    let ResourceAccessRecord { by, operation, fence, value, accepted, highest } = access;
    match (accepted, operation) {
        (true, ResourceOperation::Get) => write!(f, "the resource gives {value} to {by}")?,
        (true, ResourceOperation::Put) => write!(f, "the resource takes {value} from {by}")?,
        (false, ResourceOperation::Get) => write!(f, "the resource refuses to give to {by}")?,
        (false, ResourceOperation::Put) => write!(f, "the resource refuses {value} from {by}")?,
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
    use tenure_core::service::mutex_and_election;

    use super::*;
    use crate::format::TraceProducer;
    use tenure_core::Service;

    const P1: ProcessId = ProcessId(0);
    const P3: ProcessId = ProcessId(2);

    fn show() -> RecordFormatter {
        RecordFormatter::new(&Header::new(
            "central",
            Service::MutexAndElection,
            3,
            TraceProducer::Simulator,
        ))
    }

    fn formatted(who: impl Into<RecordSubject>, kind: RecordKind) -> String {
        let mut show = RecordFormatter { shows_states: true, ..show() };
        let line = show.format_line(&Record::new(12_500_000, who, kind)).unwrap();
        line.trim_start().to_owned()
    }

    fn request() -> MessageRecord {
        let content = Some(Box::new(json!({"stamp": [1, 0]})));
        let message = "request".into();
        MessageRecord { peer: P3, layer: Layer::Mutex, message, number: 1, session: 0, content }
    }

    fn elected(leader: ProcessId, number: u64) -> RecordKind {
        let event = election::Event::Elected { leader, term: Term { number, leader } };
        RecordKind::Event(mutex_and_election::Event::Election(event).into())
    }

    fn access(operation: ResourceOperation, accepted: bool) -> RecordKind {
        let (fence, highest) = (Some(Fence(1, 2)), Some(Fence(1, 3)));
        RecordKind::Access(ResourceAccessRecord {
            by: P1,
            operation,
            fence,
            value: 7,
            accepted,
            highest,
        })
    }

    #[test]
    fn describes_every_event() {
        let entered = mutex::Event::Entered { fence: Fence(1, 2) };
        let sides = vec![vec![P1], vec![ProcessId(1), P3]];
        let suspects = RecordKind::Suspicion { peer: P3, verdict: PeerVerdict::Suspect };
        for (kind, description) in [
            (RecordKind::Command(mutex::Command::Enter.into()), "P1 asks to enter"),
            (RecordKind::Command(election::Command::Elect.into()), "P1 asks for an election"),
            (RecordKind::Event(entered.into()), "P1 enters (fence 1.2)"),
            (
                RecordKind::Event(mutex_and_election::Event::Mutex(mutex::Event::Exited).into()),
                "P1 exits",
            ),
            (elected(P1, 2), "P1 is elected (term 2)"),
            (elected(P3, 2), "P1 learns that P3 leads (term 2)"),
            (elected(P3, 0), "P1 learns that P3 leads"),
            (RecordKind::Send(request()), "P1 sends request to P3"),
            (RecordKind::Receive(request()), "P1 receives request from P3"),
            (RecordKind::Drop(request()), "request from P1 to P3 is lost"),
            (RecordKind::Timer("Answer".into()), "P1's timer Answer fires"),
            (suspects, "P1 suspects P3"),
            (RecordKind::Crash, "P1 crashes"),
            (RecordKind::Partition(sides), "the network splits: P1 | P2 P3"),
            (access(ResourceOperation::Get, true), "the resource gives 7 to P1 (fence 1.2)"),
            (access(ResourceOperation::Put, true), "the resource takes 7 from P1 (fence 1.2)"),
            (
                access(ResourceOperation::Put, false),
                "the resource refuses 7 from P1 (fence 1.2 after 1.3)",
            ),
            (RecordKind::End, "P1 ends"),
            (RecordKind::State(json!({"type": "A", "b": [1, "P2"]})), "P1 holds A {b: [1, P2]}"),
            (RecordKind::Other { kind: "eclipse".into(), data: Some(json!(1)) }, "P1: eclipse 1"),
        ] {
            assert_eq!(formatted(P1, kind), format!("12.5  {description}"));
        }
        assert_eq!(formatted(RecordSubject::Parent, RecordKind::End), "12.5  the run is over");
    }

    #[test]
    fn formats_times_with_three_decimals_without_trailing_zeros() {
        let texts = [0, 1_000_000, 1_500_000, 20_000_000, 1_234_567].map(format_ticks_briefly);
        assert_eq!(texts, ["0", "1", "1.5", "20", "1.234"]);
    }

    #[test]
    fn real_time_starts_at_first_record_even_if_filtered() {
        let mut header = Header::new("central", Service::Mutex, 3, TraceProducer::Node);
        header.clock = ClockUnit::Nanosecond;
        let mut show = RecordFormatter::new(&header);
        show.kind_or_message_names = vec!["crash".into()];
        assert_eq!(show.format_line(&Record::new(5_000_000_000, P1, RecordKind::Boot)), None);
        let line = show.format_line(&Record::new(5_002_000_000, P1, RecordKind::Crash)).unwrap();
        assert_eq!(line, "         2  P1 crashes");
    }

    #[test]
    fn shows_states_on_request() {
        let record = Record::new(0, P1, RecordKind::State(json!({"type": "A"})));
        let shows_state = |with: fn(&mut RecordFormatter)| {
            let mut show = show();
            with(&mut show);
            show.format_line(&record).is_some()
        };
        assert!(
            !shows_state(|_| {})
                && !shows_state(|show| show.kind_or_message_names = vec!["crash".into()])
        );
        assert!(
            shows_state(|show| show.shows_states = true)
                && shows_state(|show| show.kind_or_message_names = vec!["state".into()])
        );
    }

    #[test]
    fn filters_by_process_kind_and_message() {
        let sent = Record::new(0, P1, RecordKind::Send(request()));
        let passes = |change: fn(&mut RecordFormatter)| {
            let mut show = show();
            change(&mut show);
            show.format_line(&sent).is_some()
        };
        assert!(passes(
            |show| show.subjects = vec![RecordSubject::Process(P3), RecordSubject::Process(P1)]
        ));
        assert!(!passes(|show| show.subjects = vec![RecordSubject::Process(P3)]));
        assert!(passes(|show| show.kind_or_message_names = vec!["send".into()]));
        assert!(passes(|show| show.kind_or_message_names = vec!["request".into()]));
        assert!(!passes(|show| show.kind_or_message_names = vec!["reply".into()]));
    }

    #[test]
    fn shows_message_contents_on_request() {
        let mut show = RecordFormatter { shows_contents: true, ..show() };
        let line = show.format_line(&Record::new(0, P1, RecordKind::Send(request()))).unwrap();
        assert!(line.ends_with("P1 sends request to P3: {\"stamp\":[1,0]}"), "{line}");
    }
}
