//! `tenure question`: questions for self-study, answered by experiments that run on the spot.
//!
//! A file for each chapter. An answer says why; its experiments show it, and each of them has a
//! broken form, with one thing changed, in which something expected fails to come.

mod bully;
mod central;
mod chatter;
mod doubt;
mod election;
mod lamport;
mod late;
mod memory;
mod models;
mod problem;
mod ricart_agrawala;
mod ring;
mod ring_election;
mod several;
mod tables;

use std::fmt::Write;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::experiment::{self, Conducted, Experiment, Results};
use super::failure::{Failure, Status};
use super::interrupt;
use super::output::{Format, WIDTH, print, print_json, wrapped};

/// Answer a question for self-study, by experiments that run on the spot
///
/// Without a question, lists them by chapter. Lines of an answer that begin with `tenure` can be
/// copied and varied. Exit status 1: something else was observed than the answer says.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Which, such as Q-19
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

/// Questions that belong together.
struct Chapter {
    title: &'static str,
    /// What they are about, in short, for whoever has forgotten.
    recalls: &'static str,
    questions: &'static [Question],
}

/// A question, and what answers it.
struct Question {
    id: &'static str,
    asks: &'static str,
    /// In short sentences, for somebody who has read nothing else.
    answer: &'static str,
    /// What no experiment can show, and who proved it.
    beyond: Option<&'static str>,
    experiments: fn() -> Vec<Experiment>,
}

const CHAPTERS: &[Chapter] = &[
    models::CHAPTER,
    memory::CHAPTER,
    problem::CHAPTER,
    central::CHAPTER,
    ring::CHAPTER,
    lamport::CHAPTER,
    ricart_agrawala::CHAPTER,
    election::CHAPTER,
    ring_election::CHAPTER,
    bully::CHAPTER,
];

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
            let (chapter, question) = find(id)?;
            one(chapter, question, options)
        }
        None if options.all => every(options),
        None if options.broken => Err(Failure::usage("--broken needs a question, or --all")),
        None => list(options.format).map(|()| Status::Held),
    }
}

fn all() -> impl Iterator<Item = (&'static Chapter, &'static Question)> {
    CHAPTERS.iter().flat_map(|it| it.questions.iter().map(move |question| (it, question)))
}

fn find(id: &str) -> Result<(&'static Chapter, &'static Question), Failure> {
    let ids = || all().map(|(_, question)| question.id);
    all()
        .find(|(_, question)| question.id.eq_ignore_ascii_case(id))
        .ok_or_else(|| experiment::unknown("question", id, ids()))
}

fn list(format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        let listed = all().map(|(chapter, question)| Listed {
            id: question.id,
            chapter: chapter.title,
            asks: question.asks,
        });
        return print_json(&listed.collect::<Vec<_>>());
    }
    let mut text = String::new();
    for chapter in CHAPTERS {
        writeln!(text, "{}\n", chapter.title).expect("a string takes everything");
        for question in chapter.questions {
            let asks = wrapped(question.asks, WIDTH - 10).join("\n          ");
            writeln!(text, "  {:<6}  {asks}", question.id).expect("a string takes everything");
        }
        text.push('\n');
    }
    text.push_str("`tenure question Q-19` answers one, --broken shows how its experiments fail,\n");
    text.push_str("and `tenure question --all` makes the experiments of all.\n");
    print(&text)
}

fn one(chapter: &Chapter, question: &Question, options: &Options) -> Result<Status, Failure> {
    let results = question.conduct(options.broken)?;
    let status = results.status();
    match options.format {
        Format::Text => print(&question.text(chapter, &results))?,
        Format::Json => print_json(&question.answered(chapter, results))?,
    }
    Ok(status)
}

/// Answers them one after the other; what fails is shown in full.
fn every(options: &Options) -> Result<Status, Failure> {
    let mut answered = Vec::new();
    let named = all().map(|(chapter, question)| (question.id, (chapter, question)));
    let worst = interrupt::one_by_one(named, |(chapter, question)| {
        let results = question.conduct(options.broken)?;
        let status = results.status();
        match options.format {
            Format::Json => answered.push(question.answered(chapter, results)),
            Format::Text => print(&question.line(&results))?,
        }
        Ok(status)
    })?;
    if options.format == Format::Json {
        print_json(&answered)?;
    }
    Ok(worst)
}

impl Question {
    fn conduct(&self, broken: bool) -> Result<Results, Failure> {
        experiment::conduct(&(self.experiments)(), broken)
    }

    fn answered(&self, chapter: &Chapter, results: Results) -> Answered {
        Answered {
            id: self.id,
            asks: self.asks,
            recalls: chapter.recalls,
            answer: self.answer,
            holds: results.hold(),
            experiments: results.0.into_iter().map(Shown::of).collect(),
            beyond: self.beyond,
        }
    }

    fn text(&self, chapter: &Chapter, results: &Results) -> String {
        let mut text = wrapped(&format!("{}: {}", self.id, self.asks), WIDTH).join("\n");
        text.push_str("\n\n");
        let recalled = wrapped(chapter.recalls, WIDTH - 4).join("\n    ");
        writeln!(text, "    {recalled}\n").expect("a string takes everything");
        text.push_str(&wrapped(self.answer, WIDTH).join("\n"));
        text.push_str("\n\n");
        text.push_str(&results.text());
        if let Some(beyond) = self.beyond {
            text.push('\n');
            text.push_str(&wrapped(&format!("Not shown here: {beyond}"), WIDTH).join("\n"));
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
    fn line(&self, results: &Results) -> String {
        if !results.hold() {
            return format!("{:<6}  ✗\n\n{}\n", self.id, results.text());
        }
        let asks = wrapped(self.asks, WIDTH - 13);
        let more = if asks.len() > 1 { " …" } else { "" };
        format!("{:<6}  ✓  {}{more}\n", self.id, asks[0])
    }
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
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn there_is_every_question_once() {
        let mut ids: Vec<_> = (1..=36).map(|number| format!("Q-{number:02}")).collect();
        ids.extend(["Q-12n", "Q-22b"].map(str::to_owned));
        ids.sort();
        let mut known: Vec<_> = all().map(|(_, question)| question.id.to_owned()).collect();
        known.sort();
        assert_eq!(known, ids);
    }

    #[test]
    fn an_answer_is_three_to_ten_sentences_and_a_question_is_one() {
        for (_, question) in all() {
            let sentences = question.answer.matches(['.', ':', ';']).count();
            assert!((3..=24).contains(&sentences), "{}: {sentences}", question.id);
            let words = question.answer.split(' ').count();
            assert!((40..=220).contains(&words), "{}: {words} words", question.id);
            assert!(question.asks.ends_with('?'), "{}", question.id);
            assert!(question.answer.ends_with('.'), "{}", question.id);
            assert!(!question.answer.contains("  "), "{}", question.id);
        }
    }

    #[test]
    fn each_experiment_says_what_it_shows_and_can_be_broken() {
        for (_, question) in all() {
            let experiments = (question.experiments)();
            assert!(!experiments.is_empty(), "{}", question.id);
            for experiment in experiments {
                let names: Vec<_> = experiment.names().collect();
                let different: BTreeSet<_> = names.iter().collect();
                assert!(!names.is_empty(), "{}", question.id);
                assert_eq!(names.len(), different.len(), "{}: {names:?}", question.id);
                assert!(experiment.can_be_broken(), "{}", question.id);
            }
        }
    }

    #[test]
    fn case_does_not_matter() {
        assert_eq!(find("q-22B").unwrap().1.id, "Q-22b");
        assert!(find("Q-99").is_err_and(|failure| failure.status == Status::Usage));
    }
}
