//! Maps and sets of ids. They use the hash function of the search.

use std::collections::{HashMap, HashSet};

use crate::model::fingerprint::BuildFoldHasher;

pub(crate) type IdMap<K, V> = HashMap<K, V, BuildFoldHasher>;

pub(crate) type IdSet<K> = HashSet<K, BuildFoldHasher>;
