//! Parser of one line of a trace. It creates no intermediate JSON tree.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::value::RawValue;
use serde_json::{Error, Value, from_str};
use tenure_core::{Layer, ProcessId, VectorClock};

use crate::format::event::SuspicionData;
use crate::format::event::{Record, RecordKind};
use crate::format::message_record::MessageRecord;
use crate::format::process_number;
use crate::format::service::{RecordedCommand, RecordedEvent};
use crate::format::subject::RecordSubject;

/// Option of the parser: it keeps or skips the contents of messages and the states of processes.
/// Verification needs neither of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentHandling {
    Kept,
    Skipped,
}

/// The fields of one line of a trace. The field `data` still contains unparsed JSON.
#[derive(Deserialize)]
struct Envelope<'a> {
    time: u64,
    process: RecordSubject,
    #[serde(default)]
    session: u64,
    #[serde(default)]
    sequence: u64,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(default)]
    clock: Option<VectorClock>,
}

/// Parses one line after the header. Unknown fields are ignored. A record of unknown kind is kept.
pub(crate) fn decode_record(line: &[u8], contents: ContentHandling) -> Result<Record, Error> {
    let envelope: Envelope<'_> = serde_json::from_slice(line)?;
    let Envelope { time, process, session, sequence, kind, data, clock } = envelope;
    let kind = decode_kind(kind, data, contents)?;
    Ok(Record { time, process, session, sequence, kind, clock })
}

fn decode_kind(
    name: Cow<'_, str>,
    data: Option<&RawValue>,
    contents: ContentHandling,
) -> Result<RecordKind, Error> {
    let given = || data.ok_or_else(|| Error::custom(format!("kind `{name}` needs its data")));
    Ok(match &*name {
        "boot" => RecordKind::Boot,
        "command" => RecordKind::Command(
            data.map_or(Ok(RecordedCommand::Other(Value::Null)), RecordedCommand::from_json)?,
        ),
        "event" => RecordKind::Event(
            data.map_or(Ok(RecordedEvent::Other(Value::Null)), RecordedEvent::from_json)?,
        ),
        "send" => RecordKind::Send(message_record(given()?, contents)?),
        "receive" => RecordKind::Receive(message_record(given()?, contents)?),
        "drop" => RecordKind::Drop(message_record(given()?, contents)?),
        "duplicate" => RecordKind::Duplicate(message_record(given()?, contents)?),
        "timer" => RecordKind::Timer(from_str(given()?.get())?),
        "suspicion" => {
            let SuspicionData { peer, verdict } = from_str(given()?.get())?;
            RecordKind::Suspicion { peer, verdict }
        }
        "choice" => RecordKind::Choice(from_str(given()?.get())?),
        "mute" => RecordKind::Mute,
        "unsaved" => RecordKind::Unsaved,
        "crash" => RecordKind::Crash,
        "recover" => RecordKind::Recover,
        "stop" => RecordKind::Stop,
        "continue" => RecordKind::Continue,
        "partition" => RecordKind::Partition(sides(given()?)?),
        "heal" => RecordKind::Heal,
        "access" => RecordKind::Access(from_str(given()?.get())?),
        "memory" => RecordKind::Memory(from_str(given()?.get())?),
        "note" => RecordKind::Note(from_str(given()?.get())?),
        "state" => RecordKind::State(match (data, contents) {
            (Some(data), ContentHandling::Kept) => from_str(data.get())?,
            _ => Value::Null,
        }),
        "end" => RecordKind::End,
        _ => {
            let data = data.map(|data| from_str(data.get())).transpose()?;
            RecordKind::Other { kind: name.into_owned(), data }
        }
    })
}

/// Message record without the content of the message. The parser skips the content.
#[derive(Deserialize)]
struct MessageWithoutContent {
    #[serde(with = "process_number")]
    peer: ProcessId,
    layer: Layer,
    message: Cow<'static, str>,
    number: u64,
    #[serde(default)]
    session: u64,
}

fn message_record(data: &RawValue, contents: ContentHandling) -> Result<MessageRecord, Error> {
    if contents == ContentHandling::Kept {
        return from_str(data.get());
    }
    let MessageWithoutContent { peer, layer, message, number, session } = from_str(data.get())?;
    Ok(MessageRecord { peer, layer, message, number, session, content: None })
}

fn sides(data: &RawValue) -> Result<Vec<Vec<ProcessId>>, Error> {
    let sides: Vec<Vec<u64>> = from_str(data.get())?;
    let process = |number: &u64| {
        process_number::process_from_number(*number)
            .ok_or_else(|| Error::custom("processes are numbered from 1"))
    };
    sides.iter().map(|side| side.iter().map(process).collect()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_core::service::{election, mutex, mutex_and_election, stream};
    use tenure_core::{Fence, PeerVerdict, Term};

    use super::*;
    use crate::format::access::{ResourceAccessRecord, ResourceOperation};
    use crate::format::event::RandomChoice;
    use crate::format::memory_access::{MemoryAccess, MemoryOperation};

    fn read(line: &str) -> Record {
        decode_record(line.as_bytes(), ContentHandling::Kept).unwrap()
    }

    fn written(record: &Record) -> String {
        serde_json::to_string(record).unwrap()
    }

    fn message_record() -> MessageRecord {
        MessageRecord {
            peer: ProcessId(1),
            layer: Layer::Mutex,
            message: "request".into(),
            number: 7,
            session: 3,
            content: Some(Box::new(json!({"stamp": [1, 0]}))),
        }
    }

    fn every_kind() -> Vec<RecordKind> {
        let term = Term { number: 2, leader: ProcessId(1) };
        let elected = election::Event::Elected { leader: ProcessId(1), term };
        let entered = mutex::Event::Entered { fence: Fence(1, 2) };
        let send = stream::Command::Send { to: ProcessId(1), item: 4 };
        let got = stream::Event::Received { from: ProcessId(1), item: 4 };
        vec![
            RecordKind::Boot,
            RecordKind::Command(mutex::Command::Enter.into()),
            RecordKind::Command(election::Command::Elect.into()),
            RecordKind::Command(mutex_and_election::Command::Mutex(mutex::Command::Exit).into()),
            RecordKind::Command(
                mutex_and_election::Command::Election(election::Command::Resign).into(),
            ),
            RecordKind::Command(send.into()),
            RecordKind::Command(RecordedCommand::Other(json!({"Write": 1}))),
            RecordKind::Event(entered.into()),
            RecordKind::Event(mutex::Event::Exited.into()),
            RecordKind::Event(elected.into()),
            RecordKind::Event(election::Event::Deposed { term }.into()),
            RecordKind::Event(mutex_and_election::Event::Election(elected).into()),
            RecordKind::Event(mutex_and_election::Event::Mutex(entered).into()),
            RecordKind::Event(got.into()),
            RecordKind::Event(RecordedEvent::Other(Value::Null)),
            RecordKind::Send(message_record()),
            RecordKind::Receive(message_record()),
            RecordKind::Drop(message_record()),
            RecordKind::Duplicate(message_record()),
            RecordKind::Timer("Resend".into()),
            RecordKind::Suspicion { peer: ProcessId(2), verdict: PeerVerdict::Trust },
            RecordKind::Mute,
            RecordKind::Unsaved,
            RecordKind::Crash,
            RecordKind::Recover,
            RecordKind::Stop,
            RecordKind::Continue,
            RecordKind::Partition(vec![vec![ProcessId(0)], vec![ProcessId(1), ProcessId(2)]]),
            RecordKind::Choice(RandomChoice { value: 1, bound: 2 }),
            RecordKind::Heal,
            RecordKind::Access(ResourceAccessRecord {
                by: ProcessId(0),
                operation: ResourceOperation::Put,
                fence: Some(Fence(1, 2)),
                value: 9,
                accepted: false,
                highest: Some(Fence(1, 3)),
            }),
            RecordKind::Memory(MemoryAccess {
                operation: MemoryOperation::TestAndSet,
                register: "lock".into(),
                value: 1,
            }),
            RecordKind::Note("remark".into()),
            RecordKind::State(json!({"phase": "Idle"})),
            RecordKind::End,
            RecordKind::Other { kind: "eclipse".into(), data: Some(json!([1, 2])) },
        ]
    }

    #[test]
    fn every_kind_round_trips() {
        for kind in every_kind() {
            let record = Record::new(5, ProcessId(0), kind).in_session(2);
            let record = record.with_clock(VectorClock::from(vec![1, 0]));
            assert_eq!(read(&written(&record)), record);
        }
    }

    #[test]
    fn process_numbers_start_at_one_except_in_service_data() {
        let entered = mutex::Event::Entered { fence: Fence(1, 2) };
        let line = written(&Record::new(5, ProcessId(0), RecordKind::Event(entered.into())));
        assert!(
            line.starts_with(r#"{"time":5,"process":1,"sequence":0,"kind":"event","#),
            "{line}"
        );
        assert!(line.ends_with(r#","data":{"Entered":{"fence":[1,2]}}}"#), "{line}");
        assert_eq!(
            written(&Record::new(0, RecordSubject::Parent, RecordKind::Heal)).find("\"parent\""),
            Some(20)
        );
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let record = read(r#"{"time":1,"process":2,"moon":"full","kind":"crash","sequence":4}"#);
        assert_eq!(
            (record.process, record.kind),
            (RecordSubject::Process(ProcessId(1)), RecordKind::Crash)
        );
    }

    #[test]
    fn skipping_contents_keeps_other_message_fields() {
        let line = written(&Record::new(5, ProcessId(0), RecordKind::Send(message_record())));
        let record = decode_record(line.as_bytes(), ContentHandling::Skipped).unwrap();
        assert_eq!(
            record.kind,
            RecordKind::Send(MessageRecord { content: None, ..message_record() })
        );
    }

    #[test]
    fn rejects_process_zero_unknown_word_and_missing_data() {
        for line in [
            r#"{"time":1,"process":0,"kind":"crash"}"#,
            r#"{"time":1,"process":"moon","kind":"crash"}"#,
            r#"{"time":1,"process":1,"kind":"send"}"#,
            r#"{"time":1,"process":1,"kind":"partition","data":[[0]]}"#,
            r#"{"time":-1,"process":1,"kind":"crash"}"#,
            r#"{"time":1,"process":1}"#,
        ] {
            assert!(decode_record(line.as_bytes(), ContentHandling::Kept).is_err(), "{line}");
        }
    }
}
