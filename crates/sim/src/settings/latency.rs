//! Latency of messages, the same on all links or different for each link.

use std::sync::Arc;

use tenure_core::ProcessId;

use crate::engine::random::Random;
use crate::settings::command_line::LinkLatency;
use crate::settings::distribution::Distribution;
use crate::settings::error::SettingsError;

/// Latency of messages: one distribution for all links, or one for each link.
#[derive(Clone, Debug, PartialEq)]
pub enum Latency {
    /// The same distribution of latency on every link.
    Same(Distribution),
    /// A distribution for each link: n × n values for n processes. The index of a link is `sender *
    /// n + receiver`.
    Links(Arc<[Distribution]>),
}

/// Maximum size of a group with a latency for each link, because the latencies need memory for each
/// pair of processes.
const MAX_LINKED_SIZE: u32 = 1000;

impl Latency {
    /// Creates the latencies of a group of `size` processes. Links that `links` does not list have
    /// the latency `usual`.
    ///
    /// # Errors
    ///
    /// [`SettingsError::UnknownProcess`] if a link names a process outside the group.
    /// [`SettingsError::TooLargeForLinkLatencies`] if `links` is not empty and the group is too
    /// large.
    pub fn with_link_latencies(
        usual: Distribution,
        links: &[LinkLatency],
        size: u32,
    ) -> Result<Self, SettingsError> {
        if links.is_empty() {
            return Ok(Latency::Same(usual));
        }
        if size > MAX_LINKED_SIZE {
            return Err(SettingsError::TooLargeForLinkLatencies { size, most: MAX_LINKED_SIZE });
        }
        let mut spans = vec![usual; (size * size) as usize];
        for LinkLatency { from, to, latency } in links {
            SettingsError::check_process("--link-latency", *from, size)?;
            SettingsError::check_process("--link-latency", *to, size)?;
            spans[(from.0 * size + to.0) as usize] = *latency;
        }
        Ok(Latency::Links(spans.into()))
    }

    /// Draws the delay of a message from `from` to `to`, in ticks. `size` is the number of
    /// processes.
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

    /// Returns true if the delay on each link is constant, so that no message can overtake another
    /// one on its link.
    pub(crate) fn is_constant(&self) -> bool {
        self.link_distributions().all(Distribution::is_constant)
    }

    /// Returns the maximum delay on any link, in ticks; `None` if there is no bound.
    pub fn max_ticks(&self) -> Option<u64> {
        self.link_distributions().try_fold(0, |most, span| Some(span.max_ticks()?.max(most)))
    }

    /// Returns a latency that few messages exceed, in ticks. For a bounded distribution, this is
    /// the maximum. For other distributions, this is three times the mean or the median. If the
    /// links have different distributions, returns the largest latency of all links.
    pub(crate) fn rarely_exceeded_ticks(&self) -> u64 {
        let typical = |span: &Distribution| match *span {
            Distribution::Constant(ticks) | Distribution::Uniform { max: ticks, .. } => ticks,
            Distribution::Exponential { mean } => mean.saturating_mul(3),
            Distribution::LogNormal { median, .. } => median.saturating_mul(3),
        };
        self.link_distributions().map(typical).max().unwrap_or(0)
    }

    pub(crate) fn check(&self, size: u32) -> Result<(), SettingsError> {
        if let Latency::Links(spans) = self
            && spans.len() as u64 != u64::from(size) * u64::from(size)
        {
            return Err(SettingsError::WrongMatrixSize { size, entries: spans.len() });
        }
        self.spans().iter().try_for_each(|span| span.check("latency"))
    }

    /// Returns the distribution that the largest number of links has. If several are equally
    /// frequent, returns the first.
    pub fn most_common(&self) -> Distribution {
        let mut counts: Vec<(Distribution, u64)> = Vec::new();
        for span in self.link_distributions() {
            match counts.iter_mut().find(|(known, _)| known == span) {
                Some((_, count)) => *count += 1,
                None => counts.push((*span, 1)),
            }
        }
        // Takes the first, so that the result is deterministic.
        let most = counts.iter().map(|(_, count)| *count).max();
        let found = counts.iter().find(|(_, count)| Some(*count) == most);
        found.map_or(Distribution::ZERO, |(span, _)| *span)
    }

    /// Returns each link whose distribution differs from [`most_common`](Latency::most_common).
    /// `size` is the number of processes in the group.
    pub(crate) fn links_with_other_latency(&self, size: u32) -> Vec<LinkLatency> {
        let Latency::Links(spans) = self else { return Vec::new() };
        let usual = self.most_common();
        let links = (0..size).flat_map(|from| (0..size).map(move |to| (from, to)));
        let links = links.zip(spans.iter()).filter(|((from, to), _)| from != to);
        let unusual = links.filter(|(_, span)| **span != usual);
        let link = |((from, to), latency): ((u32, u32), &Distribution)| LinkLatency {
            from: ProcessId(from),
            to: ProcessId(to),
            latency: *latency,
        };
        unusual.map(link).collect()
    }

    /// Returns the distribution of each link between two different processes, in the order of the
    /// links. If the latency is [`Latency::Same`], returns this distribution once.
    pub fn link_distributions(&self) -> impl Iterator<Item = &Distribution> {
        let spans = self.spans();
        let size = spans.len().isqrt();
        let is_link = move |place: usize| match self {
            Latency::Same(_) => true,
            Latency::Links(_) => place / size != place % size,
        };
        spans.iter().enumerate().filter(move |(place, _)| is_link(*place)).map(|(_, span)| span)
    }

    fn spans(&self) -> &[Distribution] {
        match self {
            Latency::Same(span) => std::slice::from_ref(span),
            Latency::Links(spans) => spans,
        }
    }
}

impl From<Distribution> for Latency {
    fn from(span: Distribution) -> Self {
        Latency::Same(span)
    }
}
