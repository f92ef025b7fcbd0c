//! Reads of a range of keys: selection, revision, order, and limit.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::kv::KeyValue;
use crate::span::KeySpan;

/// A read of a span of keys. If the fields after `span` have their default values, the read returns
/// all keys of the span at the current revision, in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RangeRead {
    /// Keys to read.
    pub span: KeySpan,
    /// Revision to read at; 0 for the current one.
    pub revision: u64,
    /// Maximum number of keys in the result; 0 for no limit.
    pub limit: u64,
    /// Order of the result.
    pub order: SortOrder,
    /// Attribute by which the result is sorted, in the order `order`.
    pub target: SortTarget,
    /// True if the read returns the keys without their values. All values in the result are then
    /// empty.
    pub keys_only: bool,
    /// True to return only the number of keys in the span.
    pub count_only: bool,
    /// Excludes keys whose last change is before this revision; 0 for no bound.
    pub min_mod_revision: u64,
    /// Excludes keys whose last change is after this revision; 0 for no bound.
    pub max_mod_revision: u64,
    /// Excludes keys that were created before this revision; 0 for no bound.
    pub min_create_revision: u64,
    /// Excludes keys that were created after this revision; 0 for no bound.
    pub max_create_revision: u64,
}

/// Order of the keys in a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SortOrder {
    /// No order was requested. The result is in ascending order of the [`SortTarget`]. If the read
    /// has a limit and no bounds on revisions, only the first `limit` + 1 keys of the span, by
    /// their names, are sorted. The first `limit` keys of this order are the result.
    #[default]
    None,
    /// Ascending order of the [`SortTarget`]. The limit applies after all keys of the span are
    /// sorted.
    Ascend,
    /// Descending order of the [`SortTarget`]. The limit applies after all keys of the span are
    /// sorted.
    Descend,
}

/// Attribute of keys by which a result is sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SortTarget {
    /// Name of the key.
    #[default]
    Key,
    /// Number of writes of the key, as in [`KeyValue::version`].
    Version,
    /// Revision in which the key was created.
    Create,
    /// Revision of the last change.
    Mod,
    /// Value of the key.
    Value,
}

/// Result of a read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RangeResult {
    /// Current revision of the store, for the header of the response. It may differ from the
    /// revision that was read. If the read follows a write in the same transaction, it is the
    /// revision of that transaction.
    pub revision: u64,
    /// Keys of the result with their values. The values are empty if the read requests only keys.
    /// The list is empty if the read requests only the number of keys.
    pub kvs: Vec<Arc<KeyValue>>,
    /// True if the limit has excluded further keys from the result.
    pub more: bool,
    /// Number of keys in the span at the revision that was read, regardless of the limit and the
    /// bounds on revisions.
    pub count: u64,
}

impl RangeRead {
    /// Creates a read of these keys at the current revision.
    pub fn at_current_revision(span: KeySpan) -> Self {
        RangeRead { span, ..RangeRead::default() }
    }

    /// Returns true if the limit applies only after the keys of the span are filtered and sorted.
    pub(crate) fn needs_full_scan(&self) -> bool {
        let bounds = [
            self.min_mod_revision,
            self.max_mod_revision,
            self.min_create_revision,
            self.max_create_revision,
        ];
        self.order != SortOrder::None || bounds.iter().any(|bound| *bound > 0)
    }

    fn is_in_revision_bounds(&self, kv: &KeyValue) -> bool {
        let within = |number, min, max| number >= min && (max == 0 || number <= max);
        within(kv.mod_revision, self.min_mod_revision, self.max_mod_revision)
            && within(kv.create_revision, self.min_create_revision, self.max_create_revision)
    }

    /// Builds the result. `kvs` contains the keys of the span, ordered by name. `count` is the
    /// number of keys in the span, and `revision` is the current revision of the store. `kvs` may
    /// contain fewer keys in three cases:
    ///
    /// - The read requests only the number of keys. Then `kvs` may be empty.
    /// - The read needs no full scan. Then the first `limit` + 1 keys are sufficient. The method
    ///   sorts only these keys, as etcd does.
    /// - The read requests an order. Then `kvs` may have any order. The first `limit` + 1 keys of
    ///   the requested order are sufficient.
    pub(crate) fn build_result(
        &self,
        mut kvs: Vec<Arc<KeyValue>>,
        count: usize,
        revision: u64,
    ) -> RangeResult {
        let mut found = RangeResult { revision, count: count as u64, ..RangeResult::default() };
        if self.count_only {
            return found;
        }
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let all = self.needs_full_scan();
        if all {
            kvs.retain(|kv| self.is_in_revision_bounds(kv));
        } else if limit > 0 {
            kvs.truncate(limit.saturating_add(1));
        }
        if self.order != SortOrder::None || self.target != SortTarget::Key {
            self.sort(&mut kvs, limit);
        }
        found.more = limit > 0 && kvs.len() > limit;
        if limit > 0 {
            kvs.truncate(limit);
        }
        if self.keys_only {
            kvs.iter_mut().for_each(|kv| *kv = Arc::new(kv.without_value()));
        }
        RangeResult { kvs, ..found }
    }

    /// Sorts keys by the target of the read. Keys with equal targets are sorted by name. If `limit`
    /// is not 0, keeps at most `limit` + 1 keys. The additional key shows that there are more keys.
    fn sort(&self, kvs: &mut Vec<Arc<KeyValue>>, limit: usize) {
        let rank = |a: &KeyValue, b: &KeyValue| match self.target {
            SortTarget::Key => a.key.cmp(&b.key),
            SortTarget::Version => a.version.cmp(&b.version),
            SortTarget::Create => a.create_revision.cmp(&b.create_revision),
            SortTarget::Mod => a.mod_revision.cmp(&b.mod_revision),
            SortTarget::Value => a.value.cmp(&b.value),
        };
        let compare = |a: &Arc<KeyValue>, b: &Arc<KeyValue>| {
            let order = match self.order {
                SortOrder::None | SortOrder::Ascend => rank(a, b),
                SortOrder::Descend => rank(b, a),
            };
            order.then_with(|| a.key.cmp(&b.key))
        };
        if limit > 0 && limit < kvs.len() {
            kvs.select_nth_unstable_by(limit, compare);
            kvs.truncate(limit + 1);
        }
        kvs.sort_unstable_by(compare);
    }
}
