use std::collections::{HashMap, VecDeque};

use serde::Serialize;
use tenure_core::{Layer, ProcessId};

use crate::format::Passage;
use crate::merge::MessageKey;
use crate::plain::plain;

/// How much of the past a strip shows, in nanoseconds.
const SHOWN: u64 = 8_000_000_000;

/// How many spans and messages a strip has at most, the latest.
const MOST: usize = 600;

/// How long a message that nobody seems to receive is remembered, in nanoseconds.
const PATIENCE: u64 = 2_000_000_000;

/// The last seconds as a picture: what lasted at processes, and messages between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Strip {
    /// What lasted, or still lasts.
    pub held: Vec<Held>,
    /// Messages, as far as both ends were seen, and those that were lost.
    pub letters: Vec<Letter>,
}

/// Something that lasted at a process.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// Its number, from 1.
    pub process: u32,
    /// `waiting`, `inside`, `leading`, `down` or `stopped`.
    pub what: &'static str,
    /// Since when, in milliseconds since the beginning.
    pub from: f64,
    /// Until when, where it is over.
    pub until: Option<f64>,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Letter {
    /// The number of who sent it, from 1.
    pub from: u32,
    /// The number of whom it is for.
    pub to: u32,
    /// What it is called.
    pub message: String,
    /// The part of the composition that it belongs to.
    pub layer: Layer,
    /// When it was sent, in milliseconds since the beginning.
    pub sent: f64,
    /// When it arrived; nothing when it was lost.
    pub arrived: Option<f64>,
}

/// A span by its own time, so that old ones can be told.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) process: ProcessId,
    pub(super) what: &'static str,
    pub(super) from: u64,
    pub(super) until: Option<u64>,
}

/// What a strip is cut from.
#[derive(Clone, Debug, Default)]
pub(super) struct Belt {
    spans: VecDeque<Span>,
    letters: VecDeque<(u64, Letter)>,
    sent: HashMap<MessageKey, u64>,
}

impl Belt {
    pub(super) fn end(&mut self, span: Span) {
        self.spans.push_back(span);
        if self.spans.len() > MOST {
            self.spans.pop_front();
        }
    }

    pub(super) fn send(&mut self, at: ProcessId, session: u64, passage: &Passage, time: u64) {
        if passage.layer != Layer::Detector {
            self.sent.insert(MessageKey::sent(at, session, passage), time);
        }
    }

    pub(super) fn receive(&mut self, at: ProcessId, passage: &Passage, time: u64, start: u64) {
        let Some(sent) = self.sent.remove(&MessageKey::received(at, passage)) else { return };
        self.put(passage.peer, at, passage, (sent, Some(time)), start);
    }

    pub(super) fn lose(&mut self, at: ProcessId, passage: &Passage, time: u64, start: u64) {
        self.put(at, passage.peer, passage, (time, None), start);
    }

    fn put(
        &mut self,
        from: ProcessId,
        to: ProcessId,
        passage: &Passage,
        (sent, arrived): (u64, Option<u64>),
        start: u64,
    ) {
        let letter = Letter {
            from: from.number(),
            to: to.number(),
            message: plain(&passage.message).into_owned(),
            layer: passage.layer,
            sent: millis(sent, start),
            arrived: arrived.map(|arrived| millis(arrived, start)),
        };
        self.letters.push_back((arrived.unwrap_or(sent), letter));
        if self.letters.len() > MOST {
            self.letters.pop_front();
        }
    }

    /// The strip that ends now; `open` is what still lasts.
    pub(super) fn cut(&mut self, now: u64, start: u64, open: Vec<Span>) -> Strip {
        let oldest = now.saturating_sub(SHOWN);
        self.spans.retain(|span| span.until.is_none_or(|until| until >= oldest));
        self.letters.retain(|(time, _)| *time >= oldest);
        self.sent.retain(|_, time| *time >= now.saturating_sub(PATIENCE));
        let held = self.spans.iter().chain(&open).map(|span| Held {
            process: span.process.number(),
            what: span.what,
            from: millis(span.from, start),
            until: span.until.map(|until| millis(until, start)),
        });
        Strip {
            held: held.collect(),
            letters: self.letters.iter().map(|(_, letter)| letter.clone()).collect(),
        }
    }
}

/// Milliseconds since the beginning, to the hundredth.
pub(super) fn millis(time: u64, start: u64) -> f64 {
    (time.saturating_sub(start) / 10_000) as f64 / 100.0
}
