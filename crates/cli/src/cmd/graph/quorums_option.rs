//! The value of `--quorums`: the name of a construction, lists of processes, or a file with one
//! quorum per line.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use tenure_algorithms::catalogue::{self, QUORUM_KINDS};
use tenure_core::quorum::{QuorumKind, QuorumSystem};
use tenure_core::{ProcessId, ProcessSet};

use super::file::{is_path, read_text};
use crate::cmd::program::quote_shell_word;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum QuorumsOption {
    /// One of the named constructions. Some of them exist only for certain numbers of processes.
    Kind(QuorumKind),
    /// Quorums that the user lists.
    Custom { text: String, quorums: Arc<QuorumSystem> },
}

impl QuorumsOption {
    /// If the user lists the quorums, returns the number of processes that the quorums contain.
    /// Returns `None` for a named construction, which does not determine the number of processes.
    pub(crate) fn fixed_size(&self) -> Option<u32> {
        self.custom_quorums().map(|quorums| quorums.size())
    }

    /// Returns the named construction; `None` for quorums that the user lists.
    pub(crate) fn kind(&self) -> Option<QuorumKind> {
        match self {
            QuorumsOption::Kind(kind) => Some(*kind),
            QuorumsOption::Custom { .. } => None,
        }
    }

    /// Returns the quorums that the user lists; `None` for a named construction.
    pub(crate) fn custom_quorums(&self) -> Option<&Arc<QuorumSystem>> {
        match self {
            QuorumsOption::Kind(_) => None,
            QuorumsOption::Custom { quorums, .. } => Some(quorums),
        }
    }

    pub(crate) fn shell_word(&self) -> String {
        match self {
            QuorumsOption::Kind(_) => self.inlined(),
            QuorumsOption::Custom { text, .. } => quote_shell_word(text),
        }
    }

    /// Returns this value, with the quorums themselves in place of the name of a file. The result
    /// has the same meaning on a machine without the file.
    pub(crate) fn inlined(&self) -> String {
        match self {
            QuorumsOption::Kind(kind) => {
                let name = QUORUM_KINDS.iter().find(|(_, known)| known == kind);
                name.map_or(String::new(), |(name, _)| (*name).to_owned())
            }
            QuorumsOption::Custom { quorums, .. } => {
                let members = |set: &ProcessSet| {
                    set.iter()
                        .map(|it| it.display_number().to_string())
                        .collect::<Vec<_>>()
                        .join(",")
                };
                quorums.listed_quorums().iter().map(members).collect::<Vec<_>>().join("/")
            }
        }
    }
}

impl FromStr for QuorumsOption {
    type Err = String;

    /// Parses a value. If the value is the path of a file, reads the quorums from the file.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(kind) = catalogue::parse_quorum_kind(text) {
            return Ok(QuorumsOption::Kind(kind));
        }
        let is_inline = |byte: u8| byte.is_ascii_digit() || b",/".contains(&byte);
        let quorums = if text.bytes().all(is_inline) && text.contains(',') {
            text.parse::<QuorumSystem>()
        } else if is_path(text) {
            let sets = read(&read_text(Path::new(text))?);
            let sets = sets.map_err(|message| format!("{text}:{message}"))?;
            let members = sets.iter().flat_map(ProcessSet::iter);
            let size = members.map(ProcessId::display_number).max().unwrap_or(0);
            QuorumSystem::from_quorums(size, &sets)
        } else {
            let names: Vec<&str> = QUORUM_KINDS.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            return Err(format!("expected {names}, quorums such as 1,2/2,3/1,3, or a file"));
        };
        let quorums = quorums.map_err(|error| error.to_string())?;
        Ok(QuorumsOption::Custom { text: text.to_owned(), quorums: Arc::new(quorums) })
    }
}

/// Greatest process number in a file of quorums.
const MAX_PROCESS: u32 = 1 << 20;

/// Parses a text with one quorum per line. A line has process numbers, separated by commas or
/// spaces, and a comment after `#`. An error message begins with the number of the line.
fn read(text: &str) -> Result<Vec<ProcessSet>, String> {
    let mut sets = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or_default();
        let words = content.split(|it: char| it == ',' || it.is_whitespace());
        let mut set = ProcessSet::new();
        for word in words.filter(|word| !word.is_empty()) {
            let number = word.strip_prefix(['P', 'p']).unwrap_or(word).parse::<u32>().ok();
            let number = number.filter(|number| (1..=MAX_PROCESS).contains(number));
            let Some(number) = number else {
                return Err(format!("{line}: expected numbers of processes, found '{word}'"));
            };
            set.insert(ProcessId(number - 1));
        }
        if !set.is_empty() {
            sets.push(set);
        }
    }
    if sets.is_empty() { Err("1: expected one quorum a line".to_owned()) } else { Ok(sets) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quorums_are_kinds_or_lists() {
        let kind: QuorumsOption = "fpp".parse().unwrap();
        assert_eq!((kind.kind(), kind.inlined()), (Some(QuorumKind::Plane), "fpp".to_owned()));
        let custom: QuorumsOption = "1,2/2,3/1,3".parse().unwrap();
        let quorum = |number| custom.custom_quorums().unwrap().quorum(ProcessId(number)).clone();
        assert_eq!(quorum(2), [ProcessId(1), ProcessId(2)].into_iter().collect());
        assert_eq!(quorum(1), [ProcessId(0), ProcessId(1)].into_iter().collect());
        assert_eq!((custom.fixed_size(), custom.inlined()), (Some(3), "1,2/2,3/1,3".to_owned()));
    }

    #[test]
    fn rejects_lists_that_are_no_quorums() {
        let error = |text: &str| text.parse::<QuorumsOption>().unwrap_err();
        assert_eq!(error("1,2/3,4"), "the quorums P1 P2 and P3 P4 do not intersect");
        assert_eq!(error("1,2/2,4"), "P3 is in no quorum");
        assert_eq!(error("1,0"), "expected quorums such as 1,2/2,3/1,3, found '0'");
        assert!(error("round").starts_with("expected pairs, fpp"));
        assert_eq!(read("1 2 # first\n\nP2,P3\n").unwrap().len(), 2);
        assert_eq!(read("1 2\n1 x\n").unwrap_err(), "2: expected numbers of processes, found 'x'");
        assert_eq!(read("#\n").unwrap_err(), "1: expected one quorum a line");
    }
}
