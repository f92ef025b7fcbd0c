//! Short descriptions of records, for the labels beside the marks of steps.

use tenure_core::PeerVerdict;
use tenure_core::service::{election, mutex, stream};

use crate::format::{
    MessageRecord, RecordKind, RecordedCommand, ResourceAccessRecord, ResourceOperation,
};

pub(super) fn command_label(command: &RecordedCommand) -> String {
    match (command.mutex(), command.election(), command) {
        (Some(mutex::Command::Enter), ..) => "requests".to_owned(),
        (Some(mutex::Command::Exit), ..) => "exits".to_owned(),
        (_, Some(election::Command::Elect), _) => "elects".to_owned(),
        (_, Some(election::Command::Resign), _) => "resigns".to_owned(),
        (.., RecordedCommand::Stream(stream::Command::Send { to, item })) => {
            format!("item {item} to {to}")
        }
        (.., RecordedCommand::Agreement(command)) => command.to_string(),
        (.., other) => serde_json::to_string(other).unwrap_or_default(),
    }
}

/// Describes a record that begins a step, in a few words. Returns `None` if the record begins no
/// step, or if [`LayoutBuilder`](super::LayoutBuilder) describes the step itself, as for notes and
/// partitions. The caller handles messages before it calls this function.
pub(super) fn step_label(kind: &RecordKind) -> Option<String> {
    Some(match kind {
        RecordKind::Boot => "boots".to_owned(),
        RecordKind::Command(command) => command_label(command),
        RecordKind::Timer(timer) => format!("timer {}", timer.to_lowercase()),
        RecordKind::Suspicion { peer, verdict: PeerVerdict::Suspect } => {
            format!("suspects {peer}")
        }
        RecordKind::Suspicion { peer, verdict: PeerVerdict::Trust } => format!("trusts {peer}"),
        RecordKind::Memory(access) => access.to_string(),
        RecordKind::Stop => "stops".to_owned(),
        RecordKind::Continue => "continues".to_owned(),
        // These records begin no step, or the layout builder describes their steps.
        RecordKind::Event(_)
        | RecordKind::Access(_)
        | RecordKind::Choice(_)
        | RecordKind::Note(_)
        | RecordKind::State(_)
        | RecordKind::End => return None,
        RecordKind::Partition(_) | RecordKind::Heal => return None,
        kind => kind.name().to_owned(),
    })
}

/// Describes an access that the resource rejected. Returns `None` if the resource accepted the
/// access.
pub(super) fn rejected_access_label(access: &ResourceAccessRecord) -> Option<String> {
    let operation = match access.operation {
        ResourceOperation::Get => "get",
        ResourceOperation::Put => "put",
    };
    (!access.accepted).then(|| format!("{operation} refused"))
}

pub(super) fn carries_token(message_record: &MessageRecord) -> bool {
    message_record.layer == tenure_core::Layer::Mutex
        && matches!(&*message_record.message, "token" | "privilege" | "ping" | "pong")
}
