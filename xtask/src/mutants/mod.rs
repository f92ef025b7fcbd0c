//! Mutants: algorithms with one operator changed, drawn by a seed. Which of them does a default
//! command show?
//!
//! All of them are written into one copy of the sources, built once, and chosen by an environment
//! variable; the crate itself knows nothing of it.

mod sites;
mod table;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use sites::Site;

/// How long a command may take to show a mutant, in hundredths of a second of a processor: what
/// else the machine does has no part in it.
const MOST: u64 = 1_000;

/// The sources of the algorithms.
const SOURCES: &str = "crates/algorithms/src";

/// Which changed a running program takes; none where nothing is said.
const CHOICE: &str = r#"
extern crate std;

pub(crate) fn mutated(number: u32) -> bool {
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let chosen = || std::env::var("TENURE_MUTANT").ok().and_then(|it| it.parse().ok()).unwrap_or(0);
    *CHOSEN.get_or_init(chosen) == number
}
"#;

/// `cargo mutate --seed S --count N --more M [--rows 5,20] [FILE …]`: N of all files, or of those
/// named where there are no more; and then M more, of those named. Of rows that are named only
/// these are run. `--again WORDS` draws nothing: it takes the changes of `docs/mutants.md` of which
/// that says these words.
pub(crate) fn main(root: &Path, words: &[&str]) -> ExitCode {
    let (mut seed, mut count, mut more, mut only) = (1, 50, 0, Vec::new());
    let mut again: Option<&str> = None;
    let mut rows: Vec<usize> = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == "--rows" {
            let listed = words.next().expect("--rows takes numbers").split(',');
            rows.extend(listed.map(|row| row.parse::<usize>().expect("a number of a row")));
            continue;
        }
        if *word == "--again" {
            again = Some(words.next().expect("--again takes words"));
            continue;
        }
        let mut number = || words.next().and_then(|number| number.parse::<usize>().ok());
        match *word {
            "--seed" => seed = number().expect("--seed takes a number"),
            "--count" => count = number().expect("--count takes a number"),
            "--more" => more = number().expect("--more takes a number"),
            file => only.push(file),
        }
    }
    let named = |file: &str| only.is_empty() || only.iter().any(|it| file.contains(it));
    let mut sites = all(&root.join(SOURCES));
    if more == 0 {
        sites.retain(|site| named(&site.file));
    }
    let places = sites.len();
    if let Some(words) = again {
        let (found, gone) = table::again(root, words, &sites);
        (sites, count) = (found, usize::MAX / 2);
        println!("{} of {places} places, and {} are gone\n", sites.len(), gone.len());
        gone.iter().for_each(|it| println!("  {it}"));
    } else {
        shuffle(&mut sites, seed as u64);
        println!("{places} places to change; seed {seed}\n");
    }
    let copy = root.join("target/mutants");
    let (drawn, unbuildable) = built(root, &copy, sites, &|drawn, file| {
        drawn < count || (drawn < count + more && named(file))
    });
    println!("| # | where | change | shown by |\n|---|---|---|---|");
    let mut survivors = 0;
    let mut unchanged = HashMap::new();
    let runs = |place: usize| rows.is_empty() || rows.contains(&(place + 1));
    for (place, site) in drawn.iter().enumerate().filter(|(place, _)| runs(*place)) {
        let shown = shown_by(&copy.join("tenure"), &site.file, place + 1, &mut unchanged);
        survivors += usize::from(shown.is_none());
        let shown = shown.unwrap_or_else(|| "**nothing**".to_owned());
        let Site { file, line, says, .. } = site;
        println!("| {} | {file}:{line} | {} | {shown} |", place + 1, says.replace('|', "\\|"));
    }
    let run = (0..drawn.len()).filter(|place| runs(*place)).count();
    println!("\n{} shown, {survivors} survive", run - survivors);
    println!("{} more could not be built", unbuildable.len());
    unbuildable.iter().for_each(|it| println!("  {}:{} {}", it.file, it.line, it.says));
    ExitCode::SUCCESS
}

/// Every change of every algorithm that has a name on the command line.
fn all(sources: &Path) -> Vec<Site> {
    let mut files = walk(sources);
    files.sort();
    let mut sites = Vec::new();
    for path in files {
        let file = path.strip_prefix(sources).expect("it is below").to_string_lossy().into_owned();
        if !names(&file).is_empty() {
            sites.extend(sites::of(&file, &fs::read_to_string(&path).expect("it is text")));
        }
    }
    sites
}

/// The names on the command line of what a file is a part of.
fn names(file: &str) -> Vec<String> {
    let parts: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
    let (folder, stem) = (parts[0], parts.get(1).copied().unwrap_or_default());
    let names: &[&str] = match (folder, stem) {
        (_, "mod" | "card" | "config") => &[],
        _ if parts.last() == Some(&"card") || parts.last() == Some(&"message") => &[],
        ("mutex", "desk") => &["central", "lease", "edge-chasing", "coordinated:bully"],
        ("mutex", "voter") => &["maekawa", "majority"],
        ("mutex", "candidate") => &["maekawa", "majority"],
        ("mutex", "generations") => &["nishio-li-manning", "repaired-ring"],
        ("mutex", "questions") => &["lease", "coordinated:raft"],
        ("agreement", "omega") => &["paxos", "chandra-toueg"],
        ("election", "ring") => &["chang-roberts", "hirschberg-sinclair", "franklin"],
        ("mutex" | "election" | "agreement", stem) => return vec![stem.replace('_', "-")],
        ("channel", "fifo") => &["fifo:lamport"],
        ("compose", "coordinated" | "coordinator") => &["coordinated:bully", "coordinated:raft"],
        ("reduction", "election_from_mutex") => &["election-from-mutex:central"],
        ("reduction", "mutex_from_election") => &["mutex-from-election:bully"],
        _ => &[],
    };
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Builds a copy in which a running program chooses among the first that build, in their order, of
/// those that are wanted, which depends on how many there are and on their file.
fn built(
    root: &Path,
    copy: &Path,
    mut sites: Vec<Site>,
    is_wanted: &dyn Fn(usize, &str) -> bool,
) -> (Vec<Site>, Vec<Site>) {
    let mut unbuildable = Vec::new();
    loop {
        let mut drawn: Vec<Site> = Vec::new();
        for site in &sites {
            let apart = |it: &Site| {
                let (one, other) = (&it.place, &site.place);
                it.file != site.file || one.end <= other.start || other.end <= one.start
            };
            if is_wanted(drawn.len(), &site.file) && drawn.iter().all(apart) {
                drawn.push(site.clone());
            }
        }
        let written = write(root, copy, &drawn);
        let failed = failures(&cargo(copy, &["check", "-p", "tenure-algorithms"]), &written);
        if failed.is_empty() {
            let said = cargo(copy, &["build", "--release", "-p", "tenure"]);
            assert!(failures(&said, &written).is_empty(), "what can be checked can be built");
            let binary = root.join("target/release/tenure");
            fs::copy(binary, copy.join("tenure")).expect("it was built");
            return (drawn, unbuildable);
        }
        for place in failed.into_iter().rev() {
            let Site { file, place, .. } = &drawn[place];
            let at = sites.iter().position(|it| (&it.file, &it.place) == (file, place));
            unbuildable.push(sites.remove(at.expect("it was drawn")));
        }
    }
}

/// Writes the copy. Returns, by change, its file and the lines on which it stands there.
fn write(root: &Path, copy: &Path, drawn: &[Site]) -> Vec<(String, usize, usize)> {
    let listed = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .output()
        .expect("git runs");
    for file in String::from_utf8_lossy(&listed.stdout).lines() {
        let (from, to) = (root.join(file), copy.join(file));
        fs::create_dir_all(to.parent().expect("it has a folder")).expect("it can be made");
        if from.is_symlink() && from.is_dir() {
            if !to.exists() {
                let _ = fs::remove_file(&to);
                let target = fs::read_link(&from).expect("it is a link");
                std::os::unix::fs::symlink(target, &to).expect("it can be linked");
            }
            continue;
        }
        let mut text = fs::read(&from).unwrap_or_default();
        if file == "Cargo.toml" {
            // What is built of the copy is nothing that the repository itself is built of.
            let other = String::from_utf8_lossy(&text).replacen("\"0.1.0\"", "\"0.1.1\"", 1);
            text = other.into_bytes();
        }
        if fs::read(&to).ok().as_ref() != Some(&text) && !from.starts_with(root.join(SOURCES)) {
            fs::write(&to, text).expect("it can be written");
        }
    }
    let mut written = vec![(String::new(), 0, 0); drawn.len()];
    for path in walk(&root.join(SOURCES)) {
        let below = path.strip_prefix(root.join(SOURCES)).expect("it is below").to_path_buf();
        let name = below.to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("it is text");
        let mut here: Vec<(usize, &Site)> =
            drawn.iter().enumerate().filter(|(_, site)| site.file == name).collect();
        here.sort_by_key(|(_, site)| site.place.start);
        let (mut changed, mut done) = (String::new(), 0);
        for (number, site) in here {
            changed.push_str(&text[done..site.place.start]);
            let first = changed.lines().count().max(1);
            changed.push_str(&site.written(number + 1));
            let last = changed.lines().count();
            written[number] = (format!("{SOURCES}/{name}"), first, last);
            done = site.place.end;
        }
        changed.push_str(&text[done..]);
        if name == "lib.rs" {
            changed.push_str(CHOICE);
        }
        let to = copy.join(SOURCES).join(&below);
        if fs::read_to_string(&to).ok().as_ref() != Some(&changed) {
            fs::write(to, changed).expect("it can be written");
        }
    }
    written
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the sources are there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// Runs cargo in the copy, and returns what it says line by line.
fn cargo(copy: &Path, words: &[&str]) -> String {
    let target = copy.parent().expect("it lies in the target folder");
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(copy).args(words).args(["--message-format", "json", "-j2"]);
    let output = command.arg("--target-dir").arg(target).stderr(Stdio::inherit()).output();
    String::from_utf8_lossy(&output.expect("cargo runs").stdout).into_owned()
}

/// The changes that the compiler refuses.
fn failures(messages: &str, written: &[(String, usize, usize)]) -> Vec<usize> {
    let mut failed = Vec::new();
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for message in messages.filter(|it| it["message"]["level"] == "error") {
        let mut blamed = false;
        for span in message["message"]["spans"].as_array().into_iter().flatten() {
            let file = span["file_name"].as_str().unwrap_or_default();
            let line = |key: &str| span[key].as_u64().unwrap_or_default() as usize;
            let (from, to) = (line("line_start"), line("line_end"));
            for (place, (name, first, last)) in written.iter().enumerate() {
                if name == file && *first <= to && from <= *last {
                    blamed = true;
                    failed.push(place);
                }
            }
        }
        let says = &message["message"]["rendered"];
        assert!(blamed || message["message"]["spans"] == serde_json::json!([]), "{says}");
    }
    failed.sort_unstable();
    failed.dedup();
    failed
}

/// The first command that shows a mutant of a file, and how: the defaults, and then those by which
/// a card shows its mistakes, without the mistake. What the unchanged program does is remembered.
fn shown_by(
    tenure: &Path,
    file: &str,
    number: usize,
    unchanged: &mut HashMap<String, Option<i32>>,
) -> Option<String> {
    names(file).iter().find_map(|name| {
        let elects = file.starts_with("election") || name.starts_with("election");
        let agrees = file.starts_with("agreement");
        let service = match () {
            () if elects => "election",
            () if agrees => "agreement",
            () => "mutex",
        };
        let mut lines = vec![format!("simulate {name}"), format!("check {name}")];
        if !name.contains(':') {
            lines.insert(1, format!("compare {service} --only {name}"));
            lines.push(format!("compare {service} --faults --only {name}"));
        }
        lines.extend(documented(tenure.parent().expect("it is in the copy"), name));
        let defaults = lines.len();
        lines.extend(controls(tenure, name));
        lines.into_iter().enumerate().find_map(|(place, line)| {
            // Who takes as long as that without the change may take too long without its fault.
            let control = || done(tenure, &line, 0, MOST / 2);
            let control = (*unchanged.entry(line.clone()).or_insert_with(control))?;
            let (control, mutant) = (Some(control), done(tenure, &line, number, MOST));
            let shows = mutant != control && matches!(mutant, Some(1 | 101) | None);
            let how = match mutant {
                Some(1) => "",
                Some(_) => " (breaks off)",
                None => " (does not end)",
            };
            let whose = if place < defaults { "" } else { " (a control)" };
            shows.then(|| format!("`{line}`{how}{whose}"))
        })
    })
}

/// The commands of the documents that are about an algorithm: scenarios and questions whose
/// experiments name it, and what stands in the pages on the mission and on `raft-log`.
fn documented(copy: &Path, name: &str) -> Vec<String> {
    let is_about = |text: &str| {
        let ends =
            |letter: Option<char>| !letter.is_some_and(|it| it.is_alphanumeric() || it == '-');
        text.match_indices(name).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + name.len()..]);
            ends(before.chars().next_back()) && ends(after.chars().next())
        })
    };
    let mut lines = Vec::new();
    for page in ["mission", "raft-log"] {
        let text = fs::read_to_string(copy.join(format!("docs/{page}.md"))).expect("it is there");
        let commands = text.split('`').filter_map(|code| code.strip_prefix("tenure "));
        let commands = commands.filter(|line| line.split(' ').nth(1) == Some(name));
        lines.extend(commands.map(|line| line.split(" # exit").next().unwrap_or(line).to_owned()));
    }
    for (folder, verb, key) in [("scenarios", "scenario", "name"), ("questions", "question", "id")]
    {
        let mut files = walk(&copy.join("docs").join(folder));
        files.sort();
        for file in files {
            let text = fs::read_to_string(file).expect("it is text");
            for lesson in text.split(&format!("[[{folder}]]\n")).filter(|lesson| is_about(lesson)) {
                let called = lesson.lines().find_map(|line| line.strip_prefix(key));
                let called = called.and_then(|rest| rest.split('"').nth(1));
                lines.extend(called.map(|called| format!("{verb} {called}")));
            }
        }
    }
    lines
}

/// The commands by which a card shows its mistakes, each without the last of its variants.
fn controls(tenure: &Path, name: &str) -> Vec<String> {
    let mut list = Command::new(tenure);
    let listed = list.args(["list", name, "--format", "json"]).output().expect("it can be run");
    let cards: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
    let card = cards.as_array().and_then(|cards| cards.first()).unwrap_or(&cards).clone();
    let variants = card["variants"].as_array().cloned().unwrap_or_default();
    let lines = variants.iter().filter_map(|variant| {
        let by = variant["shown_by"].as_str().filter(|by| !by.is_empty())?;
        let (verb, by) = match by.strip_prefix("simulate ") {
            Some(by) => ("simulate", by),
            None => ("check", by),
        };
        let words: Vec<&str> = by.split_whitespace().collect();
        let Some(at) = words.iter().position(|word| *word == "--variant") else {
            return Some(format!("{verb} {name} {}", words.join(" ")));
        };
        let others = words[at + 1].rsplit_once(',').map(|(others, _)| others);
        let others = others.map_or(String::new(), |others| format!("--variant {others} "));
        let rest = [&words[..at], &words[at + 2..]].concat().join(" ");
        Some(format!("{verb} {name} {others}{rest}"))
    });
    let mut lines: Vec<String> = lines.collect();
    lines.dedup();
    lines
}

/// The status of a command; nothing where it does not end in time.
fn done(tenure: &Path, line: &str, number: usize, most: u64) -> Option<i32> {
    let mut command = Command::new(tenure);
    command.args(line.split(' ')).env("TENURE_MUTANT", number.to_string());
    let mut child =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it can be run");
    let started = Instant::now();
    while spent(child.id(), started) < most {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return status.code().or(Some(101));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().and_then(|()| child.wait()).expect("it can be ended");
    None
}

/// What a process has used of processors, by Linux's account; elsewhere the time since it began.
/// Whoever uses nothing for two minutes waits for ever.
fn spent(process: u32, started: Instant) -> u64 {
    let passed = started.elapsed().as_millis() as u64 / 10;
    let account = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let Some((_, account)) = account.rsplit_once(')') else { return passed };
    let used = account.split_whitespace().skip(11).take(2).filter_map(|it| it.parse::<u64>().ok());
    used.sum::<u64>().max(passed / 12)
}

/// By a seed, as `SplitMix64` draws.
fn shuffle(sites: &mut [Site], seed: u64) {
    let mut state = seed;
    for place in (1..sites.len()).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = state;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        drawn ^= drawn >> 31;
        sites.swap(place, (drawn % (place as u64 + 1)) as usize);
    }
}
