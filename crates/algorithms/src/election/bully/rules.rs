//! The rules that a variant changes: in each the right one stands first, the mistakes below it.

use tenure_core::{Group, ProcessId, ProcessSet, Term};

use crate::Variants;
use crate::variants::switches;

switches! {
    TellAll = "tell-all", sound,
        "an election is told to all, not only to those above";
    LiteralRestart = "literal-restart", sound,
        "every election message starts another election, not one per election";
    AnnounceLower = "announce-lower", unsound,
        "the result is told only to those below, so a rival above never learns"
        => "7-B4", "-n 2 --variant announce-lower,no-terms --crash 1 --recover 1";
    AcceptLower = "accept-lower", unsound,
        "an announcement of a lower process is believed"
        => "7-B3",
        "-n 2 --variant accept-lower,no-terms --crash 1 --recover 1 --property agreement";
    IgnoreLower = "ignore-lower", unsound,
        "an announcement of a lower process is ignored, where it should start an election"
        => "7-B4", "-n 2 --variant ignore-lower,no-terms --crash 1 --recover 1";
    NoTerms = "no-terms", unsound,
        "announcements carry no term, so a late one overwrites a newer one"
        => "", "-n 2 --crash 1 --recover 1";
    IgnoreAnswers = "ignore-answers", unsound,
        "an answer changes nothing: whoever has asked leads, though somebody higher is alive"
        => "", "-n 3 --down 3 --property one-leader-at-a-time";
    ForgottenNumber = "forgotten-number", unsound,
        "the number is not saved: whoever comes back leads once more in a term that is over"
        => "", "-n 2 --crash 1 --recover 1 --property fresh-terms";
    Greet = "greet", sound,
        "a leader announces itself to a peer that is trusted again: heals partitions";
}

/// The rules that a process follows.
#[derive(Clone, Copy)]
pub(super) struct Rules(pub(super) Variants<Switch>);

/// Who hears what.
impl Rules {
    /// Who is asked in an election.
    pub(super) fn asked(self, higher: ProcessSet, group: Group) -> ProcessSet {
        if !self.0.has(Switch::TellAll) { higher } else { group.peers() }
    }

    /// Whom a leader tells.
    pub(super) fn told(self, group: Group, outranks_me: impl Fn(ProcessId) -> bool) -> ProcessSet {
        if !self.0.has(Switch::AnnounceLower) {
            return group.peers();
        }
        group.peers().iter().filter(|peer| !outranks_me(*peer)).collect()
    }

    /// Whether an election message starts an election of ours: once, if we are free to.
    pub(super) fn starts(self, is_free: bool) -> bool {
        is_free || self.0.has(Switch::LiteralRestart)
    }

    /// Whether we believe whoever announces itself.
    pub(super) fn believes(self, outranks_me: bool) -> bool {
        outranks_me || self.0.has(Switch::AcceptLower)
    }

    /// Whether a lower process that announces itself makes us start an election.
    pub(super) fn challenges_lower(self) -> bool {
        !self.0.has(Switch::IgnoreLower)
    }

    /// Whether an answer of somebody higher makes us wait for its announcement.
    pub(super) fn waits_for_higher(self) -> bool {
        !self.0.has(Switch::IgnoreAnswers)
    }

    /// Whether a leader announces itself to a peer that is trusted again.
    pub(super) fn greets(self) -> bool {
        self.0.has(Switch::Greet)
    }
}

/// Terms.
impl Rules {
    /// The number that comes after one that may be in use.
    pub(super) fn after(self, number: u64) -> u64 {
        if self.has_terms() { number + 1 } else { number }
    }

    /// The number that is saved.
    pub(super) fn saved(self, number: u64) -> u64 {
        if self.0.has(Switch::ForgottenNumber) { 0 } else { number }
    }

    /// A number as messages carry it: 0 where there are no terms.
    pub(super) fn carried(self, number: u64) -> u64 {
        if self.has_terms() { number } else { 0 }
    }

    /// Whether a term was announced later than it should have been.
    pub(super) fn is_late(self, term: Term, announced: Term) -> bool {
        term < announced && self.has_terms()
    }

    /// Whether somebody who knows of `number` is ahead of whom we announced.
    pub(super) fn overtakes(self, number: u64, announced: u64) -> bool {
        number >= announced && self.has_terms()
    }

    fn has_terms(self) -> bool {
        !self.0.has(Switch::NoTerms)
    }
}
