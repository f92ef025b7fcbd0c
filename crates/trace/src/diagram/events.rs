//! What a record says of its process, in the few words that fit beside a mark.

use tenure_core::Verdict;
use tenure_core::service::{election, mutex, stream};

use crate::format::{Access, Asked, Kind, Operation, Passage};

/// Commands in a word or two.
pub(super) fn asked(asked: &Asked) -> String {
    match (asked.mutex(), asked.election(), asked) {
        (Some(mutex::Command::Enter), ..) => "requests".to_owned(),
        (Some(mutex::Command::Exit), ..) => "exits".to_owned(),
        (_, Some(election::Command::Elect), _) => "elects".to_owned(),
        (_, Some(election::Command::Resign), _) => "resigns".to_owned(),
        (.., Asked::Stream(stream::Command::Send { to, item })) => format!("item {item} to {to}"),
        (.., Asked::Agreement(command)) => command.to_string(),
        (.., other) => serde_json::to_string(other).unwrap_or_default(),
    }
}

/// What else begins a step, where a few words say it.
pub(super) fn words(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::Boot => "boots".to_owned(),
        Kind::Command(command) => asked(command),
        Kind::Timer(timer) => format!("timer {}", timer.to_lowercase()),
        Kind::Suspicion { peer, verdict: Verdict::Suspect } => format!("suspects {peer}"),
        Kind::Suspicion { peer, verdict: Verdict::Trust } => format!("trusts {peer}"),
        Kind::Stop => "stops".to_owned(),
        Kind::Continue => "continues".to_owned(),
        // They begin no step, or are drawn by what they do.
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

/// A refusal of the resource.
pub(super) fn refused(access: &Access) -> Option<String> {
    let operation = match access.operation {
        Operation::Get => "get",
        Operation::Put => "put",
    };
    (!access.accepted).then(|| format!("{operation} refused"))
}

/// Whether a message is the permission that travels.
pub(super) fn carries_token(passage: &Passage) -> bool {
    passage.layer == tenure_core::Layer::Mutex
        && matches!(&*passage.message, "token" | "privilege" | "ping" | "pong")
}
