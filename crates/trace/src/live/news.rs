use std::collections::VecDeque;

use serde::Serialize;
use tenure_core::ProcessId;

/// Number of news items kept.
const MAX_ITEMS: usize = 40;

/// Event of interest to people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NewsItem {
    /// Number from 1, by which a page recognizes the items it has.
    pub number: u64,
    /// Time in milliseconds since the beginning.
    pub at: f64,
    /// Name of the record's kind, or `elected`.
    pub kind: &'static str,
    /// Process by the number that people see, if the event concerns one.
    pub process: Option<u32>,
    /// Description of the event.
    #[serde(rename = "says")]
    pub description: String,
}

/// Most recent news items.
#[derive(Clone, Debug, Default)]
pub(super) struct Latest {
    count: u64,
    news: VecDeque<NewsItem>,
}

impl Latest {
    pub(super) fn tell(
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
