//! The latest noteworthy events of a run, as text.

use std::collections::VecDeque;

use serde::Serialize;
use tenure_core::ProcessId;

/// Maximum number of news items that are kept. Older items are dropped.
const MAX_ITEMS: usize = 40;

/// A notable event of the run, as the list of news on a live page shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NewsItem {
    /// Number of the item, from 1. A page uses it to recognize the items that it already shows.
    pub number: u64,
    /// Time of the event in milliseconds since the first record.
    pub at: f64,
    /// Name of the record's kind, or `elected` for a new leader.
    pub kind: &'static str,
    /// Number of the process, from 1. `None` if the event concerns no process.
    pub process: Option<u32>,
    /// Description of the event.
    pub description: String,
}

/// List of the latest news items of a run, and their numbering.
#[derive(Clone, Debug, Default)]
pub(super) struct LatestNews {
    count: u64,
    news: VecDeque<NewsItem>,
}

impl LatestNews {
    pub(super) fn push(
        &mut self,
        at: f64,
        kind: &'static str,
        process: Option<ProcessId>,
        description: String,
    ) {
        self.count += 1;
        let process = process.map(ProcessId::number);
        self.news.push_back(NewsItem { number: self.count, at, kind, process, description });
        if self.news.len() > MAX_ITEMS {
            self.news.pop_front();
        }
    }

    pub(super) fn all(&self) -> Vec<NewsItem> {
        self.news.iter().cloned().collect()
    }
}
