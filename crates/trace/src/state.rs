//! State of a process as a tree of values, parsed from its `Debug` output.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};

use serde_json::{Map, Number, Value};
use tenure_core::ProcessId;

use crate::format::RecordKind;

/// Key under which a tree stores the name of a struct or enum variant. The key is a Rust keyword,
/// so no field can have this name.
pub const TYPE_KEY: &str = "type";

/// Names of wrapper types. A tree contains the wrapped value in place of the wrapper.
const TRANSPARENT: [&str; 6] =
    ["Fence", "LamportClock", "LocalTime", "MutexOnly", "Some", "VectorClock"];

/// Maximum depth of a tree. If a value is deeper, the whole value becomes a string.
const MAX_DEPTH: usize = 64;

/// Returns any value as a tree, parsed from the `{:?}` output of the value.
///
/// - A struct or variant with named fields is an object. It contains the fields, and under the key
///   [`TYPE_KEY`] the name of the struct or variant.
/// - A tuple struct, or a tuple variant, is an object with a single key: the name of the struct or
///   variant. The value of this key is the field or, if there are several, the list of the fields.
/// - A unit struct or unit variant is a string.
/// - Lists, sets and tuples are lists, maps are objects, and `None` is null. An empty map is an
///   empty list, because `{:?}` writes it like an empty set. `Some`, `MutexOnly`, clocks and fences
///   are replaced by their contents.
/// - Values with a format of their own are strings: processes (`P1`), timestamps (`(1, P1)`),
///   ranks, ranges.
///
/// Anything that does not parse becomes a string, so the result is always a tree.
pub fn debug_tree(value: &impl Debug) -> Value {
    tree_of_text(&format!("{value:?}"))
}

/// Last recorded state of each process. The state of a process is recorded only if it has changed
/// since the last record.
#[derive(Clone, Debug, Default)]
pub struct StateRecorder {
    last: BTreeMap<ProcessId, String>,
}

impl StateRecorder {
    /// Returns the kind of a record that contains the state of a process after a step. Returns
    /// `None` if the state equals the last recorded state of the process.
    pub fn state_record_if_changed(
        &mut self,
        at: ProcessId,
        state: &impl Debug,
    ) -> Option<RecordKind> {
        let text = format!("{state:?}");
        let last = self.last.entry(at).or_default();
        if *last == text {
            return None;
        }
        let tree = tree_of_text(&text);
        *last = text;
        Some(RecordKind::State(tree))
    }
}

/// Formats a tree on one line.
pub(crate) struct CompactTree<'t>(pub(crate) &'t Value);

impl fmt::Display for CompactTree<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::String(text) => f.write_str(text),
            Value::Array(values) => {
                f.write_str("[")?;
                for (place, value) in values.iter().enumerate() {
                    write!(f, "{}{}", if place > 0 { ", " } else { "" }, CompactTree(value))?;
                }
                f.write_str("]")
            }
            Value::Object(fields) => {
                if let Some(name) = fields.get(TYPE_KEY) {
                    write!(f, "{} ", CompactTree(name))?;
                }
                f.write_str("{")?;
                for (place, (name, value)) in
                    fields.iter().filter(|(name, _)| *name != TYPE_KEY).enumerate()
                {
                    let comma = if place > 0 { ", " } else { "" };
                    write!(f, "{comma}{name}: {}", CompactTree(value))?;
                }
                f.write_str("}")
            }
            leaf => write!(f, "{leaf}"),
        }
    }
}

fn tree_of_text(text: &str) -> Value {
    let mut parser = Parser { text, place: 0 };
    match parser.value(0) {
        Some(value) if parser.unread().is_empty() => value,
        _ => Value::String(text.to_owned()),
    }
}

struct Parser<'t> {
    text: &'t str,
    place: usize,
}

impl<'t> Parser<'t> {
    fn unread(&self) -> &'t str {
        &self.text[self.place..]
    }

    fn skip(&mut self, expected: &str) -> bool {
        let there = self.unread().starts_with(expected);
        self.place += if there { expected.len() } else { 0 };
        there
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.unread().chars().next()? {
            '"' => self.quoted().map(Value::String),
            '[' => self.list("[", "]", depth).map(Value::Array),
            '(' => self.tuple(depth),
            '{' => self.set_or_map(depth),
            letter if letter.is_alphabetic() || letter == '_' => self.named(depth),
            _ => self.leaf(),
        }
    }

    fn list(&mut self, open: &str, close: &str, depth: usize) -> Option<Vec<Value>> {
        let mut values = Vec::new();
        self.skip(open);
        while !self.skip(close) {
            values.push(self.value(depth + 1)?);
            self.skip(",");
            self.skip(" ");
        }
        Some(values)
    }

    /// Parses a tuple. A timestamp becomes a string, any other tuple a list.
    fn tuple(&mut self, depth: usize) -> Option<Value> {
        let start = self.place;
        let values = self.list("(", ")", depth)?;
        match values.as_slice() {
            [Value::Number(_), Value::String(process)] if is_process(process) => {
                Some(Value::String(self.text[start..self.place].to_owned()))
            }
            _ => Some(Value::Array(values)),
        }
    }

    fn set_or_map(&mut self, depth: usize) -> Option<Value> {
        let (mut values, mut map) = (Vec::new(), Map::new());
        self.skip("{");
        while !self.skip("}") {
            let start = self.place;
            let value = self.value(depth + 1)?;
            let key = &self.text[start..self.place];
            if self.skip(": ") {
                let key = if let Value::String(text) = value { text } else { key.to_owned() };
                map.insert(key, self.value(depth + 1)?);
            } else {
                values.push(value);
            }
            self.skip(",");
            self.skip(" ");
        }
        match (values.is_empty(), map.is_empty()) {
            (_, true) => Some(Value::Array(values)),
            (true, false) => Some(Value::Object(map)),
            (false, false) => None,
        }
    }

    /// Parses a value that begins with a name: a struct, an enum variant, a process, or another
    /// word.
    fn named(&mut self, depth: usize) -> Option<Value> {
        let unread = self.unread();
        let end = unread.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let name = &unread[..end.unwrap_or(unread.len())];
        let behind = &unread[name.len()..];
        if behind.starts_with(" {") {
            self.place += name.len();
            return self.fields(name, depth);
        }
        if !behind.starts_with('(') {
            return self.leaf();
        }
        self.place += name.len();
        let mut values = self.list("(", ")", depth)?;
        let value = if values.len() == 1 { values.remove(0) } else { Value::Array(values) };
        if TRANSPARENT.contains(&name) {
            return Some(value);
        }
        Some(Value::Object(Map::from_iter([(name.to_owned(), value)])))
    }

    fn fields(&mut self, name: &str, depth: usize) -> Option<Value> {
        let mut fields = Map::from_iter([(TYPE_KEY.to_owned(), Value::from(name))]);
        self.skip(" {");
        self.skip(" ");
        while !self.skip("}") {
            if !self.skip("..") {
                let (field, _) = self.unread().split_once(": ")?;
                self.place += field.len() + 2;
                fields.insert(field.to_owned(), self.value(depth + 1)?);
            }
            self.skip(",");
            self.skip(" ");
        }
        Some(Value::Object(fields))
    }

    /// Parses a value without structure: `None` as null, a Boolean or a number as itself, and any
    /// other text as a string. The value ends before the first separator or closing bracket that is
    /// outside of balanced brackets.
    fn leaf(&mut self) -> Option<Value> {
        let unread = self.unread();
        let mut open = 0_usize;
        let end = unread.char_indices().find(|(place, letter)| match letter {
            '<' | '(' | '[' | '{' => {
                open += 1;
                false
            }
            '>' | ')' | ']' | '}' if open > 0 => {
                open -= 1;
                false
            }
            ')' | ']' | '}' | ',' => open == 0,
            ' ' => open == 0 && unread[*place..].starts_with(" }"),
            ':' => open == 0 && unread[*place..].starts_with(": "),
            _ => false,
        });
        let text = &unread[..end.map_or(unread.len(), |(place, _)| place)];
        self.place += text.len();
        (!text.is_empty()).then(|| leaf(text))
    }

    fn quoted(&mut self) -> Option<String> {
        let mut letters = self.unread().char_indices().skip(1);
        let mut text = String::new();
        while let Some((place, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.place += place + 1;
                    return Some(text);
                }
                '\\' => match letters.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    '0' => text.push('\0'),
                    'u' => {
                        let digits = letters.by_ref().map(|(_, digit)| digit);
                        let digits = digits.skip(1).take_while(|digit| *digit != '}');
                        let digits: String = digits.collect();
                        text.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                    }
                    other => text.push(other),
                },
                other => text.push(other),
            }
        }
        None
    }
}

fn leaf(text: &str) -> Value {
    match text {
        "None" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::from(text), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    if !text.starts_with(|letter: char| letter.is_ascii_digit() || letter == '-') {
        return None;
    }
    let whole = text.parse::<u64>().map(Number::from);
    let whole = whole.or_else(|_| text.parse::<i64>().map(Number::from)).ok();
    // Accepts a float only if the text has a decimal point. An integer out of range stays text.
    whole.or_else(|| Number::from_f64(text.parse().ok().filter(|_| text.contains('.'))?))
}

fn is_process(text: &str) -> bool {
    let number = text.strip_prefix('P').unwrap_or_default();
    !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::json;
    use tenure_core::{
        Delay, Fence, Group, LamportClock, ProcessId, ProcessSet, Rank, Timestamp,
        UncomparedConfig, VectorClock,
    };

    use super::*;

    #[derive(Clone, Debug)]
    #[expect(dead_code, reason = "read by what derives Debug")]
    enum Phase {
        Idle,
        Waiting { request: Timestamp, awaited: ProcessSet },
        Forwarding(u32),
        Both(u32, Option<Fence>),
    }

    #[derive(Debug)]
    #[expect(dead_code, reason = "read by what derives Debug")]
    struct Everything {
        group: Group,
        phase: Vec<Phase>,
        clock: LamportClock,
        counts: BTreeMap<ProcessId, Vec<u64>>,
        names: BTreeSet<String>,
        rank: Rank,
        delay: Delay,
        fixed: UncomparedConfig<u32>,
        vector: VectorClock,
        nobody: Option<ProcessId>,
        somebody: Option<ProcessId>,
        pair: (u32, bool),
        nothing: (),
        below: i32,
        part: f64,
        huge: u128,
    }

    fn everything() -> Everything {
        let stamp = Timestamp { clock: 3, process: ProcessId(0) };
        let awaited = [ProcessId(1), ProcessId(2)].into_iter().collect::<ProcessSet>();
        Everything {
            group: Group::new(ProcessId(0), 3),
            phase: vec![
                Phase::Idle,
                Phase::Waiting { request: stamp, awaited },
                Phase::Forwarding(7),
                Phase::Both(1, Some(Fence(1, 2))),
            ],
            clock: LamportClock(9),
            counts: BTreeMap::from([(ProcessId(1), vec![1, 2]), (ProcessId(2), Vec::new())]),
            names: BTreeSet::from(["a, b}".to_owned(), "say \"hi\"\n\u{7}".to_owned()]),
            rank: Rank::from_load(4.try_into().unwrap(), 1),
            delay: Delay { min: 3, max: 5 },
            fixed: UncomparedConfig::new(1),
            vector: VectorClock::from(vec![1, 0]),
            nobody: None,
            somebody: Some(ProcessId(2)),
            pair: (1, true),
            nothing: (),
            below: -4,
            part: 0.5,
            huge: u128::MAX,
        }
    }

    #[test]
    fn parses_any_derived_debug_output() {
        let expected = json!({
            "type": "Everything",
            "group": {"type": "Group", "me": "P1", "size": 3},
            "phase": [
                "Idle",
                {"type": "Waiting", "request": "(3, P1)", "awaited": ["P2", "P3"]},
                {"Forwarding": 7},
                {"Both": [1, [1, 2]]},
            ],
            "clock": 9,
            "counts": {"P2": [1, 2], "P3": []},
            "names": ["a, b}", "say \"hi\"\n\u{7}"],
            "rank": "<1/4, 1>",
            "delay": "3..5",
            "fixed": "fixed",
            "vector": [1, 0],
            "nobody": null,
            "somebody": "P3",
            "pair": [1, true],
            "nothing": [],
            "below": -4,
            "part": 0.5,
            "huge": u128::MAX.to_string(),
        });
        assert_eq!(debug_tree(&everything()), expected);
    }

    #[test]
    fn records_only_changed_states() {
        let mut states = StateRecorder::default();
        let written = [(0, 1), (0, 1), (1, 1), (0, 2), (0, 1)]
            .map(|(at, state)| states.state_record_if_changed(ProcessId(at), &state).is_some());
        assert_eq!(written, [true, false, true, true, true]);
    }

    #[test]
    fn unparsable_values_stay_text() {
        for text in ["", "{", "A { b", "A { b: ", "[1, 2", "\"open", "A { } and more", "{1, 2: 3}"]
        {
            assert_eq!(tree_of_text(text), json!(text), "{text}");
        }
    }

    #[test]
    fn parser_consumes_every_short_text() {
        let letters = ['[', ']', '(', ')', '{', '}', ',', ':', ' ', '"', '\\', 'A', '1', '.'];
        let mut texts = vec![String::new()];
        for _ in 0..4 {
            let longer = |text: &String| letters.map(|letter| format!("{text}{letter}"));
            texts = texts.iter().flat_map(longer).collect();
            texts.iter().for_each(|text| drop(tree_of_text(text)));
        }
    }

    #[test]
    fn parses_prefixes_and_deep_nesting() {
        let text = format!("{:?}", everything());
        for (from, _) in text.char_indices() {
            tree_of_text(&text[from..]);
            tree_of_text(&text[..from]);
        }
        let deep = "[".repeat(100_000);
        assert_eq!(tree_of_text(&deep), json!(deep));
    }
}
