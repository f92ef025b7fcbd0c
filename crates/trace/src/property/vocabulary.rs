//! Names that the expressions about one algorithm may use.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use tenure_core::Service;

use crate::format::{Record, RecordKind};
use crate::state::TYPE_KEY;

/// Names that the expressions about one algorithm may use: its processes, messages and states.
///
/// The names of messages and states come from sample runs: see [`Vocabulary::learn`].
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Number of processes.
    pub group_size: u32,
    /// Service of the algorithm, which determines the predicates that are available.
    pub service: Service,
    /// Names of the messages; `None` if they are unknown, so that any name is accepted.
    pub messages: Option<BTreeSet<String>>,
    /// Schema of the states of processes; `None` if the engine provides no states.
    pub states: Option<SampledStateSchema>,
}

/// Schema of the values that sample runs have at one place of a state. The schema describes all
/// fields, names and list elements of these values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledStateSchema {
    /// Fields of the structs at this place of the state: the name of each field, and the schema of
    /// its contents.
    pub(super) fields: Vec<(String, SampledStateSchema)>,
    /// Names of structs and enum variants that occur as values.
    pub(super) names: BTreeSet<String>,
    /// Schema of the elements of lists. `None` if no value is a list.
    pub(super) element: Option<Box<SampledStateSchema>>,
    /// True if the name of a process occurs as a value.
    pub(super) has_processes: bool,
}

impl Vocabulary {
    /// Creates a vocabulary whose lists of messages and of parts of states are still empty.
    /// [`Vocabulary::learn`] extends them.
    pub fn new(size: u32, service: Service) -> Self {
        let (messages, states) = (Some(BTreeSet::new()), Some(SampledStateSchema::default()));
        Vocabulary { group_size: size, service, messages, states }
    }

    /// Adds the names of the messages and the schemas of the states in the records of a sample run.
    pub fn learn<'r>(&mut self, records: impl IntoIterator<Item = &'r Record>) {
        for record in records {
            if let (Some(messages), Some(seen)) = (&mut self.messages, record.kind.message_record())
                && !messages.contains(&*seen.message)
            {
                messages.insert(seen.message.to_string());
            }
            if let (Some(states), RecordKind::State(state)) = (&mut self.states, &record.kind) {
                states.learn(state);
            }
        }
    }

    pub(super) const fn has_lock(&self) -> bool {
        matches!(self.service, Service::Mutex | Service::MutexAndElection)
    }

    pub(super) const fn has_leaders(&self) -> bool {
        matches!(self.service, Service::Election | Service::MutexAndElection | Service::Log)
    }
}

impl SampledStateSchema {
    pub(super) fn learn(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => self.learn_fields(fields),
            Value::Array(elements) => {
                let schema = self.element.get_or_insert_default();
                elements.iter().for_each(|element| schema.learn(element));
            }
            Value::String(name) if is_variant_name(name) && !self.names.contains(name) => {
                self.names.insert(name.clone());
            }
            Value::String(name) if is_process_name(name) => self.has_processes = true,
            _ => {}
        }
    }

    fn learn_fields(&mut self, fields: &Map<String, Value>) {
        if let Some(Value::String(name)) = fields.get(TYPE_KEY) {
            self.names.insert(name.clone());
        } else if let Some(name) = tuple_variant_name(fields) {
            self.names.insert(name.to_owned());
        }
        for (name, value) in fields.iter().filter(|(name, _)| *name != TYPE_KEY) {
            match self.fields.iter_mut().find(|(known, _)| known == name) {
                Some((_, schema)) => schema.learn(value),
                None => {
                    let mut schema = SampledStateSchema::default();
                    schema.learn(value);
                    self.fields.push((name.clone(), schema));
                }
            }
        }
    }

    pub(super) fn field(&self, name: &str) -> Option<&SampledStateSchema> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, schema)| schema)
    }
}

/// Returns the name of the tuple variant that the tree represents. The tree of a tuple variant is
/// an object with a single field, which has the name of the variant.
pub(super) fn tuple_variant_name(fields: &Map<String, Value>) -> Option<&str> {
    let mut keys = fields.keys();
    let first = keys.next()?;
    let is_alone = keys.next().is_none();
    (is_alone && is_variant_name(first)).then_some(first)
}

/// Returns true if a text has the form of the name of an enum variant, such as `Waiting`. Returns
/// false for the name of a process, such as `P1`.
pub(super) fn is_variant_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(char::is_uppercase)
        && letters.all(char::is_alphanumeric)
        && !is_process_name(text)
}

fn is_process_name(text: &str) -> bool {
    text.strip_prefix('P').is_some_and(|rest| rest.bytes().all(|it| it.is_ascii_digit()))
}
