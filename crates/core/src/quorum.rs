//! Quorum systems: families of sets of processes, any two of which intersect.

use core::fmt;
use core::str::FromStr;

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use crate::process::ProcessId;
use crate::process_set::ProcessSet;

/// One quorum per process: *Q_i*, which contains process *i* and intersects every *Q_j*.
///
/// Every constructor checks these two conditions, so a value of this type is a quorum system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quorums {
    kind: Option<Kind>,
    sets: Vec<ProcessSet>,
    /// All quorums, if the caller listed them one by one. Empty if a [`Kind`] constructs them.
    listed: Vec<ProcessSet>,
}

/// Construction of a quorum system from the number of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The group has three processes, and every pair of them is a quorum.
    Pairs,
    /// Each quorum is a line of a finite projective plane of K(K−1)+1 processes, with K processes
    /// on each line.
    Plane,
    /// Each quorum is the row and the column of a process, in a rectangle that is filled row by
    /// row.
    Grid,
    /// Each quorum is a majority: a process and the ⌊N/2⌋ processes after it on the ring.
    Majority,
    /// Each quorum is a path from the root of a binary tree to a leaf.
    Tree,
}

/// Error: a group has no quorum system of the requested [`Kind`], or the listed sets form none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumError(String);

impl fmt::Display for QuorumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for QuorumError {}

impl Quorums {
    /// Creates the quorum system of a kind for `size` processes.
    ///
    /// # Errors
    ///
    /// [`QuorumError`] for an empty group, or if `kind` has no quorum system of this size.
    /// `Kind::Pairs` needs three processes. `Kind::Plane` needs K(K−1)+1 processes, where K−1 is a
    /// prime, or K is 2.
    pub fn of(kind: Kind, size: u32) -> Result<Self, QuorumError> {
        if size == 0 {
            return Err(QuorumError("a group of no processes has no quorums".into()));
        }
        let sets = match kind {
            Kind::Pairs => pairs(size)?,
            Kind::Plane => plane(size)?,
            Kind::Grid => grid(size),
            Kind::Majority => majority(size),
            Kind::Tree => tree(size),
        };
        let quorums = Quorums { kind: Some(kind), sets, listed: Vec::new() };
        assert!(quorums.is_intersecting(), "any two quorums have a member in common");
        Ok(quorums)
    }

    /// Returns the quorum of a process.
    pub fn quorum(&self, process: ProcessId) -> &ProcessSet {
        &self.sets[process.index()]
    }

    /// Creates a quorum system for `size` processes from these quorums. The quorum of a process is
    /// the first one that contains it.
    ///
    /// # Errors
    ///
    /// [`QuorumError`] for the first two quorums without a common member, for a member outside of
    /// the group, and for a process in no quorum.
    pub fn with_sets(size: u32, quorums: &[ProcessSet]) -> Result<Self, QuorumError> {
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
        Ok(Quorums { kind: None, sets, listed: quorums.to_vec() })
    }

    /// Returns the quorums that the caller listed one by one, in their order. The slice is empty if
    /// a [`Kind`] constructs the quorums.
    pub fn listed(&self) -> &[ProcessSet] {
        &self.listed
    }

    /// Returns a quorum for `process` that has no member in `avoided`, or `None` if there is none.
    ///
    /// Among the listed quorums without such members, the first one that contains `process` is
    /// preferred, and otherwise the first one is returned. If a [`Kind`] constructs the quorums,
    /// the rules of [`Kind::quorum`] apply.
    pub fn quorum_avoiding(&self, process: ProcessId, avoided: &ProcessSet) -> Option<ProcessSet> {
        if let Some(kind) = self.kind {
            return kind.quorum(self.size(), process, avoided);
        }
        let available = || self.listed.iter().filter(|quorum| !quorum.intersects(avoided));
        available().find(|quorum| quorum.contains(process)).or(available().next()).cloned()
    }

    /// Returns the largest number of crashes that the listed quorums survive: whichever processes
    /// crash, one quorum has only live members. Returns `None` if a [`Kind`] constructs the
    /// quorums.
    pub fn tolerated_crashes(&self) -> Option<u32> {
        let crashed = (1..).find(|most| blocks(&self.listed, *most, &mut ProcessSet::new()));
        crashed.filter(|_| self.kind.is_none()).map(|crashed| crashed - 1)
    }

    /// Returns the construction of the quorums, or `None` if they were listed one by one.
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// Returns the number of processes.
    pub fn size(&self) -> u32 {
        ProcessId::at(self.sets.len()).0
    }

    /// Returns true if any two quorums intersect.
    pub fn is_intersecting(&self) -> bool {
        self.sets.iter().all(|one| self.sets.iter().all(|other| one.intersects(other)))
    }

    /// Returns true if no quorum is a proper subset of another.
    pub fn is_minimal(&self) -> bool {
        self.sets
            .iter()
            .all(|one| self.sets.iter().all(|other| one == other || !one.is_subset(other)))
    }
}

/// Returns true if at most `most` processes can be added to `chosen` so that it intersects every
/// quorum. Changes `chosen` during the search, and restores it.
fn blocks(quorums: &[ProcessSet], most: u32, chosen: &mut ProcessSet) -> bool {
    let Some(left) = quorums.iter().find(|quorum| !quorum.intersects(chosen)) else { return true };
    most > 0
        && left.iter().any(|member| {
            chosen.insert(member);
            let found = blocks(quorums, most - 1, chosen);
            chosen.remove(member);
            found
        })
}

/// Largest process number that [`Quorums::from_str`] accepts, because a larger group needs too much
/// memory.
const MAX_PROCESS: u32 = 1 << 20;

/// Parses quorums such as `1,2/2,3/1,3`. The greatest number in the text is the number of
/// processes.
impl FromStr for Quorums {
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
        let size = members.map(ProcessId::number).max().unwrap_or(0);
        Quorums::with_sets(size, &quorums)
    }
}

impl Kind {
    /// Returns a quorum for `process` among `size` that has no member in `avoided`, or `None` if
    /// there is none. Any two quorums that this method returns for one size intersect, whatever
    /// processes they avoid.
    ///
    /// A majority consists of the first processes on the ring, from `process` on, that are not
    /// avoided. In a tree, the paths below *all* children replace an avoided node (Agrawal and El
    /// Abbadi, ACM TOCS 9(1), 1991). Otherwise the path in the tree goes through `process` as far
    /// as possible. In the other kinds, each process has a fixed quorum. The method tries the
    /// quorum of `process` first, and then those of the processes after it on the ring.
    pub fn quorum(self, size: u32, process: ProcessId, avoided: &ProcessSet) -> Option<ProcessSet> {
        let after = |step| ProcessId((process.0 + step) % size);
        match self {
            Kind::Majority => {
                let most = size as usize / 2 + 1;
                let members = (0..size).map(after).filter(|it| !avoided.contains(*it));
                let members: ProcessSet = members.take(most).collect();
                (members.len() as usize == most).then_some(members)
            }
            Kind::Tree => below(0, size, process.0, avoided).map(set),
            _ => {
                let quorums = Quorums::of(self, size).ok()?;
                let sets = (0..size).map(|step| quorums.quorum(after(step)));
                sets.into_iter().find(|set| !set.intersects(avoided)).cloned()
            }
        }
    }
}

/// Returns a quorum of the subtree below `node`, in the binary heap of `size` processes. The quorum
/// has no member in `avoided`, and contains `wanted` if possible. Returns `None` if there is no
/// such quorum.
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

/// Returns for each process a line of a projective plane that contains it. The plane of seven
/// points has fixed lines. The lines of other planes are `a·x + b·y + c·z = 0` over a prime field.
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

/// Returns the points of the plane of a prime order, in homogeneous coordinates whose first nonzero
/// number is 1.
fn points(order: u32) -> Vec<[u32; 3]> {
    let mut points = vec![[0, 0, 1]];
    points.extend((0..order).map(|z| [0, 1, z]));
    points.extend((0..order).flat_map(|y| (0..order).map(move |z| [1, y, z])));
    points
}

/// Assigns each process a different line that contains it: a perfect matching, found by augmenting
/// paths. The matching exists, because all processes are on equally many lines and all lines have
/// equally many processes.
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

fn augment(
    process: usize,
    lines: &[ProcessSet],
    owner: &mut [Option<usize>],
    seen: &mut [bool],
) -> bool {
    for line in 0..lines.len() {
        if !lines[line].contains(ProcessId::at(process))
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

/// Returns the quorum of each process: its row and its column. A last row that is not full borrows
/// its missing columns from the row above, so that columns still intersect every row.
fn grid(size: u32) -> Vec<ProcessSet> {
    let width = (1..=size).find(|w| w * w >= size).unwrap_or(1);
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

/// Returns the quorum of each process in the binary heap of the ids. The quorum is the path from
/// the root down to the process, continued through first children down to a leaf.
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
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_system_intersects_and_contains_owner() {
        for size in 1..=40 {
            for kind in [Kind::Pairs, Kind::Plane, Kind::Grid, Kind::Majority, Kind::Tree] {
                let Ok(quorums) = Quorums::of(kind, size) else { continue };
                assert_eq!(quorums.size(), size);
                for process in (0..size).map(ProcessId) {
                    let own = quorums.quorum(process);
                    assert!(own.contains(process), "{kind:?} {size}: {process} in {own:?}");
                }
            }
        }
    }

    #[test]
    fn plane_is_minimal_with_expected_size() {
        for (size, k) in [(7, 3), (13, 4), (31, 6)] {
            let quorums = Quorums::of(Kind::Plane, size).unwrap();
            assert!((0..size).all(|i| quorums.quorum(ProcessId(i)).len() == k));
            assert!(quorums.is_minimal());
            let quorums_of = |i| quorums.sets.iter().filter(|it| it.contains(ProcessId(i))).count();
            assert!((0..size).all(|i| quorums_of(i) == k as usize));
        }
        let refused = Quorums::of(Kind::Plane, 8).unwrap_err();
        assert!(format!("{refused}").contains("not 8"));
    }

    #[test]
    fn full_grid_quorums_have_expected_size() {
        for (size, k) in [(4, 3), (9, 5), (16, 7)] {
            let quorums = Quorums::of(Kind::Grid, size).unwrap();
            assert!((0..size).all(|i| quorums.quorum(ProcessId(i)).len() == k));
        }
    }

    /// Returns a row for each process and each set of avoided processes: the process, the set, and
    /// the quorum, if there is one.
    fn coterie(kind: Kind, size: u32) -> Vec<(ProcessId, ProcessSet, Option<ProcessSet>)> {
        let subset = |bits: u32| set((0..size).filter(move |i| bits & (1 << i) != 0));
        let all = (0..1_u32 << size).flat_map(|bits| (0..size).map(move |i| (bits, ProcessId(i))));
        all.map(|(bits, process)| {
            let avoided = subset(bits);
            let quorum = kind.quorum(size, process, &avoided);
            (process, avoided, quorum)
        })
        .collect()
    }

    #[test]
    fn avoiding_quorums_still_intersect() {
        for size in 1..=7 {
            for kind in [Kind::Pairs, Kind::Plane, Kind::Grid, Kind::Majority, Kind::Tree] {
                let Ok(fixed) = Quorums::of(kind, size) else { continue };
                for (process, avoided, quorum) in coterie(kind, size) {
                    if avoided.is_empty() {
                        assert_eq!(quorum.as_ref(), Some(fixed.quorum(process)));
                    }
                    let Some(quorum) = quorum else { continue };
                    assert!(!quorum.intersects(&avoided), "{kind:?} {size}: {quorum:?}");
                }
                assert!(all_of(kind, &family(kind, size)).is_intersecting(), "{kind:?} {size}");
            }
        }
    }

    /// Returns all quorums that `kind` produces for some process and some set of avoided processes.
    fn family(kind: Kind, size: u32) -> BTreeSet<Vec<ProcessId>> {
        let given = coterie(kind, size).into_iter().filter_map(|(_, _, quorum)| quorum);
        given.map(|quorum| quorum.iter().collect()).collect()
    }

    fn all_of(kind: Kind, family: &BTreeSet<Vec<ProcessId>>) -> Quorums {
        Quorums {
            kind: Some(kind),
            sets: family.iter().map(|it| it.iter().copied().collect()).collect(),
            listed: Vec::new(),
        }
    }

    /// Each size in this test fills the shape of its kind, such as a complete tree. At other sizes,
    /// quorums may not be minimal.
    #[test]
    fn produced_quorums_form_coterie() {
        let mut shapes = vec![(Kind::Pairs, 3), (Kind::Plane, 7), (Kind::Grid, 4), (Kind::Grid, 9)];
        shapes.extend((1..=8).map(|size| (Kind::Majority, size)));
        shapes.extend([1, 3, 7].map(|size| (Kind::Tree, size)));
        for (kind, size) in shapes {
            let family = all_of(kind, &family(kind, size));
            assert!(family.is_intersecting(), "{kind:?} {size}");
            assert!(family.is_minimal(), "{kind:?} {size}");
        }
        // A node with one child is replaced by that child alone.
        assert!(!all_of(Kind::Tree, &family(Kind::Tree, 2)).is_minimal());
    }

    /// Returns all quorums of the tree below `node` (Agrawal and El Abbadi). Such a quorum is the
    /// node and a quorum below one child, or the union of a quorum below each child.
    fn trees(node: u32, size: u32) -> BTreeSet<BTreeSet<u32>> {
        let (left, right) = (2 * node + 1, 2 * node + 2);
        if left >= size {
            return BTreeSet::from([BTreeSet::from([node])]);
        }
        let (left, right) = (trees(left, size), trees(right, size));
        let with_node = |it: &BTreeSet<u32>| it.iter().copied().chain([node]).collect();
        let mut all: BTreeSet<BTreeSet<u32>> = left.iter().chain(&right).map(with_node).collect();
        all.extend(left.iter().flat_map(|one| right.iter().map(move |other| one | other)));
        all
    }

    #[test]
    fn full_tree_has_quorums_of_agrawal_and_el_abbadi() {
        for (size, height) in [(1, 1), (3, 2), (7, 3), (15, 4)] {
            let mut expected = BTreeSet::new();
            for quorum in trees(0, size) {
                let others = set((0..size).filter(|i| !quorum.contains(i)));
                let members: Vec<ProcessId> = quorum.into_iter().map(ProcessId).collect();
                let found = Kind::Tree.quorum(size, ProcessId(0), &others);
                assert_eq!(found.map(|it| it.iter().collect()), Some(members.clone()));
                expected.insert(members);
            }
            let sizes: BTreeSet<usize> = expected.iter().map(Vec::len).collect();
            assert_eq!(sizes.first(), Some(&height), "log2({size} + 1)");
            assert_eq!(sizes.last(), Some(&(size as usize).div_ceil(2)), "({size} + 1) / 2");
            if size < 15 {
                assert_eq!(family(Kind::Tree, size), expected, "and no others");
            }
        }
    }

    #[test]
    fn grid_quorum_exists_while_row_and_column_are_up() {
        let lines = |avoided: &ProcessSet, line: fn(u32, u32) -> u32| {
            (0..3).any(|i| (0..3).all(|j| !avoided.contains(ProcessId(line(i, j)))))
        };
        for (_, avoided, quorum) in coterie(Kind::Grid, 9) {
            let row = lines(&avoided, |i, j| 3 * i + j);
            let column = lines(&avoided, |i, j| i + 3 * j);
            assert_eq!(quorum.is_some(), row && column, "{avoided:?}");
        }
    }

    #[test]
    fn seven_point_plane_avoids_any_two_but_no_line() {
        for (_, avoided, quorum) in coterie(Kind::Plane, 7) {
            assert!(quorum.is_some() || avoided.len() >= 3, "{avoided:?}");
            let plane = Quorums::of(Kind::Plane, 7).unwrap();
            let is_cut = (0..7).any(|i| plane.quorum(ProcessId(i)).is_subset(&avoided));
            assert!(!(is_cut && quorum.is_some()), "{avoided:?}");
        }
    }

    #[test]
    fn majority_avoids_any_minority() {
        for size in 1..=7 {
            for (_, avoided, quorum) in coterie(Kind::Majority, size) {
                assert_eq!(quorum.is_some(), avoided.len() <= (size - 1) / 2);
            }
        }
    }

    #[test]
    fn seven_node_tree_avoids_any_two_but_no_path() {
        for (_, avoided, quorum) in coterie(Kind::Tree, 7) {
            assert!(quorum.is_some() || avoided.len() >= 3, "{avoided:?}");
            assert!(quorum.is_none() || avoided.len() <= 4, "{avoided:?}");
        }
        let tree =
            |avoided: &[u32]| Kind::Tree.quorum(7, ProcessId(3), &set(avoided.iter().copied()));
        assert_eq!(tree(&[]), Some(set([0, 1, 3])), "from P4 up to the root");
        assert_eq!(tree(&[3]), Some(set([0, 1, 4])));
        assert_eq!(tree(&[1]), Some(set([0, 3, 4])), "the paths below both children");
        assert_eq!(tree(&[0]), Some(set([1, 2, 3, 5])));
        assert_eq!(tree(&[0, 1, 3]), None);
        assert_eq!(tree(&[0, 1, 2]), Some(set([3, 4, 5, 6])));
    }

    #[test]
    fn listed_quorums_are_checked() {
        let listed = [set([0, 1]), set([1, 2])];
        let quorums = Quorums::with_sets(3, &listed).unwrap();
        assert_eq!((quorums.quorum(ProcessId(1)), quorums.kind()), (&set([0, 1]), None));
        let error = |size, sets: &[ProcessSet]| {
            alloc::format!("{}", Quorums::with_sets(size, sets).unwrap_err())
        };
        assert_eq!(error(4, &listed), "P4 is in no quorum");
        assert_eq!(error(2, &listed), "P3 is outside of the group P1 to P2");
        let apart = [set([0, 1]), set([2, 3])];
        assert_eq!(error(4, &apart), "the quorums P1 P2 and P3 P4 do not intersect");
    }

    #[test]
    fn listed_quorums_avoid_processes_while_one_is_left() {
        let quorums: Quorums = "1,2/2,3/1,3/1,4,2".parse().unwrap();
        assert_eq!((quorums.size(), quorums.listed().len()), (4, 4));
        let avoiding = |process, avoided: &[u32]| {
            quorums.quorum_avoiding(ProcessId(process), &set(avoided.iter().copied()))
        };
        assert_eq!(avoiding(3, &[]), Some(set([0, 1, 3])), "the first with P4");
        assert_eq!(avoiding(3, &[0]), Some(set([1, 2])), "none with P4 is left");
        assert_eq!(avoiding(0, &[1]), Some(set([0, 2])));
        assert_eq!(avoiding(0, &[1, 2]), None);
    }

    #[test]
    fn tolerated_crashes_leave_a_listed_quorum() {
        let tolerated = |text: &str| text.parse::<Quorums>().unwrap().tolerated_crashes();
        assert_eq!(tolerated("1,2/2,3/1,3"), Some(1));
        assert_eq!(tolerated("1,2/2,3"), Some(0), "without P2 no quorum is left");
        let plane = "1,2,3/2,4,6/3,4,7/4,1,5/5,2,7/6,3,5/7,1,6";
        assert_eq!(tolerated(plane), Some(2));
        assert_eq!(Quorums::of(Kind::Plane, 7).unwrap().tolerated_crashes(), None);
        for wrong in ["", "1,0/1", "1,,2", "1,2/x", "1,2/3,4"] {
            assert!(wrong.parse::<Quorums>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn disjoint_sets_are_no_quorum_system() {
        let sets = vec![set([0]), set([1])];
        let apart = Quorums { kind: Some(Kind::Tree), sets, listed: Vec::new() };
        assert!(!apart.is_intersecting());
    }
}
