//! The members of a log.

use core::fmt;

use alloc::string::String;

use crate::process::ProcessId;
use crate::process_set::ProcessSet;

/// Members that keep a log: a subset of the group, or all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Members {
    /// Members that vote and count for a majority.
    pub voters: ProcessSet,
    /// Former voters, while a membership change is in progress. Each decision then needs a majority
    /// of the former voters as well. Empty at all other times.
    pub outgoing: ProcessSet,
    /// Members that receive the log and do not vote.
    pub learners: ProcessSet,
}

impl Members {
    /// Creates members without learners: each of `voters` votes.
    pub fn from_voters(voters: ProcessSet) -> Self {
        Members { voters, ..Members::default() }
    }

    /// Returns true during a membership change.
    pub fn is_joint(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Returns true if `process` is a voter. During a membership change, a former voter also counts
    /// as a voter.
    pub fn is_voter(&self, process: ProcessId) -> bool {
        self.voters.contains(process) || self.outgoing.contains(process)
    }

    /// Returns all voters, including those that a membership change removes.
    pub fn all_voters(&self) -> ProcessSet {
        self.voters.iter().chain(&self.outgoing).collect()
    }

    /// Returns all voters and learners, including those that a membership change removes.
    pub fn all(&self) -> ProcessSet {
        self.voters.iter().chain(&self.outgoing).chain(&self.learners).collect()
    }

    /// Returns true if `processes` contains a majority of the voters. During a membership change, a
    /// majority of the former voters and a majority of the new voters are needed.
    pub fn is_majority(&self, processes: &ProcessSet) -> bool {
        let of = |side: &ProcessSet| {
            let there = side.iter().filter(|process| processes.contains(*process)).count() as u64;
            there * 2 > u64::from(side.len())
        };
        of(&self.voters) && (self.outgoing.is_empty() || of(&self.outgoing))
    }

    /// Parses members from a text such as `1,2,3/4`: the voters, and the learners after a `/`.
    /// Empty items are ignored. Returns `None` if the text has another form, or if a number is 0 or
    /// above 2¹⁶.
    pub fn parse(text: &str) -> Option<Self> {
        let (voters, learners) = text.split_once('/').unwrap_or((text, ""));
        Some(Members { learners: processes(learners)?, ..Members::from_voters(processes(voters)?) })
    }

    /// Formats the voters and learners for [`Members::parse`]. The text omits the outgoing voters
    /// of a membership change.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        list(&mut text, &self.voters, "");
        if !self.learners.is_empty() {
            text.push('/');
            list(&mut text, &self.learners, "");
        }
        text
    }
}

fn processes(text: &str) -> Option<ProcessSet> {
    let numbers = text.split(',').filter(|number| !number.is_empty());
    // Larger numbers are invalid, because a set with a large member needs much memory.
    let index =
        |number: &str| number.parse::<u32>().ok()?.checked_sub(1).filter(|it| *it < 1 << 16);
    numbers.map(|number| index(number).map(ProcessId)).collect()
}

fn list(to: &mut impl fmt::Write, processes: &ProcessSet, before: &str) {
    for (place, process) in processes.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        let _ = write!(to, "{comma}{before}{}", process.display_number());
    }
}

/// Displays the voters, such as `P1,P2,P3`, then the learners, then the outgoing voters.
impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, &self.voters, "P");
        if !self.learners.is_empty() {
            f.write_str(" and learning ")?;
            list(f, &self.learners, "P");
        }
        if !self.outgoing.is_empty() {
            f.write_str(" instead of ")?;
            list(f, &self.outgoing, "P");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn of(numbers: &[u32]) -> ProcessSet {
        numbers.iter().map(|number| ProcessId(number - 1)).collect()
    }

    #[test]
    fn text_form_round_trips() {
        for (text, shown) in [("1,2,3", "P1,P2,P3"), ("2/4,5", "P2 and learning P4,P5")] {
            let members = Members::parse(text).expect("members");
            assert_eq!((&*members.to_text(), &*members.to_string()), (text, shown));
        }
        for wrong in ["0", "1,x", "1/0", "4000000000"] {
            assert_eq!(Members::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn joint_majority_needs_both_sides_without_learners() {
        let old = of(&[1, 2, 3]);
        let joint =
            Members { outgoing: old, learners: of(&[6]), ..Members::from_voters(of(&[3, 4, 5])) };
        for (processes, is) in
            [(&[1, 2][..], false), (&[4, 5, 6], false), (&[1, 3, 4], true), (&[2, 3, 6], false)]
        {
            assert_eq!(joint.is_majority(&of(processes)), is, "{processes:?}");
        }
        assert!(Members::from_voters(of(&[1, 2, 3])).is_majority(&of(&[1, 3])));
        assert!(joint.is_voter(ProcessId(0)) && !joint.is_voter(ProcessId(5)));
        assert_eq!(joint.all(), ProcessSet::first_n(6));
    }
}
