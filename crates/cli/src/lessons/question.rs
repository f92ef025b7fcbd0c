//! Questions for self-study, grouped by chapter.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::experiment::Experiment;
use super::file::{FormulaParameters, deserialize_prose, lesson_files, parse_lesson_file};
use super::scenario::Scenario;
use crate::nearest;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionChapter {
    pub(crate) title: String,
    /// Summary of the topic, as a reminder for the reader.
    #[serde(deserialize_with = "deserialize_prose")]
    pub(crate) recalls: String,
    pub(crate) questions: Vec<Question>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    /// Number of the question, such as `Q-19`.
    pub(crate) id: String,
    #[serde(deserialize_with = "deserialize_prose")]
    pub(crate) text: String,
    /// Answer in short sentences, for a reader without prior knowledge.
    #[serde(deserialize_with = "deserialize_prose")]
    pub(crate) answer: String,
    /// Parts of the answer that no experiment can show. Each part names its source. `None` if the
    /// experiments show the complete answer.
    #[serde(default, deserialize_with = "optional_prose")]
    pub(crate) beyond: Option<String>,
    #[serde(default)]
    experiments: Vec<Value>,
    /// Name of the worked example whose experiments support the answer; `None` if the question has
    /// its own experiments.
    scenario: Option<String>,
}

fn optional_prose<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    deserialize_prose(from).map(Some)
}

static CHAPTERS: LazyLock<Vec<QuestionChapter>> = LazyLock::new(|| {
    let files = lesson_files! {
        "questions":
        "models" "memory" "problem" "central" "ring" "lamport" "ricart-agrawala" "election"
        "ring-election" "bully" "graphs" "rounds" "philosophers" "agreement" "log" "companions"
    };
    files.into_iter().map(|(name, text)| parse_lesson_file(name, text)).collect()
});

impl QuestionChapter {
    pub(crate) fn all() -> &'static [QuestionChapter] {
        &CHAPTERS
    }
}

impl Question {
    pub(crate) fn all() -> impl Iterator<Item = (&'static QuestionChapter, &'static Question)> {
        let chapters = QuestionChapter::all().iter();
        chapters.flat_map(|it| it.questions.iter().map(move |question| (it, question)))
    }

    /// Finds a question by its number, written as `Q-29`, `q29` or `29`.
    ///
    /// # Errors
    ///
    /// A sentence that names the nearest numbers, if there is no such question.
    pub(crate) fn find(id: &str) -> Result<(&'static QuestionChapter, &'static Question), String> {
        let mut all = Question::all();
        let ids = || Question::all().map(|(_, question)| question.id.as_str());
        let number = number(id);
        all.find(|(_, question)| self::number(&question.id) == number)
            .ok_or_else(|| nearest::unknown_name_message("question", id, ids()))
    }

    /// Returns the questions that contain all of these words in their text or in the title of their
    /// chapter. The case of letters does not matter. Returns an empty list if there are no words.
    pub(crate) fn search(words: &str) -> Vec<(&'static QuestionChapter, &'static Question)> {
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let contains = |text: &str, word: &String| text.to_lowercase().contains(word);
        let all = Question::all().filter(|(chapter, question)| {
            let mut words = words.iter();
            words.all(|it| contains(&question.text, it) || contains(&chapter.title, it))
        });
        if words.is_empty() { Vec::new() } else { all.collect() }
    }

    /// Returns the experiments that support the answer.
    ///
    /// # Panics
    ///
    /// Panics if the data is malformed. A test parses all data.
    pub(crate) fn experiments(&self) -> Vec<Experiment> {
        let read = match &self.scenario {
            Some(name) => {
                Scenario::find(name).and_then(|it| it.experiments(&FormulaParameters::new()))
            }
            None => Experiment::parse_all(&self.experiments, &FormulaParameters::new()),
        };
        read.unwrap_or_else(|error| panic!("{}: {error}", self.id))
    }
}

/// Returns the number of a question in its shortest form: `5` for `Q-05`, `12n` for `q12n`.
fn number(id: &str) -> String {
    let id = id.to_lowercase();
    let number = id.strip_prefix('q').unwrap_or(&id);
    let number = number.strip_prefix('-').unwrap_or(number);
    number.trim_start_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_question_by_any_form_of_its_number() {
        for text in ["Q-29", "q-29", "Q29", "29"] {
            assert_eq!(Question::find(text).map(|(_, it)| it.id.as_str()), Ok("Q-29"), "{text}");
        }
        for text in ["5", "q05", "Q-05"] {
            assert_eq!(Question::find(text).map(|(_, it)| it.id.as_str()), Ok("Q-05"), "{text}");
        }
        assert!(Question::find("q").is_err() && Question::find("bully").is_err());
    }

    #[test]
    fn searches_titles_of_questions_and_chapters() {
        let found = |words| Question::search(words).len();
        assert!(found("bully") > 1 && found("Bully") == found("bully"));
        assert!(found("bully") < Question::all().count());
        assert_eq!((found("no such words"), found("")), (0, 0));
    }

    #[test]
    fn question_ids_are_complete_and_unique() {
        let mut ids: Vec<_> =
            (1..=38).chain(40..=65).map(|number| format!("Q-{number:02}")).collect();
        ids.extend(["Q-12n", "Q-22b"].map(str::to_owned));
        ids.sort();
        let mut known: Vec<_> = Question::all().map(|(_, question)| question.id.clone()).collect();
        known.sort();
        assert_eq!(known, ids);
    }

    #[test]
    fn questions_and_answers_have_the_required_length() {
        for (_, question) in Question::all() {
            let sentences = question.answer.matches(['.', ':', ';']).count();
            assert!((3..=24).contains(&sentences), "{}: {sentences}", question.id);
            let words = question.answer.split(' ').count();
            assert!((40..=220).contains(&words), "{}: {words} words", question.id);
            assert!(question.text.ends_with('?'), "{}", question.id);
            assert!(question.answer.ends_with('.'), "{}", question.id);
        }
    }

    /// Parses the experiments of all questions. Parsing panics if an experiment has an unknown
    /// field, or if two experiments have the same name. It also panics if an experiment has no
    /// negative control. The panic message contains the number of the question.
    #[test]
    fn each_question_has_valid_experiments() {
        for (_, question) in Question::all() {
            assert!(!question.experiments().is_empty(), "{}", question.id);
        }
    }

    #[test]
    fn case_does_not_matter() {
        assert_eq!(Question::find("q-22B").unwrap().1.id, "Q-22b");
        assert!(
            Question::find("Q-99").is_err_and(|description| description.contains("nearest are"))
        );
    }
}
