//! Worked examples of papers and textbooks, some with options.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::experiment::Experiment;
use super::file::{
    FormulaParameters, deserialize_prose, lesson_files, parse_lesson_file, substitute_in_value,
};
use crate::nearest;

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// Name of the example, as words joined by hyphens.
    pub(crate) name: String,
    #[serde(deserialize_with = "deserialize_prose")]
    pub(crate) source: String,
    #[serde(deserialize_with = "deserialize_prose")]
    pub(crate) description: String,
    #[serde(default, skip_serializing)]
    takes: Vec<ScenarioOption>,
    #[serde(default, skip_serializing)]
    refuses: Vec<Value>,
    #[serde(skip_serializing)]
    experiments: Vec<Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioOption {
    /// Name of the option, with its dashes.
    option: String,
    /// Default value. It may be a formula over the other options.
    usual: Value,
    /// Smallest valid value of the option. It is checked only if `most` is given too.
    least: Option<i64>,
    most: Option<i64>,
}

impl ScenarioOption {
    fn name(&self) -> &str {
        self.option.trim_start_matches('-')
    }
}

/// A combination of option values that the example rejects, and the error message.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    /// True if the values of this run are such a combination.
    when: bool,
    description: String,
}

/// Worked examples on one topic.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chapter {
    scenarios: Vec<Scenario>,
}

static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    let files = lesson_files! {
        "scenarios":
        "models" "memory" "locks" "central" "ring" "lamport" "ricart-agrawala" "permissions"
        "tokens" "election" "lelann" "chang-roberts" "hirschberg-sinclair" "bully" "applications"
        "graphs" "rounds" "philosophers" "agreement" "companions"
    };
    files
        .into_iter()
        .flat_map(|(name, text)| parse_lesson_file::<Chapter>(name, text).scenarios)
        .collect()
});

impl Scenario {
    pub(crate) fn all() -> &'static [Scenario] {
        &SCENARIOS
    }

    /// Returns the worked example with this name.
    ///
    /// # Errors
    ///
    /// Returns a message with similar names if no example has this name.
    pub(crate) fn find(name: &str) -> Result<&'static Scenario, String> {
        let names = Scenario::all().iter().map(|it| it.name.as_str());
        let mut all = Scenario::all().iter();
        all.find(|it| it.name == name)
            .ok_or_else(|| nearest::unknown_name_message("scenario", name, names))
    }

    /// Returns the experiments of the example. `given` has the option values that the user gives.
    ///
    /// # Errors
    ///
    /// Returns an error if an option is unknown, a value is invalid, or the example rejects the
    /// combination of values.
    ///
    /// # Panics
    ///
    /// Panics if the data is malformed. A test parses all data.
    pub(crate) fn experiments(&self, given: &FormulaParameters) -> Result<Vec<Experiment>, String> {
        let broken = |error: String| -> ! { panic!("{}: {error}", self.name) };
        self.check(given)?;
        let mut with = given.clone();
        for knob in self.takes.iter().filter(|knob| !given.contains_key(knob.name())) {
            let usual =
                substitute_in_value(&knob.usual, &with).unwrap_or_else(|error| broken(error));
            with.insert(knob.name().to_owned(), usual);
        }
        for refused in &self.refuses {
            let refused = substitute_in_value(refused, &with).unwrap_or_else(|error| broken(error));
            let refused: Refused =
                serde_json::from_value(refused).unwrap_or_else(|error| broken(error.to_string()));
            if refused.when {
                return Err(refused.description);
            }
        }
        Ok(Experiment::parse_all(&self.experiments, &with).unwrap_or_else(|error| broken(error)))
    }

    fn check(&self, given: &FormulaParameters) -> Result<(), String> {
        let name = &self.name;
        if let Some(unknown) =
            given.keys().find(|it| !self.takes.iter().any(|knob| knob.name() == *it))
        {
            let known: Vec<_> = self.takes.iter().map(|knob| knob.option.as_str()).collect();
            let known = if known.is_empty() { "no option".to_owned() } else { known.join(", ") };
            return Err(format!("{name} accepts {known}, not {}", option_flag(unknown)));
        }
        for knob in &self.takes {
            let value = given.get(knob.name()).and_then(Value::as_i64);
            let ends = (knob.least, knob.most, value);
            if let (Some(least), Some(most), Some(value)) = ends
                && !(least..=most).contains(&value)
            {
                let description = format!("is invalid for {name}; expected {least} to {most}");
                return Err(format!("{} {value} {description}", knob.option));
            }
        }
        Ok(())
    }
}

pub(crate) fn option_flag(name: &str) -> String {
    let dashes = if name.len() == 1 { "-" } else { "--" };
    format!("{dashes}{name}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_in_kebab_case_and_all_differ() {
        let mut seen = BTreeSet::new();
        for Scenario { name, source, description, .. } in Scenario::all() {
            assert!(seen.insert(name), "{name} is there twice");
            assert!(
                name.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-')
            );
            assert!(!source.ends_with('.') && description.ends_with('.'), "{name}");
        }
    }

    #[test]
    fn expectation_names_are_unique_in_their_scenario() {
        for scenario in Scenario::all() {
            let experiments = scenario.experiments(&FormulaParameters::new()).unwrap();
            let names: Vec<_> =
                experiments.iter().flat_map(Experiment::expectation_names).collect();
            let different: BTreeSet<_> = names.iter().collect();
            assert!(!names.is_empty(), "{}", scenario.name);
            assert_eq!(names.len(), different.len(), "{}: {names:?}", scenario.name);
        }
    }

    #[test]
    fn rejects_unknown_options_and_values_out_of_range() {
        let given = |name: &str, value: i64| {
            FormulaParameters::from_iter([(name.to_owned(), value.into())])
        };
        let description =
            |name: &str, given| Scenario::find(name).unwrap().experiments(&given).unwrap_err();
        assert_eq!(description("race", given("n", 3)), "race accepts --start, not -n");
        assert!(
            description("central-empty", given("n", 1))
                .ends_with("central-empty; expected 3 to 1000")
        );
        assert!(description("two-generals", given("seeds", 0)).starts_with("--seeds is 1 to"));
        for start in [i64::MIN, -1_000_000_001, 1_000_000_001, i64::MAX] {
            let expected =
                format!("--start {start} is invalid for race; expected -1000000000 to 1000000000");
            assert_eq!(description("race", given("start", start)), expected);
        }
    }
}
