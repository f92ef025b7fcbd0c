//! Output of the error messages of clap, the command-line parser.

use clap::Error;

use super::capture;
use super::failure::{Failure, Status};

/// Prints the message of the command-line parser: help and version to standard output, usage errors
/// to standard error. Returns the exit status.
pub(crate) fn print_help_or_error(error: &Error) -> Result<Status, Failure> {
    if !error.use_stderr() {
        super::output::print(&error.render().to_string())?;
        return Ok(Status::Success);
    }
    if capture::is_capturing() {
        capture::print_stderr_line(error.render().to_string().trim_end());
        return Ok(Status::Usage);
    }
    // Ignores a closed standard error, because the exit status matters more.
    let _ = error.print();
    Ok(Status::Usage)
}

/// Formats a usage error in one line, for pages and other messages. Leaves out the usage text and
/// the hint on help.
pub(crate) fn one_line(error: &Error) -> String {
    let rendered = error.render().to_string();
    let lines = rendered.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let is_hint =
        |it: &str| it.starts_with("For more information") || it.starts_with("tip: to pass");
    let lines = lines.filter(|it| !it.is_empty() && !is_hint(it));
    let message = lines.collect::<Vec<_>>().join("; ");
    message.strip_prefix("error: ").unwrap_or(&message).to_owned()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn one_line_keeps_values_and_suggestions() {
        for (line, parts) in [
            ("run --nods 3", ["unexpected argument '--nods'", "'--nodes'"]),
            ("trace diagram x --as pdf", ["invalid value 'pdf' for '--as", "text, svg, html"]),
            ("check central --max-memory lots", ["'--max-memory <M>': expected", "500M or 2G"]),
            ("run --duration 10", ["invalid value '10' for '--duration <TIME>': expected", "10s"]),
        ] {
            let words = std::iter::once("tenure").chain(line.split_whitespace());
            let error = super::super::Command::command().try_get_matches_from(words);
            let message = one_line(&error.expect_err("refused"));
            assert!(!message.contains("Usage") && !message.contains('\n'), "{message}");
            assert!(parts.iter().all(|part| message.contains(part)), "{line}: {message}");
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
