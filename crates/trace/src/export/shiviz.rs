//! Logs for [ShiViz](https://bestchai.bitbucket.io/shiviz/), which draws who knew of what by the
//! vector clock of each event.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use crate::format::line::{Contents, decode};
use crate::format::{Header, Kind, Record, Trace, Who};
use crate::merge::MessageKey;
use crate::plain::plain_json;

/// How ShiViz is told to read the log. Each event is a line with its host and its clock, a line
/// of words, and a line with the record itself, which ShiViz shows beside the picture.
const EVENT: &str = r"(?<host>\S*) (?<clock>\{.*\})\n(?<event>.*)\n(?<record>\{.*\})";
/// What stands before each run; its name is the header of the trace.
const RUN: &str = r"^=== (?<trace>.*) ===$";

/// The records of one run as a log for ShiViz: the regular expression by which it is read in the
/// first line, that of its heading in the second, and then the events. Clocks count records, one
/// place for each process that has any; what happens to the parent or the resource stands beside.
pub fn shiviz<'r>(header: &Header, records: impl IntoIterator<Item = &'r Record>) -> String {
    let header = plain_json(&serde_json::to_string(header).unwrap_or_default());
    let mut log = format!("{EVENT}\n{RUN}\n=== {header} ===\n");
    let mut clocks = Clocks::default();
    for record in records {
        let host = host(record.process);
        let clock = clocks.read(record);
        let clock: Vec<String> = clock
            .iter()
            .map(|(host, count)| format!("\"{}\":{count}", self::host(*host)))
            .collect();
        let line = plain_json(&serde_json::to_string(record).unwrap_or_default());
        let _ = writeln!(log, "{host} {{{}}}\n{}\n{line}", clock.join(","), record.in_words());
    }
    log
}

/// A log that [`shiviz()`] wrote, as the trace that it was written from.
///
/// # Errors
///
/// [`ImportError`] when it is anything else.
pub fn from_shiviz(log: &str) -> Result<Trace, ImportError> {
    let mut lines = log.lines().enumerate();
    let mut next = |wanted: &'static str| {
        let (place, line) = lines.next().unwrap_or((0, ""));
        (line == wanted || wanted.is_empty())
            .then_some(line)
            .ok_or(ImportError::Foreign { line: place + 1, wanted })
    };
    next(EVENT)?;
    next(RUN)?;
    let heading = next("")?;
    let header = heading.strip_prefix("=== ").and_then(|rest| rest.strip_suffix(" ==="));
    let header = header.ok_or(ImportError::Foreign { line: 3, wanted: RUN })?;
    let malformed = |line: usize, error: serde_json::Error| ImportError::Malformed {
        line: line + 1,
        says: error.to_string(),
    };
    let header: Header = serde_json::from_str(header).map_err(|error| malformed(2, error))?;
    let mut records = Vec::new();
    let events: Vec<(usize, &str)> = lines.collect();
    for event in events.chunks(3) {
        let (place, line) = *event.last().unwrap_or(&(0, ""));
        if event.len() < 3 {
            return Err(ImportError::Torn { line: place + 1 });
        }
        let record = decode(line.as_bytes(), Contents::Kept);
        records.push(record.map_err(|error| malformed(place, error))?);
    }
    Ok(Trace { header, records, torn: None })
}

/// A log could not be read back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// `tenure trace export` did not write it.
    #[error(
        "line {line} is not `{wanted}`: only logs that `tenure trace export` wrote have it all"
    )]
    Foreign {
        /// Which line.
        line: usize,
        /// What should be there.
        wanted: &'static str,
    },
    /// A record, or the header, is none.
    #[error("line {line}: {says}")]
    Malformed {
        /// Which line.
        line: usize,
        /// What is wrong with it.
        says: String,
    },
    /// The last event is not whole.
    #[error("the log ends in the middle of an event, after line {line}")]
    Torn {
        /// The last line.
        line: usize,
    },
}

/// A name without blanks.
fn host(who: Who) -> String {
    match who {
        Who::Process(process) => process.to_string(),
        Who::Resource => "resource".to_owned(),
        Who::Parent => "parent".to_owned(),
    }
}

type Clock = BTreeMap<Who, u64>;

/// Vector clocks of whoever appears in a trace.
#[derive(Debug, Default)]
struct Clocks {
    now: BTreeMap<Who, Clock>,
    carried: HashMap<MessageKey, Clock>,
}

impl Clocks {
    /// The clock of a record, the next one of the trace.
    fn read(&mut self, record: &Record) -> Clock {
        let who = record.process;
        let now = self.now.entry(who).or_default();
        *now.entry(who).or_insert(0) += 1;
        match (who, &record.kind) {
            (Who::Process(at), Kind::Send(passage)) => {
                let key = MessageKey::sent(at, record.session, passage);
                self.carried.insert(key, now.clone());
            }
            (Who::Process(at), Kind::Receive(passage)) => {
                let carried = self.carried.get(&MessageKey::received(at, passage));
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
