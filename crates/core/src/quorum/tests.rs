//! Tests of quorum systems: intersection, sizes, avoided processes and listed quorums.

use alloc::collections::BTreeSet;

use super::*;

const KINDS: [QuorumKind; 5] = [
    QuorumKind::Pairs,
    QuorumKind::Plane,
    QuorumKind::Grid,
    QuorumKind::Majority,
    QuorumKind::Tree,
];

#[test]
fn every_system_intersects_and_contains_owner() {
    for size in 1..=40 {
        for kind in KINDS {
            let Ok(quorums) = QuorumSystem::from_kind(kind, size) else { continue };
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
        let quorums = QuorumSystem::from_kind(QuorumKind::Plane, size).unwrap();
        assert!((0..size).all(|i| quorums.quorum(ProcessId(i)).len() == k));
        assert!(quorums.is_minimal());
        let quorums_of = |i| quorums.sets.iter().filter(|it| it.contains(ProcessId(i))).count();
        assert!((0..size).all(|i| quorums_of(i) == k as usize));
    }
    let refused = QuorumSystem::from_kind(QuorumKind::Plane, 8).unwrap_err();
    assert!(format!("{refused}").contains("not 8"));
}

#[test]
fn full_grid_quorums_have_expected_size() {
    for (size, k) in [(4, 3), (9, 5), (16, 7)] {
        let quorums = QuorumSystem::from_kind(QuorumKind::Grid, size).unwrap();
        assert!((0..size).all(|i| quorums.quorum(ProcessId(i)).len() == k));
    }
}

/// Returns a row for each process and each set of avoided processes: the process, the set, and
/// the quorum, if there is one.
fn coterie(kind: QuorumKind, size: u32) -> Vec<(ProcessId, ProcessSet, Option<ProcessSet>)> {
    let subset = |bits: u32| set((0..size).filter(move |i| bits & (1 << i) != 0));
    let all = (0..1_u32 << size).flat_map(|bits| (0..size).map(move |i| (bits, ProcessId(i))));
    all.map(|(bits, process)| {
        let avoided = subset(bits);
        let quorum = kind.quorum_avoiding(size, process, &avoided);
        (process, avoided, quorum)
    })
    .collect()
}

#[test]
fn avoiding_quorums_still_intersect() {
    for size in 1..=7 {
        for kind in [
            QuorumKind::Pairs,
            QuorumKind::Plane,
            QuorumKind::Grid,
            QuorumKind::Majority,
            QuorumKind::Tree,
        ] {
            let Ok(fixed) = QuorumSystem::from_kind(kind, size) else { continue };
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
fn family(kind: QuorumKind, size: u32) -> BTreeSet<Vec<ProcessId>> {
    let given = coterie(kind, size).into_iter().filter_map(|(_, _, quorum)| quorum);
    given.map(|quorum| quorum.iter().collect()).collect()
}

fn all_of(kind: QuorumKind, family: &BTreeSet<Vec<ProcessId>>) -> QuorumSystem {
    QuorumSystem {
        kind: Some(kind),
        sets: family.iter().map(|it| it.iter().copied().collect()).collect(),
        listed: Vec::new(),
    }
}

/// Checks that any two quorums of a kind intersect, and that no quorum contains another quorum. The
/// second property does not hold for all group sizes. The test uses only sizes that fill the shape
/// of the kind: with 7 processes, for example, the tree is complete.
#[test]
fn produced_quorums_form_coterie() {
    let mut shapes = vec![
        (QuorumKind::Pairs, 3),
        (QuorumKind::Plane, 7),
        (QuorumKind::Grid, 4),
        (QuorumKind::Grid, 9),
    ];
    shapes.extend((1..=8).map(|size| (QuorumKind::Majority, size)));
    shapes.extend([1, 3, 7].map(|size| (QuorumKind::Tree, size)));
    for (kind, size) in shapes {
        let family = all_of(kind, &family(kind, size));
        assert!(family.is_intersecting(), "{kind:?} {size}");
        assert!(family.is_minimal(), "{kind:?} {size}");
    }
    // A tree of two processes is not complete: {child} is a quorum, and is a subset of the quorum
    // {root, child}.
    assert!(!all_of(QuorumKind::Tree, &family(QuorumKind::Tree, 2)).is_minimal());
}

/// Returns all quorums of the subtree of `node`, as defined by Agrawal and El Abbadi. A quorum is
/// either `node` with a quorum of one child's subtree, or the union of a quorum of each child's
/// subtree.
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
            let found = QuorumKind::Tree.quorum_avoiding(size, ProcessId(0), &others);
            assert_eq!(found.map(|it| it.iter().collect()), Some(members.clone()));
            expected.insert(members);
        }
        let sizes: BTreeSet<usize> = expected.iter().map(Vec::len).collect();
        assert_eq!(sizes.first(), Some(&height), "log2({size} + 1)");
        assert_eq!(sizes.last(), Some(&(size as usize).div_ceil(2)), "({size} + 1) / 2");
        if size < 15 {
            assert_eq!(family(QuorumKind::Tree, size), expected, "and no others");
        }
    }
}

#[test]
fn grid_quorum_exists_while_row_and_column_are_up() {
    let lines = |avoided: &ProcessSet, line: fn(u32, u32) -> u32| {
        (0..3).any(|i| (0..3).all(|j| !avoided.contains(ProcessId(line(i, j)))))
    };
    for (_, avoided, quorum) in coterie(QuorumKind::Grid, 9) {
        let row = lines(&avoided, |i, j| 3 * i + j);
        let column = lines(&avoided, |i, j| i + 3 * j);
        assert_eq!(quorum.is_some(), row && column, "{avoided:?}");
    }
}

#[test]
fn seven_point_plane_avoids_any_two_but_no_line() {
    for (_, avoided, quorum) in coterie(QuorumKind::Plane, 7) {
        assert!(quorum.is_some() || avoided.len() >= 3, "{avoided:?}");
        let plane = QuorumSystem::from_kind(QuorumKind::Plane, 7).unwrap();
        let is_cut = (0..7).any(|i| plane.quorum(ProcessId(i)).is_subset(&avoided));
        assert!(!(is_cut && quorum.is_some()), "{avoided:?}");
    }
}

#[test]
fn majority_avoids_any_minority() {
    for size in 1..=7 {
        for (_, avoided, quorum) in coterie(QuorumKind::Majority, size) {
            assert_eq!(quorum.is_some(), avoided.len() <= (size - 1) / 2);
        }
    }
}

#[test]
fn seven_node_tree_avoids_any_two_but_no_path() {
    for (_, avoided, quorum) in coterie(QuorumKind::Tree, 7) {
        assert!(quorum.is_some() || avoided.len() >= 3, "{avoided:?}");
        assert!(quorum.is_none() || avoided.len() <= 4, "{avoided:?}");
    }
    let tree = |avoided: &[u32]| {
        QuorumKind::Tree.quorum_avoiding(7, ProcessId(3), &set(avoided.iter().copied()))
    };
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
    let quorums = QuorumSystem::from_quorums(3, &listed).unwrap();
    assert_eq!((quorums.quorum(ProcessId(1)), quorums.kind()), (&set([0, 1]), None));
    let error = |size, sets: &[ProcessSet]| {
        alloc::format!("{}", QuorumSystem::from_quorums(size, sets).unwrap_err())
    };
    assert_eq!(error(4, &listed), "P4 is in no quorum");
    assert_eq!(error(2, &listed), "P3 is outside of the group P1 to P2");
    let apart = [set([0, 1]), set([2, 3])];
    assert_eq!(error(4, &apart), "the quorums P1 P2 and P3 P4 do not intersect");
}

#[test]
fn listed_quorums_avoid_processes_while_one_is_left() {
    let quorums: QuorumSystem = "1,2/2,3/1,3/1,4,2".parse().unwrap();
    assert_eq!((quorums.size(), quorums.listed_quorums().len()), (4, 4));
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
    let tolerated = |text: &str| text.parse::<QuorumSystem>().unwrap().tolerated_crashes();
    assert_eq!(tolerated("1,2/2,3/1,3"), 1);
    assert_eq!(tolerated("1,2/2,3"), 0, "without P2 no quorum is left");
    let plane = "1,2,3/2,4,6/3,4,7/4,1,5/5,2,7/6,3,5/7,1,6";
    assert_eq!(tolerated(plane), 2);
    for wrong in ["", "1,0/1", "1,,2", "1,2/x", "1,2/3,4"] {
        assert!(wrong.parse::<QuorumSystem>().is_err(), "{wrong}");
    }
}

#[test]
fn tolerated_crashes_equal_those_of_all_subsets() {
    let mut next = 1u64;
    let mut random = move || {
        next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (next >> 33) as u32
    };
    for _ in 0..200 {
        let quorums: Vec<ProcessSet> = (0..1 + random() % 6)
            .map(|_| set([random() % 8, random() % 8, random() % 8]))
            .collect();
        let survives =
            |crashed: u32| quorums.iter().any(|it| it.iter().all(|p| crashed >> p.0 & 1 == 0));
        let fatal = (0..1u32 << 8).filter(|crashed| !survives(*crashed)).map(u32::count_ones).min();
        let tolerated = blocking_set::tolerated_crashes(&quorums);
        assert_eq!(Some(tolerated + 1), fatal, "{quorums:?}");
    }
}

/// Compares the numbers of tolerated crashes with those of all sets of crashed processes. In a tree
/// of an even number of processes, one process has a single child, and every path through the
/// process contains the child.
#[test]
fn tolerated_crashes_of_constructed_quorums_are_exact() {
    for kind in KINDS {
        for size in 1..=13 {
            let Ok(quorums) = QuorumSystem::from_kind(kind, size) else { continue };
            let is_blocked = |crashed: u32| {
                let avoided = set((0..size).filter(|process| crashed >> process & 1 == 1));
                let live = (0..size).map(ProcessId).find(|process| !avoided.contains(*process));
                live.is_none_or(|live| quorums.quorum_avoiding(live, &avoided).is_none())
            };
            let blocking = (0..1u32 << size).filter(|crashed| is_blocked(*crashed));
            let least = blocking.map(u32::count_ones).min();
            assert_eq!(Some(quorums.tolerated_crashes() + 1), least, "{kind:?} of {size}");
        }
    }
    for size in 1..=40 {
        let grid = QuorumSystem::from_kind(QuorumKind::Grid, size).unwrap();
        let found = blocking_set::tolerated_crashes(&grid.sets);
        assert_eq!(grid.tolerated_crashes(), found, "{size}");
    }
}

#[test]
fn listed_grids_tolerate_fewer_crashes_than_they_have_rows() {
    for rows in [3, 5, 7, 9] {
        let size = rows * rows;
        let grid = QuorumSystem::from_kind(QuorumKind::Grid, size).unwrap();
        let quorums: Vec<ProcessSet> =
            (0..size).map(|at| grid.quorum(ProcessId(at)).clone()).collect();
        let listed = QuorumSystem::from_quorums(size, &quorums).unwrap();
        let tolerated = listed.tolerated_crashes();
        // For a grid of more than 7 rows, the limited search may return less than the exact number.
        assert!(tolerated == rows - 1 || rows > 7 && (1..rows).contains(&tolerated), "{tolerated}");
    }
}

#[test]
fn large_systems_intersect() {
    for kind in [QuorumKind::Grid, QuorumKind::Majority, QuorumKind::Tree] {
        let quorums = QuorumSystem::from_kind(kind, 3_000).unwrap();
        let all = || (0..3_000).step_by(97).map(|at| quorums.quorum(ProcessId(at)));
        assert!(all().all(|one| all().all(|other| one.intersects(other))), "{kind:?}");
    }
}

#[test]
fn disjoint_sets_are_no_quorum_system() {
    let sets = vec![set([0]), set([1])];
    let apart = QuorumSystem { kind: Some(QuorumKind::Tree), sets, listed: Vec::new() };
    assert!(!apart.is_intersecting());
}
