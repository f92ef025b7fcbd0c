//! Those who propose and are told what is decided.

use tenure_core::Protocol;
use tenure_core::service::consensus::{Command, Event};
use tenure_trace::{Seen, Stage};

use super::p;

/// The user at `at` proposes its own number.
pub(crate) fn propose<P: Protocol<Command = Command>>(stage: &mut Stage<P>, at: u32) {
    stage.command(p(at), Command::Propose { value: at.into() });
}

/// By process: what it decided since the last look.
pub(crate) fn decided<P: Protocol<Event = Event>>(stage: &mut Stage<P>) -> Vec<(u32, u64)> {
    let seen = stage.take_seen().into_iter();
    let decisions = seen.filter_map(|(at, seen)| match seen {
        Seen::Event(Event::Decided { value }) => Some((at.number(), value)),
        _ => None,
    });
    let mut decisions: Vec<(u32, u64)> = decisions.collect();
    decisions.sort_unstable();
    decisions
}
