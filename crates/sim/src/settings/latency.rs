//! How long messages take, on all links or on each.

use std::sync::Arc;

use tenure_core::ProcessId;

use crate::engine::random::Random;
use crate::settings::command_line::Link;
use crate::settings::refusal::SettingsError;
use crate::settings::span::Span;

/// How long messages take.
#[derive(Clone, Debug, PartialEq)]
pub enum Latency {
    /// The same distribution on every link.
    Same(Span),
    /// One distribution for each link, by sender and then by receiver: n × n of them.
    Links(Arc<[Span]>),
}

/// A latency for each link takes memory for each pair of processes.
const MOST_LINKED: u32 = 1000;

impl Latency {
    /// The same on all links of a group of `size`, but for some.
    ///
    /// # Errors
    ///
    /// When one of them names a process that the group does not have, and for a large group.
    pub fn linked(usual: Span, links: &[Link], size: u32) -> Result<Self, SettingsError> {
        if links.is_empty() {
            return Ok(Latency::Same(usual));
        }
        if size > MOST_LINKED {
            return Err(SettingsError::Links { size, most: MOST_LINKED });
        }
        let mut spans = vec![usual; (size * size) as usize];
        for Link { from, to, latency } in links {
            SettingsError::known("--link-latency", *from, size)?;
            SettingsError::known("--link-latency", *to, size)?;
            spans[(from.0 * size + to.0) as usize] = *latency;
        }
        Ok(Latency::Links(spans.into()))
    }

    /// Draws the delay of one message on one link of a group of `size`, in ticks.
    #[inline]
    pub(crate) fn draw(
        &self,
        size: u32,
        from: ProcessId,
        to: ProcessId,
        random: &mut Random,
    ) -> u64 {
        match self {
            Latency::Same(span) => span.draw(random),
            Latency::Links(spans) => spans[from.index() * size as usize + to.index()].draw(random),
        }
    }

    /// Whether every message on a link takes as long as the one before, so that no message can
    /// overtake another.
    pub(crate) fn is_constant(&self) -> bool {
        self.spans().iter().all(Span::is_constant)
    }

    /// The longest delay, in ticks; `None` when there is no bound.
    pub fn most(&self) -> Option<u64> {
        self.spans().iter().try_fold(0, |most, span| Some(span.most()?.max(most)))
    }

    /// A delay that is not unusual, in ticks.
    pub(crate) fn typical(&self) -> u64 {
        let typical = |span: &Span| match *span {
            Span::Constant(ticks) | Span::Uniform { max: ticks, .. } => ticks,
            Span::Exponential { mean } => mean * 3,
            Span::LogNormal { median, .. } => median * 3,
        };
        self.spans().iter().map(typical).max().unwrap_or(0)
    }

    pub(crate) fn check(&self, size: u32) -> Result<(), SettingsError> {
        if let Latency::Links(spans) = self
            && spans.len() as u64 != u64::from(size) * u64::from(size)
        {
            return Err(SettingsError::Matrix { size, entries: spans.len() });
        }
        self.spans().iter().try_for_each(|span| span.check("latency"))
    }

    /// What most links have.
    pub fn usual(&self) -> Span {
        let mut counts: Vec<(Span, u64)> = Vec::new();
        for span in self.spans() {
            match counts.iter_mut().find(|(known, _)| known == span) {
                Some((_, count)) => *count += 1,
                None => counts.push((*span, 1)),
            }
        }
        // Of several the first, so that the answer does not depend on the order of a search.
        let most = counts.iter().map(|(_, count)| *count).max();
        let found = counts.iter().find(|(_, count)| Some(*count) == most);
        found.map_or(Span::ZERO, |(span, _)| *span)
    }

    /// The links that have something else, of a group of `size`.
    pub(crate) fn unusual(&self, size: u32) -> Vec<Link> {
        let Latency::Links(spans) = self else { return Vec::new() };
        let usual = self.usual();
        let links = (0..size).flat_map(|from| (0..size).map(move |to| (from, to)));
        let links = links.zip(spans.iter()).filter(|((from, to), _)| from != to);
        let unusual = links.filter(|(_, span)| **span != usual);
        let link = |((from, to), latency): ((u32, u32), &Span)| Link {
            from: ProcessId(from),
            to: ProcessId(to),
            latency: *latency,
        };
        unusual.map(link).collect()
    }

    fn spans(&self) -> &[Span] {
        match self {
            Latency::Same(span) => std::slice::from_ref(span),
            Latency::Links(spans) => spans,
        }
    }
}

impl From<Span> for Latency {
    fn from(span: Span) -> Self {
        Latency::Same(span)
    }
}
