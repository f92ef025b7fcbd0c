//! The last 8 seconds of a run as data for a diagram: conditions of processes, and messages.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;
use tenure_core::{Layer, ProcessId};

use crate::escaping::escape_invisible;
use crate::format::MessageRecord;
use crate::merge::MessageKey;

/// Duration of the interval that a [`TimelineStrip`] covers, in nanoseconds.
const STRIP_DURATION: u64 = 8_000_000_000;

/// Maximum number of ended condition intervals in a strip, and also of messages. The oldest are
/// dropped.
const MAX_ITEMS: usize = 600;

/// Time in nanoseconds after which the strip drops a message, if neither the receipt nor the loss
/// of the message is known.
const MESSAGE_TIMEOUT: u64 = 2_000_000_000;

/// Picture of the last 8 seconds of a run: conditions of the processes, and messages between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TimelineStrip {
    /// Conditions that ended within the last 8 seconds, or still hold.
    pub conditions: Vec<TimelineConditionSpan>,
    /// Messages that arrived or were lost within the last 8 seconds. Omits messages of failure
    /// detectors that arrived.
    pub messages: Vec<TimelineMessage>,
}

/// An interval in which a condition held at a process.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimelineConditionSpan {
    /// Number of the process, from 1.
    pub process: u32,
    /// Name of the condition: `waiting`, `inside`, `leading`, `down` or `stopped`.
    pub condition: &'static str,
    /// Start of the interval, in milliseconds since the first record.
    pub from: f64,
    /// End of the interval, in milliseconds since the first record. `None` if the condition still
    /// holds.
    pub until: Option<f64>,
}

/// Message between two processes, as a [`TimelineStrip`] shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimelineMessage {
    /// Number of the sender, from 1.
    pub from: u32,
    /// Number of the receiver, from 1.
    pub to: u32,
    /// Name of the message.
    pub message: String,
    /// Protocol layer to which the message belongs, for instance the lock or the failure detector.
    pub layer: Layer,
    /// Time at which the message was sent, in milliseconds since the first record. For a lost
    /// message, the time of the loss.
    pub sent: f64,
    /// Time at which the message arrived, in milliseconds since the first record. `None` if the
    /// message was lost.
    pub arrived: Option<f64>,
}

/// Interval in which a condition held at a process. Times are absolute, in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct ConditionTimeSpan {
    pub(super) process: ProcessId,
    pub(super) condition: &'static str,
    pub(super) from: u64,
    pub(super) until: Option<u64>,
}

/// Recent condition intervals and messages, from which a [`TimelineStrip`] is made.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentHistory {
    spans: VecDeque<ConditionTimeSpan>,
    messages: VecDeque<(u64, TimelineMessage)>,
    sent: HashMap<MessageKey, u64>,
}

impl RecentHistory {
    pub(super) fn push_ended_span(&mut self, span: ConditionTimeSpan) {
        self.spans.push_back(span);
        if self.spans.len() > MAX_ITEMS {
            self.spans.pop_front();
        }
    }

    pub(super) fn on_send(
        &mut self,
        at: ProcessId,
        session: u64,
        message_record: &MessageRecord,
        time: u64,
    ) {
        if message_record.layer != Layer::Detector {
            self.sent.insert(MessageKey::of_sent(at, session, message_record), time);
        }
    }

    pub(super) fn on_receive(
        &mut self,
        at: ProcessId,
        message_record: &MessageRecord,
        time: u64,
        start: u64,
    ) {
        let Some(sent) = self.sent.remove(&MessageKey::of_received(at, message_record)) else {
            return;
        };
        self.put(message_record.peer, at, message_record, (sent, Some(time)), start);
    }

    pub(super) fn on_loss(
        &mut self,
        at: ProcessId,
        message_record: &MessageRecord,
        time: u64,
        start: u64,
    ) {
        self.put(at, message_record.peer, message_record, (time, None), start);
    }

    fn put(
        &mut self,
        from: ProcessId,
        to: ProcessId,
        message_record: &MessageRecord,
        (sent, arrived): (u64, Option<u64>),
        start: u64,
    ) {
        let message = TimelineMessage {
            from: from.display_number(),
            to: to.display_number(),
            message: escape_invisible(&message_record.message).into_owned(),
            layer: message_record.layer,
            sent: millis_since(sent, start),
            arrived: arrived.map(|arrived| millis_since(arrived, start)),
        };
        self.messages.push_back((arrived.unwrap_or(sent), message));
        if self.messages.len() > MAX_ITEMS {
            self.messages.pop_front();
        }
    }

    /// Returns the strip that ends at the time `now`, and drops older intervals and messages.
    /// `start` is the time of the first record. `open` contains the conditions that still hold.
    pub(super) fn strip_at(
        &mut self,
        now: u64,
        start: u64,
        open: Vec<ConditionTimeSpan>,
    ) -> TimelineStrip {
        let oldest = now.saturating_sub(STRIP_DURATION);
        self.spans.retain(|span| span.until.is_none_or(|until| until >= oldest));
        self.messages.retain(|(time, _)| *time >= oldest);
        self.sent.retain(|_, time| *time >= now.saturating_sub(MESSAGE_TIMEOUT));
        let conditions = self.spans.iter().chain(&open).map(|span| TimelineConditionSpan {
            process: span.process.display_number(),
            condition: span.condition,
            from: millis_since(span.from, start),
            until: span.until.map(|until| millis_since(until, start)),
        });
        TimelineStrip {
            conditions: conditions.collect(),
            messages: self.messages.iter().map(|(_, message)| message.clone()).collect(),
        }
    }
}

/// Converts a time to milliseconds since `start`, rounded down to hundredths.
pub(super) fn millis_since(time: u64, start: u64) -> f64 {
    (time.saturating_sub(start) / 10_000) as f64 / 100.0
}
