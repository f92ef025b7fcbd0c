//! The parameters that `--sweep` varies, and their values.

use std::str::FromStr;

use crate::cmd::simulate::options::RunOptions;
use crate::cmd::{parse_options, usage_error};

const MAX_VALUES: usize = 10_000;

/// A parameter of a sweep with all its values, such as `n=3..50` or `latency=exp:1,exp:4`.
#[derive(Clone, Debug)]
pub(crate) struct SweepAxis {
    parameter: &'static Parameter,
    values: Vec<String>,
}

/// An option of a run that a sweep can vary.
#[derive(Debug)]
struct Parameter {
    name: &'static str,
    /// Label of the axis of a plot, with the unit.
    label: &'static str,
    /// True if the parameter is an integer, so that `A..B` means every integer from A to B.
    is_integer: bool,
    /// Copies the value of the parameter from the second options to the first.
    copy: fn(&mut RunOptions, &RunOptions),
    /// Returns the value of the parameter as a text, to compare two values.
    text: fn(&RunOptions) -> String,
}

macro_rules! parameter {
    ($name:literal, $label:literal, $is_integer:literal, $($field:ident).+) => {
        Parameter {
            name: $name,
            label: $label,
            is_integer: $is_integer,
            copy: |to, from| to.$($field).+ = from.$($field).+.clone(),
            text: |options| format!("{:?}", options.$($field).+),
        }
    };
}

static PARAMETERS: [Parameter; 23] = [
    parameter!("n", "number of processes, n", true, group.n),
    parameter!("entries", "entries of each process", true, group.entries),
    parameter!("sequential", "entries in total, one at a time", true, sequential),
    parameter!("latency", "latency of messages [units of time]", false, latency),
    parameter!("think", "time between an exit and the next request [units]", false, think),
    parameter!("hold", "time inside the critical section [units]", false, hold),
    parameter!("arrivals", "time between requests [units]", false, arrivals),
    parameter!("app-messages", "probability of a message between users", false, app_messages),
    parameter!("lose", "probability that a message is lost", false, lose),
    parameter!("duplicate", "probability that a message is duplicated", false, duplicate),
    parameter!("drift", "maximum clock drift", false, drift),
    parameter!("step", "duration of a step [units]", false, step),
    parameter!("suspect-after", "delay of failure detectors [units]", false, suspect_after),
    parameter!("until", "end of the run [units]", false, until),
    parameter!("k", "maximum number of holders, k", true, group.k),
    parameter!("coordinator", "coordinator", true, group.coordinator),
    parameter!("topology", "network", false, group.topology),
    parameter!("tree", "tree", false, group.tree),
    parameter!("quorums", "quorums", false, group.quorums),
    parameter!("channel", "delivery order", false, group.channel),
    parameter!("timing", "timing model", false, group.timing),
    parameter!("initiators", "initiators", false, group.initiators),
    parameter!("down", "processes that are down", false, group.down),
];

impl SweepAxis {
    pub(super) fn name(&self) -> &'static str {
        self.parameter.name
    }

    pub(super) fn values(&self) -> &[String] {
        &self.values
    }

    /// Sets the parameter to `value` in the options of a run.
    ///
    /// # Errors
    ///
    /// Returns the message of the command-line parser if the option does not accept the value.
    pub(super) fn set(&self, options: &mut RunOptions, value: &str) -> Result<(), String> {
        let from = parsed(&[format!("--{}", self.option()), value.to_owned()])?;
        (self.parameter.copy)(options, &from);
        Ok(())
    }

    /// Returns the long name of the option that sets the parameter, without dashes.
    pub(super) fn option(&self) -> &'static str {
        if self.name() == "n" { "nodes" } else { self.name() }
    }
}

pub(super) fn parameter_label(name: &str) -> &str {
    find_parameter(name).map_or(name, |parameter| parameter.label)
}

/// Returns the names of all parameters that a sweep can vary.
#[cfg(test)]
pub(super) fn parameter_names() -> impl Iterator<Item = &'static str> {
    PARAMETERS.iter().map(|parameter| parameter.name)
}

/// Returns true if the parameter `name` has another value than the default in `options`. Returns
/// false if a sweep cannot vary the parameter.
pub(super) fn differs_from_default(name: &str, options: &RunOptions) -> Result<bool, String> {
    let Some(Parameter { text, .. }) = find_parameter(name) else { return Ok(false) };
    Ok(text(options) != text(&parsed(&[])?))
}

/// Returns true if the values of the parameter `name` are whole numbers.
pub(super) fn has_integer_values(name: &str) -> bool {
    find_parameter(name).is_some_and(|parameter| parameter.is_integer)
}

fn find_parameter(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|parameter| parameter.name == name)
}

fn parsed(words: &[String]) -> Result<RunOptions, String> {
    parse_options(words).map_err(|error| usage_error::one_line(&error))
}

impl FromStr for SweepAxis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || PARAMETERS.iter().map(|it| it.name).collect::<Vec<_>>().join(", ");
        let (name, list) = text
            .split_once('=')
            .ok_or_else(|| "expected NAME=VALUES, such as n=3..50 or latency=1,exp:4".to_owned())?;
        let parameter = find_parameter(name)
            .ok_or_else(|| format!("unknown parameter '{name}': expected {}", known()))?;
        let separator = if list.contains(';') { ';' } else { ',' };
        let mut values: Vec<String> = Vec::new();
        for item in list.split(separator) {
            match range(item).filter(|_| parameter.is_integer) {
                Some(range) => values.extend(range?),
                None => values.push(item.to_owned()),
            }
        }
        if values.len() > MAX_VALUES {
            return Err(format!("{} values: expected at most {MAX_VALUES}", values.len()));
        }
        let axis = SweepAxis { parameter, values };
        for (place, value) in axis.values.iter().enumerate() {
            if axis.values[..place].contains(value) {
                return Err(format!("value '{value}' is given twice"));
            }
            parsed(&[format!("--{}", axis.option()), value.clone()]).map_err(|error| {
                let hint = "; separate values that contain commas by ';'";
                format!("{error}{}", if separator == ',' { hint } else { "" })
            })?;
        }
        Ok(axis)
    }
}

/// Parses a range of whole numbers, such as `3..50` or, with a step, `3..50:5`. Returns `None` if
/// the text is no range.
fn range(text: &str) -> Option<Result<Vec<String>, String>> {
    let (from, to) = text.split_once("..")?;
    let (to, step) = to.split_once(':').unwrap_or((to, "1"));
    let invalid = || format!("invalid range '{text}': expected 3..50, or with a step 3..50:5");
    let number = |text: &str| text.parse::<u32>().map_err(|_| invalid());
    let numbers = || {
        let (from, to, step) = (number(from)?, number(to)?, number(step)? as usize);
        if from > to || step == 0 {
            return Err(invalid());
        }
        let numbers = (from..=to).step_by(step).take(MAX_VALUES + 1);
        Ok(numbers.map(|number| number.to_string()).collect())
    };
    Some(numbers())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        text.parse::<SweepAxis>().unwrap_or_else(|error| panic!("{text}: {error}")).values
    }

    #[test]
    fn counts_have_ranges_and_durations_have_distributions() {
        assert_eq!(values("n=3..5"), ["3", "4", "5"]);
        assert_eq!(values("n=3..9:3,20"), ["3", "6", "9", "20"]);
        assert_eq!(values("latency=1..9,exp:4"), ["1..9", "exp:4"]);
        assert_eq!(values("latency=2;lognormal:1,0.5"), ["2", "lognormal:1,0.5"]);
        assert_eq!(values("entries=2;2,1,0"), ["2", "2,1,0"]);
    }

    #[test]
    fn every_parameter_is_an_option() {
        for parameter in &PARAMETERS {
            let value = match parameter.name {
                "lose" | "duplicate" | "app-messages" | "drift" => "0.1",
                "topology" => "line",
                "tree" => "heap",
                "quorums" => "fpp",
                "channel" => "fifo",
                "timing" => "partial",
                _ => "2",
            };
            let axis: SweepAxis = format!("{}={value}", parameter.name).parse().expect("an option");
            let mut options = parsed(&[]).expect("defaults");
            assert!(
                !differs_from_default(axis.name(), &options).expect("defaults"),
                "{}",
                parameter.name
            );
            axis.set(&mut options, value).expect("a value");
            assert!(
                differs_from_default(axis.name(), &options).expect("defaults"),
                "{}",
                parameter.name
            );
        }
    }

    #[test]
    fn rejects_invalid_axes() {
        for (text, message) in [
            ("n", "expected NAME=VALUES"),
            ("m=3", "unknown parameter 'm': expected n, entries"),
            ("n=5..3", "invalid range '5..3'"),
            ("n=1..9:0", "invalid range"),
            ("n=3,3", "value '3' is given twice"),
            ("n=3..4000000", "10001 values"),
            ("latency=fast", "'fast'"),
            ("latency=lognormal:1,0.5", "separate values that contain commas by ';'"),
        ] {
            let error = text.parse::<SweepAxis>().expect_err(text);
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
