//! Sends messages: schedules the arrivals that the router decides, and records sent, lost and
//! received messages for traces and metrics.

use tenure_core::{Labelled, Layer, MutexObservation, ProcessId};
use tenure_trace::RecordKind;

use crate::engine::queue::TimedQueue;
use crate::engine::router::RoutingDecision;
use crate::engine::run_context::RunContext;
use crate::judging::causality::CausalityScope;

/// A protocol message with its sender, its receiver, and the tag of
/// [`Tracer`](crate::engine::tracer::Tracer).
#[derive(Debug)]
pub(crate) struct Envelope<M> {
    pub(crate) from: ProcessId,
    pub(crate) to: ProcessId,
    pub(crate) tag: u32,
    pub(crate) message: M,
}

/// Sends a message that leaves the process `from` at the time `departs`, in ticks. Counts and
/// records the message, and schedules its arrivals unless the router drops it.
#[inline]
pub(crate) fn send_message<M: Labelled + Clone + serde::Serialize>(
    run: &mut RunContext,
    in_flight: &mut TimedQueue<Envelope<M>>,
    departs: u64,
    from: ProcessId,
    to: ProcessId,
    message: M,
) {
    if to != from {
        run.metrics.sent += 1;
        if let Some(load) = &mut run.metrics.load {
            load.on_send(from, to);
        }
        if let Some(links) = &mut run.monitors.links
            && matches!(message.label().layer, Layer::Mutex | Layer::Election | Layer::Agreement)
        {
            links.observe(run.now, from, MutexObservation::Sent { to });
        }
        if run.settings.monitoring.metrics {
            let label = message.label();
            run.metrics.counts_of_kind(label).sent += 1;
            if label.layer == Layer::Election {
                run.metrics.record_election_participant(from);
            }
            if run.settings.monitoring.bytes {
                run.metrics.bytes += bytes(&message);
            }
        }
    }
    let tag = if run.tracer.tags_messages { tag(run, from, to, &message) } else { 0 };
    match run.router.route(departs, from, to) {
        RoutingDecision::Once(time) => in_flight.push(time, Envelope { from, to, tag, message }),
        RoutingDecision::Twice(first, second) => {
            run.count_duplicated(message.label());
            if run.tracer.tags_messages {
                run.tracer.record_copy(tag);
                record_duplicate(run, from, to, tag, &message);
            }
            in_flight.push(first, Envelope { from, to, tag, message: message.clone() });
            in_flight.push(second, Envelope { from, to, tag, message });
        }
        RoutingDecision::Lost | RoutingDecision::Cut => {
            run.count_dropped(message.label());
            if run.tracer.tags_messages {
                record_loss(run, from, to, tag, &message);
            }
        }
    }
}

/// Returns the size of a message in the encoding of real nodes, in bytes. Returns 0 if the message
/// cannot be encoded.
#[cold]
fn bytes(message: &impl serde::Serialize) -> u64 {
    postcard::experimental::serialized_size(message).map_or(0, |bytes| bytes as u64)
}

/// Creates the tag of a message that was sent, and records the message in the trace.
#[cold]
fn tag<M: Labelled + serde::Serialize>(
    run: &mut RunContext,
    from: ProcessId,
    to: ProcessId,
    message: &M,
) -> u32 {
    let tag = run.new_message_tag(from);
    if let Some(recorder) = &run.tracer.recorder {
        let message_record = recorder.traced_message(tag).message_record(message, to);
        run.trace_without_tick(from, RecordKind::Send(message_record));
    }
    tag
}

/// Records that a message was received: merges the vector clocks of the message into those of the
/// receiver, and writes a trace record.
#[cold]
pub(crate) fn record_receipt<M: Labelled + serde::Serialize>(
    run: &mut RunContext,
    from: ProcessId,
    to: ProcessId,
    tag: u32,
    message: &M,
) {
    let traced = run.tracer.recorder.as_ref().map(|recorder| recorder.traced_message(tag));
    run.tracer.finish_tag(tag, Some(to), CausalityScope::of_layer(message.label().layer));
    if let Some(traced) = traced {
        run.trace_without_tick(to, RecordKind::Receive(traced.message_record(message, from)));
    }
}

/// Records that a message was lost: releases its tag and writes a trace record.
#[cold]
pub(crate) fn record_loss<M: Labelled + serde::Serialize>(
    run: &mut RunContext,
    from: ProcessId,
    to: ProcessId,
    tag: u32,
    message: &M,
) {
    let traced = run.tracer.recorder.as_ref().map(|recorder| recorder.traced_message(tag));
    run.tracer.finish_tag(tag, None, CausalityScope::Protocol);
    if let Some(traced) = traced {
        run.trace_without_tick(from, RecordKind::Drop(traced.message_record(message, to)));
    }
}

/// Writes a trace record of the duplication of a message.
#[cold]
pub(crate) fn record_duplicate<M: Labelled + serde::Serialize>(
    run: &mut RunContext,
    from: ProcessId,
    to: ProcessId,
    tag: u32,
    message: &M,
) {
    if let Some(recorder) = &run.tracer.recorder {
        let message_record = recorder.traced_message(tag).message_record(message, to);
        run.trace_without_tick(from, RecordKind::Duplicate(message_record));
    }
}
