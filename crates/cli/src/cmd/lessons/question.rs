//! `tenure question`: questions for self-study, answered by experiments that run on the spot.

use std::fmt::Write;

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use tenure_lessons::{Chapter, Conducted, Question, Results, conduct};

use super::{Here, status, table};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::interrupt;
use crate::cmd::known;
use crate::cmd::output::{Format, print, print_json, width, wrapped};

/// Answer a question for self-study, by experiments that run on the spot
///
/// Without a question, lists them by chapter. Lines of an answer that begin with `tenure` can be
/// copied and varied. Exit status 1: something else was observed than the answer says.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Which: its number, such as Q-19 or 19, or words to search for in the titles
    #[arg(value_parser = known::question(), hide_possible_values = true)]
    id: Option<String>,
    /// All of them, one after the other
    #[arg(long, conflicts_with = "id")]
    all: bool,
    /// Change one thing about each experiment, so that it must fail
    #[arg(long)]
    broken: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What the list says of a question.
#[derive(Serialize)]
struct Listed {
    id: &'static str,
    chapter: &'static str,
    asks: &'static str,
}

/// A question that was answered.
#[derive(Serialize)]
struct Answered {
    id: &'static str,
    asks: &'static str,
    recalls: &'static str,
    answer: &'static str,
    holds: bool,
    experiments: Vec<Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beyond: Option<&'static str>,
}

/// An experiment that was made.
#[derive(Serialize)]
struct Shown {
    says: String,
    /// Lines to be copied, or words.
    command: String,
    expected: Value,
    observed: Value,
    holds: bool,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    match &options.id {
        Some(id) => {
            let found = Question::find(id);
            let titled = if found.is_err() { Question::search(id) } else { Vec::new() };
            match (found, titled.is_empty()) {
                (Err(_), false) => list(&titled, options).map(|()| Status::Held),
                (found, _) => {
                    let (chapter, question) = found.map_err(Failure::usage)?;
                    one(chapter, question, options)
                }
            }
        }
        None if options.all => every(options),
        None if options.broken => Err(Failure::usage("--broken needs a question, or --all")),
        None => list(&Question::all().collect::<Vec<_>>(), options).map(|()| Status::Held),
    }
}

/// Lists questions by chapter.
fn list(
    questions: &[(&'static Chapter, &'static Question)],
    options: &Options,
) -> Result<(), Failure> {
    if options.broken {
        return Err(Failure::usage("--broken needs one question, or --all"));
    }
    if options.format == Format::Json {
        let listed = questions.iter().map(|(chapter, question)| Listed {
            id: &question.id,
            chapter: &chapter.title,
            asks: &question.asks,
        });
        return print_json(&listed.collect::<Vec<_>>());
    }
    let mut text = String::new();
    for chapter in questions.chunk_by(|one, next| one.0.title == next.0.title) {
        writeln!(text, "{}\n", chapter[0].0.title).expect("a string takes everything");
        for (_, question) in chapter {
            let asks = wrapped(&question.asks, width() - 10).join("\n          ");
            writeln!(text, "  {:<6}  {asks}", question.id).expect("a string takes everything");
        }
        text.push('\n');
    }
    text.push_str("`tenure question Q-19` answers one, --broken shows how its experiments fail,\n");
    text.push_str("and `tenure question --all` makes the experiments of all.\n");
    print(&text)
}

fn one(
    chapter: &'static Chapter,
    question: &'static Question,
    options: &Options,
) -> Result<Status, Failure> {
    let results = conduct(&question.experiments(), &Here, options.broken)?;
    let status = status(&results);
    match options.format {
        Format::Text => print(&text(chapter, question, &results))?,
        Format::Json => print_json(&answered(chapter, question, results))?,
    }
    Ok(status)
}

/// Answers them one after the other; what fails is shown in full.
fn every(options: &Options) -> Result<Status, Failure> {
    let mut all = Vec::new();
    let named = Question::all().map(|both| (both.1.id.as_str(), both));
    let worst = interrupt::one_by_one(named, |(chapter, question)| {
        let results = conduct(&question.experiments(), &Here, options.broken)?;
        let status = status(&results);
        match options.format {
            Format::Json => all.push(answered(chapter, question, results)),
            Format::Text => print(&line(question, &results))?,
        }
        Ok(status)
    })?;
    if options.format == Format::Json {
        print_json(&all)?;
    }
    Ok(worst)
}

fn answered(chapter: &'static Chapter, question: &'static Question, results: Results) -> Answered {
    Answered {
        id: &question.id,
        asks: &question.asks,
        recalls: &chapter.recalls,
        answer: &question.answer,
        holds: results.hold(),
        experiments: results.0.into_iter().map(Shown::of).collect(),
        beyond: question.beyond.as_deref(),
    }
}

fn text(chapter: &Chapter, question: &Question, results: &Results) -> String {
    let mut text = wrapped(&format!("{}: {}", question.id, question.asks), width()).join("\n");
    text.push_str("\n\n");
    let recalled = wrapped(&chapter.recalls, width() - 4).join("\n    ");
    writeln!(text, "    {recalled}\n").expect("a string takes everything");
    text.push_str(&wrapped(&question.answer, width()).join("\n"));
    text.push_str("\n\n");
    text.push_str(&table::text(results));
    if let Some(beyond) = &question.beyond {
        text.push('\n');
        text.push_str(&wrapped(&format!("Not shown here: {beyond}"), width()).join("\n"));
        text.push('\n');
    }
    text.push_str(if results.hold() {
        "\nEverything is as the answer says.\n"
    } else {
        "\nThis is not what the answer says: see ✗.\n"
    });
    text
}

/// All of it in a line; what failed follows.
fn line(question: &Question, results: &Results) -> String {
    if !results.hold() {
        return format!("{:<6}  ✗\n\n{}\n", question.id, table::text(results));
    }
    let asks = wrapped(&question.asks, width() - 13);
    let more = if asks.len() > 1 { " …" } else { "" };
    format!("{:<6}  ✓  {}{more}\n", question.id, asks[0])
}

impl Shown {
    fn of(conducted: Conducted) -> Self {
        let (says, command) = (conducted.says.clone(), conducted.acts.join("; "));
        let alone = Results(vec![conducted]);
        Shown {
            says,
            command,
            expected: alone.expected(),
            observed: alone.observed(),
            holds: alone.hold(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Among all, a question is a line, with a sign of what came of it.
    #[test]
    fn what_holds_takes_a_line() {
        for (_, question) in Question::all() {
            let line = line(question, &Results(Vec::new()));
            assert!(line.starts_with(&question.id) && line.contains("  ✓  "), "{line}");
            assert!(line.lines().count() == 1 && line.chars().count() <= 101, "{line}");
        }
    }
}
