//! Results of `tenure question`. They are computed once, and the tests of all questions share them.

use std::sync::LazyLock;
use std::thread;

use serde_json::{Value, json};

use crate::scenarios::assert_values;
use crate::shell::tenure;

/// Exit status and output of `tenure question` for all questions. The first element is the result
/// of the experiments of the questions. The second element is the result of their negative
/// controls.
pub(crate) static ALL: LazyLock<[(Option<i32>, Value); 2]> = LazyLock::new(|| {
    let made = |line: &str| {
        let output = tenure(line);
        let report = serde_json::from_slice(&output.stdout);
        (output.status.code(), report.unwrap_or_else(|error| panic!("{line}: {error}: {output:?}")))
    };
    thread::scope(|scope| {
        let broken = scope.spawn(|| made("question --all --broken --format json"));
        [made("question --all --format json"), broken.join().expect("they are broken")]
    })
});

pub(crate) fn entry_of(all: &'static Value, id: &str) -> &'static Value {
    let mut all = all.as_array().expect("a list").iter();
    all.find(|report| report["id"] == id).unwrap_or_else(|| panic!("no entry for {id}"))
}

/// The observed values in the experiments of a question, in the order of the experiments.
pub(crate) struct Answer(pub(crate) Vec<Value>);

/// Returns the observed values of a question. Asserts that each of its experiments succeeds, and
/// that each negative control fails.
#[track_caller]
pub(crate) fn answer(id: &str) -> Answer {
    let [report, broken] = ALL.each_ref().map(|(_, all)| entry_of(all, id));
    assert_eq!(report["holds"], true, "{report}");
    assert_eq!(broken["holds"], false, "{id}");
    let experiments = |report: &Value| report["experiments"].as_array().expect("a list").clone();
    assert_eq!(experiments(report).len(), experiments(broken).len(), "{id}");
    for (experiment, broken) in experiments(report).iter().zip(experiments(broken)) {
        let message = experiment["description"].as_str().expect("a sentence");
        assert!(message.ends_with(['.', '?', ')']), "{id}: {message:?}");
        assert_eq!(
            (&experiment["holds"], &broken["holds"]),
            (&json!(true), &json!(false)),
            "{message}"
        );
        // A schedule has no command that reproduces it.
        let is_story = experiment["command"] == "";
        assert!(is_story || experiment["command"] != broken["command"], "{id}: {message}");
        assert_eq!(experiment["expected"], broken["expected"], "{id}: {message}");
        assert_ne!(experiment["observed"], broken["observed"], "{id}: {message}");
    }
    Answer(experiments(report).iter().map(|it| it["observed"].clone()).collect())
}

/// Calls [`answer`] for each question in `expected`, and compares the observed values with the
/// expected values. If an expected name has the form `all NAME`, the expected value is a list of
/// all observed values with the name `NAME`. Any other name must occur once in the observed values.
#[track_caller]
pub(crate) fn assert_answers(expected: &Value) {
    for (id, expected) in expected.as_object().expect("an object") {
        let answer = answer(id);
        assert_values(id, expected, |name| match name.strip_prefix("all ") {
            Some(name) => answer.all(name),
            None => answer.one(name),
        });
    }
}

impl Answer {
    /// Returns the observed values with this name, one for each experiment that has such a value.
    pub(crate) fn all(&self, name: &str) -> Value {
        self.0.iter().filter_map(|observed| observed.get(name).cloned()).collect()
    }

    #[track_caller]
    pub(crate) fn one(&self, name: &str) -> Value {
        let mut found = self.0.iter().filter_map(|observed| observed.get(name));
        let first = found.next().unwrap_or_else(|| panic!("no observation {name}: {:?}", self.0));
        assert!(found.next().is_none(), "{name} is there twice");
        first.clone()
    }

    #[track_caller]
    pub(crate) fn number(&self, name: &str) -> f64 {
        self.one(name).as_f64().unwrap_or_else(|| panic!("{name} is no number"))
    }
}
