//! Names of processes, for the log.

use std::fmt;
use std::sync::Arc;

use tenure_core::ProcessId;

/// Names of the processes of a group, for the log. A process without a name appears as `P` with
/// its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessNames(Arc<[String]>);

impl ProcessNames {
    /// Creates the names of the processes, in the order of their ids. If there are fewer names than
    /// processes, the last processes have no names.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        ProcessNames(names.into_iter().collect())
    }

    /// Returns the name of a process.
    pub fn name(&self, process: ProcessId) -> ProcessName<'_> {
        ProcessName { name: self.0.get(process.index()).map(String::as_str), process }
    }
}

/// Name of one process for the log, or `P` with its number if it has no name.
#[derive(Clone, Copy, Debug)]
pub struct ProcessName<'a> {
    name: Option<&'a str>,
    process: ProcessId,
}

impl fmt::Display for ProcessName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.process),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_without_a_name_appears_with_its_number() {
        let names = ProcessNames::new(["a".to_owned()]);
        let text = |process| names.name(ProcessId(process)).to_string();
        assert_eq!([text(0), text(1)], ["a", "P2"]);
    }
}
