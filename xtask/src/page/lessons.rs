//! Questions for self-study as JSON, for the page.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

const QUESTIONS: &str = "docs/questions";

/// Files of the questions, in reading order.
const ORDER: &[&str] = &[
    "models",
    "memory",
    "problem",
    "central",
    "ring",
    "lamport",
    "ricart-agrawala",
    "election",
    "ring-election",
    "bully",
    "graphs",
    "rounds",
    "philosophers",
    "agreement",
    "log",
    "companions",
];

/// Returns all questions with their chapters, answers and the commands of their experiments.
pub(super) fn questions_json(root: &Path) -> Result<String, String> {
    let chapter = |name: &&str| {
        let file = root.join(QUESTIONS).join(format!("{name}.toml"));
        let text = fs::read_to_string(&file);
        let text = text.map_err(|error| format!("{}: {error}", file.display()))?;
        let chapter: Value =
            toml::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(json!({
            "title": chapter["title"],
            "recalls": prose(&chapter["recalls"]),
            "questions": list(&chapter["questions"]).map(question).collect::<Vec<_>>(),
        }))
    };
    let chapters: Result<Vec<Value>, String> = ORDER.iter().map(chapter).collect();
    Ok(json!(chapters?).to_string())
}

fn question(question: &Value) -> Value {
    let experiment = |experiment: &Value| {
        let mut lines = Vec::new();
        commands(experiment, &mut lines);
        json!({ "description": prose(&experiment["description"]), "lines": lines })
    };
    json!({
        "id": question["id"],
        "text": prose(&question["text"]),
        "answer": prose(&question["answer"]),
        "beyond": prose(&question["beyond"]),
        "experiments": list(&question["experiments"]).map(experiment).collect::<Vec<_>>(),
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns a text with one line for each paragraph, and an empty line between two paragraphs.
/// `None` if the value is not a string.
fn prose(value: &Value) -> Option<String> {
    let paragraph = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = value.as_str()?.trim().split("\n\n").map(paragraph);
    Some(parts.collect::<Vec<_>>().join("\n\n"))
}

/// Appends the command lines of an experiment. Omits lines that contain a placeholder in braces,
/// and lines that must fail (`broken`).
fn commands(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, part) in fields.iter().filter(|(name, _)| *name != "broken") {
                match part.as_str() {
                    Some(line) if name == "line" && !line.contains('{') => {
                        lines.push(line.split_whitespace().collect::<Vec<_>>().join(" "));
                    }
                    _ => commands(part, lines),
                }
            }
        }
        Value::Array(parts) => parts.iter().for_each(|part| commands(part, lines)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use serde_json::json;

    use super::{ORDER, QUESTIONS, commands, prose};

    #[test]
    fn every_file_of_questions_is_listed() {
        let folder = crate::root().join(QUESTIONS);
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        let names = files.map(|name| name.to_string_lossy().replace(".toml", ""));
        let listed: BTreeSet<String> = ORDER.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(names.collect::<BTreeSet<_>>(), listed);
    }

    #[test]
    fn paragraphs_become_lines() {
        assert_eq!(prose(&json!("\na\nb\n\nc\n")), Some("a b\n\nc".to_owned()));
        assert_eq!(prose(&json!(3)), None);
    }

    #[test]
    fn commands_of_failing_controls_are_left_out() {
        let experiment = json!({
            "line": "check a\n  -n 2",
            "broken": { "line": "check b" },
            "expect": [{ "line": "check c" }, { "line": "check {{ d }}" }],
        });
        let mut lines = Vec::new();
        commands(&experiment, &mut lines);
        lines.sort();
        assert_eq!(lines, ["check a -n 2", "check c"]);
    }
}
