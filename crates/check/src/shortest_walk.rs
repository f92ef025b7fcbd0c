//! Breadth-first search for a shortest walk through a graph.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use crate::model::fingerprint::BuildFoldHasher;

/// Returns the steps of a shortest walk from `first` whose last step satisfies `is_goal`. `None` if
/// there is no such walk.
///
/// `steps` returns the steps from a node, each with the node to which the step leads. A step that
/// has `None` instead of a node can only be the last step of a walk. If `steps` itself returns
/// `None`, the search is given up, and this function returns `None`.
pub(crate) fn shortest_walk<N, S, I>(
    first: N,
    mut steps: impl FnMut(N) -> Option<I>,
    is_goal: impl Fn(&S, Option<N>) -> bool,
) -> Option<Vec<S>>
where
    N: Copy + Eq + Hash,
    S: Clone,
    I: Iterator<Item = (S, Option<N>)>,
{
    let mut origins: HashMap<N, (N, S), BuildFoldHasher> = HashMap::default();
    let mut queue = VecDeque::from([first]);
    while let Some(node) = queue.pop_front() {
        for (step, next) in steps(node)? {
            if is_goal(&step, next) {
                let mut walk = vec![step];
                let mut here = node;
                while here != first {
                    let (before, step) = &origins[&here];
                    walk.push(step.clone());
                    here = *before;
                }
                walk.reverse();
                return Some(walk);
            }
            let is_new = |next: &N| *next != first && !origins.contains_key(next);
            if let Some(next) = next.filter(is_new) {
                origins.insert(next, (node, step));
                queue.push_back(next);
            }
        }
    }
    None
}
