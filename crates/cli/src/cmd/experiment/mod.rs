//! Experiments: something that is done, what should come of it, and what does.
//!
//! What is done is mostly a line for the command `tenure`, which runs in this process through the
//! code of that command, so that whoever reads a page of experiments can copy the line and vary
//! it. What no command does is a function. What is expected is a table: a name, where the figure
//! stands in the data, and what it should be.
//!
//! Each experiment can be *broken*: one thing about it is changed, and then something that is
//! expected must fail to come. So none of them prints what it was told to print.

mod command;
mod expectation;
mod nearest;
mod story;
mod table;

use serde::Serialize;
use serde_json::{Map, Value};

use super::failure::{Failure, Status};
use super::interrupt;

pub(crate) use command::perform;
pub(crate) use expectation::{Observable, Relation};
pub(crate) use nearest::unknown;
pub(crate) use story::{looked, same_for_all, story, swapped};

use expectation::Expectation;

/// What came of what was done.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// The figures.
    pub(crate) data: Value,
    /// What happened, drawn.
    pub(crate) picture: Option<String>,
}

impl From<Value> for Made {
    fn from(data: Value) -> Self {
        Made { data, picture: None }
    }
}

/// Something that can be done.
enum Act {
    /// Lines for the command `tenure`; each has its data under its name, a single one has all.
    Lines(Vec<(String, String)>),
    /// What no command does, and what it is in words.
    Call(String, Box<dyn Fn() -> Result<Made, Failure>>),
}

/// Something that is done, and what should come of it.
pub(crate) struct Experiment {
    says: String,
    act: Act,
    broken: Option<Act>,
    draws: bool,
    expectations: Vec<Expectation>,
}

impl Experiment {
    /// A line for the command `tenure`, such as `check central -n 3`; its data is what the
    /// command prints as JSON.
    pub(crate) fn line(line: impl Into<String>) -> Self {
        Experiment::of(Act::Lines(vec![(String::new(), line.into())]))
    }

    /// Several of them; the data of each is under its name.
    pub(crate) fn lines(
        lines: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        Experiment::of(several(lines))
    }

    /// What no command does: what it is, in words, and the function that gives its data.
    pub(crate) fn call<M: Into<Made>>(
        what: impl Into<String>,
        call: impl Fn() -> Result<M, Failure> + 'static,
    ) -> Self {
        Experiment::of(Act::Call(what.into(), Box::new(move || call().map(Into::into))))
    }

    fn of(act: Act) -> Self {
        Experiment {
            says: String::new(),
            act,
            broken: None,
            draws: false,
            expectations: Vec::new(),
        }
    }

    /// What it shows, in a sentence.
    pub(crate) fn says(mut self, says: impl Into<String>) -> Self {
        self.says = says.into();
        self
    }

    /// With a picture of what happens.
    pub(crate) fn drawn(mut self) -> Self {
        self.draws = true;
        self
    }

    /// Expects that the figure of this name stands in this relation.
    pub(crate) fn expect(
        mut self,
        name: impl Into<String>,
        at: impl Into<Observable>,
        relation: Relation,
    ) -> Self {
        self.expectations.push(Expectation { name: name.into(), at: at.into(), relation });
        self
    }

    /// Expects exactly this.
    pub(crate) fn is(
        self,
        name: impl Into<String>,
        at: impl Into<Observable>,
        value: impl Into<Value>,
    ) -> Self {
        self.expect(name, at, Relation::Is(value.into()))
    }

    /// Expects this or less.
    pub(crate) fn at_most(
        self,
        name: impl Into<String>,
        at: impl Into<Observable>,
        most: impl Into<f64>,
    ) -> Self {
        self.expect(name, at, Relation::Between(f64::NEG_INFINITY, most.into()))
    }

    /// Expects this or more.
    pub(crate) fn at_least(
        self,
        name: impl Into<String>,
        at: impl Into<Observable>,
        least: impl Into<f64>,
    ) -> Self {
        self.expect(name, at, Relation::Between(least.into(), f64::INFINITY))
    }

    /// Expects one of these or something between them.
    pub(crate) fn between(
        self,
        name: impl Into<String>,
        at: impl Into<Observable>,
        least: impl Into<f64>,
        most: impl Into<f64>,
    ) -> Self {
        self.expect(name, at, Relation::Between(least.into(), most.into()))
    }

    /// Expects that these words are said somewhere in it.
    pub(crate) fn mentions(
        self,
        name: impl Into<String>,
        at: impl Into<Observable>,
        words: impl Into<String>,
    ) -> Self {
        self.expect(name, at, Relation::Mentions(words.into()))
    }

    /// The same with one thing changed, so that something expected must fail to come.
    pub(crate) fn broken(mut self, line: impl Into<String>) -> Self {
        self.broken = Some(Act::Lines(vec![(String::new(), line.into())]));
        self
    }

    /// The same where there are several lines.
    pub(crate) fn broken_lines(
        mut self,
        lines: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        self.broken = Some(several(lines));
        self
    }

    /// The same where it is a function.
    pub(crate) fn broken_call<M: Into<Made>>(
        mut self,
        what: impl Into<String>,
        call: impl Fn() -> Result<M, Failure> + 'static,
    ) -> Self {
        self.broken = Some(Act::Call(what.into(), Box::new(move || call().map(Into::into))));
        self
    }

    /// What its expectations are about.
    #[cfg(test)]
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.expectations.iter().map(|expectation| expectation.name.as_str())
    }

    /// Whether there is a way to break it.
    #[cfg(test)]
    pub(crate) fn can_be_broken(&self) -> bool {
        self.broken.is_some()
    }

    fn conduct(&self, broken: bool) -> Result<Conducted, Failure> {
        let act = if broken { self.broken.as_ref() } else { Some(&self.act) };
        let act = act.ok_or_else(|| Failure::usage("there is no way to break this"))?;
        let may_refuse = self.expectations.iter().any(|it| it.at.is("/refused"));
        let performed = act.perform(self.draws);
        // What was cut short has other figures, and says nothing.
        interrupt::check("before this was over")?;
        let made = match performed {
            Err(failure) if may_refuse && failure.status == Status::Usage => {
                Made::from(serde_json::json!({ "refused": failure.to_string() }))
            }
            made => made?,
        };
        Ok(Conducted {
            says: self.says.clone(),
            acts: act.words(),
            findings: self.expectations.iter().map(|it| it.judge(&made.data)).collect(),
            picture: made.picture,
        })
    }
}

fn several(lines: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Act {
    Act::Lines(lines.into_iter().map(|(name, line)| (name.into(), line.into())).collect())
}

impl Act {
    fn perform(&self, draws: bool) -> Result<Made, Failure> {
        match self {
            Act::Call(_, call) => {
                let made = call()?;
                Ok(Made { picture: made.picture.filter(|_| draws), ..made })
            }
            Act::Lines(lines) => match &lines[..] {
                [(name, line)] if name.is_empty() && draws => command::perform_drawn(line),
                [(name, line)] if name.is_empty() => perform(line).map(Made::from),
                lines => {
                    let data = lines.iter().map(|(name, line)| Ok((name.clone(), perform(line)?)));
                    let data: Map<String, Value> = data.collect::<Result<_, Failure>>()?;
                    Ok(Made::from(Value::Object(data)))
                }
            },
        }
    }

    fn words(&self) -> Vec<String> {
        match self {
            Act::Lines(lines) => lines.iter().map(|(_, line)| format!("tenure {line}")).collect(),
            Act::Call(what, _) => vec![what.clone()],
        }
    }
}

/// One expectation, and what was seen.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {
    /// What it is about.
    pub(crate) name: String,
    /// What it should be.
    pub(crate) expected: Value,
    /// What it is.
    pub(crate) observed: Value,
    /// Whether the one is the other.
    pub(crate) holds: bool,
}

/// An experiment that was made.
#[derive(Debug)]
pub(crate) struct Conducted {
    /// What it shows.
    pub(crate) says: String,
    /// What was done: lines to be copied, or words.
    pub(crate) acts: Vec<String>,
    /// What was expected and what was seen.
    pub(crate) findings: Vec<Finding>,
    /// What happened, drawn.
    pub(crate) picture: Option<String>,
}

/// The name of a finding as a key: words and what joins them.
fn key(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_").to_lowercase()
}

/// Several experiments that were made.
#[derive(Debug)]
pub(crate) struct Results(pub(crate) Vec<Conducted>);

/// Makes experiments, or their broken forms.
pub(crate) fn conduct(experiments: &[Experiment], broken: bool) -> Result<Results, Failure> {
    interrupt::check("before it began")?;
    let conducted = experiments.iter().map(|experiment| experiment.conduct(broken));
    conducted.collect::<Result<_, _>>().map(Results)
}

impl Conducted {
    /// Whether all that was expected came.
    pub(crate) fn holds(&self) -> bool {
        self.findings.iter().all(|finding| finding.holds)
    }
}

impl Results {
    /// Whether all that was expected of all of them came.
    pub(crate) fn hold(&self) -> bool {
        self.0.iter().all(Conducted::holds)
    }

    /// What a script is told by an exit status.
    pub(crate) fn status(&self) -> Status {
        if self.hold() { Status::Held } else { Status::Violated }
    }

    /// What was expected, by name.
    pub(crate) fn expected(&self) -> Value {
        self.by_name(|finding| &finding.expected)
    }

    /// What was seen, by name.
    pub(crate) fn observed(&self) -> Value {
        self.by_name(|finding| &finding.observed)
    }

    fn by_name(&self, of: impl Fn(&Finding) -> &Value) -> Value {
        let findings = self.0.iter().flat_map(|it| &it.findings);
        Value::Object(findings.map(|it| (key(&it.name), of(it).clone())).collect())
    }

    /// What was done, line by line.
    pub(crate) fn acts(&self) -> Vec<&str> {
        self.0.iter().flat_map(|it| &it.acts).map(String::as_str).collect()
    }
}
