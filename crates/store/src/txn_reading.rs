//! A transaction that only reads, which needs no entry of the log.

use alloc::vec::Vec;

use crate::command::{Operation, Txn};
use crate::error::Error;
use crate::outcome::{Done, Reply};
use crate::read::Reading;
use crate::store::Store;
use crate::txn::{check_ranges, find_way, taken};

/// What there was when a transaction read, as [`Reading`] has it of one range.
#[derive(Clone, Debug)]
pub struct TxnReading {
    txn: Txn,
    /// Whether what it compares held, and what is nested in it, in that order.
    way: Vec<bool>,
    /// One for each range on that way.
    readings: Vec<Reading>,
    revision: u64,
}

impl TxnReading {
    /// How many keys and changes have to be looked at.
    pub fn len(&self) -> usize {
        self.readings.iter().map(Reading::len).sum()
    }

    /// Whether there is nothing to be looked at.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is answered.
    pub fn done(self) -> Done {
        let TxnReading { txn, way, readings, revision } = self;
        answer(&txn, revision, &mut way.into_iter(), &mut readings.into_iter())
    }
}

impl Store {
    /// Has a transaction read that only reads, as far as the store is needed for it.
    ///
    /// # Panics
    ///
    /// If it writes something.
    pub fn reading_txn(&self, txn: Txn) -> Result<TxnReading, Error> {
        txn.check(self.limits.operations)?;
        assert!(txn.is_read_only(), "a transaction that writes goes through the log");
        let (mut way, mut readings) = (Vec::new(), Vec::new());
        find_way(self, &txn, &mut way);
        check_ranges(self, &txn, &mut way.iter().copied())?;
        self.read_on(&txn, &mut way.iter().copied(), &mut readings);
        Ok(TxnReading { txn, way, readings, revision: self.revision })
    }

    /// Reads all ranges on the way.
    fn read_on(
        &self,
        txn: &Txn,
        way: &mut impl Iterator<Item = bool>,
        readings: &mut Vec<Reading>,
    ) {
        for operation in taken(txn, way.next().unwrap_or(false)) {
            match operation {
                Operation::Range(range) => readings.push(self.read(range, &[])),
                Operation::Txn(txn) => self.read_on(txn, way, readings),
                Operation::Put(_) | Operation::Delete(_) => {}
            }
        }
    }
}

/// What is answered by a transaction, of what was read on the way.
fn answer(
    txn: &Txn,
    revision: u64,
    way: &mut impl Iterator<Item = bool>,
    readings: &mut impl Iterator<Item = Reading>,
) -> Done {
    let succeeded = way.next().unwrap_or(false);
    let mut replies = Vec::new();
    for operation in taken(txn, succeeded) {
        match operation {
            Operation::Range(_) => {
                replies.extend(readings.next().map(|reading| Reply::Range(reading.found())));
            }
            Operation::Txn(txn) => replies.push(Reply::Txn(answer(txn, revision, way, readings))),
            Operation::Put(_) | Operation::Delete(_) => {}
        }
    }
    Done { revision, succeeded, replies }
}
