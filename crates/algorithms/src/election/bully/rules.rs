//! Rules of the algorithm. A variant can replace a rule by another rule, which is often a mistake.

use tenure_core::{Group, ProcessId, ProcessSet, Term};

use crate::Variants;
use crate::variants::variant_ids;

variant_ids! {
    TellAll = "tell-all", sound,
        "an election is announced to all, not only to higher processes";
    LiteralRestart = "literal-restart", sound,
        "every election message starts another election, not one per election";
    AnnounceLower = "announce-lower", unsound,
        "the result is sent only to lower processes, so a higher rival never learns it"
        => "7-B4", "-n 2 --variant announce-lower,no-terms --crash 1 --recover 1";
    AcceptLower = "accept-lower", unsound,
        "an announcement of a lower process is accepted"
        => "7-B3",
        "-n 2 --variant accept-lower,no-terms --crash 1 --recover 1 --property agreement";
    IgnoreLower = "ignore-lower", unsound,
        "an announcement of a lower process is ignored, where it should start an election"
        => "7-B4", "-n 2 --variant ignore-lower,no-terms --crash 1 --recover 1";
    NoTerms = "no-terms", unsound,
        "announcements carry no term, so a late one overwrites a newer one"
        => "", "-n 2 --crash 1 --recover 1";
    IgnoreAnswers = "ignore-answers", unsound,
        "answers are ignored: the initiator leads although a higher process is alive"
        => "", "-n 3 --down 3 --property one-leader-at-a-time";
    ForgottenNumber = "forgotten-number", unsound,
        "the number is not saved: a restarted process leads again in a term that has ended"
        => "", "-n 2 --crash 1 --recover 1 --property fresh-terms";
    Greet = "greet", sound,
        "a leader announces itself to a peer that is trusted again: heals partitions";
}

/// Rules of the algorithm under the given variants.
#[derive(Clone, Copy)]
pub(super) struct Rules(pub(super) Variants<VariantId>);

/// Rules that determine the recipients of messages, and the reactions to messages.
impl Rules {
    pub(super) fn election_recipients(self, higher: ProcessSet, group: Group) -> ProcessSet {
        if !self.0.has(VariantId::TellAll) { higher } else { group.peers() }
    }

    /// Returns the processes to which a winner announces itself.
    pub(super) fn announcement_recipients(
        self,
        group: Group,
        outranks_me: impl Fn(ProcessId) -> bool,
    ) -> ProcessSet {
        if !self.0.has(VariantId::AnnounceLower) {
            return group.peers();
        }
        group.peers().iter().filter(|peer| !outranks_me(*peer)).collect()
    }

    /// Returns true if an election message makes its receiver start an election. `is_idle` is true
    /// if the receiver has no election in progress.
    pub(super) fn starts_election(self, is_idle: bool) -> bool {
        is_idle || self.0.has(VariantId::LiteralRestart)
    }

    /// Returns true if this process accepts the announcement of a leader. By the correct rule, the
    /// leader must outrank this process. A variant with a mistake accepts every leader. For a
    /// process that has resigned, the caller sets `outranks_me` to true.
    pub(super) fn accepts_leader(self, outranks_me: bool) -> bool {
        outranks_me || self.0.has(VariantId::AcceptLower)
    }

    /// Returns true if this process starts an election when a process of lower rank announces
    /// itself as the leader.
    pub(super) fn challenges_lower_leader(self) -> bool {
        !self.0.has(VariantId::IgnoreLower)
    }

    /// Returns true if this process waits for an announcement after it has received an answer of a
    /// process of higher rank.
    pub(super) fn waits_for_higher(self) -> bool {
        !self.0.has(VariantId::IgnoreAnswers)
    }

    /// Returns true if a leader announces itself to a peer that is trusted again.
    pub(super) fn announces_when_trusted(self) -> bool {
        self.0.has(VariantId::Greet)
    }
}

/// Rules about terms.
impl Rules {
    /// Returns the number of the term that follows the term `number`. In the variant without terms,
    /// returns `number` itself.
    pub(super) fn next_term_number(self, number: u64) -> u64 {
        if self.has_terms() { number + 1 } else { number }
    }

    /// Returns the number to save: `number`, or 0 in the variant that forgets the number in a
    /// crash.
    pub(super) fn term_number_to_save(self, number: u64) -> u64 {
        if self.0.has(VariantId::ForgottenNumber) { 0 } else { number }
    }

    /// Returns the number to put into a message: `number`, or 0 in the variant without terms.
    pub(super) fn term_number_to_send(self, number: u64) -> u64 {
        if self.has_terms() { number } else { 0 }
    }

    /// Returns true if `term` is older than `announced`, the highest announced term that this
    /// process knows. In the variant without terms, always returns false.
    pub(super) fn is_outdated(self, term: Term, announced: Term) -> bool {
        term < announced && self.has_terms()
    }

    /// Returns true if `peer_number` is at least `announced`. `peer_number` is the term number in
    /// the answer of another process, and `announced` is the number that this process has
    /// announced. In the variant without terms, always returns false.
    pub(super) fn overtakes(self, peer_number: u64, announced: u64) -> bool {
        peer_number >= announced && self.has_terms()
    }

    fn has_terms(self) -> bool {
        !self.0.has(VariantId::NoTerms)
    }
}
