//! What is wrong with a line that was typed, in one line and in the words of this command: the
//! parser knows what it is, and its own words are for programmers.

use std::error::Error as _;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::failure::{Failure, Status};

/// Help and version are printed; anything else becomes one line.
pub(crate) fn answer(error: &Error) -> Result<Status, Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            super::output::print(&error.render().to_string())?;
            Ok(Status::Held)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            Err(Failure::usage(super::missing(std::env::args().skip(1))))
        }
        _ => Err(Failure::usage(told(error))),
    }
}

/// What was wrong, and what would be right.
fn told(error: &Error) -> String {
    let all = |kind| match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(several)) => several.clone(),
        _ => Vec::new(),
    };
    let first = |kind| all(kind).into_iter().next().unwrap_or_default();
    let argument = first(ContextKind::InvalidArg);
    let value = first(ContextKind::InvalidValue);
    let typed = typed(error);
    match error.kind() {
        ErrorKind::InvalidValue if value.is_empty() => needs_a_value(&argument),
        ErrorKind::InvalidValue => {
            let near = near(&all(ContextKind::SuggestedValue), "");
            no_such(&argument, &value, &all(ContextKind::ValidValue), &near)
        }
        ErrorKind::ValueValidation => {
            let why = error.source().map(ToString::to_string).unwrap_or_default();
            unread(&argument, &value, &why)
        }
        ErrorKind::UnknownArgument => {
            let near =
                near(&all(ContextKind::SuggestedArg), &format!("`{typed} --help` lists all"));
            unknown(&argument, &typed, &near)
        }
        ErrorKind::InvalidSubcommand => {
            let name = first(ContextKind::InvalidSubcommand);
            let near = all(ContextKind::SuggestedSubcommand);
            let near = self::near(&near, &format!("`{typed} --help` lists all"));
            format!("there is no command `{name}`; {near}")
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = all(ContextKind::InvalidArg).join(" and ");
            format!("`{typed}` needs {missing}; `{typed} --help` has examples")
        }
        ErrorKind::ArgumentConflict => {
            let others = all(ContextKind::PriorArg);
            conflict(&argument, &others)
        }
        ErrorKind::InvalidUtf8 => "what was typed is not UTF-8 text".to_owned(),
        _ => condensed(&error.render().to_string()),
    }
}

/// The command that was typed: what stands before anything that could vary.
fn typed(error: &Error) -> String {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let usage = usage.trim().strip_prefix("Usage:").unwrap_or(&usage).trim();
    let words = usage.split_whitespace();
    let words: Vec<&str> = words.take_while(|word| !word.starts_with(['[', '<', '-'])).collect();
    if words.is_empty() { "tenure".to_owned() } else { words.join(" ") }
}

/// The nearest names, or else where all of them are.
fn near(names: &[String], otherwise: &str) -> String {
    match names {
        [] => otherwise.to_owned(),
        [one] => format!("nearest is {one}"),
        several => format!("nearest are {}", several.join(", ")),
    }
}

/// An option without what it takes: `--seed` from `--seed <S>`, `--watch` from `--watch[=<AT>]`.
fn named(argument: &str) -> &str {
    argument.split([' ', '=', '[']).next().unwrap_or(argument)
}

fn needs_a_value(argument: &str) -> String {
    if argument.starts_with('<') {
        return format!("{argument} is empty");
    }
    format!("{} needs something behind it: {argument}", named(argument))
}

/// One that is not among those that there are.
fn no_such(argument: &str, value: &str, there_are: &[String], near: &str) -> String {
    let taken = there_are.join(", ");
    let near = if near.is_empty() { String::new() } else { format!("; {near}") };
    match argument.strip_prefix('<') {
        Some(name) => {
            let name = name.trim_end_matches(['>', '.']).to_lowercase();
            format!("`{value}` is no {name}; there are {taken}{near}")
        }
        None => {
            format!("`{value}` is nothing that {} takes; there are {taken}{near}", named(argument))
        }
    }
}

/// One that cannot be read, with what whoever read it says.
fn unread(argument: &str, value: &str, why: &str) -> String {
    // What there is not is named in what we say of it.
    if why.starts_with("there is no ") {
        return why.to_owned();
    }
    let option = named(argument);
    if let Some((_, range)) = why.split_once(" is not in ") {
        return out_of(option, value, range);
    }
    if let Some(rest) = why.strip_prefix(&format!("`{value}` ")) {
        return format!("{option} {value} {rest}");
    }
    let why = OWN_WORDS.iter().find(|(theirs, _)| *theirs == why).map_or(why, |(_, ours)| ours);
    format!("{option} {value}: {why}")
}

/// A number outside of a range such as `0..=65535`.
fn out_of(option: &str, value: &str, range: &str) -> String {
    let (least, most) = range.split_once("..").unwrap_or((range, ""));
    let most = most.trim_start_matches('=');
    let number = |text: &str| text.parse::<i128>().ok();
    if number(value) < number(least) {
        return format!("{option} {value} is too small; {least} is the least");
    }
    // Nobody is helped by the largest number of a machine.
    match number(most).filter(|most| *most < i128::from(u32::MAX)) {
        Some(most) => format!("{option} {value} is too large; {most} is the most"),
        None => format!("{option} {value} is too large"),
    }
}

/// An option that there is not, or a word too many.
fn unknown(argument: &str, typed: &str, near: &str) -> String {
    let is_number = argument.strip_prefix('-').is_some_and(|rest| rest.parse::<f64>().is_ok());
    if is_number {
        format!("`{typed}` takes no number below 0 there: {argument}")
    } else if argument.starts_with('-') {
        format!("`{typed}` has no option {argument}; {near}")
    } else if typed.ends_with(" lock") || typed.ends_with(" elect") {
        format!("`{argument}` is one word too many; what is to run stands behind --")
    } else {
        format!("`{argument}` is one word too many; {near}")
    }
}

fn conflict(argument: &str, others: &[String]) -> String {
    match others {
        [] => format!("{argument} excludes something else here"),
        [other] if other == argument => format!("{} is there twice", named(argument)),
        others => {
            let others: Vec<&str> = others.iter().map(|other| named(other)).collect();
            format!("{} excludes {}", named(argument), others.join(" and "))
        }
    }
}

/// What the parser says in several lines, in one: without usage and the advice to ask for help.
fn condensed(rendered: &str) -> String {
    let told = rendered
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:"))
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .filter(|line| !line.starts_with("tip: to pass"))
        .map(|line| line.strip_prefix("error: ").or(line.strip_prefix("tip: ")).unwrap_or(line));
    told.collect::<Vec<_>>().join("; ")
}

/// What the standard library says of a value that it cannot read, and what would be right.
const OWN_WORDS: [(&str, &str); 8] = [
    ("invalid digit found in string", "a whole number is needed, such as 3"),
    ("cannot parse integer from empty string", "a whole number is needed, such as 3"),
    ("number too large to fit in target type", "that is too large"),
    ("number too small to fit in target type", "that is too small"),
    ("number would be zero for non-zero type", "1 is the least"),
    ("invalid float literal", "a number is needed, such as 0.1"),
    ("invalid socket address syntax", "an address and a port are needed: 127.0.0.1:7101"),
    ("invalid IP address syntax", "an address is needed, such as 127.0.0.1"),
];

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// What is said of such a line.
    fn of(line: &str) -> String {
        let words = std::iter::once("tenure").chain(line.split_whitespace());
        told(&super::super::Command::command().try_get_matches_from(words).expect_err("refused"))
    }

    #[test]
    fn whatever_the_parser_finds_is_told_in_our_words() {
        for (line, says) in [
            ("run --nods 3", "`tenure run` has no option --nods; nearest is --nodes"),
            ("simulate central -n x", "--nodes x: a whole number is needed, such as 3"),
            ("simulate central -n -1", "--nodes -1 is too small; 1 is the least"),
            ("run -n -3", "--nodes -3 is too small; 1 is the least"),
            ("simulate k-mutex --k 0", "--k 0: 1 is the least"),
            ("run --watch=1", "--watch 1: an address and a port are needed: 127.0.0.1:7101"),
            ("check lamport --in-flight 0", "--in-flight 0 is too small; 1 is the least"),
            ("simulate central --seed -1", "`tenure simulate` takes no number below 0 there: -1"),
            ("simulate central --seed", "--seed needs something behind it: --seed <S>"),
            ("simulate central 3", "`3` is one word too many; `tenure simulate --help` lists all"),
            (
                "trace diagram x --as pdf",
                "`pdf` is nothing that --as takes; there are text, svg, html",
            ),
            ("compare locks", "`locks` is no service; there are mutex, election, agreement"),
            (
                "lock",
                "`tenure lock` needs <NAME> and <COMMAND>...; `tenure lock --help` has examples",
            ),
            ("lock a true", "`true` is one word too many; what is to run stands behind --"),
            ("lab --port 99999", "--port 99999 is too large; 65535 is the most"),
            ("rum", "there is no command `rum`; nearest is run"),
            (
                "check central --max-memory lots",
                "--max-memory lots is no amount of memory; write 500M or 2G",
            ),
            ("keys foo", "there is no command `foo`; `tenure keys --help` lists all"),
        ] {
            assert_eq!(of(line), says, "tenure {line}");
        }
    }

    #[test]
    fn no_two_commands_say_the_same_of_themselves() {
        let mut groups = vec![super::super::Command::command()];
        while let Some(group) = groups.pop() {
            let says = |command: &clap::Command| command.get_about().map(ToString::to_string);
            let all: Vec<_> = group.get_subcommands().filter_map(says).collect();
            let different: std::collections::BTreeSet<&String> = all.iter().collect();
            assert_eq!(different.len(), all.len(), "{}: {all:?}", group.get_name());
            groups.extend(group.get_subcommands().cloned());
        }
    }
}
