//! Experiments of lessons: actions with expected results, and the observed results.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use super::action_executor::{ActionExecutor, ActionResult};
use super::expectation::{Expectation, ExpectationResult};
use super::file::{self, FormulaParameters, collapse_whitespace, deserialize_prose};

/// Actions of an experiment, with the results that they must have.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Experiment {
    /// Sentence that the experiment supports.
    #[serde(default, deserialize_with = "deserialize_prose")]
    description: String,
    #[serde(default)]
    drawn: bool,
    line: Option<String>,
    /// Several command lines, one per line of this text. If the field is present, the data of the
    /// experiment is a list with one element per command line.
    lines: Option<String>,
    /// Name of a call, for an action that no command line can perform. The field `with` contains
    /// the arguments of the call. If `with` is a list, the call is performed once per element, and
    /// the results are a list.
    call: Option<String>,
    #[serde(default)]
    with: Value,
    /// Description of the actions for the reader. If it is given, the reader sees it instead of the
    /// command lines. An experiment with a call has no command lines, so it needs a description.
    does: Option<String>,
    /// Default location of the observed figures in the data of the experiment, as a JSON pointer or
    /// a formula. If it is empty, the figure is the whole data. An expectation may state a
    /// different location.
    #[serde(default)]
    at: String,
    expect: Vec<Expectation>,
    broken: Broken,
}

/// Negative control of an experiment: a change to the actions of the experiment. After the change,
/// at least one expectation must fail. Each field except `of` replaces the field of the experiment
/// with the same name. If a field is omitted, the field of the experiment stays the same.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Broken {
    line: Option<String>,
    /// Name of the expectation whose command line the negative control changes. `None` if the
    /// negative control changes the command line of the experiment.
    of: Option<String>,
    lines: Option<String>,
    call: Option<String>,
    with: Option<Value>,
    does: Option<String>,
}

impl Experiment {
    pub(crate) fn parse_all(
        experiments: &[Value],
        with: &FormulaParameters,
    ) -> Result<Vec<Self>, String> {
        let filled = file::substitute_in_value(&Value::Array(experiments.to_vec()), with)?;
        let Value::Array(filled) = filled else { unreachable!("a list stays a list") };
        let read = |(place, experiment)| {
            Experiment::read(experiment).map_err(|error| format!("experiment {place}: {error}"))
        };
        (1..).zip(filled).map(read).collect()
    }

    fn read(value: Value) -> Result<Self, String> {
        let it: Experiment = serde_json::from_value(value).map_err(|error| error.to_string())?;
        let own = it.expect.iter().any(|expected| expected.line.is_some());
        let acts = [own, it.line.is_some(), it.lines.is_some(), it.call.is_some()];
        if acts.into_iter().filter(|done| *done).count() != 1 {
            return Err(
                "an experiment has exactly one of: a line, lines, lines of expectations, a call"
                    .to_owned(),
            );
        }
        let changed = if it.call.is_some() {
            it.broken.with.is_some() || it.broken.call.is_some()
        } else {
            it.broken.lines.is_some() || it.broken.line.is_some() && it.changed().is_some()
        };
        if !changed {
            return Err(
                "the negative control of a command line needs another line, that of a call other \
                 arguments or another call"
                    .to_owned(),
            );
        }
        let names: BTreeSet<&str> = it.expectation_names().collect();
        if names.is_empty() || names.len() < it.expect.len() {
            return Err("expectations are required, with unique names".to_owned());
        }
        match it.expect.iter().find(|expected| !expected.has_one_relation()) {
            Some(expected) => Err(format!("{}: give one relation", expected.name)),
            None => Ok(it),
        }
    }

    pub(crate) fn expectation_names(&self) -> impl Iterator<Item = &str> {
        self.expect.iter().map(|expected| expected.name.as_str())
    }

    /// Returns the command lines of the experiment, and a flag. If the flag is true, the data of
    /// the experiment is a list with one element per command line.
    fn lines(&self) -> (Vec<String>, bool) {
        match (&self.line, &self.lines) {
            (Some(line), _) => (vec![collapse_whitespace(line)], false),
            (None, Some(lines)) => (split(lines), true),
            (None, None) => {
                let mut lines: Vec<String> = Vec::new();
                for line in self.expect.iter().filter_map(|expected| expected.line.as_deref()) {
                    if !lines.iter().any(|known| known == line) {
                        lines.push(line.to_owned());
                    }
                }
                (lines, true)
            }
        }
    }

    fn broken_lines(&self) -> Vec<String> {
        let (mut lines, _) = self.lines();
        match (&self.broken.lines, &self.broken.line, self.changed()) {
            (Some(broken), ..) => split(broken),
            (None, Some(line), Some(place)) => {
                lines[place] = collapse_whitespace(line);
                lines
            }
            _ => unreachable!("validated by the parser"),
        }
    }

    /// Returns the index of the command line that the negative control changes. Returns `None` if
    /// the negative control changes no command line.
    fn changed(&self) -> Option<usize> {
        let (lines, several) = self.lines();
        let Some(name) = &self.broken.of else { return (!several).then_some(0) };
        let changed = self.expect.iter().find(|expected| expected.name == *name)?;
        lines.iter().position(|line| Some(line) == changed.line.as_ref())
    }

    /// Performs the experiment and compares the observed results with the expected results. If
    /// `broken` is true, performs the negative control instead.
    fn conduct<P: ActionExecutor>(
        &self,
        by: &P,
        broken: bool,
    ) -> Result<CompletedExperiment, P::Failure> {
        let (made, mut acts) = match &self.call {
            Some(name) => {
                let with = self.broken.with.as_ref().filter(|_| broken).unwrap_or(&self.with);
                let name = self.broken.call.as_ref().filter(|_| broken).unwrap_or(name);
                (called(by, name, with)?, Vec::new())
            }
            None => {
                let (sound, several) = self.lines();
                let lines = if broken { self.broken_lines() } else { sound };
                let made = if several {
                    let data = lines.iter().map(|line| Ok(by.run_line(line, false)?.data));
                    Value::Array(data.collect::<Result<_, _>>()?).into()
                } else {
                    self.line(by, &lines[0])?
                };
                (made, lines.iter().map(|line| format!("tenure {line}")).collect())
            }
        };
        let does = self.broken.does.as_ref().filter(|_| broken).or(self.does.as_ref());
        if let Some(does) = does {
            acts = vec![collapse_whitespace(does)];
        }
        Ok(CompletedExperiment {
            description: self.description.clone(),
            acts,
            findings: self.judge(&made.data),
            picture: made.picture.filter(|_| self.drawn),
        })
    }

    /// Runs a command line of the experiment and returns its result. If the line is invalid and the
    /// experiment expects a value at `/refused`, the result contains the error message there.
    fn line<P: ActionExecutor>(&self, by: &P, line: &str) -> Result<ActionResult, P::Failure> {
        by.run_line(line, self.drawn).or_else(|failure| {
            let expected =
                self.expect.iter().any(|expected| expected.figure_location_or("") == "/refused");
            match by.usage_error(&failure).filter(|_| expected) {
                Some(description) => Ok(json!({ "refused": description }).into()),
                None => Err(failure),
            }
        })
    }

    fn judge(&self, data: &Value) -> Vec<ExpectationResult> {
        let (lines, _) = self.lines();
        let judge = |expected: &Expectation| {
            let place = lines.iter().position(|line| Some(line) == expected.line.as_ref());
            expected.judge(place.map_or(data, |place| &data[place]), &self.at)
        };
        self.expect.iter().map(judge).collect()
    }
}

fn split(lines: &str) -> Vec<String> {
    lines.lines().map(collapse_whitespace).filter(|line| !line.is_empty()).collect()
}

/// Performs the call `name` with the arguments `with`. If `with` is a list, performs the call once
/// for each element of the list.
fn called<P: ActionExecutor>(by: &P, name: &str, with: &Value) -> Result<ActionResult, P::Failure> {
    let Value::Array(each) = with else { return by.call(name, with) };
    let data = each.iter().map(|with| Ok(by.call(name, with)?.data));
    data.collect::<Result<Vec<_>, _>>().map(|data| Value::Array(data).into())
}

#[derive(Debug)]
pub(crate) struct CompletedExperiment {
    pub(crate) description: String,
    /// Command lines that the reader can copy, or a description of the actions.
    pub(crate) acts: Vec<String>,
    pub(crate) findings: Vec<ExpectationResult>,
    /// Diagram of the run, as text; `None` if the experiment draws none.
    pub(crate) picture: Option<String>,
}

#[derive(Debug)]
pub(crate) struct ExperimentResults(pub(crate) Vec<CompletedExperiment>);

/// Performs experiments, or their negative controls if `negative_control` is true.
///
/// # Errors
///
/// Returns an error if an experiment cannot be performed.
pub(crate) fn run_experiments<P: ActionExecutor>(
    experiments: &[Experiment],
    executor: &P,
    negative_control: bool,
) -> Result<ExperimentResults, P::Failure> {
    let conducted =
        experiments.iter().map(|experiment| experiment.conduct(executor, negative_control));
    conducted.collect::<Result<_, _>>().map(ExperimentResults)
}

impl CompletedExperiment {
    pub(crate) fn holds(&self) -> bool {
        self.findings.iter().all(|finding| finding.holds)
    }
}

impl ExperimentResults {
    pub(crate) fn all_hold(&self) -> bool {
        self.0.iter().all(CompletedExperiment::holds)
    }

    pub(crate) fn expected_by_name(&self) -> Value {
        self.by_name(|finding| &finding.expected)
    }

    pub(crate) fn observed_by_name(&self) -> Value {
        self.by_name(|finding| &finding.observed)
    }

    fn by_name(&self, of: impl Fn(&ExpectationResult) -> &Value) -> Value {
        let findings = self.0.iter().flat_map(|it| &it.findings);
        Value::Object(findings.map(|it| (key(&it.name), of(it).clone())).collect())
    }

    pub(crate) fn actions(&self) -> Vec<&str> {
        self.0.iter().flat_map(|it| &it.acts).map(String::as_str).collect()
    }
}

fn key(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Executor for tests that returns the arguments of each call as its data.
    struct Echo;

    impl ActionExecutor for Echo {
        type Failure = String;

        fn run_line(&self, line: &str, drawn: bool) -> Result<ActionResult, String> {
            Ok(ActionResult {
                data: json!({ "line": line }),
                picture: drawn.then(|| line.to_owned()),
            })
        }

        fn usage_error(&self, failure: &String) -> Option<String> {
            Some(failure.clone())
        }

        fn call(&self, name: &str, arguments: &Value) -> Result<ActionResult, String> {
            Ok(json!({ "name": name, "with": arguments }).into())
        }
    }

    fn read(text: &str) -> Result<Experiment, String> {
        Experiment::read(toml::from_str(text).expect("it is TOML"))
    }

    fn seen(text: &str, broken: bool) -> (Vec<String>, Value, bool) {
        let results = run_experiments(&[read(text).unwrap()], &Echo, broken).unwrap();
        let acts = results.actions().into_iter().map(str::to_owned).collect();
        (acts, results.observed_by_name(), results.all_hold())
    }

    #[test]
    fn either_all_figures_or_each_have_a_line() {
        let alone = "line = 'a  b'\nat = '/line'\nexpect = [{ name = 'it', is = 'a b' }]\n\
                     broken.line = 'c'";
        assert_eq!(seen(alone, false), (vec!["tenure a b".to_owned()], json!({"it": "a b"}), true));
        assert_eq!(seen(alone, true), (vec!["tenure c".to_owned()], json!({"it": "c"}), false));
        let own = "at = '/line'\nbroken.of = 'three'\nbroken.line = 'c'\n\
                   expect = [{ name = 'one', line = 'a', is = 'a' },\
                   { name = 'two', line = 'b', is = 'b' },\
                   { name = 'three', line = 'a', is = 'a' }]";
        assert_eq!(
            seen(own, false).0,
            ["tenure a", "tenure b"],
            "a repeated command line is run once"
        );
        assert_eq!(seen(own, true).1, json!({ "one": "c", "two": "b", "three": "c" }));
    }

    #[test]
    fn call_accepts_list_of_arguments() {
        let at = "data|map(attribute='with')|list";
        let text = &format!(
            "call = 'f'\nwith = [1, 2]\ndoes = 'words'\n\
             expect = [{{ name = 'all', at = \"{at}\", is = [1, 2] }}]\n\
             broken.with = [1, 3]\nbroken.does = 'others'"
        );
        assert_eq!(seen(text, false), (vec!["words".to_owned()], json!({ "all": [1, 2] }), true));
        assert_eq!(seen(text, true), (vec!["others".to_owned()], json!({ "all": [1, 3] }), false));
    }

    #[test]
    fn reports_invalid_experiment_data() {
        let expect = "expect = [{ name = 'it', is = 1 }]";
        for (text, description) in [
            (format!("line = 'a'\n{expect}"), "broken"),
            (format!("line = 'a'\ncall = 'f'\n{expect}\nbroken.line = 'b'"), "exactly one of"),
            (format!("call = 'f'\n{expect}\nbroken.line = 'b'"), "other arguments"),
            ("line = 'a'\nexpect = []\nbroken.line = 'b'".to_owned(), "expectations are required"),
            (
                "line = 'a'\nexpect = [{ name = 'it' }]\nbroken.line = 'b'".to_owned(),
                "one relation",
            ),
            (format!("line = 'a'\nsay = 'x'\n{expect}\nbroken.line = 'b'"), "unknown field `say`"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(description), "{error}");
        }
    }
}
