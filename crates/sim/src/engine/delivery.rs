//! Sends messages: schedules the arrivals that the router decides, and records sent, lost and
//! received messages for traces and metrics.

use tenure_core::{Labelled, Layer, MutexObservation, ProcessId};
use tenure_trace::Kind;

use crate::engine::core::Core;
use crate::engine::queue::Queue;
use crate::engine::router::Fate;
use crate::judging::causality::MessageScope;

#[derive(Debug)]
pub(crate) struct Envelope<M> {
    pub(crate) from: ProcessId,
    pub(crate) to: ProcessId,
    pub(crate) tag: u32,
    pub(crate) message: M,
}

/// Sends a message: records it, and schedules its arrivals unless the network loses it.
#[inline]
pub(crate) fn send<M: Labelled + Clone + serde::Serialize>(
    core: &mut Core,
    in_flight: &mut Queue<Envelope<M>>,
    departs: u64,
    from: ProcessId,
    to: ProcessId,
    message: M,
) {
    if to != from {
        core.metrics.sent += 1;
        if let Some(load) = &mut core.metrics.load {
            load.on_send(from, to);
        }
        if let Some(links) = &mut core.monitors.links
            && matches!(message.label().layer, Layer::Mutex | Layer::Election | Layer::Agreement)
        {
            links.observe(core.now, from, MutexObservation::Sent { to });
        }
        if core.settings.instrumentation.metrics {
            let label = message.label();
            core.metrics.kind(label).sent += 1;
            if label.layer == Layer::Election {
                core.metrics.record_participant(from);
            }
            if core.settings.instrumentation.bytes {
                core.metrics.bytes += bytes(&message);
            }
        }
    }
    let tag = if core.tracer.tags_messages { tag(core, from, to, &message) } else { 0 };
    match core.router.route(departs, from, to) {
        Fate::Once(time) => in_flight.push(time, Envelope { from, to, tag, message }),
        Fate::Twice(first, second) => {
            core.count_duplicated(message.label());
            if core.tracer.tags_messages {
                core.tracer.copy_tag(tag);
                trace_duplicate(core, from, to, tag, &message);
            }
            in_flight.push(first, Envelope { from, to, tag, message: message.clone() });
            in_flight.push(second, Envelope { from, to, tag, message });
        }
        Fate::Lost | Fate::Cut => {
            core.count_dropped(message.label());
            if core.tracer.tags_messages {
                record_loss(core, from, to, tag, &message);
            }
        }
    }
}

/// Returns the size of a message in the encoding of real nodes, in bytes.
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
    if let Some(recorder) = &core.tracer.recorder {
        let message_record = recorder.get(tag).message_record(message, to);
        core.trace(from, Kind::Send(message_record));
    }
    tag
}

#[cold]
pub(crate) fn record_receipt<M: Labelled + serde::Serialize>(
    core: &mut Core,
    from: ProcessId,
    to: ProcessId,
    tag: u32,
    message: &M,
) {
    let ticket = core.tracer.recorder.as_ref().map(|recorder| recorder.get(tag));
    core.tracer.take_tag(tag, Some(to), MessageScope::of(message.label().layer));
    if let Some(ticket) = ticket {
        core.trace(to, Kind::Receive(ticket.message_record(message, from)));
    }
}

#[cold]
pub(crate) fn record_loss<M: Labelled + serde::Serialize>(
    core: &mut Core,
    from: ProcessId,
    to: ProcessId,
    tag: u32,
    message: &M,
) {
    let ticket = core.tracer.recorder.as_ref().map(|recorder| recorder.get(tag));
    core.tracer.take_tag(tag, None, MessageScope::Protocol);
    if let Some(ticket) = ticket {
        core.trace(from, Kind::Drop(ticket.message_record(message, to)));
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
    if let Some(recorder) = &core.tracer.recorder {
        let message_record = recorder.get(tag).message_record(message, to);
        core.trace(from, Kind::Duplicate(message_record));
    }
}
