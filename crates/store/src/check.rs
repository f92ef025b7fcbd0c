//! What can be refused without a look at the store.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::command::{Command, Delete, Operation, Put, Txn};
use crate::error::Error;
use crate::range::Range;
use crate::span::Span;

/// How many times as many operations all of a transaction may have as any one way through it: who
/// nests them could have as many as fit into a request, and each is held against the others.
const WITH_NESTED: usize = 8;

impl Command {
    /// Whether it makes sense, whatever is in the store; `operations` is how many a transaction may
    /// have. A server asks before it proposes; the store refuses the same.
    pub fn check(&self, operations: usize) -> Result<(), Error> {
        match self {
            Command::Put(put) => put.check(),
            Command::Delete(delete) => delete.check(),
            Command::Txn(txn) => txn.check(operations),
            _ => Ok(()),
        }
    }
}

impl Range {
    pub(crate) fn check(&self) -> Result<(), Error> {
        has_key(&self.span)
    }
}

impl Delete {
    fn check(&self) -> Result<(), Error> {
        has_key(&self.span)
    }
}

impl Put {
    fn check(&self) -> Result<(), Error> {
        match self {
            put if put.key.is_empty() => Err(Error::EmptyKey),
            put if put.ignore_value && !put.value.is_empty() => Err(Error::ValueProvided),
            put if put.ignore_lease && put.lease != 0 => Err(Error::LeaseProvided),
            _ => Ok(()),
        }
    }
}

impl Txn {
    /// Whether it makes sense, whatever is in the store.
    pub fn check(&self, operations: usize) -> Result<(), Error> {
        if self.size() > WITH_NESTED * operations {
            return Err(Error::TooManyOperations);
        }
        self.check_sizes(operations)?;
        writes(&self.success)?;
        writes(&self.failure).map(drop)
    }

    /// How many things it compares and does, whichever way it takes, with all that is nested in it.
    fn size(&self) -> usize {
        let size = |operation: &Operation| match operation {
            Operation::Txn(txn) => 1 + txn.size(),
            Operation::Range(_) | Operation::Put(_) | Operation::Delete(_) => 1,
        };
        self.compare.len() + self.success.iter().chain(&self.failure).map(size).sum::<usize>()
    }

    /// What is nested counts with what is around it.
    fn check_sizes(&self, most: usize) -> Result<(), Error> {
        let size = self.compare.len().max(self.success.len()).max(self.failure.len());
        let left = most.checked_sub(size).ok_or(Error::TooManyOperations)?;
        self.compare.iter().try_for_each(|compare| has_key(&compare.span))?;
        let operations = self.success.iter().chain(&self.failure);
        operations.into_iter().try_for_each(|operation| match operation {
            Operation::Range(range) => range.check(),
            Operation::Put(put) => put.check(),
            Operation::Delete(delete) => delete.check(),
            Operation::Txn(txn) => txn.check_sizes(left),
        })
    }
}

fn has_key(span: &Span) -> Result<(), Error> {
    if span.key.is_empty() { Err(Error::EmptyKey) } else { Ok(()) }
}

/// The keys that some operations write, and the spans that they delete.
type Writes<'a> = (BTreeSet<&'a [u8]>, Vec<&'a Span>);

/// Returns what these operations put and delete.
///
/// Rejects a key that is put twice, or put and deleted, wherever the two operations are nested and
/// whichever comes first: all operations of a transaction share one revision. Only one of the two
/// branches of a nested transaction runs, so one branch may put a key that the other one puts or
/// deletes.
fn writes(operations: &[Operation]) -> Result<Writes<'_>, Error> {
    let deleted = operations.iter().filter_map(|operation| match operation {
        Operation::Delete(delete) => Some(&delete.span),
        _ => None,
    });
    let mut deleted: Vec<&Span> = deleted.collect();
    let mut written: BTreeSet<&[u8]> = BTreeSet::new();
    let nested = operations.iter().filter_map(|operation| match operation {
        Operation::Txn(txn) => Some(txn),
        _ => None,
    });
    for txn in nested {
        let (then, deleted_then) = writes(&txn.success)?;
        let (otherwise, deleted_otherwise) = writes(&txn.failure)?;
        let either: BTreeSet<&[u8]> = then.union(&otherwise).copied().collect();
        let deleted_either = [deleted_then, deleted_otherwise].concat();
        // `written` holds the puts of the nested transactions before this one.
        if deleted_either.iter().any(|span| has_one_of(span, &written)) {
            return Err(Error::DuplicateKey);
        }
        add(&mut written, either, &deleted)?;
        deleted.extend(deleted_either);
    }
    let own = operations.iter().filter_map(|operation| match operation {
        Operation::Put(put) => Some(&put.key[..]),
        _ => None,
    });
    add(&mut written, own, &deleted)?;
    Ok((written, deleted))
}

/// True if the span contains one of the keys.
fn has_one_of(span: &Span, keys: &BTreeSet<&[u8]>) -> bool {
    span.bounds().is_some_and(|bounds| keys.range::<[u8], _>(bounds).next().is_some())
}

fn add<'a>(
    written: &mut BTreeSet<&'a [u8]>,
    more: impl IntoIterator<Item = &'a [u8]>,
    deleted: &[&Span],
) -> Result<(), Error> {
    more.into_iter().try_for_each(|key| {
        let twice = !written.insert(key) || deleted.iter().any(|span| span.has(key));
        if twice { Err(Error::DuplicateKey) } else { Ok(()) }
    })
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_key_is_written_once_and_not_deleted_beside_that() {
        let put = |key: &str| Operation::Put(Put { key: key.into(), ..Put::default() });
        let delete = |span| Operation::Delete(Delete { span, ..Delete::default() });
        let nested = |success| Operation::Txn(Txn { success, ..Txn::default() });
        let others = || vec![delete(Span::one("b")), delete(Span::prefix("c/"))];
        let check = |failure| Txn { failure, ..Txn::default() }.check(128);
        let with = |more: Vec<Operation>| check([others(), more].concat());
        for fine in [vec![], vec![put("a")], vec![put("a"), put("d")], vec![nested(vec![put("a")])]]
        {
            assert_eq!(with(fine), Ok(()));
        }
        for twice in [
            vec![put("b")],
            vec![put("c/1")],
            vec![put("a"), put("a")],
            vec![put("a"), put("b")],
            vec![nested(vec![put("c/1")])],
            vec![put("a"), nested(vec![put("a")])],
        ] {
            assert_eq!(with(twice.clone()), Err(Error::DuplicateKey), "{twice:?}");
        }
    }

    #[test]
    fn rejects_put_and_delete_of_one_key_in_either_order() {
        let put = || Operation::Put(Put { key: "k5".into(), ..Put::default() });
        let span = Span { key: "k1".into(), end: "k9".into() };
        let delete = || Operation::Delete(Delete { span: span.clone(), ..Delete::default() });
        let txn = |success, failure| Operation::Txn(Txn { success, failure, ..Txn::default() });
        let deep = |operation| txn(vec![txn(vec![operation], vec![])], vec![]);
        let puts = || [put(), txn(vec![put()], vec![]), txn(vec![], vec![put()]), deep(put())];
        let deletes =
            || [delete(), txn(vec![delete()], vec![]), txn(vec![], vec![delete()]), deep(delete())];
        let check = |success| Txn { success, ..Txn::default() }.check(128);
        for (put, delete) in puts().iter().flat_map(|put| deletes().map(|it| (put.clone(), it))) {
            for both in [vec![put.clone(), delete.clone()], vec![delete, put]] {
                assert_eq!(check(both.clone()), Err(Error::DuplicateKey), "{both:?}");
                let nested = vec![txn(both.clone(), vec![])];
                assert_eq!(check(nested), Err(Error::DuplicateKey), "nested {both:?}");
            }
        }
        // Only one branch of a transaction runs.
        assert_eq!(check(vec![txn(vec![put()], vec![delete()])]), Ok(()));
        assert_eq!(check(vec![txn(vec![delete()], vec![put()])]), Ok(()));
        let other = Operation::Put(Put { key: "k9".into(), ..Put::default() });
        assert_eq!(check(vec![txn(vec![other], vec![]), txn(vec![], vec![delete()])]), Ok(()));
    }

    #[test]
    fn what_is_nested_in_a_transaction_is_bounded_together() {
        let read = || Operation::Range(Range::of(Span::one("a")));
        let txn = |success| Txn { success, ..Txn::default() };
        let nested = |many, each| txn(vec![Operation::Txn(txn(vec![read(); each])); many]);
        assert_eq!(nested(8, 120).check(128), Ok(()));
        assert_eq!(nested(8, 121).check(128), Err(Error::TooManyOperations), "of one way");
        assert_eq!(nested(9, 119).check(128), Err(Error::TooManyOperations), "of all");
    }
}
