//! The answers of `tenure question`: made once, and taken apart by the tests of each question.

use std::sync::LazyLock;
use std::thread;

use serde_json::{Value, json};

use crate::shell::tenure;

/// All questions with their experiments, and with one thing changed about each of these: the status
/// of the command, and what it printed. Both are made once for all tests, side by side.
pub(crate) static ALL: LazyLock<[(Option<i32>, Value); 2]> = LazyLock::new(|| {
    let made = |line: &str| {
        let output = tenure(line);
        let told = serde_json::from_slice(&output.stdout);
        (output.status.code(), told.unwrap_or_else(|error| panic!("{line}: {error}: {output:?}")))
    };
    thread::scope(|scope| {
        let broken = scope.spawn(|| made("question --all --broken --format json"));
        [made("question --all --format json"), broken.join().expect("they are broken")]
    })
});

/// What was told of a question when all were asked.
pub(crate) fn told_of(all: &'static Value, id: &str) -> &'static Value {
    let mut all = all.as_array().expect("a list").iter();
    all.find(|told| told["id"] == id).unwrap_or_else(|| panic!("nothing was told of {id}"))
}

/// What was seen in the experiments of a question, one after the other.
pub(crate) struct Answer(pub(crate) Vec<Value>);

/// Answers a question. Each of its experiments holds, and does not when it is broken.
#[track_caller]
pub(crate) fn answer(id: &str) -> Answer {
    let [told, broken] = ALL.each_ref().map(|(_, all)| told_of(all, id));
    assert_eq!(told["holds"], true, "{told}");
    assert_eq!(broken["holds"], false, "{id}");
    let experiments = |told: &Value| told["experiments"].as_array().expect("a list").clone();
    assert_eq!(experiments(told).len(), experiments(broken).len(), "{id}");
    for (experiment, broken) in experiments(told).iter().zip(experiments(broken)) {
        let says = experiment["says"].as_str().expect("a sentence");
        assert!(says.ends_with(['.', '?', ')']), "{id}: {says:?}");
        assert_eq!(
            (&experiment["holds"], &broken["holds"]),
            (&json!(true), &json!(false)),
            "{says}"
        );
        // A story has no command that makes it again.
        let is_story = experiment["command"] == "";
        assert!(is_story || experiment["command"] != broken["command"], "{id}: {says}");
        assert_eq!(experiment["expected"], broken["expected"], "{id}: {says}");
        assert_ne!(experiment["observed"], broken["observed"], "{id}: {says}");
    }
    Answer(experiments(told).iter().map(|it| it["observed"].clone()).collect())
}

impl Answer {
    /// What was seen under this name, in all experiments that have it.
    pub(crate) fn all(&self, name: &str) -> Value {
        self.0.iter().filter_map(|seen| seen.get(name).cloned()).collect()
    }

    #[track_caller]
    pub(crate) fn one(&self, name: &str) -> Value {
        let mut found = self.0.iter().filter_map(|seen| seen.get(name));
        let first =
            found.next().unwrap_or_else(|| panic!("nothing is called {name}: {:?}", self.0));
        assert!(found.next().is_none(), "{name} is there twice");
        first.clone()
    }

    #[track_caller]
    pub(crate) fn number(&self, name: &str) -> f64 {
        self.one(name).as_f64().unwrap_or_else(|| panic!("{name} is no number"))
    }
}
