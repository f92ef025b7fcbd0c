//! Converts the errors of the command-line parser into one line in the style of this command.

use std::error::Error as _;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::failure::{Failure, Status};

/// Prints help or version, and converts any other error into a failure.
pub(crate) fn respond(error: &Error) -> Result<Status, Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            super::output::print(&error.render().to_string())?;
            Ok(Status::Success)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            Err(Failure::usage(super::missing_subcommand(std::env::args().skip(1))))
        }
        _ => Err(Failure::usage(message(error))),
    }
}

/// Returns the error message: the problem, the allowed values and the remedy.
fn message(error: &Error) -> String {
    let all = |kind| match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(several)) => several.clone(),
        _ => Vec::new(),
    };
    let first = |kind| all(kind).into_iter().next().unwrap_or_default();
    let argument = first(ContextKind::InvalidArg);
    let value = first(ContextKind::InvalidValue);
    let subcommand = subcommand(error);
    match error.kind() {
        ErrorKind::InvalidValue if value.is_empty() => missing_value(&argument),
        ErrorKind::InvalidValue => {
            let suggestion = suggestion(&all(ContextKind::SuggestedValue), "");
            unknown_value(&argument, &value, &all(ContextKind::ValidValue), &suggestion)
        }
        ErrorKind::ValueValidation => {
            let reason = error.source().map(ToString::to_string).unwrap_or_default();
            invalid_value(&argument, &value, &reason)
        }
        ErrorKind::UnknownArgument => {
            let help = format!("see `{subcommand} --help`");
            let suggestion = suggestion(&all(ContextKind::SuggestedArg), &help);
            unknown_argument(&argument, &subcommand, &suggestion)
        }
        ErrorKind::InvalidSubcommand => {
            let name = first(ContextKind::InvalidSubcommand);
            let help = format!("see `{subcommand} --help`");
            let suggestion = suggestion(&all(ContextKind::SuggestedSubcommand), &help);
            format!("unknown command '{name}': {suggestion}")
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = all(ContextKind::InvalidArg).join(" and ");
            format!("missing {missing} for `{subcommand}`: see `{subcommand} --help`")
        }
        ErrorKind::ArgumentConflict => {
            let others = all(ContextKind::PriorArg);
            conflict(&argument, &others)
        }
        ErrorKind::InvalidUtf8 => "invalid UTF-8 in an argument".to_owned(),
        _ => one_line(&error.render().to_string()),
    }
}

/// Returns the command that was typed, from the usage line: the words before the first placeholder.
fn subcommand(error: &Error) -> String {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let usage = usage.trim().strip_prefix("Usage:").unwrap_or(&usage).trim();
    let words = usage.split_whitespace();
    let words: Vec<&str> = words.take_while(|word| !word.starts_with(['[', '<', '-'])).collect();
    if words.is_empty() { "tenure".to_owned() } else { words.join(" ") }
}

/// Names the nearest candidates, or else the help.
fn suggestion(names: &[String], otherwise: &str) -> String {
    match names {
        [] => otherwise.to_owned(),
        [one] => format!("did you mean {one}?"),
        several => format!("nearest are {}", several.join(", ")),
    }
}

/// Returns an option without its placeholder: `--seed` from `--seed <S>`, `--watch` from
/// `--watch[=<AT>]`.
fn option_name(argument: &str) -> &str {
    argument.split([' ', '=', '[']).next().unwrap_or(argument)
}

fn missing_value(argument: &str) -> String {
    if argument.starts_with('<') {
        return format!("empty value for {argument}");
    }
    format!("missing value for {}: expected {argument}", option_name(argument))
}

/// Reports a value that is not one of the allowed ones.
fn unknown_value(argument: &str, value: &str, allowed: &[String], suggestion: &str) -> String {
    let allowed = alternatives(allowed);
    let suggestion = if suggestion.is_empty() { String::new() } else { format!("; {suggestion}") };
    format!("invalid value '{value}' for {}: expected {allowed}{suggestion}", option_name(argument))
}

/// Joins words as in `a, b or c`.
fn alternatives(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        words => words.join(", "),
    }
}

/// Reports a value that a parser rejects, with the parser's message.
fn invalid_value(argument: &str, value: &str, reason: &str) -> String {
    // A message about an unknown name contains the name.
    if ["unknown ", "there is no "].iter().any(|start| reason.starts_with(start)) {
        return reason.to_owned();
    }
    let option = option_name(argument);
    if let Some((_, range)) = reason.split_once(" is not in ") {
        return out_of_range(option, value, range);
    }
    let reason =
        STD_ERRORS.iter().find(|(theirs, _)| *theirs == reason).map_or(reason, |(_, ours)| ours);
    // A parser that does not know the option names the kind of value: `invalid size 'x': …`.
    let repeated = format!("'{value}': ");
    let parts = reason.strip_prefix("invalid ").and_then(|rest| rest.split_once(&repeated));
    let expected = match parts {
        Some((_, expected)) => expected,
        None => reason.strip_prefix(&format!("`{value}` ")).unwrap_or(reason),
    };
    format!("invalid value '{value}' for {option}: {expected}")
}

/// Reports a number outside a range such as `0..=65535`.
fn out_of_range(option: &str, value: &str, range: &str) -> String {
    let (least, most) = range.split_once("..").unwrap_or((range, ""));
    let most = most.trim_start_matches('=');
    let number = |text: &str| text.parse::<i128>().ok();
    let expected = if number(value) < number(least) {
        format!("expected at least {least}")
    } else {
        // The largest number of a machine type is of no help.
        match number(most).filter(|most| *most < i128::from(u32::MAX)) {
            Some(most) => format!("expected at most {most}"),
            None => "the number is too large".to_owned(),
        }
    };
    format!("invalid value '{value}' for {option}: {expected}")
}

/// Reports an unknown option or an additional word.
fn unknown_argument(argument: &str, subcommand: &str, suggestion: &str) -> String {
    let is_number = argument.strip_prefix('-').is_some_and(|rest| rest.parse::<f64>().is_ok());
    if is_number {
        format!("invalid value '{argument}' for `{subcommand}`: expected a number of at least 0")
    } else if argument.starts_with('-') {
        format!("unknown option {argument} for `{subcommand}`: {suggestion}")
    } else if subcommand.ends_with(" lock") || subcommand.ends_with(" elect") {
        format!("unexpected argument '{argument}': write the command to run after --")
    } else {
        format!("unexpected argument '{argument}': {suggestion}")
    }
}

fn conflict(argument: &str, others: &[String]) -> String {
    match others {
        [] => format!("{argument} cannot be used here: it conflicts with another option"),
        [other] if other == argument => {
            format!("{} is given twice: leave one out", option_name(argument))
        }
        others => {
            let others: Vec<&str> = others.iter().map(|other| option_name(other)).collect();
            format!("{} cannot be used with {}", option_name(argument), others.join(" and "))
        }
    }
}

/// Joins the lines of the parser's own message, without the usage and the hint on help.
fn one_line(rendered: &str) -> String {
    let message = rendered
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:"))
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .filter(|line| !line.starts_with("tip: to pass"))
        .map(|line| line.strip_prefix("error: ").or(line.strip_prefix("tip: ")).unwrap_or(line));
    message.collect::<Vec<_>>().join("; ")
}

/// Messages of the standard library for invalid values, and their replacements.
const STD_ERRORS: [(&str, &str); 8] = [
    ("invalid digit found in string", "expected a whole number, such as 3"),
    ("cannot parse integer from empty string", "expected a whole number, such as 3"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
    ("number would be zero for non-zero type", "expected at least 1"),
    ("invalid float literal", "expected a number, such as 0.1"),
    ("invalid socket address syntax", "expected an address and a port, such as 127.0.0.1:7101"),
    ("invalid IP address syntax", "expected an address, such as 127.0.0.1"),
];

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// Returns the error message for a command line.
    fn of(line: &str) -> String {
        let words = std::iter::once("tenure").chain(line.split_whitespace());
        message(&super::super::Command::command().try_get_matches_from(words).expect_err("refused"))
    }

    #[test]
    fn errors_state_problem_and_remedy() {
        for (line, error) in [
            ("run --nods 3", "unknown option --nods for `tenure run`: did you mean --nodes?"),
            (
                "simulate central -n x",
                "invalid value 'x' for --nodes: expected a whole number, such as 3",
            ),
            ("simulate central -n -1", "invalid value '-1' for --nodes: expected at least 1"),
            ("run -n -3", "invalid value '-3' for --nodes: expected at least 1"),
            ("simulate k-mutex --k 0", "invalid value '0' for --k: expected at least 1"),
            (
                "run --watch=1",
                "invalid value '1' for --watch: expected an address and a port, such as \
                 127.0.0.1:7101",
            ),
            (
                "check lamport --in-flight 0",
                "invalid value '0' for --in-flight: expected at least 1",
            ),
            (
                "simulate central --seed -1",
                "invalid value '-1' for `tenure simulate`: expected a number of at least 0",
            ),
            ("simulate central --seed", "missing value for --seed: expected --seed <S>"),
            ("simulate central 3", "unexpected argument '3': see `tenure simulate --help`"),
            (
                "trace diagram x --as pdf",
                "invalid value 'pdf' for --as: expected text, svg or html",
            ),
            (
                "compare locks",
                "invalid value 'locks' for <SERVICE>: expected mutex, election or agreement",
            ),
            ("lock", "missing <NAME> and <COMMAND>... for `tenure lock`: see `tenure lock --help`"),
            ("lock a true", "unexpected argument 'true': write the command to run after --"),
            ("lab --port 99999", "invalid value '99999' for --port: expected at most 65535"),
            ("rum", "unknown command 'rum': did you mean run?"),
            (
                "check central --max-memory lots",
                "invalid value 'lots' for --max-memory: expected a number of bytes, such as 500M \
                 or 2G",
            ),
            ("keys foo", "unknown command 'foo': see `tenure keys --help`"),
        ] {
            assert_eq!(of(line), error, "tenure {line}");
        }
    }

    #[test]
    fn subcommands_have_distinct_descriptions() {
        let mut groups = vec![super::super::Command::command()];
        while let Some(group) = groups.pop() {
            let about = |command: &clap::Command| command.get_about().map(ToString::to_string);
            let all: Vec<_> = group.get_subcommands().filter_map(about).collect();
            let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
            assert_eq!(distinct.len(), all.len(), "{}: {all:?}", group.get_name());
            groups.extend(group.get_subcommands().cloned());
        }
    }
}
