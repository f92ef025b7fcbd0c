//! Short descriptions of records, for the labels beside the marks of steps.

use tenure_core::Verdict;
use tenure_core::service::{election, mutex, stream};

use crate::format::{Access, CommandData, Kind, MessageRecord, Operation};

pub(super) fn command_label(command: &CommandData) -> String {
    match (command.mutex(), command.election(), command) {
        (Some(mutex::Command::Enter), ..) => "requests".to_owned(),
        (Some(mutex::Command::Exit), ..) => "exits".to_owned(),
        (_, Some(election::Command::Elect), _) => "elects".to_owned(),
        (_, Some(election::Command::Resign), _) => "resigns".to_owned(),
        (.., CommandData::Stream(stream::Command::Send { to, item })) => {
            format!("item {item} to {to}")
        }
        (.., CommandData::Agreement(command)) => command.to_string(),
        (.., other) => serde_json::to_string(other).unwrap_or_default(),
    }
}

/// Describes a record that begins a step, in a few words. Returns `None` if the record begins no
/// step, or if the diagram draws it without a label.
pub(super) fn step_label(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::Boot => "boots".to_owned(),
        Kind::Command(command) => command_label(command),
        Kind::Timer(timer) => format!("timer {}", timer.to_lowercase()),
        Kind::Suspicion { peer, verdict: Verdict::Suspect } => format!("suspects {peer}"),
        Kind::Suspicion { peer, verdict: Verdict::Trust } => format!("trusts {peer}"),
        Kind::Memory(access) => access.to_string(),
        Kind::Stop => "stops".to_owned(),
        Kind::Continue => "continues".to_owned(),
        // These begin no step, or their effect is drawn instead.
        Kind::Event(_)
        | Kind::Access(_)
        | Kind::Choice(_)
        | Kind::Note(_)
        | Kind::State(_)
        | Kind::End => return None,
        Kind::Partition(_) | Kind::Heal => return None,
        kind => kind.name().to_owned(),
    })
}

/// Describes an access that the resource rejected. Returns `None` for an accepted access.
pub(super) fn rejected_access(access: &Access) -> Option<String> {
    let operation = match access.operation {
        Operation::Get => "get",
        Operation::Put => "put",
    };
    (!access.accepted).then(|| format!("{operation} refused"))
}

pub(super) fn carries_token(message_record: &MessageRecord) -> bool {
    message_record.layer == tenure_core::Layer::Mutex
        && matches!(&*message_record.message, "token" | "privilege" | "ping" | "pong")
}
