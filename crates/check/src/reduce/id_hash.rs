//! Maps and sets of ids, with the hash of the search.

use std::collections::{HashMap, HashSet};

use crate::model::fingerprint::BuildFoldHasher;

/// Map whose keys consist of ids.
pub(crate) type IdMap<K, V> = HashMap<K, V, BuildFoldHasher>;

/// Set of keys that consist of ids.
pub(crate) type IdSet<K> = HashSet<K, BuildFoldHasher>;
