//! Quorum systems: families of sets of processes. Any two sets of a family intersect.

mod blocking_set;

use core::fmt;
use core::str::FromStr;

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use crate::process::ProcessId;
use crate::process_set::ProcessSet;

/// Size of the largest group whose constructed quorums are checked in debug builds. The check
/// compares all pairs of quorums.
const MAX_CHECKED_SIZE: u32 = 200;

/// A quorum system with one quorum per process: *Q_i*, which contains process *i* and intersects
/// every *Q_j*.
///
/// Each [`QuorumKind`] meets these two conditions, and [`QuorumSystem::from_quorums`] checks them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuorumSystem {
    /// Construction of the quorums. `None` if the caller listed them one by one.
    kind: Option<QuorumKind>,
    /// Quorum of each process, by the index of the process.
    sets: Vec<ProcessSet>,
    /// All quorums, if the caller listed them one by one. Empty if a [`QuorumKind`] constructs
    /// them.
    listed: Vec<ProcessSet>,
}

/// Construction of a quorum system from the number of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuorumKind {
    /// The group has three processes, and every pair of them is a quorum.
    Pairs,
    /// Each quorum is a line of a finite projective plane of K(K−1)+1 processes, with K processes
    /// on each line.
    Plane,
    /// Each quorum is the row and the column of a process, in a rectangle that is filled row by
    /// row. The last row may be incomplete.
    Grid,
    /// Each quorum is a majority: a process and the ⌊N/2⌋ processes after it on the ring.
    Majority,
    /// Each quorum is a path from the root of a binary tree to a leaf.
    Tree,
}

/// Error: a quorum system cannot be created. Either no quorum system of the requested
/// [`QuorumKind`] has this number of processes, or the listed sets are not a quorum system. A text
/// may also be no list of sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumError(String);

impl fmt::Display for QuorumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for QuorumError {}

impl QuorumSystem {
    /// Creates the quorum system of a kind for `size` processes.
    ///
    /// # Errors
    ///
    /// Returns an error for an empty group, or if `kind` has no quorum system of this size.
    /// `QuorumKind::Pairs` needs three processes. `QuorumKind::Plane` needs K(K−1)+1 processes,
    /// where K, the size of a quorum, is a prime plus 1.
    pub fn from_kind(kind: QuorumKind, size: u32) -> Result<Self, QuorumError> {
        if size == 0 {
            return Err(QuorumError("a group of no processes has no quorums".into()));
        }
        let sets = match kind {
            QuorumKind::Pairs => pairs(size)?,
            QuorumKind::Plane => plane(size)?,
            QuorumKind::Grid => grid(size),
            QuorumKind::Majority => majority(size),
            QuorumKind::Tree => tree(size),
        };
        let quorums = QuorumSystem { kind: Some(kind), sets, listed: Vec::new() };
        debug_assert!(
            size > MAX_CHECKED_SIZE || quorums.is_intersecting(),
            "any two quorums have a member in common"
        );
        Ok(quorums)
    }

    /// Returns the quorum of a process.
    ///
    /// # Panics
    ///
    /// If the process is outside of the group.
    pub fn quorum(&self, process: ProcessId) -> &ProcessSet {
        &self.sets[process.index()]
    }

    /// Creates a quorum system for `size` processes from these quorums. The quorum of a process is
    /// the first quorum in the list that contains the process.
    ///
    /// # Errors
    ///
    /// [`QuorumError`] if two quorums have no common member, if a member is outside of the group,
    /// or if a process is in no quorum.
    pub fn from_quorums(size: u32, quorums: &[ProcessSet]) -> Result<Self, QuorumError> {
        let members = |set: &ProcessSet| {
            set.iter().map(|it| format!("{it}")).collect::<Vec<String>>().join(" ")
        };
        let outside = quorums.iter().flat_map(ProcessSet::iter).find(|it| it.0 >= size);
        if let Some(outside) = outside {
            return Err(QuorumError(format!("{outside} is outside of the group P1 to P{size}")));
        }
        for (place, one) in quorums.iter().enumerate() {
            if let Some(other) = quorums[place..].iter().find(|other| !one.intersects(other)) {
                let (one, other) = (members(one), members(other));
                return Err(QuorumError(format!("the quorums {one} and {other} do not intersect")));
            }
        }
        let first = |process: ProcessId| {
            let found = quorums.iter().find(|quorum| quorum.contains(process)).cloned();
            found.ok_or_else(|| QuorumError(format!("{process} is in no quorum")))
        };
        let sets = (0..size).map(ProcessId).map(first).collect::<Result<_, _>>()?;
        Ok(QuorumSystem { kind: None, sets, listed: quorums.to_vec() })
    }

    /// Returns the quorums that the caller listed one by one, in their order. The slice is empty if
    /// a [`QuorumKind`] constructs the quorums.
    pub fn listed_quorums(&self) -> &[ProcessSet] {
        &self.listed
    }

    /// Returns a quorum for `process` that has no member in `avoided`. Returns `None` if there is
    /// none.
    ///
    /// If the quorums are listed, returns the first quorum in the list that contains `process` and
    /// no member of `avoided`. If there is none, returns the first quorum in the list without a
    /// member of `avoided`. If a [`QuorumKind`] constructs the quorums, the rules of
    /// [`QuorumKind::quorum_avoiding`] apply.
    pub fn quorum_avoiding(&self, process: ProcessId, avoided: &ProcessSet) -> Option<ProcessSet> {
        match self.kind {
            Some(kind @ (QuorumKind::Majority | QuorumKind::Tree)) => {
                kind.quorum_avoiding(self.size(), process, avoided)
            }
            Some(_) => self.next_available_quorum(process, avoided),
            None => {
                let available = || self.listed.iter().filter(|quorum| !quorum.intersects(avoided));
                available().find(|quorum| quorum.contains(process)).or(available().next()).cloned()
            }
        }
    }

    /// Returns the quorum of `process` if it has no member in `avoided`. Otherwise, returns the
    /// quorum of the next process on the ring whose quorum has no member in `avoided`. Returns
    /// `None` if every quorum has such a member.
    fn next_available_quorum(
        &self,
        process: ProcessId,
        avoided: &ProcessSet,
    ) -> Option<ProcessSet> {
        let (before, from) = self.sets.split_at(process.index());
        from.iter().chain(before).find(|set| !set.intersects(avoided)).cloned()
    }

    /// Returns the largest number *k* such that the quorums survive any *k* crashes:
    /// [`quorum_avoiding`](QuorumSystem::quorum_avoiding) then finds a quorum of live processes. If
    /// many quorums are listed, the result may be less than *k*, because the search is limited.
    pub fn tolerated_crashes(&self) -> u32 {
        match self.kind {
            Some(kind) => kind.least_blocking_set(self.size()) - 1,
            None => blocking_set::tolerated_crashes(&self.listed),
        }
    }

    /// Returns the construction of the quorums, or `None` if they were listed one by one.
    pub fn kind(&self) -> Option<QuorumKind> {
        self.kind
    }

    /// Returns the number of processes.
    pub fn size(&self) -> u32 {
        ProcessId::from_index(self.sets.len()).0
    }

    /// Returns true if the quorums of any two processes intersect.
    pub fn is_intersecting(&self) -> bool {
        self.sets.iter().all(|one| self.sets.iter().all(|other| one.intersects(other)))
    }

    /// Returns true if the quorum of no process is a proper subset of the quorum of another
    /// process.
    pub fn is_minimal(&self) -> bool {
        self.sets
            .iter()
            .all(|one| self.sets.iter().all(|other| one == other || !one.is_subset(other)))
    }
}

/// Largest process number that [`QuorumSystem::from_str`] accepts, because a larger group needs too
/// much memory.
const MAX_PROCESS: u32 = 1 << 20;

/// Parses quorums such as `1,2/2,3/1,3`, which consist of process numbers from 1. The largest
/// number in the text is the number of processes.
impl FromStr for QuorumSystem {
    type Err = QuorumError;

    fn from_str(text: &str) -> Result<Self, QuorumError> {
        let number = |word: &str| {
            let number = word.parse::<u32>().ok().filter(|it| (1..=MAX_PROCESS).contains(it));
            let invalid = || format!("expected quorums such as 1,2/2,3/1,3, found '{word}'");
            number.map(|number| ProcessId(number - 1)).ok_or_else(|| QuorumError(invalid()))
        };
        let quorum = |words: &str| words.split(',').map(number).collect::<Result<_, _>>();
        let quorums = text.split('/').map(quorum).collect::<Result<Vec<ProcessSet>, _>>()?;
        let members = quorums.iter().flat_map(ProcessSet::iter);
        let size = members.map(ProcessId::display_number).max().unwrap_or(0);
        QuorumSystem::from_quorums(size, &quorums)
    }
}

impl QuorumKind {
    /// Returns a quorum for `process`, in a group of `size` processes, that has no member in
    /// `avoided`. Returns `None` if there is none. For a fixed `size`, any two quorums that this
    /// method returns intersect, even if the sets `avoided` differ.
    ///
    /// - [`QuorumKind::Majority`]: the quorum consists of the first ⌊`size` / 2⌋ + 1 processes that
    ///   are not avoided, on the ring from `process` on.
    /// - [`QuorumKind::Tree`]: the quorum is a path from the root to a leaf, if possible through
    ///   `process`. If a node on the path is avoided, paths below *all* its children replace it
    ///   (Agrawal and El Abbadi, ACM TOCS 9(1), 1991).
    /// - All other kinds: each process has one fixed quorum. The method tries the quorum of
    ///   `process` first, and then the quorums of the next processes on the ring.
    pub fn quorum_avoiding(
        self,
        size: u32,
        process: ProcessId,
        avoided: &ProcessSet,
    ) -> Option<ProcessSet> {
        let after = |step| ProcessId((process.0 + step) % size);
        match self {
            QuorumKind::Majority => {
                let most = size as usize / 2 + 1;
                let members = (0..size).map(after).filter(|it| !avoided.contains(*it));
                let members: ProcessSet = members.take(most).collect();
                (members.len() as usize == most).then_some(members)
            }
            QuorumKind::Tree => below(0, size, process.0, avoided).map(set),
            _ => QuorumSystem::from_kind(self, size).ok()?.next_available_quorum(process, avoided),
        }
    }

    /// Returns the size of the smallest set of processes that intersects every quorum of this kind
    /// in a group of `size` processes.
    fn least_blocking_set(self, size: u32) -> u32 {
        match self {
            QuorumKind::Pairs => 2,
            // A set that intersects every line of a plane has at least as many points as a line.
            QuorumKind::Plane => root_up(size),
            QuorumKind::Grid => {
                let rows = size.div_ceil(root_up(size));
                // A set with a member in each row intersects every quorum, because every quorum
                // contains a whole row. If the last row has an empty place, the process above this
                // place counts as a member of the last two rows.
                if size.is_multiple_of(root_up(size)) { rows } else { rows - 1 }
            }
            QuorumKind::Majority => size.div_ceil(2),
            QuorumKind::Tree => blocking_below(0, size),
        }
    }
}

/// Returns the size of the smallest set that intersects every quorum of the subtree whose root is
/// `node`. These quorums are the sets that [`below`] returns.
fn blocking_below(node: u32, size: u32) -> u32 {
    let children = (2 * node + 1..=2 * node + 2).filter(|child| *child < size);
    let children = children.map(|child| blocking_below(child, size));
    // The set blocks all children of a node, or the node and one of its children.
    children.clone().min().map_or(1, |least| (least + 1).min(children.sum()))
}

/// Returns a quorum of the subtree whose root is `node`. The tree has `size` processes, numbered as
/// in a binary heap. The quorum has no member in `avoided`. If possible, the quorum contains
/// `wanted`. Returns `None` if every quorum of the subtree has a member in `avoided`.
fn below(node: u32, size: u32, wanted: u32, avoided: &ProcessSet) -> Option<Vec<u32>> {
    let children = (2 * node + 1..=2 * node + 2).filter(|child| *child < size);
    let mut children: Vec<u32> = children.collect();
    let down = |child| below(child, size, wanted, avoided);
    if avoided.contains(ProcessId(node)) {
        let all: Vec<Vec<u32>> =
            children.iter().map(|child| down(*child)).collect::<Option<_>>()?;
        return (!all.is_empty()).then(|| all.concat());
    }
    if children.is_empty() {
        return Some(vec![node]);
    }
    children.sort_by_key(|child| !is_ancestor_or_self(*child, wanted));
    let mut path = children.into_iter().find_map(down)?;
    path.push(node);
    Some(path)
}

fn is_ancestor_or_self(node: u32, process: u32) -> bool {
    core::iter::successors(Some(process), |i| (*i > 0).then(|| (i - 1) / 2)).any(|i| i == node)
}

fn set(members: impl IntoIterator<Item = u32>) -> ProcessSet {
    members.into_iter().map(ProcessId).collect()
}

fn pairs(size: u32) -> Result<Vec<ProcessSet>, QuorumError> {
    match size {
        3 => Ok(vec![set([0, 1]), set([1, 2]), set([0, 2])]),
        _ => Err(QuorumError(format!("pairs are quorums of 3 processes, not of {size}"))),
    }
}

/// Returns for each process one line of a projective plane. The process is a point of its line. For
/// seven processes, the lines are listed in this function. For other sizes, a line is the set of
/// solutions of `a·x + b·y + c·z = 0` over a prime field.
fn plane(size: u32) -> Result<Vec<ProcessSet>, QuorumError> {
    if size == 7 {
        let lines: [[u32; 3]; 7] =
            [[1, 2, 3], [2, 4, 6], [3, 4, 7], [4, 1, 5], [5, 2, 7], [6, 3, 5], [7, 1, 6]];
        return Ok(lines.iter().map(|line| set(line.iter().map(|p| p - 1))).collect());
    }
    let order = (2..=size).find(|q| q * q + q + 1 >= size).unwrap_or(2);
    if order * order + order + 1 != size || !is_prime(order) {
        return Err(QuorumError(format!(
            "a projective plane has 7, 13, 31, 57, 133 … processes (q² + q + 1, q prime), \
             not {size}"
        )));
    }
    let points = points(order);
    let on = |line: &[u32; 3], point: &[u32; 3]| {
        (0..3).map(|i| line[i] * point[i]).sum::<u32>().is_multiple_of(order)
    };
    let lines: Vec<ProcessSet> = points
        .iter()
        .map(|line| set((0..size).filter(|i| on(line, &points[*i as usize]))))
        .collect();
    Ok(assign_lines(&lines))
}

/// Returns the points of the projective plane of a prime order. In the homogeneous coordinates of
/// each point, the first nonzero number is 1.
fn points(order: u32) -> Vec<[u32; 3]> {
    let mut points = vec![[0, 0, 1]];
    points.extend((0..order).map(|z| [0, 1, z]));
    points.extend((0..order).flat_map(|y| (0..order).map(move |z| [1, y, z])));
    points
}

/// Assigns one line to each process. The line contains the process, and different processes have
/// different lines. The function finds this perfect matching by augmenting paths. A matching
/// exists: all processes are on equally many lines, and all lines have equally many processes.
fn assign_lines(lines: &[ProcessSet]) -> Vec<ProcessSet> {
    let mut owner: Vec<Option<usize>> = vec![None; lines.len()];
    for process in 0..lines.len() {
        let mut seen = vec![false; lines.len()];
        assert!(augment(process, lines, &mut owner, &mut seen), "a plane matches points and lines");
    }
    let mut sets = vec![ProcessSet::new(); lines.len()];
    for (line, process) in owner.into_iter().enumerate() {
        sets[process.expect("every line is matched")] = lines[line].clone();
    }
    sets
}

/// Searches an augmenting path from `process`: assigns it a line whose owner, if there is one, can
/// be assigned another line. Lines in `seen` are not tried again. Returns true if `process` got a
/// line.
fn augment(
    process: usize,
    lines: &[ProcessSet],
    owner: &mut [Option<usize>],
    seen: &mut [bool],
) -> bool {
    for line in 0..lines.len() {
        if !lines[line].contains(ProcessId::from_index(process))
            || core::mem::replace(&mut seen[line], true)
        {
            continue;
        }
        if owner[line].is_none_or(|other| augment(other, lines, owner, seen)) {
            owner[line] = Some(process);
            return true;
        }
    }
    false
}

fn is_prime(number: u32) -> bool {
    number > 1 && (2..number).take_while(|d| d * d <= number).all(|d| !number.is_multiple_of(d))
}

/// Returns the square root of `number`, rounded up.
fn root_up(number: u32) -> u32 {
    let floor = number.isqrt();
    floor + u32::from(floor * floor < number)
}

/// Returns the quorum of each process: its row and its column. The last row may have empty places.
/// The process above an empty place then takes this place, so that every column still intersects
/// every row.
fn grid(size: u32) -> Vec<ProcessSet> {
    let width = root_up(size);
    let cell = |row: u32, column: u32| {
        let place = row * width + column;
        if place < size { place } else { place - width }
    };
    let rows = size.div_ceil(width);
    (0..size)
        .map(|process| {
            let (row, column) = (process / width, process % width);
            set((0..width).map(|c| cell(row, c)).chain((0..rows).map(|r| cell(r, column))))
        })
        .collect()
}

fn majority(size: u32) -> Vec<ProcessSet> {
    (0..size).map(|i| set((0..=size / 2).map(|step| (i + step) % size))).collect()
}

/// Returns a quorum for each process. The processes form a binary tree, numbered as in a binary
/// heap. The quorum of a process is the path from the root to the process, extended to a leaf.
/// Below the process, the path always continues with the first child.
fn tree(size: u32) -> Vec<ProcessSet> {
    (0..size)
        .map(|process| {
            let up = core::iter::successors(Some(process), |i| (*i > 0).then(|| (i - 1) / 2));
            let down = core::iter::successors(Some(process), |i| {
                Some(2 * i + 1).filter(|child| *child < size)
            });
            set(up.chain(down))
        })
        .collect()
}

#[cfg(test)]
mod tests;
