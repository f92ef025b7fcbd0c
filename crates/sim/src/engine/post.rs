//! How a message is sent, lost and received, as far as traces and figures are concerned.

use tenure_core::{Labelled, Layer, OfMutex, ProcessId};
use tenure_trace::Kind;

use crate::engine::core::Core;
use crate::engine::queue::Queue;
use crate::engine::router::Route;
use crate::jury::causality::Through;

/// A message under way.
#[derive(Debug)]
pub(crate) struct Letter<M> {
    pub(crate) from: ProcessId,
    pub(crate) to: ProcessId,
    pub(crate) tag: u32,
    pub(crate) message: M,
}

/// Sends one message off.
#[inline]
pub(crate) fn post<M: Labelled + Clone + serde::Serialize>(
    core: &mut Core,
    mail: &mut Queue<Letter<M>>,
    departs: u64,
    from: ProcessId,
    to: ProcessId,
    message: M,
) {
    if to != from {
        core.metrics.sent += 1;
        if let Some(neighbours) = &mut core.neighbours
            && matches!(message.label().layer, Layer::Mutex | Layer::Election)
        {
            neighbours.observe(core.now, from, OfMutex::Sent { to });
        }
        if core.settings.watch.metrics {
            let label = message.label();
            core.metrics.kind(label).sent += 1;
            if label.layer == Layer::Election {
                core.metrics.vote(from);
            }
            if core.settings.watch.bytes {
                core.metrics.bytes += bytes(&message);
            }
        }
    }
    let tag = if core.tagging { tag(core, from, to, &message) } else { 0 };
    match core.router.route(departs, from, to) {
        Route::Once(time) => mail.push(time, Letter { from, to, tag, message }),
        Route::Twice(first, second) => {
            core.duplicated(message.label());
            if core.tagging {
                core.copy_tag(tag);
                trace_duplicate(core, from, to, tag, &message);
            }
            mail.push(first, Letter { from, to, tag, message: message.clone() });
            mail.push(second, Letter { from, to, tag, message });
        }
        Route::Lost | Route::Cut => {
            core.dropped(message.label());
            if core.tagging {
                lose(core, from, to, tag, &message);
            }
        }
    }
}

/// The size of a message between real nodes.
#[cold]
fn bytes(message: &impl serde::Serialize) -> u64 {
    postcard::experimental::serialized_size(message).map_or(0, |bytes| bytes as u64)
}

#[cold]
fn tag<M: Labelled + serde::Serialize>(
    core: &mut Core,
    from: ProcessId,
    to: ProcessId,
    message: &M,
) -> u32 {
    let tag = core.tag(from);
    if let Some(recorder) = &core.recorder {
        let passage = recorder.look(tag).passage(message, to);
        core.trace(from, Kind::Send(passage));
    }
    tag
}

#[cold]
pub(crate) fn receive<M: Labelled + serde::Serialize>(
    core: &mut Core,
    from: ProcessId,
    to: ProcessId,
    tag: u32,
    message: &M,
) {
    let ticket = core.recorder.as_ref().map(|recorder| recorder.look(tag));
    core.take_tag(tag, Some(to), Through::of(message.label().layer));
    if let Some(ticket) = ticket {
        core.trace(to, Kind::Receive(ticket.passage(message, from)));
    }
}

#[cold]
pub(crate) fn lose<M: Labelled + serde::Serialize>(
    core: &mut Core,
    from: ProcessId,
    to: ProcessId,
    tag: u32,
    message: &M,
) {
    let ticket = core.recorder.as_ref().map(|recorder| recorder.look(tag));
    core.take_tag(tag, None, Through::Protocol);
    if let Some(ticket) = ticket {
        core.trace(from, Kind::Drop(ticket.passage(message, to)));
    }
}

#[cold]
pub(crate) fn trace_duplicate<M: Labelled + serde::Serialize>(
    core: &mut Core,
    from: ProcessId,
    to: ProcessId,
    tag: u32,
    message: &M,
) {
    if let Some(recorder) = &core.recorder {
        let passage = recorder.look(tag).passage(message, to);
        core.trace(from, Kind::Duplicate(passage));
    }
}
