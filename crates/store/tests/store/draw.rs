//! Generator of commands from arbitrary bytes.

use tenure_store::{
    AcquireLock, Bytes, Command, Compare, CompareRelation, ComparedAttribute, Delete, ExpiredLease,
    KeySpan, LeaseCheckpoint, LockMode, LogPosition, Put, RangeRead, SortOrder, SortTarget, Txn,
    TxnOperation,
};

pub(crate) struct Draw<'a>(pub(crate) &'a [u8]);

impl Draw<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn below(&mut self, bound: u8) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first % bound
    }

    fn chance(&mut self, of: u8) -> bool {
        self.below(of) == 1
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.below(u8::try_from(all.len()).expect("a short list")))]
    }

    fn key(&mut self) -> Bytes {
        let all = ["a/1", "a/2", "a/3", "a", "a/x", "b", "a/1.shared", "a/2.shared", "a/b/1"];
        let others = ["a/3.slots-2", "a/1.slots-2", "a/b/2", "b/1", "", "a/0", "\u{7f}"];
        self.of(&[&all[..], &others[..]].concat()).into()
    }

    fn span(&mut self) -> KeySpan {
        match self.below(10) {
            0 => KeySpan::prefix("a/"),
            1 => KeySpan::prefix("a"),
            2 => KeySpan::all(),
            3 => KeySpan { key: self.key(), end: self.key() },
            4 => KeySpan { key: self.key(), end: b"\0".into() },
            _ => KeySpan::single(self.key()),
        }
    }

    fn value(&mut self) -> Bytes {
        self.of(&["", "", "x", "y"]).into()
    }

    fn lease(&mut self) -> u64 {
        self.of(&[0, 0, 1, 1, 2, 2, 3, 3, 9])
    }

    /// Draws a revision that is past, current or in the future. `now` is the current revision.
    pub(crate) fn revision(&mut self, now: u64) -> u64 {
        if self.chance(2) { 0 } else { (now + 2).saturating_sub(self.below(12).into()) }
    }

    fn number(&mut self, now: u64) -> i64 {
        if self.chance(8) { -1 } else { self.revision(now).cast_signed() }
    }

    fn put(&mut self) -> Put {
        let (key, value, lease) = (self.key(), self.value(), self.lease());
        let (ignore_value, ignore_lease) = (self.chance(8), self.chance(8));
        let value = if ignore_value && !self.chance(4) { Bytes::default() } else { value };
        let lease = if ignore_lease && !self.chance(4) { 0 } else { lease };
        Put { key, value, lease, prev_kv: self.chance(2), ignore_value, ignore_lease }
    }

    fn delete(&mut self) -> Delete {
        Delete { span: self.span(), prev_kv: self.chance(2) }
    }

    pub(crate) fn range(&mut self, now: u64) -> RangeRead {
        let target = [
            SortTarget::Key,
            SortTarget::Version,
            SortTarget::Create,
            SortTarget::Create,
            SortTarget::Mod,
            SortTarget::Value,
        ];
        let order = [SortOrder::None, SortOrder::Ascend, SortOrder::Descend];
        let mut range = RangeRead::at_current_revision(self.span());
        range.limit = self.below(4).into();
        range.revision = if self.chance(3) { self.revision(now) } else { 0 };
        (range.order, range.target) = (self.of(&order), self.of(&target));
        (range.keys_only, range.count_only) = (self.chance(4), self.chance(8));
        if self.chance(3) {
            range.max_create_revision = self.revision(now);
        }
        if self.chance(6) {
            range.min_create_revision = self.revision(now);
            range.min_mod_revision = self.revision(now);
            range.max_mod_revision = self.revision(now);
        }
        range
    }

    fn compare(&mut self, now: u64) -> Compare {
        let all = [
            CompareRelation::Equal,
            CompareRelation::NotEqual,
            CompareRelation::Greater,
            CompareRelation::Less,
        ];
        let target = match self.below(6) {
            0 => ComparedAttribute::Version(i64::from(self.below(4)) - 1),
            1 => ComparedAttribute::Mod(self.number(now)),
            2 => ComparedAttribute::Value(self.value()),
            3 => ComparedAttribute::Lease(self.of(&[-1, 0, 1, 1, 2, 3, 9])),
            _ => ComparedAttribute::Create(self.number(now)),
        };
        Compare { span: self.span(), relation: self.of(&all), target }
    }

    fn operations(&mut self, now: u64, depth: u8) -> Vec<TxnOperation> {
        (0..self.below(4))
            .map(|_| match self.below(6) {
                0 | 1 => TxnOperation::Put(self.put()),
                2 => TxnOperation::Delete(self.delete()),
                3 if depth > 0 => TxnOperation::Txn(self.txn(now, depth - 1)),
                _ => TxnOperation::Range(self.range(now)),
            })
            .collect()
    }

    fn txn(&mut self, now: u64, depth: u8) -> Txn {
        let compare = (0..self.below(3)).map(|_| self.compare(now)).collect();
        let success = self.operations(now, depth);
        Txn { compare, success, failure: self.operations(now, depth) }
    }

    pub(crate) fn command(&mut self, at: LogPosition, now: u64) -> Command {
        let modes =
            [LockMode::Exclusive, LockMode::Exclusive, LockMode::Shared, LockMode::Slots(2)];
        let before = |draw: &mut Self| at.index.saturating_sub(draw.below(6).into());
        let term = |draw: &mut Self| at.term - u64::from(draw.chance(6));
        match self.below(26) {
            0..=3 => Command::Put(self.put()),
            4 | 5 => Command::Delete(self.delete()),
            6..=9 => Command::Txn(self.txn(now, 2)),
            10 if self.chance(3) => Command::Compact { revision: self.revision(now) },
            10..=12 => Command::Grant {
                lease: self.lease(),
                ttl: if self.chance(20) { 9_000_000_001 } else { self.below(9).into() },
            },
            13 => Command::Revoke { lease: self.lease() },
            14 => Command::Checkpoint {
                term: term(self),
                leases: vec![LeaseCheckpoint {
                    lease: self.lease(),
                    left: self.below(9).into(),
                    renewal_index: before(self),
                }],
            },
            15 | 16 => {
                let expiry = |draw: &mut Self| {
                    let lease = draw.lease();
                    ExpiredLease { lease, renewal_index: before(draw) }
                };
                Command::Expire { term: term(self), leases: vec![expiry(self), expiry(self)] }
            }
            _ => Command::AcquireLock(AcquireLock {
                name: self.of(&["a", "a", "a", "b", "a/b", ""]).into(),
                lease: self.lease(),
                mode: self.of(&modes),
                value: self.value(),
            }),
        }
    }
}
