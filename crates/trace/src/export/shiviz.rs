//! Export to [ShiViz](https://bestchai.bitbucket.io/shiviz/), which visualizes causality by the
//! vector clock of each event, and import of such an export.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use crate::escaping::escape_invisible_in_json;
use crate::format::line::{ContentHandling, decode_record};
use crate::format::{Header, Record, RecordKind, RecordSubject, Trace};
use crate::merge::MessageKey;

/// Regular expression by which ShiViz parses an event. An event has three lines. The first line
/// contains the host and the vector clock, the second line the description, and the third line the
/// record. ShiViz shows the record beside the picture.
const EVENT: &str = r"(?<host>\S*) (?<clock>\{.*\})\n(?<event>.*)\n(?<record>\{.*\})";
/// Regular expression by which ShiViz parses the line above the events of a run. This line contains
/// the header of the trace.
const RUN: &str = r"^=== (?<trace>.*) ===$";

/// Renders the records of one run as a log for ShiViz.
///
/// The log begins with two regular expressions, one for events and one for the heading. The heading
/// and the events follow. The hosts in the log are the processes, the resource, and the parent
/// program that starts the nodes. Each event has a vector clock with one component per host: the
/// number of records of this host that happened before the event, or are the event itself.
pub fn to_shiviz<'r>(header: &Header, records: impl IntoIterator<Item = &'r Record>) -> String {
    let header = escape_invisible_in_json(&serde_json::to_string(header).unwrap_or_default());
    let mut log = format!("{EVENT}\n{RUN}\n=== {header} ===\n");
    let mut clocks = Clocks::default();
    for record in records {
        let host = host(record.process);
        let clock = clocks.read(record);
        let clock: Vec<String> = clock
            .iter()
            .map(|(host, count)| format!("\"{}\":{count}", self::host(*host)))
            .collect();
        let line = escape_invisible_in_json(&serde_json::to_string(record).unwrap_or_default());
        let _ = writeln!(log, "{host} {{{}}}\n{}\n{line}", clock.join(","), record.describe());
    }
    log
}

/// Parses a log written by [`to_shiviz()`] into the original trace. The records get the sequence
/// numbers from 1, also if the log was made from several files.
///
/// # Errors
///
/// Returns [`ShivizImportError`] for any other text.
pub fn from_shiviz(log: &str) -> Result<Trace, ShivizImportError> {
    let mut lines = log.lines().enumerate();
    let mut next = |wanted: &'static str| {
        let (place, line) = lines.next().unwrap_or((0, ""));
        (line == wanted || wanted.is_empty())
            .then_some(line)
            .ok_or(ShivizImportError::Foreign { line: place + 1, wanted })
    };
    next(EVENT)?;
    next(RUN)?;
    let heading = next("")?;
    let header = heading.strip_prefix("=== ").and_then(|rest| rest.strip_suffix(" ==="));
    let header = header.ok_or(ShivizImportError::Foreign { line: 3, wanted: RUN })?;
    let malformed = |line: usize, error: serde_json::Error| ShivizImportError::Malformed {
        line: line + 1,
        description: error.to_string(),
    };
    let header: Header =
        serde_json::from_slice(header.as_bytes()).map_err(|error| malformed(2, error))?;
    let mut records = Vec::new();
    let events: Vec<(usize, &str)> = lines.collect();
    for event in events.chunks(3) {
        let (place, line) = *event.last().unwrap_or(&(0, ""));
        if event.len() < 3 {
            return Err(ShivizImportError::Torn { line: place + 1 });
        }
        let record = decode_record(line.as_bytes(), ContentHandling::Kept);
        records.push(record.map_err(|error| malformed(place, error))?);
    }
    // Renumbers the records from 1, because a log of several files contains the same number several
    // times. In a log of one file, no number changes.
    for (record, sequence) in records.iter_mut().zip(1..) {
        record.sequence = sequence;
    }
    Ok(Trace { header, records, torn: None })
}

/// Error: a log could not be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShivizImportError {
    /// The first lines of the log differ from those that `tenure trace export` writes.
    #[error(
        "line {line} is not `{wanted}`: only logs written by `tenure trace export` can be imported"
    )]
    Foreign {
        /// Number of the invalid line of the log, from 1.
        line: usize,
        /// Expected line, or the regular expression that the line should match.
        wanted: &'static str,
    },
    /// The header or a record is malformed.
    #[error("line {line}: {description}")]
    Malformed {
        /// Number of the invalid line of the log, from 1.
        line: usize,
        /// Message of the JSON decoder that rejected the header or the record.
        description: String,
    },
    /// The last event of the log is incomplete.
    #[error("the log ends in the middle of an event, after line {line}")]
    Torn {
        /// Number of the last line, from 1.
        line: usize,
    },
}

/// Returns the host name of a process, the resource or the parent in the log. The name contains no
/// blanks.
fn host(who: RecordSubject) -> String {
    match who {
        RecordSubject::Process(process) => process.to_string(),
        RecordSubject::Resource => "resource".to_owned(),
        RecordSubject::Parent => "parent".to_owned(),
    }
}

type Clock = BTreeMap<RecordSubject, u64>;

#[derive(Debug, Default)]
struct Clocks {
    now: BTreeMap<RecordSubject, Clock>,
    carried: HashMap<MessageKey, Clock>,
}

impl Clocks {
    /// Applies the next record, and returns the clock of its subject.
    fn read(&mut self, record: &Record) -> Clock {
        let who = record.process;
        let now = self.now.entry(who).or_default();
        *now.entry(who).or_insert(0) += 1;
        match (who, &record.kind) {
            (RecordSubject::Process(at), RecordKind::Send(message_record)) => {
                let key = MessageKey::of_sent(at, record.session, message_record);
                self.carried.insert(key, now.clone());
            }
            (RecordSubject::Process(at), RecordKind::Receive(message_record)) => {
                let carried = self.carried.get(&MessageKey::of_received(at, message_record));
                for (host, count) in carried.into_iter().flatten() {
                    let mine = now.entry(*host).or_insert(0);
                    *mine = (*mine).max(*count);
                }
            }
            _ => {}
        }
        now.clone()
    }
}
