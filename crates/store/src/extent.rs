//! How many keys are looked at for an answer, before anything is.

use crate::command::{Operation, Txn};
use crate::range::Range;
use crate::span::Span;
use crate::store::Store;

impl Store {
    /// How many keys and changes a range looks at, or `most` if it is more.
    pub fn looks_at(&self, range: &Range, most: usize) -> usize {
        let few = usize::try_from(range.limit).unwrap_or(usize::MAX).saturating_add(1);
        match self.queue_asked_for(range).filter(|_| range.revision == 0) {
            Some(queue) => queue.len().min(few).min(most),
            None => {
                let changes = if range.revision > 0 { self.changes() } else { 0 };
                self.keys_of(&range.span, most).saturating_add(changes).min(most)
            }
        }
    }

    /// How many all looks at that a transaction compares and reads, whichever way it takes, or
    /// `most` if it is more.
    pub fn txn_looks_at(&self, txn: &Txn, most: usize) -> usize {
        let compared = txn
            .compare
            .iter()
            .fold(0, |sum, compare| sum + self.keys_of(&compare.span, most - sum));
        txn.success.iter().chain(&txn.failure).fold(compared, |sum, operation| {
            sum + match operation {
                Operation::Range(range) => self.looks_at(range, most - sum),
                Operation::Txn(txn) => self.txn_looks_at(txn, most - sum),
                Operation::Put(_) | Operation::Delete(_) => 0,
            }
        })
    }

    fn keys_of(&self, span: &Span, most: usize) -> usize {
        if span.is_one() { most.min(1) } else { Store::span(&self.keys, span).take(most).count() }
    }
}
