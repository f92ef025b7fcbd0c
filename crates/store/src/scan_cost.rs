//! Cost of reads: an estimate of the number of keys that a read must scan. A server limits the
//! number of expensive reads that run at the same time.

use crate::command::{Txn, TxnOperation};
use crate::range::RangeRead;
use crate::span::KeySpan;
use crate::store::Store;

impl Txn {
    /// Returns true if each read and each comparison of the transaction concerns a single key, and
    /// each read uses the current revision. The cost of the reads is then known without the store.
    pub fn reads_single_keys_only(&self) -> bool {
        let is_one = |operation: &TxnOperation| match operation {
            TxnOperation::Range(range) => range.span.is_single() && range.revision == 0,
            TxnOperation::Txn(txn) => txn.reads_single_keys_only(),
            TxnOperation::Put(_) | TxnOperation::Delete(_) => true,
        };
        self.compare.iter().all(|compare| compare.span.is_single())
            && self.success.iter().chain(&self.failure).all(is_one)
    }
}

impl Store {
    /// Returns an estimate of the number of keys and events that a read must scan, but at most
    /// `max`. A read of a past revision counts all events of the history.
    pub fn range_scan_cost(&self, range: &RangeRead, max: usize) -> usize {
        let limit = usize::try_from(range.limit).unwrap_or(usize::MAX).saturating_add(1);
        match self.queue_for_range(range).filter(|_| range.revision == 0) {
            Some(queue) => queue.len().min(limit).min(max),
            None => {
                let changes = if range.revision > 0 { self.event_count() } else { 0 };
                self.count_keys(&range.span, max).saturating_add(changes).min(max)
            }
        }
    }

    /// Returns an estimate of the number of keys and events that the comparisons and reads of a
    /// transaction scan, but at most `max`. All branches count, although only some of them run.
    pub fn txn_scan_cost(&self, txn: &Txn, max: usize) -> usize {
        let compared = txn
            .compare
            .iter()
            .fold(0, |sum, compare| sum + self.count_keys(&compare.span, max - sum));
        txn.success.iter().chain(&txn.failure).fold(compared, |sum, operation| {
            sum + match operation {
                TxnOperation::Range(range) => self.range_scan_cost(range, max - sum),
                TxnOperation::Txn(txn) => self.txn_scan_cost(txn, max - sum),
                TxnOperation::Put(_) | TxnOperation::Delete(_) => 0,
            }
        })
    }

    fn count_keys(&self, span: &KeySpan, max: usize) -> usize {
        if span.is_single() {
            max.min(1)
        } else {
            Store::keys_in_span(&self.keys, span).take(max).count()
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn ranges_and_past_reads_are_not_single_key_reads() {
        let read =
            |range: RangeRead| Txn { success: vec![TxnOperation::Range(range)], ..Txn::default() };
        let one = read(RangeRead::at_current_revision(KeySpan::single("a")));
        let past =
            read(RangeRead { revision: 1, ..RangeRead::at_current_revision(KeySpan::single("a")) });
        let many = read(RangeRead::at_current_revision(KeySpan::prefix("a")));
        let nested =
            |txn: &Txn| Txn { failure: vec![TxnOperation::Txn(txn.clone())], ..Txn::default() };
        assert!(one.reads_single_keys_only() && nested(&one).reads_single_keys_only());
        for wide in [past, many] {
            assert!(!wide.reads_single_keys_only() && !nested(&wide).reads_single_keys_only());
        }
    }
}
