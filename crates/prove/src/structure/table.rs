//! Structures: finite universes, and a table for each symbol.

use std::collections::{BTreeMap, BTreeSet};

use crate::logic::sort::Sort;
use crate::logic::symbol::Symbol;
use crate::structure::value::Value;

/// Values of a symbol, by its arguments. For arguments without an entry, the symbol has its default
/// value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InterpretationTable {
    default: Value,
    entries: BTreeMap<Vec<Value>, Value>,
}

/// A concrete state: a finite number of elements of each uninterpreted sort, and a table for each
/// symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Structure {
    sizes: BTreeMap<Sort, u32>,
    tables: BTreeMap<Symbol, InterpretationTable>,
}

impl InterpretationTable {
    fn new(default: Value) -> Self {
        InterpretationTable { default, entries: BTreeMap::new() }
    }

    /// Returns the value of the symbol at these arguments.
    pub fn value(&self, arguments: &[Value]) -> Value {
        self.entries.get(arguments).copied().unwrap_or(self.default)
    }

    /// Returns each list of arguments at which the value of the symbol is not the default, together
    /// with this value.
    pub fn entries(&self) -> impl Iterator<Item = (&[Value], Value)> {
        self.entries.iter().map(|(arguments, value)| (arguments.as_slice(), *value))
    }

    fn set(&mut self, arguments: Vec<Value>, value: Value) {
        if value == self.default {
            self.entries.remove(&arguments);
        } else {
            self.entries.insert(arguments, value);
        }
    }
}

impl Structure {
    /// Creates a structure with `processes` processes, in which every symbol has its default value
    /// everywhere: false, 0, or the first element.
    pub fn new(processes: u32) -> Self {
        Structure { sizes: BTreeMap::from([(Sort::Process, processes)]), tables: BTreeMap::new() }
    }

    /// Sets the number of elements of an uninterpreted sort.
    pub fn set_size(&mut self, sort: Sort, size: u32) {
        self.sizes.insert(sort, size);
    }

    /// Returns the number of elements of an uninterpreted sort.
    pub fn size(&self, sort: Sort) -> u32 {
        self.sizes.get(&sort).copied().unwrap_or(0)
    }

    /// Returns the elements of an uninterpreted sort.
    pub fn elements(&self, sort: Sort) -> impl Iterator<Item = Value> + use<> {
        (0..self.size(sort)).map(move |index| Value::Element(sort, index))
    }

    /// Sets the value of a symbol for one list of arguments.
    ///
    /// # Panics
    ///
    /// Panics if the sorts of the arguments or of the value differ from the declaration.
    #[track_caller]
    pub fn set(
        &mut self,
        symbol: Symbol,
        arguments: impl IntoIterator<Item = Value>,
        value: impl Into<Value>,
    ) {
        let (arguments, value): (Vec<Value>, Value) =
            (arguments.into_iter().collect(), value.into());
        let sorts: Vec<Sort> = arguments.iter().map(|value| value.sort()).collect();
        assert_eq!(sorts, symbol.domain, "arguments of `{}`", symbol.name);
        assert_eq!(value.sort(), symbol.range, "value of `{}`", symbol.name);
        self.tables
            .entry(symbol)
            .or_insert_with(|| InterpretationTable::new(Value::default_of(symbol.range)))
            .set(arguments, value);
    }

    /// Adds a tuple to a relation.
    ///
    /// # Panics
    ///
    /// Panics if the sorts of the arguments differ from the declaration.
    #[track_caller]
    pub fn add_tuple(&mut self, relation: Symbol, arguments: impl IntoIterator<Item = Value>) {
        self.set(relation, arguments, true);
    }

    /// Returns the value of a symbol for one list of arguments.
    pub fn value(&self, symbol: Symbol, arguments: &[Value]) -> Value {
        match self.tables.get(&symbol) {
            Some(table) => table.value(arguments),
            None => Value::default_of(symbol.range),
        }
    }

    /// Returns the table of a symbol. If it is `None`, the symbol has its default value everywhere.
    pub fn explicit_table(&self, symbol: Symbol) -> Option<&InterpretationTable> {
        self.tables.get(&symbol)
    }

    /// Replaces the table of `symbol` by a table with these entries.
    pub(crate) fn replace(&mut self, symbol: Symbol, entries: BTreeMap<Vec<Value>, Value>) {
        let mut table = InterpretationTable::new(Value::default_of(symbol.range));
        entries.into_iter().for_each(|(arguments, value)| table.set(arguments, value));
        self.tables.insert(symbol, table);
    }

    /// Returns 0 and all numbers of a sort that occur in the structure. By default, a quantifier
    /// over numbers ranges over these values.
    pub fn quantifier_numbers(&self, sort: Sort) -> BTreeSet<Value> {
        let mut numbers = BTreeSet::from([Value::default_of(sort)]);
        for table in self.tables.values() {
            for (arguments, value) in table.entries() {
                let all = arguments.iter().copied().chain([value]);
                numbers.extend(all.filter(|value| value.sort() == sort));
            }
        }
        numbers
    }

    /// Returns the values of `symbols` that differ from the default, as text such as `inside(P1)`
    /// and `clock(P2) = 3`.
    pub fn facts(&self, symbols: impl IntoIterator<Item = Symbol>) -> Vec<String> {
        let mut facts = Vec::new();
        for symbol in symbols {
            let Some(table) = self.tables.get(&symbol) else { continue };
            for (arguments, value) in table.entries() {
                let arguments: Vec<String> = arguments.iter().map(Value::to_string).collect();
                let arguments = match arguments.is_empty() {
                    true => String::new(),
                    false => format!("({})", arguments.join(", ")),
                };
                facts.push(match symbol.range {
                    Sort::Bool => format!("{}{arguments}", symbol.name),
                    _ => format!("{}{arguments} = {value}", symbol.name),
                });
            }
        }
        facts
    }

    /// Returns true if `symbol` has the same value at all arguments in this structure and in
    /// `other`.
    pub fn agrees_on(&self, symbol: Symbol, other: &Structure) -> bool {
        let none = BTreeMap::new();
        let [this, other] = [self, other].map(|structure| match structure.tables.get(&symbol) {
            Some(table) => &table.entries,
            None => &none,
        });
        this == other
    }

    /// Returns true if this structure contains all tuples that `relation` has in `other`.
    pub fn is_superset_on(&self, relation: Symbol, other: &Structure) -> bool {
        let Some(table) = other.tables.get(&relation) else { return true };
        table.entries().all(|(arguments, value)| self.value(relation, arguments) == value)
    }
}
