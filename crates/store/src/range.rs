//! Reading: which keys, as of when, in which order, and how much of them.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::kv::KeyValue;
use crate::span::Span;

/// What is read. By default all keys of the span as they are now, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Range {
    /// Which keys.
    pub span: Span,
    /// As of which revision; 0 for now.
    pub revision: u64,
    /// At most so many; 0 for all.
    pub limit: u64,
    /// In which order.
    pub order: SortOrder,
    /// By what.
    pub target: SortTarget,
    /// Without their values.
    pub keys_only: bool,
    /// Only how many there are.
    pub count_only: bool,
    /// Only those that were changed in this revision or later; 0 for all.
    pub min_mod_revision: u64,
    /// Only those that were changed in this revision or before; 0 for all.
    pub max_mod_revision: u64,
    /// Only those that were created in this revision or later; 0 for all.
    pub min_create_revision: u64,
    /// Only those that were created in this revision or before; 0 for all.
    pub max_create_revision: u64,
}

/// In which order keys are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SortOrder {
    /// As they come: ascending, by whatever the target is.
    #[default]
    None,
    /// The smallest first.
    Ascend,
    /// The greatest first.
    Descend,
}

/// By what keys are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SortTarget {
    /// By themselves.
    #[default]
    Key,
    /// By how often they were written.
    Version,
    /// By the revision of their creation.
    Create,
    /// By the revision of their last change.
    Mod,
    /// By their values.
    Value,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Found {
    /// The revision of the store then: that of the header, and not the one that was asked for.
    pub revision: u64,
    /// The keys, with empty values if no values were asked for.
    pub kvs: Vec<Arc<KeyValue>>,
    /// Whether the limit left some out.
    pub more: bool,
    /// How many keys the span has, whatever limit and bounds of revisions left out.
    pub count: u64,
}

impl Range {
    /// Reads these keys as they are now.
    pub fn of(span: Span) -> Self {
        Range { span, ..Range::default() }
    }

    /// Whether all keys of the span have to be looked at before any can be answered.
    pub(crate) fn looks_at_all(&self) -> bool {
        let bounds = [
            self.min_mod_revision,
            self.max_mod_revision,
            self.min_create_revision,
            self.max_create_revision,
        ];
        self.order != SortOrder::None || bounds.iter().any(|bound| *bound > 0)
    }

    /// Whether the bounds of revisions let a key through.
    fn admits(&self, kv: &KeyValue) -> bool {
        let within = |number, min, max| number >= min && (max == 0 || number <= max);
        within(kv.mod_revision, self.min_mod_revision, self.max_mod_revision)
            && within(kv.create_revision, self.min_create_revision, self.max_create_revision)
    }

    /// Makes an answer of the keys of the span, which come in their order; of all of them, or of
    /// those up to one more than [`Range::limit`] where it does not look at all: as in etcd, these
    /// are then sorted among themselves.
    pub(crate) fn answer(&self, mut kvs: Vec<Arc<KeyValue>>, count: usize, revision: u64) -> Found {
        let mut found = Found { revision, count: count as u64, ..Found::default() };
        if self.count_only {
            return found;
        }
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let all = self.looks_at_all();
        if all {
            kvs.retain(|kv| self.admits(kv));
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
        Found { kvs, ..found }
    }

    /// Sorts keys, those of equal rank by their names. With a limit only so many, and one more
    /// where there are more.
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
