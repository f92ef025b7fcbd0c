//! Tests of searches of a replicated log. The expected numbers of states come from earlier runs of
//! the same searches. The tests therefore detect changes, but do not confirm the numbers.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::shell::data;
use crate::skipped::report_skip;

const PAGE: &str = include_str!("../../docs/raft-log.md");

/// Number of states above which a search takes more than ten seconds.
const MAX_SMALL_STATES: u64 = 200_000;

/// Number of states above which a search takes more than half an hour, and more memory than many
/// machines have.
const MAX_LARGER_STATES: u64 = 100_000_000;

/// Memory that the largest of the searches takes, in KiB.
const LARGEST_SEARCH_KIB: u64 = 20 << 20;

const INCOMPLETE_HEADING: &str = "## Incomplete searches";

/// Returns the command lines of the complete searches in `docs/raft-log.md`, each with its number
/// of states.
fn scopes() -> Vec<(&'static str, u64)> {
    let of = |line: &'static str| {
        let mut cells = line.split('|').map(str::trim).skip(2);
        let command = cells.next()?.strip_prefix("`tenure ")?.strip_suffix('`')?;
        Some((command, cells.next()?.replace(',', "").parse().ok()?))
    };
    let (ended, _) = PAGE.split_once(INCOMPLETE_HEADING).expect("the page has both");
    ended.lines().filter_map(of).collect()
}

fn holds(scopes: impl IntoIterator<Item = (&'static str, u64)>) -> usize {
    let held = scopes.into_iter().map(|(command, states)| {
        let report = data(&format!("{command} --max-time none"), 0);
        let found = (&report["verdict"], &report["states"]);
        assert_eq!(found, (&"holds".into(), &states.into()), "{command}");
    });
    held.count()
}

#[test]
fn properties_of_the_log_hold_in_small_scopes() {
    assert!(holds(scopes().into_iter().filter(|(_, states)| *states <= MAX_SMALL_STATES)) >= 5);
}

#[test]
#[ignore = "they take minutes: cargo test -p tenure --release --test command -- --ignored log::"]
fn properties_of_the_log_hold_in_larger_scopes() {
    let larger = scopes()
        .into_iter()
        .filter(|(_, states)| (MAX_SMALL_STATES + 1..=MAX_LARGER_STATES).contains(states));
    assert!(holds(larger) >= 5);
}

#[test]
#[ignore = "half an hour and 20 GB, alone on its machine: with `log::`, as the larger ones"]
fn properties_of_the_log_hold_in_the_largest_scope() {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let free = free.and_then(|it| it.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    if free.is_none_or(|free| free < LARGEST_SEARCH_KIB) {
        report_skip("20 GB of free memory");
        return;
    }
    assert_eq!(holds(scopes().into_iter().filter(|(_, states)| *states > MAX_LARGER_STATES)), 1);
}

/// The page `docs/raft-log.md` names every schedule file of a replicated log. Every schedule that
/// the page names exists as a file.
#[test]
fn stories_of_a_log_are_on_its_page() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../algorithms/tests/golden");
    let names = |path: &Path| {
        let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("a file"));
        let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("a name");
        entries.map(name).collect::<Vec<_>>()
    };
    let is_of_log = |name: &str| ["raft_log", "relayed_log"].iter().any(|it| name.starts_with(it));
    let folders = names(&golden).into_iter().filter(|folder| is_of_log(folder));
    let story = |folder: &str, file: &str| Some(format!("{folder}/{}", file.strip_suffix(".txt")?));
    let of = |folder: String| {
        let files = names(&golden.join(&folder)).into_iter();
        files.filter_map(|file| story(&folder, &file)).collect::<Vec<_>>()
    };
    let report: BTreeSet<String> = folders.flat_map(of).collect();
    let words = PAGE.split('`').filter(|word| is_of_log(word));
    let shown: BTreeSet<String> = words.map(str::to_owned).collect();
    assert_eq!(shown, report);
}

#[test]
fn search_from_steered_steps_covers_only_their_successors() {
    let after = "--after fire:p1:election,deliver:p1→p2,deliver:p2→p1";
    let line = "check raft-log -n 2 --entries 0 --term-max 1 --in-flight 2 --variant no-pre-vote";
    let whole = data(line, 0)["states"].as_u64();
    let rest = data(&format!("{line} {after}"), 0)["states"].as_u64();
    assert!(rest > Some(3) && rest < whole, "{rest:?} of {whole:?}");
    let impossible = crate::shell::tenure(&format!("{line} --after deliver:p1→p2"));
    assert_eq!(impossible.status.code(), Some(2));
}

/// The steps before the search may return to a state of the run. The search explores this state
/// like any other, also if the steps end in it.
#[test]
fn search_goes_on_where_steered_steps_return() {
    let ring = "check token-ring -n 2 --variant keeps-token --entries 2,1";
    let around = "fire:p1:pass,deliver:p1→p2,fire:p2:pass,deliver:p2→p1";
    let line = format!("{ring} --property bounded-bypass=1");
    let (free, after) = (data(&line, 1), data(&format!("{line} --after {around}"), 1));
    assert!(after["states"].as_u64() > Some(5), "{after}");
    assert_eq!([&free["verdict"], &after["verdict"]], ["violated"; 2]);
}
