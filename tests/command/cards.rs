//! Tests of the commands that the cards of algorithms contain. A user can copy each command. The
//! run of the command shows the violation that the card claims.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::shell::{data, tenure};

/// An ordinary run of the tests tries only one of every `SHARE` commands, to save time. The long
/// tests try all commands.
const SHARE: usize = 16;

/// Returns the commands on cards. Each command comes with the name of one card that contains the
/// command.
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

fn assert_all_show_violations(commands: impl Iterator<Item = (String, String)>) {
    for (command, name) in commands {
        let ended = tenure(&command);
        let report = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{name}: tenure {command}: {report}");
    }
}

#[test]
fn sampled_card_commands_show_their_violations() {
    let all = commands();
    assert!(all.len() > 60, "{}", all.len());
    assert_all_show_violations(all.into_iter().step_by(SHARE));
}

#[test]
#[ignore = "minutes; `just long` runs it"]
fn all_card_commands_show_their_violations() {
    assert_all_show_violations(commands().into_iter());
}

#[test]
fn every_faulty_variant_has_a_command_that_shows_it() {
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
fn faulty_variants_of_parts_are_shown_in_the_parts() {
    let commands = commands();
    let has = |command: &str| commands.contains_key(command);
    assert!(has("check lamport --variant ids-as-stamps -n 2"), "{commands:#?}");
    assert!(!has("check election-from-mutex:lamport --variant ids-as-stamps -n 2"));
    // If only the composition violates a property, the card of the composition contains the
    // command.
    let own = |(command, _): (&String, &String)| command.contains(" coordinated:");
    assert!(commands.iter().any(own), "{commands:#?}");
}
