//! Every counterexample happens again, wherever a run can be made to happen: of each mistake that
//! a card shows by a command, and of each property that a checker judges.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::shell::tenure;

/// Where a run happens again.
const EVERYWHERE: [&str; 3] = ["simulator", "checker", "tcp"];

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Checks, keeps the counterexample, and makes it happen again. Returns the property.
fn happens_again(check: &str, file: &Path, over: &[&str]) -> String {
    let line = format!("check {check} --format json --trace {}", file.display());
    let checked = tenure(&line);
    assert_eq!(checked.status.code(), Some(1), "{check}: {checked:?}");
    let shortest = &json(&checked.stdout)["counterexample"];
    let steps = shortest["length"].as_u64().expect("it has a length");
    for over in over {
        let again = tenure(&format!("trace replay {} --over {over} --format json", file.display()));
        // Real nodes do not believe what only these mistakes say: such a message never arrives.
        let doubted = check.starts_with("bully") || check.starts_with("raft");
        if *over == "tcp" && doubted && again.status.code() == Some(2) {
            continue;
        }
        assert_eq!(again.status.code(), Some(1), "{check} over {over}: {again:?}");
        let told = json(&again.stdout);
        assert_eq!(told["property"], shortest["property"], "{check} over {over}");
        assert_eq!(told["violated_again"], true, "{check} over {over}");
        // What is violated by a step is violated by that step; an end is waited for.
        let ends = ["progress", "agreement", "validity"].map(Value::from);
        let same = told["steps"] == steps || ends.contains(&told["property"]);
        assert!(same, "{check} over {over}: {told}");
    }
    shortest["property"].as_str().expect("it has a name").to_owned()
}

/// The checks by which cards show their mistakes; compositions say those of what they are made of.
fn shown() -> Vec<String> {
    let cards = json(&tenure("list --format json").stdout);
    let cards = cards.as_array().expect("a list of cards").clone();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of_card = |card: &Value| {
        let name = word(&card["name"]);
        let variants = card["variants"].as_array().cloned().unwrap_or_default();
        let wrong = variants.into_iter().filter(|it| it["sound"] == false && it["shown_by"] != "");
        let check = |it: Value| {
            let (variant, by) = (word(&it["name"]), word(&it["shown_by"]));
            let own = if by.contains("--variant") { "" } else { &format!("--variant {variant} ") };
            format!("{name} {own}{by}")
        };
        if name.contains(':') { Vec::new() } else { wrong.map(check).collect::<Vec<_>>() }
    };
    cards.iter().flat_map(of_card).collect()
}

#[test]
fn the_counterexample_of_every_mistake_happens_again_in_every_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("found.ndjson");
    let shown = shown();
    assert!(shown.len() > 20, "the cards show their mistakes: {shown:?}");
    for check in shown {
        happens_again(&check, &file, &EVERYWHERE);
    }
}

#[test]
fn what_violates_any_property_that_a_checker_judges_happens_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("found.ndjson");
    for (property, check) in [
        ("mutual-exclusion", "k-mutex -n 3 --k 2"),
        ("mutual-exclusion", "lamport -n 2 --channel reordered --beyond-assumptions"),
        ("mutual-exclusion", "token-ring -n 2 --duplicate 1 --beyond-assumptions"),
        ("at-most-k", "k-mutex --variant untagged-reply -n 3 --entries 2,1,1"),
        ("progress", "ricart-agrawala -n 2 --lose 1 --beyond-assumptions"),
        ("fencing", "token-ring -n 2 --duplicate 1 --beyond-assumptions"),
        ("order", "carvalho-roucairol -n 3 --entries 2,1,1"),
        ("no-starvation", "central -n 3 --entries 2,2,1"),
        ("agreement", "bully -n 2 --variant accept-lower,no-terms --crash 1 --recover 1"),
        ("validity", "lelann --variant forward-first -n 3 --initiators 1"),
        ("one-leader-at-a-time", "bully -n 3 --crash 1 --recover 1"),
        ("one-leader-per-term", "raft --variant forgotten-vote -n 3 --crash 1 --recover 1"),
    ] {
        let check = format!("{check} --property {property}");
        assert_eq!(happens_again(&check, &file, &EVERYWHERE), property);
    }
    let told = "central -n 3 --entries 0,1,1 --app-messages 1 --property order-with-messages";
    assert_eq!(happens_again(told, &file, &["simulator", "checker"]), "order-with-messages");
}

/// The negative control, wherever: the same steps, and the mistake taken out of the head.
#[test]
fn without_the_mistake_nothing_happens_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("found.ndjson");
    for (check, variant) in [
        ("ricart-agrawala -n 2 --property progress", "clock-only-defer"),
        ("k-mutex -n 3 --entries 2,1,1 --property at-most-k", "untagged-reply"),
    ] {
        happens_again(&format!("{check} --variant {variant}"), &file, &[]);
        let text = fs::read_to_string(&file).expect("a trace");
        let mended = text.replacen(&format!(r#","--variant","{variant}""#), "", 1);
        assert_ne!(text, mended, "the head of the trace names the variant");
        fs::write(&file, mended).expect("it is written");
        for over in EVERYWHERE {
            let again = tenure(&format!("trace replay {} --over {over}", file.display()));
            assert_ne!(again.status.code(), Some(1), "over {over}: {again:?}");
        }
    }
}
