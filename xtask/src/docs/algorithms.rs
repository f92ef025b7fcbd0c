//! The page of all algorithms.

use std::fmt::Write;

use serde_json::Value;

use super::command::{Command, list, text};
use crate::hands::on_each;

const HEAD: &str = "\
# The algorithms

This page is made by `cargo xtask docs` from the cards in the code and from runs of the command;
continuous integration fails when it is stale. `tenure list NAME` shows a whole card.

";

const ABOUT_FAULTS: &str = "\
Each cell is an exhaustive check of groups of two and three: *ok* means that every promise of the
card holds in every schedule, *blocked* that somebody may wait for ever, *UNSAFE* that another
promise is broken; the number is that of the steps of a shortest schedule. With *(n = 2)* groups of
three have more worlds than were searched, with *?* groups of two have; *blocked (n = 2)* is a group
of two that a crash leaves without a majority. A dash means that the fault
does not exist for this algorithm. `tenure compare SERVICE --faults` makes the table, and with
`--format json` names the check behind each cell.

";

const ABOUT_VARIANTS: &str = "\
A variant is one rule of an algorithm that is different. Those that are *wrong* are kept so that
the checker can show why the rule is there: the command ends with the shortest way to the harm. The
verdict is the row of the checklist of known results that it belongs to.

";

/// The runs that are measured for the page, and what one fault does, by service.
const MEASURED: [&str; 6] = [
    "compare mutex -n 5 --entries 3",
    "compare election -n 8",
    "compare agreement -n 5",
    "compare mutex --faults",
    "compare election --faults",
    "compare agreement --faults",
];

/// Makes the page.
pub(super) fn page(command: &Command) -> Result<String, String> {
    let cards = command.ask("list")?;
    let mut page = HEAD.to_owned();
    let asked = on_each(&MEASURED, |words| command.ask(words));
    let asked: Vec<Value> = asked.into_iter().collect::<Result<_, _>>()?;
    let [of_mutexes, of_elections, of_agreements, of_faults @ ..] = &asked[..] else {
        unreachable!("there are as many answers as questions")
    };
    page.push_str(&mutexes(&cards, of_mutexes));
    page.push_str(&elections(&cards, of_elections));
    page.push_str(&agreements(&cards, of_agreements));
    page.push_str(&compositions(&cards));
    page.push_str("## What one fault does\n\n");
    page.push_str(ABOUT_FAULTS);
    for matrix in of_faults {
        page.push_str(&faults(matrix));
    }
    page.push_str("## Variants\n\n");
    page.push_str(ABOUT_VARIANTS);
    page.push_str(&variants(command, &cards)?);
    Ok(page)
}

fn mutexes(cards: &Value, measured: &Value) -> String {
    let head = [
        "algorithm",
        "paper",
        "messages per entry",
        "measured",
        "delay to enter",
        "hand-over",
        "bypass",
        "order of requests kept",
        "channel",
        "survives",
    ];
    let rows = list(&measured["algorithms"]).iter().map(|row| {
        let card = card_of(cards, text(&row["name"]));
        let theory = &row["theory"];
        vec![
            name(row),
            text(&card["paper"]).into(),
            formula(card),
            mean(&row["messages"]),
            said(&theory["entry"]),
            said(&theory["synchronisation"]),
            said(&theory["bypass"]),
            said(&theory["order"]),
            text(&card["order"]).into(),
            crashes(card),
        ]
    });
    let about = "Measured: the mean of 30 seeded runs of `tenure compare mutex -n 5 --entries 3`, \
        where all\nfive ask at once. Delays are in messages, one after the other: to enter when \
        nobody else\nwants to, and from one's exit to the next one's entry. The bypass is how \
        often another may\nenter while one waits.\n\n";
    format!("## Mutual exclusion\n\n{about}{}\n", table(&head, rows))
}

/// What is promised besides while clocks keep time.
fn clocked(card: &Value) -> String {
    let clocked = list(&card["clocked"]).iter().map(text);
    clocked.map(|promise| format!("; {promise} while clocks keep time")).collect()
}

fn elections(cards: &Value, measured: &Value) -> String {
    let head = [
        "algorithm",
        "paper",
        "messages per election",
        "measured",
        "time",
        "promises",
        "timing",
        "processes",
        "survives",
    ];
    let rows = list(&measured["algorithms"]).iter().map(|row| {
        let card = card_of(cards, text(&row["name"]));
        let promises: Vec<&str> = list(&card["promises"]).iter().map(text).collect();
        vec![
            name(row),
            text(&card["paper"]).into(),
            formula(card),
            mean(&row["messages"]),
            mean(&row["election_time"]),
            promises.join(", ") + &clocked(card),
            text(&card["timing"]).into(),
            knowledge(card),
            crashes(card),
        ]
    });
    let about = "Measured: the mean of 30 seeded runs of `tenure compare election -n 8`, where all \
        eight start\nat once on rings drawn at random. The time is in messages, one after the \
        other. An\nalgorithm is *uniform* whose processes do not know how many they are, and \
        *anonymous* if they\nhave no names: `tenure list --only uniform`.\n\n";
    format!("## Leader election\n\n{about}{}\n", table(&head, rows))
}

fn agreements(cards: &Value, measured: &Value) -> String {
    let head = [
        "algorithm",
        "service",
        "paper",
        "messages per agreement",
        "measured",
        "time",
        "measured",
        "promises",
        "channel",
        "survives",
    ];
    let rows = list(&measured["algorithms"]).iter().map(|row| {
        let card = card_of(cards, text(&row["name"]));
        let promises: Vec<&str> = list(&card["promises"]).iter().map(text).collect();
        vec![
            name(row),
            said(&row["offers"]),
            text(&card["paper"]).into(),
            formula(card),
            mean(&row["messages"]),
            said(&row["theory"]["delay"]),
            mean(&row["agreement_time"]),
            promises.join(", "),
            text(&card["order"]).into(),
            crashes(card),
        ]
    });
    let about = "Measured: the mean of 30 seeded runs of `tenure compare agreement -n 5`, where \
        all five ask\nat once. The time is in messages, one after the other, until the last of \
        them is told. What an\nagreement is depends on the service: a decision, an item that is \
        broadcast, a picture, a round\nof a barrier, a computation, a change of view, a name for \
        everybody.\n\n";
    format!("## Agreement\n\n{about}{}\n", table(&head, rows))
}

fn compositions(cards: &Value) -> String {
    let rows = list(cards).iter().filter(|card| text(&card["name"]).contains(':')).map(|row| {
        let card = &row["card"];
        vec![name(row), text(&row["service"]).into(), text(&card["title"]).into(), formula(card)]
    });
    let about =
        "Any algorithm runs over a channel that loses, repeats and reorders: `fifo:NAME`.\n\n";
    let head = ["composition", "service", "what it is", "messages"];
    format!("## Compositions\n\n{about}{}\n", table(&head, rows))
}

fn faults(matrix: &Value) -> String {
    let mut head = vec!["algorithm"];
    head.extend(list(&matrix["faults"]).iter().map(text));
    let rows = list(&matrix["algorithms"]).iter().map(|row| {
        let mut cells = vec![name(row)];
        cells.extend(list(&row["cells"]).iter().map(verdict));
        cells
    });
    table(&head, rows) + "\n"
}

fn verdict(cell: &Value) -> String {
    let steps = cell["length"].as_u64().map(|steps| format!(" ({steps})")).unwrap_or_default();
    match text(&cell["verdict"]) {
        "none" => "–".into(),
        "unknown" => "?".into(),
        "ok-for-two" => "ok (n = 2)".into(),
        "blocked" if cell["without_majority"] == true => match cell["length"].as_u64() {
            Some(steps) => format!("blocked (n = 2, {steps})"),
            None => "blocked (n = 2)".into(),
        },
        "unsafe" => format!("**UNSAFE**{steps}"),
        other => format!("{other}{steps}"),
    }
}

fn variants(command: &Command, cards: &Value) -> Result<String, String> {
    let bare = list(cards).iter().filter(|card| !text(&card["name"]).contains(':'));
    let each = bare.flat_map(|card| list(&card["variants"]).iter().map(move |one| (card, one)));
    let variants: Vec<(&Value, &Value)> = each.collect();
    let rows = on_each(&variants, |(card, variant)| shown(command, text(&card["name"]), variant));
    let rows: Vec<_> = rows.into_iter().collect::<Result<_, _>>()?;
    let head = ["variant", "of", "what is different", "", "verdict", "command", "finds"];
    Ok(table(&head, rows.into_iter()))
}

fn shown(command: &Command, algorithm: &str, variant: &Value) -> Result<Vec<String>, String> {
    let (name, options) = (text(&variant["name"]), text(&variant["shown_by"]));
    let sound = if variant["sound"] == true { "sound" } else { "wrong" };
    let mut row = vec![
        format!("`{name}`"),
        algorithm.into(),
        text(&variant["says"]).into(),
        sound.into(),
        text(&variant["verdict"]).into(),
    ];
    if options.is_empty() {
        row.extend([String::new(), String::new()]);
        return Ok(row);
    }
    let (verb, options) = match options.strip_prefix("simulate ") {
        Some(options) => ("simulate", options),
        None => ("check", options),
    };
    let check = match options.contains("--variant") {
        true => format!("{verb} {algorithm} {options}"),
        false => format!("{verb} {algorithm} --variant {name} {options}"),
    };
    let report = command.ask(&check)?;
    if verb == "simulate" {
        let found = list(&report["violations"]).first().map(|it| text(&it["property"]));
        let property = found.ok_or_else(|| format!("tenure {check} shows nothing"))?;
        row.extend([format!("`tenure {check}`"), format!("{property} violated")]);
        return Ok(row);
    }
    let found = &report["counterexample"];
    let (Some(steps), property) = (found["length"].as_u64(), text(&found["property"])) else {
        return Err(format!("tenure {check} shows nothing, though `{name}` says that it does"));
    };
    row.extend([format!("`tenure {check}`"), format!("{property} violated in {steps} steps")]);
    Ok(row)
}

fn card_of<'a>(cards: &'a Value, name: &str) -> &'a Value {
    let found = list(cards).iter().find(|card| text(&card["name"]) == name);
    found.map_or(&Value::Null, |card| &card["card"])
}

fn name(row: &Value) -> String {
    format!("`{}`", text(&row["name"]))
}

fn formula(card: &Value) -> String {
    text(&card["messages"]["formula"]).into()
}

/// What processes know of their group.
fn knowledge(card: &Value) -> String {
    let size = if card["knows"]["size"] == true { "non-uniform" } else { "uniform" };
    let names = if card["knows"]["names"] == true { "" } else { ", anonymous" };
    format!("{size}{names}")
}

fn crashes(card: &Value) -> String {
    let faults = &card["faults"];
    let crashes = match (text(&faults["crashes"]), faults["max_crashed"].as_u64()) {
        ("none", _) => "no crash".to_owned(),
        (_, Some(1)) => "1 crash".to_owned(),
        (_, Some(most)) => format!("{most} crashes"),
        ("recovery", None) => "crashes and returns".to_owned(),
        (_, None) => "crashes".to_owned(),
    };
    match faults["max_lost"].as_u64() {
        Some(1) => crashes + ", 1 lost message",
        Some(most) if most > 1 => format!("{crashes}, {most} lost messages"),
        _ => crashes,
    }
}

fn said(value: &Value) -> String {
    value.as_str().unwrap_or("–").into()
}

fn mean(moments: &Value) -> String {
    let mean = moments["mean"].as_f64().unwrap_or_default();
    if mean.fract() == 0.0 { format!("{mean}") } else { format!("{mean:.2}") }
}

/// A table of Markdown. Nothing in a cell breaks it.
pub(super) fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = String>| {
        let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
        writeln!(text, "| {} |", cells.join(" | ")).expect("a string takes everything");
    };
    line(&mut head.iter().map(ToString::to_string));
    line(&mut head.iter().map(|_| "---".to_owned()));
    for row in rows {
        line(&mut row.into_iter());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{mean, table, verdict};
    use serde_json::json;

    #[test]
    fn a_table_has_a_line_for_each_row_and_no_cell_breaks_it() {
        let rows = [vec!["1|2".to_owned(), "3".to_owned()]];
        let made = table(&["one", "two"], rows.into_iter());
        assert_eq!(made, "| one | two |\n| --- | --- |\n| 1\\|2 | 3 |\n");
    }

    #[test]
    fn whole_numbers_are_written_without_a_point() {
        assert_eq!(mean(&json!({"mean": 8.0})), "8");
        assert_eq!(mean(&json!({"mean": 2.4})), "2.40");
    }

    #[test]
    fn a_cell_tells_how_many_steps_its_harm_takes() {
        let cell = |verdict: &str, length: u64| json!({"verdict": verdict, "length": length});
        assert_eq!(verdict(&cell("unsafe", 6)), "**UNSAFE** (6)");
        assert_eq!(verdict(&cell("blocked", 2)), "blocked (2)");
        let of_two = json!({"verdict": "blocked", "length": 2, "without_majority": true});
        assert_eq!(verdict(&of_two), "blocked (n = 2, 2)");
        assert_eq!(verdict(&json!({"verdict": "ok"})), "ok");
        assert_eq!(verdict(&json!({"verdict": "none"})), "–");
    }
}
