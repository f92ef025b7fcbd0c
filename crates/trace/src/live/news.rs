use std::collections::VecDeque;

use serde::Serialize;
use tenure_core::ProcessId;

/// Number of news items kept.
const MAX_ITEMS: usize = 40;

/// Event of interest to people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct News {
    /// Number from 1, by which a page recognizes the items it has.
    pub number: u64,
    /// Time in milliseconds since the beginning.
    pub at: f64,
    /// Name of the record's kind, or `elected`.
    pub kind: &'static str,
    /// Process by the number that people see, if the event concerns one.
    pub process: Option<u32>,
    /// Description of the event.
    pub says: String,
}

/// Most recent news items.
#[derive(Clone, Debug, Default)]
pub(super) struct Latest {
    count: u64,
    news: VecDeque<News>,
}

impl Latest {
    pub(super) fn tell(
        &mut self,
        at: f64,
        kind: &'static str,
        process: Option<ProcessId>,
        says: String,
    ) {
        self.count += 1;
        let process = process.map(ProcessId::number);
        self.news.push_back(News { number: self.count, at, kind, process, says });
        if self.news.len() > MAX_ITEMS {
            self.news.pop_front();
        }
    }

    pub(super) fn all(&self) -> Vec<News> {
        self.news.iter().cloned().collect()
    }
}
