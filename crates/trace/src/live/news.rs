use std::collections::VecDeque;

use serde::Serialize;
use tenure_core::ProcessId;

/// So many are kept.
const KEPT: usize = 40;

/// Something that happened and that people want to know of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct News {
    /// Its number, from 1: a page tells by it what it knows already.
    pub number: u64,
    /// When, in milliseconds since the beginning.
    pub at: f64,
    /// Which sort: the name of the record's kind, or `elected`.
    pub kind: &'static str,
    /// To whom, by the number that people see.
    pub process: Option<u32>,
    /// What, in words.
    pub says: String,
}

/// The latest of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Latest {
    told: u64,
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
        self.told += 1;
        let process = process.map(ProcessId::number);
        self.news.push_back(News { number: self.told, at, kind, process, says });
        if self.news.len() > KEPT {
            self.news.pop_front();
        }
    }

    pub(super) fn all(&self) -> Vec<News> {
        self.news.iter().cloned().collect()
    }
}
