//! Experiments: something that is done, what should come of it, and what does.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::expectation::{Expectation, Finding};
use crate::file::{self, Parameters, one_line, prose};
use crate::performs::{Made, Performs};

/// Something that is done, and what should come of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// What it shows, in a sentence.
    #[serde(default, deserialize_with = "prose")]
    says: String,
    /// Whether there is a picture of what happens.
    #[serde(default)]
    drawn: bool,
    line: Option<String>,
    /// Several of them, a line each; the data is a list.
    lines: Option<String>,
    /// What no line can do: its name, and its arguments. A list of arguments gives a list of data.
    call: Option<String>,
    #[serde(default)]
    with: Value,
    /// What is done in words, where they are not lines to be copied.
    does: Option<String>,
    /// Where figures stand that do not say so themselves.
    #[serde(default)]
    at: String,
    expect: Vec<Expectation>,
    broken: Broken,
}

/// The same with one thing changed: what is left out is as it was.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Broken {
    line: Option<String>,
    /// The expectation whose line that is, where each has its own.
    of: Option<String>,
    lines: Option<String>,
    call: Option<String>,
    with: Option<Value>,
    does: Option<String>,
}

impl Experiment {
    /// Reads experiments, with parameters in their places.
    pub(crate) fn of(experiments: &[Value], with: &Parameters) -> Result<Vec<Self>, String> {
        let filled = file::filled(&Value::Array(experiments.to_vec()), with)?;
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
                "it is one of a line, lines, lines of what is expected, and a call".to_owned()
            );
        }
        let changed = if it.call.is_some() {
            it.broken.with.is_some() || it.broken.call.is_some()
        } else {
            it.broken.lines.is_some() || it.broken.line.is_some() && it.changed().is_some()
        };
        if !changed {
            return Err(
                "it is broken by a line if it has one, by arguments or another one if it is a call"
                    .to_owned(),
            );
        }
        let names: BTreeSet<&str> = it.names().collect();
        if names.is_empty() || names.len() < it.expect.len() {
            return Err("something is expected, and each thing has a name of its own".to_owned());
        }
        match it.expect.iter().find(|expected| !expected.is_one()) {
            Some(expected) => Err(format!("{}: give one relation", expected.name)),
            None => Ok(it),
        }
    }

    /// What its expectations are about.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.expect.iter().map(|expected| expected.name.as_str())
    }

    /// The lines that are done, and whether there are several.
    fn lines(&self) -> (Vec<String>, bool) {
        match (&self.line, &self.lines) {
            (Some(line), _) => (vec![one_line(line)], false),
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

    /// The same when one of them is another.
    fn broken_lines(&self) -> Vec<String> {
        let (mut lines, _) = self.lines();
        match (&self.broken.lines, &self.broken.line, self.changed()) {
            (Some(broken), ..) => split(broken),
            (None, Some(line), Some(place)) => {
                lines[place] = one_line(line);
                lines
            }
            _ => unreachable!("it was read"),
        }
    }

    /// Which line is another when it is broken.
    fn changed(&self) -> Option<usize> {
        let (lines, several) = self.lines();
        let Some(name) = &self.broken.of else { return (!several).then_some(0) };
        let changed = self.expect.iter().find(|expected| expected.name == *name)?;
        lines.iter().position(|line| Some(line) == changed.line.as_ref())
    }

    /// Makes it, or its broken form.
    fn conduct<P: Performs>(&self, by: &P, broken: bool) -> Result<Conducted, P::Failure> {
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
                    let data = lines.iter().map(|line| Ok(by.line(line, false)?.data));
                    Value::Array(data.collect::<Result<_, _>>()?).into()
                } else {
                    self.line(by, &lines[0])?
                };
                (made, lines.iter().map(|line| format!("tenure {line}")).collect())
            }
        };
        let does = self.broken.does.as_ref().filter(|_| broken).or(self.does.as_ref());
        if let Some(does) = does {
            acts = vec![one_line(does)];
        }
        Ok(Conducted {
            says: self.says.clone(),
            acts,
            findings: self.judge(&made.data),
            picture: made.picture.filter(|_| self.drawn),
        })
    }

    /// Does a line; where it is expected to be refused, what is said then is the data.
    fn line<P: Performs>(&self, by: &P, line: &str) -> Result<Made, P::Failure> {
        by.line(line, self.drawn).or_else(|failure| {
            let expected = self.expect.iter().any(|expected| expected.at("") == "/refused");
            match by.refused(&failure).filter(|_| expected) {
                Some(says) => Ok(json!({ "refused": says }).into()),
                None => Err(failure),
            }
        })
    }

    fn judge(&self, data: &Value) -> Vec<Finding> {
        let (lines, _) = self.lines();
        let judge = |expected: &Expectation| {
            let place = lines.iter().position(|line| Some(line) == expected.line.as_ref());
            expected.judge(place.map_or(data, |place| &data[place]), &self.at)
        };
        self.expect.iter().map(judge).collect()
    }
}

fn split(lines: &str) -> Vec<String> {
    lines.lines().map(one_line).filter(|line| !line.is_empty()).collect()
}

/// A call; for a list of arguments one call each.
fn called<P: Performs>(by: &P, name: &str, with: &Value) -> Result<Made, P::Failure> {
    let Value::Array(each) = with else { return by.call(name, with) };
    let data = each.iter().map(|with| Ok(by.call(name, with)?.data));
    data.collect::<Result<Vec<_>, _>>().map(|data| Value::Array(data).into())
}

/// An experiment that was made.
#[derive(Debug)]
pub struct Conducted {
    /// What it shows.
    pub says: String,
    /// What was done: lines to be copied, or words.
    pub acts: Vec<String>,
    /// What was expected and what was seen.
    pub findings: Vec<Finding>,
    /// What happened, drawn.
    pub picture: Option<String>,
}

/// Several experiments that were made.
#[derive(Debug)]
pub struct Results(pub Vec<Conducted>);

/// Makes experiments, or their broken forms.
///
/// # Errors
///
/// When one of them cannot be made.
pub fn conduct<P: Performs>(
    experiments: &[Experiment],
    by: &P,
    broken: bool,
) -> Result<Results, P::Failure> {
    let conducted = experiments.iter().map(|experiment| experiment.conduct(by, broken));
    conducted.collect::<Result<_, _>>().map(Results)
}

impl Conducted {
    /// Whether all that was expected came.
    pub fn holds(&self) -> bool {
        self.findings.iter().all(|finding| finding.holds)
    }
}

impl Results {
    /// Whether all that was expected of all of them came.
    pub fn hold(&self) -> bool {
        self.0.iter().all(Conducted::holds)
    }

    /// What was expected, by name.
    pub fn expected(&self) -> Value {
        self.by_name(|finding| &finding.expected)
    }

    /// What was seen, by name.
    pub fn observed(&self) -> Value {
        self.by_name(|finding| &finding.observed)
    }

    fn by_name(&self, of: impl Fn(&Finding) -> &Value) -> Value {
        let findings = self.0.iter().flat_map(|it| &it.findings);
        Value::Object(findings.map(|it| (key(&it.name), of(it).clone())).collect())
    }

    /// What was done, line by line.
    pub fn acts(&self) -> Vec<&str> {
        self.0.iter().flat_map(|it| &it.acts).map(String::as_str).collect()
    }
}

/// The name of a finding as a key: words and what joins them.
fn key(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives back what it is asked.
    struct Echo;

    impl Performs for Echo {
        type Failure = String;

        fn line(&self, line: &str, drawn: bool) -> Result<Made, String> {
            Ok(Made { data: json!({ "line": line }), picture: drawn.then(|| line.to_owned()) })
        }

        fn refused(&self, failure: &String) -> Option<String> {
            Some(failure.clone())
        }

        fn call(&self, name: &str, arguments: &Value) -> Result<Made, String> {
            Ok(json!({ "name": name, "with": arguments }).into())
        }
    }

    fn read(text: &str) -> Result<Experiment, String> {
        Experiment::read(toml::from_str(text).expect("it is TOML"))
    }

    fn seen(text: &str, broken: bool) -> (Vec<String>, Value, bool) {
        let results = conduct(&[read(text).unwrap()], &Echo, broken).unwrap();
        let acts = results.acts().into_iter().map(str::to_owned).collect();
        (acts, results.observed(), results.hold())
    }

    #[test]
    fn each_figure_has_its_line_or_all_have_one() {
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
            "what is there twice is done once"
        );
        assert_eq!(seen(own, true).1, json!({ "one": "c", "two": "b", "three": "c" }));
    }

    #[test]
    fn a_call_has_words_and_its_arguments_may_be_a_list() {
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
    fn what_is_wrong_with_data_is_said() {
        let expect = "expect = [{ name = 'it', is = 1 }]";
        for (text, says) in [
            (format!("line = 'a'\n{expect}"), "broken"),
            (format!("line = 'a'\ncall = 'f'\n{expect}\nbroken.line = 'b'"), "one of a line"),
            (format!("call = 'f'\n{expect}\nbroken.line = 'b'"), "by arguments"),
            ("line = 'a'\nexpect = []\nbroken.line = 'b'".to_owned(), "something is expected"),
            (
                "line = 'a'\nexpect = [{ name = 'it' }]\nbroken.line = 'b'".to_owned(),
                "one relation",
            ),
            (format!("line = 'a'\nsay = 'x'\n{expect}\nbroken.line = 'b'"), "unknown field `say`"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
