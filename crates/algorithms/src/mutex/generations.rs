//! Generations of tokens: each generation has at most one token, and a new generation replaces a
//! token that may be lost. [`FaultTolerantTokenRing`](super::FaultTolerantTokenRing) and
//! [`NishioLiManning`](super::NishioLiManning) use generations.
//!
//! A process that suspects a peer assumes that the peer may have had the token. It notifies the
//! smallest process that it trusts. That process, the maker, starts a new generation and sends an
//! inquiry to all processes that it trusts. From then on, the receiver of an inquiry rejects older
//! tokens. The receiver responds as soon as it is outside the critical section. When all inquired
//! processes have responded and the maker itself is outside, the maker creates the token of the new
//! generation.

use tenure_core::{Group, ProcessId, ProcessSet, Term};

/// State of one process for the generations of a token. It contains the newest generation that the
/// process knows, and the role of the process while the token of this generation is being created.
/// `Responses` is the type that collects the responses to an inquiry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TokenGenerations<Responses> {
    group: Group,
    /// Newest known generation. Tokens of older generations are invalid.
    newest: Term,
    suspected: ProcessSet,
    role: Role<Responses>,
}

/// Role of this process while the token of the newest generation is being made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role<Responses> {
    /// The process does not make the token of the newest generation, and need not respond to the
    /// process that makes it.
    None,
    /// The process must respond to the inquiry of the maker, the process that makes the token.
    MustRespond,
    /// The process makes the token once all awaited processes have responded.
    Making {
        /// Processes that have not responded. This process is one of them while it is inside the
        /// critical section.
        awaited: ProcessSet,
        responses: Responses,
    },
}

impl<Responses> TokenGenerations<Responses> {
    /// Returns the state at the start of the group, when the first process has the token of the
    /// first generation.
    pub(crate) fn new(group: Group) -> Self {
        let newest = Term { number: 0, leader: ProcessId(0) };
        TokenGenerations { group, newest, suspected: ProcessSet::new(), role: Role::None }
    }

    pub(crate) fn newest(&self) -> Term {
        self.newest
    }

    pub(crate) fn trusts(&self, peer: ProcessId) -> bool {
        !self.suspected.contains(peer)
    }

    pub(crate) fn suspect(&mut self, peer: ProcessId) {
        self.suspected.insert(peer);
    }

    pub(crate) fn trust(&mut self, peer: ProcessId) {
        self.suspected.remove(peer);
    }

    /// Returns the process that makes tokens. It is the smallest process that this process trusts,
    /// and may be this process itself.
    pub(crate) fn token_maker(&self) -> ProcessId {
        let trusted = self.group.processes().find(|it| self.trusts(*it));
        trusted.unwrap_or(self.group.me())
    }

    pub(crate) fn is_regenerating(&self) -> bool {
        matches!(self.role, Role::Making { .. })
    }

    /// Starts a new generation, because the token of the generation `doubted` may be lost. Returns
    /// the processes that this process must ask to give up their older tokens. Returns `None` if
    /// this process knows a generation newer than `doubted`, or if it is still creating the token
    /// of the generation `doubted`.
    pub(crate) fn start_regeneration(
        &mut self,
        doubted: Term,
        responses: Responses,
    ) -> Option<ProcessSet> {
        if doubted < self.newest || doubted == self.newest && self.is_regenerating() {
            return None;
        }
        let me = self.group.me();
        self.newest = Term { number: self.newest.number.max(doubted.number) + 1, leader: me };
        let mut inquired = self.group.peers();
        for peer in &self.suspected {
            inquired.remove(peer);
        }
        let mut awaited = inquired.clone();
        awaited.insert(me);
        self.role = Role::Making { awaited, responses };
        Some(inquired)
    }

    /// Records a generation that another process has reported. Returns true if the generation is
    /// newer than all known generations. This process then no longer makes the token of an older
    /// generation, and owes no response to an older inquiry.
    pub(crate) fn observe(&mut self, generation: Term) -> bool {
        let is_newer = generation > self.newest;
        if is_newer {
            (self.newest, self.role) = (generation, Role::None);
        }
        is_newer
    }

    /// Handles an inquiry. The sender of the inquiry wants to create the token of the generation
    /// `generation`. If this generation is newer than all generations that this process knows,
    /// records that a response is due and returns true.
    pub(crate) fn observe_inquiry(&mut self, generation: Term) -> bool {
        let is_newer = self.observe(generation);
        if is_newer {
            self.role = Role::MustRespond;
        }
        is_newer
    }

    /// Returns true if this process must tell the maker of `generation` that a newer generation
    /// exists. The maker of a generation is the process that makes its token. If the same process
    /// is the maker of the newer generation, returns false, because that process knows the newer
    /// generation.
    pub(crate) fn must_report_newer(&self, generation: Term) -> bool {
        generation < self.newest && generation.leader != self.newest.leader
    }

    /// Marks the pending inquiry as answered, and returns its sender. The caller then sends the
    /// response. Returns `None` if no inquiry is pending.
    pub(crate) fn finish_pending_inquiry(&mut self) -> Option<ProcessId> {
        if !matches!(self.role, Role::MustRespond) {
            return None;
        }
        self.role = Role::None;
        Some(self.newest.leader)
    }

    /// Returns the responses so far. `None` unless this process makes a token.
    pub(crate) fn responses(&mut self) -> Option<&mut Responses> {
        match &mut self.role {
            Role::Making { responses, .. } => Some(responses),
            Role::None | Role::MustRespond => None,
        }
    }

    /// Stops awaiting the response of the process `from`. If `from` was the last awaited process,
    /// returns all responses, and the caller can create the token of the new generation. Returns
    /// `None` if other responses are awaited, if `from` was not awaited, or if this process makes
    /// no token.
    pub(crate) fn stop_awaiting(&mut self, from: ProcessId) -> Option<Responses> {
        let Role::Making { awaited, .. } = &mut self.role else { return None };
        if !awaited.remove(from) || !awaited.is_empty() {
            return None;
        }
        match core::mem::replace(&mut self.role, Role::None) {
            Role::Making { responses, .. } => Some(responses),
            Role::None | Role::MustRespond => None,
        }
    }
}
