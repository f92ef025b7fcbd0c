//! What a card says of its variants can be typed as it stands there, and shows what it says.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::shell::{data, tenure};

/// Of so many commands one is tried each time.
const SHARE: usize = 6;

/// The commands of all cards, each once, and whose card has it.
fn commands() -> BTreeMap<String, String> {
    let cards = data("list", 0);
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let of_card = |card: &Value| {
        let name = word(&card["name"]).expect("a card has a name");
        let variants = card["variants"].as_array().cloned().unwrap_or_default();
        let commands = variants.into_iter().filter_map(move |variant| word(&variant["command"]));
        commands.map(move |command| (command, name.clone())).collect::<Vec<_>>()
    };
    let cards = cards.as_array().expect("a list of cards");
    cards.iter().rev().flat_map(of_card).collect()
}

/// Each of these shows a violation.
fn all_show_something(commands: impl Iterator<Item = (String, String)>) {
    for (command, name) in commands {
        let ended = tenure(&command);
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{name}: tenure {command}: {told}");
    }
}

#[test]
fn a_share_of_the_commands_on_cards_shows_what_it_says() {
    let all = commands();
    assert!(all.len() > 60, "{}", all.len());
    all_show_something(all.into_iter().step_by(SHARE));
}

#[test]
#[ignore = "minutes; `just long` runs it"]
fn all_the_commands_on_cards_show_what_they_say() {
    all_show_something(commands().into_iter());
}

#[test]
fn every_mistake_has_a_command_that_shows_it() {
    let cards = data("list", 0);
    let is_plain = |card: &&Value| !card["name"].as_str().expect("a name").contains(':');
    for card in cards.as_array().expect("a list of cards").iter().filter(is_plain) {
        for variant in card["variants"].as_array().into_iter().flatten() {
            let is_shown = variant["sound"] == true || variant["command"].is_string();
            assert!(is_shown, "{}: {variant}", card["name"]);
        }
    }
}

#[test]
fn a_mistake_of_a_part_is_shown_in_the_part() {
    let commands = commands();
    let has = |command: &str| commands.contains_key(command);
    assert!(has("check lamport --variant ids-as-stamps -n 2"), "{commands:#?}");
    assert!(!has("check election-from-mutex:lamport --variant ids-as-stamps -n 2"));
    // What only the whole has is shown in the whole.
    let own = |(command, _): (&String, &String)| command.contains(" coordinated:");
    assert!(commands.iter().any(own), "{commands:#?}");
}
