//! Access to the JSON values in which the checker shows states and messages.

use serde_json::Value as Json;
use tenure_check::GlobalState;

use crate::structure::value::Value;

/// Key under which a JSON object stores the name of a struct or variant.
const TYPE: &str = "type";

/// A JSON value in which the checker represents a state, a message, or a part of one.
///
/// Reading a missing field panics, so a test fails if a field of an algorithm is renamed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckerJson<'t>(pub(crate) &'t Json);

/// Returns a pair for each process that is up. The first element is the process as a value of the
/// logic. The second element is the state of the process, as the checker shows it.
pub(crate) fn live_processes(state: &GlobalState) -> impl Iterator<Item = (Value, &Json)> {
    let named = (0..).map(Value::process).zip(&state.processes);
    named.filter_map(|(name, process)| Some((name, &**process.as_ref()?)))
}

impl<'t> CheckerJson<'t> {
    /// Returns the name of the variant or struct that this value shows.
    pub(crate) fn variant_name(self) -> &'t str {
        match self.0 {
            Json::String(name) => name,
            // A tuple variant is an object with its name as the only key.
            Json::Object(fields) => match fields.get(TYPE) {
                Some(name) => name.as_str().expect("a name is text"),
                None => fields.keys().next().expect("a variant has a name"),
            },
            other => panic!("{other} is no variant"),
        }
    }

    #[track_caller]
    pub(crate) fn field(self, name: &str) -> CheckerJson<'t> {
        CheckerJson(self.0.get(name).unwrap_or_else(|| panic!("no field `{name}` in {}", self.0)))
    }

    #[track_caller]
    pub(crate) fn to_int(self) -> i64 {
        self.0.as_i64().unwrap_or_else(|| panic!("{} is no number", self.0))
    }

    /// Interprets this value as a rank with the weight 0: a number, or a number as text. Returns
    /// this number, which is the id of the rank. Panics if the weight is not 0, because the value
    /// then has another form.
    #[track_caller]
    pub(crate) fn to_unweighted_rank_id(self) -> i64 {
        let text = || self.0.as_str()?.parse().ok();
        self.0.as_i64().or_else(text).unwrap_or_else(|| panic!("{} is no rank", self.0))
    }

    pub(crate) fn is_none(self) -> bool {
        self.0.is_null()
    }

    /// Returns the process with the name that this value contains, such as `P1`.
    #[track_caller]
    pub(crate) fn to_process(self) -> Value {
        let number = self.0.as_str().and_then(|text| text.strip_prefix('P')?.parse::<u32>().ok());
        Value::process(number.unwrap_or_else(|| panic!("{} is no process", self.0)) - 1)
    }

    /// Returns the number and the process of the timestamp that this value shows. The value is a
    /// text such as `(1, P1)`.
    #[track_caller]
    pub(crate) fn to_timestamp(self) -> (i64, Value) {
        let parse = || {
            let text = self.0.as_str()?.strip_prefix('(')?.strip_suffix(')')?;
            let (number, process) = text.split_once(", ")?;
            let process: u32 = process.strip_prefix('P')?.parse().ok()?;
            Some((number.parse().ok()?, Value::process(process - 1)))
        };
        parse().unwrap_or_else(|| panic!("{} is no timestamp", self.0))
    }

    #[track_caller]
    pub(crate) fn elements(self) -> impl Iterator<Item = CheckerJson<'t>> {
        let list = self.0.as_array().unwrap_or_else(|| panic!("{} is no list", self.0));
        list.iter().map(CheckerJson)
    }
}
