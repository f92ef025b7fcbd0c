//! `tenure question`: answers questions for self-study by experiments.

use std::fmt::Write;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::{InProcess, status, table};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::interrupt;
use crate::cmd::name_parser;
use crate::cmd::output::{Format, line_width, print, print_json, wrap};
use crate::lessons::{
    CompletedExperiment, ExperimentResults, Question, QuestionChapter, run_experiments,
};

/// Answer a question for self-study by running experiments
///
/// Without a question, lists all questions by chapter. The lines of an answer that begin with
/// `tenure` can be copied and varied. Exit status 1: an observation differs from the answer.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure question
  tenure question Q-19
  tenure question 19 --broken")]
pub(crate) struct Options {
    /// Number of the question, such as Q-19 or 19, or words to search for in the titles
    #[arg(value_parser = name_parser::lesson_question(), hide_possible_values = true)]
    id: Option<String>,
    /// Answer all questions, one after the other
    #[arg(long, conflicts_with = "id")]
    all: bool,
    /// Change each experiment so that it must fail
    #[arg(long)]
    broken: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Serialize)]
struct QuestionEntry {
    id: &'static str,
    chapter: &'static str,
    text: &'static str,
}

#[derive(Serialize)]
struct AnsweredQuestion {
    id: &'static str,
    text: &'static str,
    recalls: &'static str,
    answer: &'static str,
    holds: bool,
    experiments: Vec<ExperimentResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beyond: Option<&'static str>,
}

#[derive(Serialize)]
struct ExperimentResult {
    description: String,
    /// Command lines that a reader can copy, or a description of the actions.
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
                (Err(_), false) => list(&titled, options).map(|()| Status::Success),
                (found, _) => {
                    let (chapter, question) = found.map_err(Failure::usage)?;
                    answer_one(chapter, question, options)
                }
            }
        }
        None if options.all => answer_all(options),
        None if options.broken => Err(Failure::usage("--broken requires a question or --all")),
        None => list(&Question::all().collect::<Vec<_>>(), options).map(|()| Status::Success),
    }
}

fn list(
    questions: &[(&'static QuestionChapter, &'static Question)],
    options: &Options,
) -> Result<(), Failure> {
    if options.broken {
        return Err(Failure::usage("--broken requires one question or --all"));
    }
    if options.format == Format::Json {
        let listed = questions.iter().map(|(chapter, question)| QuestionEntry {
            id: &question.id,
            chapter: &chapter.title,
            text: &question.text,
        });
        return print_json(&listed.collect::<Vec<_>>());
    }
    let mut text = String::new();
    for chapter in questions.chunk_by(|one, next| one.0.title == next.0.title) {
        writeln!(text, "{}\n", chapter[0].0.title).expect("writing to a string succeeds");
        for (_, question) in chapter {
            let lines = wrap(&question.text, line_width() - 10).join("\n          ");
            writeln!(text, "  {:<6}  {lines}", question.id).expect("writing to a string succeeds");
        }
        text.push('\n');
    }
    text.push_str("`tenure question Q-19` answers one, --broken makes its experiments fail,\n");
    text.push_str("and `tenure question --all` answers all of them.\n");
    print(&text)
}

fn answer_one(
    chapter: &'static QuestionChapter,
    question: &'static Question,
    options: &Options,
) -> Result<Status, Failure> {
    let results = run_experiments(&question.experiments(), &InProcess, options.broken)?;
    let status = status(&results);
    match options.format {
        Format::Text => print(&text(chapter, question, &results))?,
        Format::Json => print_json(&answered(chapter, question, results))?,
    }
    Ok(status)
}

/// Performs the experiments of all questions. As text, prints one line per question, and all
/// results of a question if one of its experiments failed. As JSON, prints one array at the end.
fn answer_all(options: &Options) -> Result<Status, Failure> {
    let mut all = Vec::new();
    let named = Question::all().map(|both| (both.1.id.as_str(), both));
    let worst = interrupt::run_each_until_interrupted(named, |(chapter, question)| {
        let results = run_experiments(&question.experiments(), &InProcess, options.broken)?;
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

fn answered(
    chapter: &'static QuestionChapter,
    question: &'static Question,
    results: ExperimentResults,
) -> AnsweredQuestion {
    AnsweredQuestion {
        id: &question.id,
        text: &question.text,
        recalls: &chapter.recalls,
        answer: &question.answer,
        holds: results.all_hold(),
        experiments: results.0.into_iter().map(ExperimentResult::of).collect(),
        beyond: question.beyond.as_deref(),
    }
}

fn text(chapter: &QuestionChapter, question: &Question, results: &ExperimentResults) -> String {
    let mut text = wrap(&format!("{}: {}", question.id, question.text), line_width()).join("\n");
    text.push_str("\n\n");
    let recalled = wrap(&chapter.recalls, line_width() - 4).join("\n    ");
    writeln!(text, "    {recalled}\n").expect("writing to a string succeeds");
    text.push_str(&wrap(&question.answer, line_width()).join("\n"));
    text.push_str("\n\n");
    text.push_str(&table::format_results(results));
    if let Some(beyond) = &question.beyond {
        text.push('\n');
        text.push_str(&wrap(&format!("Not shown here: {beyond}"), line_width()).join("\n"));
        text.push('\n');
    }
    text.push_str(if results.all_hold() {
        "\nAll observations match the answer.\n"
    } else {
        "\nSome observations differ from the answer: see ✗.\n"
    });
    text
}

/// Formats one line about a question and its result. If an experiment failed, adds all results of
/// the question.
fn line(question: &Question, results: &ExperimentResults) -> String {
    if !results.all_hold() {
        return format!("{:<6}  ✗\n\n{}\n", question.id, table::format_results(results));
    }
    let lines = wrap(&question.text, line_width() - 13);
    let more = if lines.len() > 1 { " …" } else { "" };
    format!("{:<6}  ✓  {}{more}\n", question.id, lines[0])
}

impl ExperimentResult {
    fn of(conducted: CompletedExperiment) -> Self {
        let (description, command) = (conducted.description.clone(), conducted.acts.join("; "));
        let alone = ExperimentResults(vec![conducted]);
        ExperimentResult {
            description,
            command,
            expected: alone.expected_by_name(),
            observed: alone.observed_by_name(),
            holds: alone.all_hold(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_question_takes_one_line() {
        for (_, question) in Question::all() {
            let line = line(question, &ExperimentResults(Vec::new()));
            assert!(line.starts_with(&question.id) && line.contains("  ✓  "), "{line}");
            assert!(line.lines().count() == 1 && line.chars().count() <= 101, "{line}");
        }
    }
}
