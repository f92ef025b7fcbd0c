//! How many keys are looked at for an answer, before anything is.

use crate::command::{Operation, Txn};
use crate::range::Range;
use crate::span::Span;
use crate::store::Store;

impl Txn {
    /// Whether it looks at single keys alone, however many those are: then there is no need to ask
    /// a store how many there are.
    pub fn is_of_single_keys(&self) -> bool {
        let is_one = |operation: &Operation| match operation {
            Operation::Range(range) => range.span.is_one() && range.revision == 0,
            Operation::Txn(txn) => txn.is_of_single_keys(),
            Operation::Put(_) | Operation::Delete(_) => true,
        };
        self.compare.iter().all(|compare| compare.span.is_one())
            && self.success.iter().chain(&self.failure).all(is_one)
    }
}

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

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_store_is_asked_only_where_more_than_single_keys_are_looked_at() {
        let read = |range: Range| Txn { success: vec![Operation::Range(range)], ..Txn::default() };
        let one = read(Range::of(Span::one("a")));
        let past = read(Range { revision: 1, ..Range::of(Span::one("a")) });
        let many = read(Range::of(Span::prefix("a")));
        let nested =
            |txn: &Txn| Txn { failure: vec![Operation::Txn(txn.clone())], ..Txn::default() };
        assert!(one.is_of_single_keys() && nested(&one).is_of_single_keys());
        for wide in [past, many] {
            assert!(!wide.is_of_single_keys() && !nested(&wide).is_of_single_keys());
        }
    }
}
