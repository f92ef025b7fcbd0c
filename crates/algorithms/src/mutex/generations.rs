//! How a token that may be lost is made anew, once: by generations. What the ring and the queue
//! that survive crashes have in common.
//!
//! Whoever suspects a peer may have lost the token to it, and tells the smallest process that it
//! trusts. That one begins a new generation and inquires of everybody that it trusts. Whoever is
//! asked accepts no older token from then on and answers when it has none; when all have
//! answered, the one who asked makes the token of the new generation.

use tenure_core::{Group, ProcessId, ProcessSet, Term};

/// What one process knows of generations, and whom it suspects; `A` is made of the answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Generations<A> {
    group: Group,
    /// The newest generation that we know of; a token of an older one is worth nothing.
    newest: Term,
    suspected: ProcessSet,
    role: Role<A>,
}

/// What this process has to do with the beginning of the newest generation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role<A> {
    /// Nothing any more.
    None,
    /// We owe its maker an answer.
    Owing,
    /// We make its token, when all of these have answered.
    Making {
        /// Who has not answered; perhaps ourselves, while we are inside.
        awaited: ProcessSet,
        /// What the others have answered.
        answers: A,
    },
}

impl<A> Generations<A> {
    /// The first generation, whose token is the first process's.
    pub(crate) fn new(group: Group) -> Self {
        let newest = Term { number: 0, leader: ProcessId(0) };
        Generations { group, newest, suspected: ProcessSet::new(), role: Role::None }
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

    /// Who makes tokens: the smallest that we trust, ourselves included.
    pub(crate) fn maker(&self) -> ProcessId {
        let trusted = self.group.processes().find(|it| self.trusts(*it));
        trusted.unwrap_or(self.group.me())
    }

    pub(crate) fn is_making(&self) -> bool {
        matches!(self.role, Role::Making { .. })
    }

    /// Begins a new generation, unless one has begun since the doubt arose, or is beginning here:
    /// of whom to inquire.
    pub(crate) fn begin(&mut self, doubted: Term, answers: A) -> Option<ProcessSet> {
        if doubted < self.newest || doubted == self.newest && self.is_making() {
            return None;
        }
        let me = self.group.me();
        self.newest = Term { number: self.newest.number.max(doubted.number) + 1, leader: me };
        let mut asked = self.group.peers();
        for peer in &self.suspected {
            asked.remove(peer);
        }
        let mut awaited = asked.clone();
        awaited.insert(me);
        self.role = Role::Making { awaited, answers };
        Some(asked)
    }

    /// Takes note of a generation; tells whether it is newer than all that we knew of.
    pub(crate) fn follow(&mut self, generation: Term) -> bool {
        let is_newer = generation > self.newest;
        if is_newer {
            (self.newest, self.role) = (generation, Role::None);
        }
        is_newer
    }

    /// The same where its maker inquires: we owe it an answer.
    pub(crate) fn owe(&mut self, generation: Term) -> bool {
        let is_newer = self.follow(generation);
        if is_newer {
            self.role = Role::Owing;
        }
        is_newer
    }

    /// Whether the maker of a generation has to be told that it was overtaken, by somebody else:
    /// of its own newer one it knows, and would take this for our answer to it.
    pub(crate) fn has_overtaken(&self, generation: Term) -> bool {
        generation < self.newest && generation.leader != self.newest.leader
    }

    /// To whom we owe an answer, and no longer do.
    pub(crate) fn settle(&mut self) -> Option<ProcessId> {
        if !matches!(self.role, Role::Owing) {
            return None;
        }
        self.role = Role::None;
        Some(self.newest.leader)
    }

    /// What has been answered so far, while we make a token.
    pub(crate) fn answers(&mut self) -> Option<&mut A> {
        match &mut self.role {
            Role::Making { answers, .. } => Some(answers),
            Role::None | Role::Owing => None,
        }
    }

    /// Nothing is awaited of this process any more. After the last one there is what all have
    /// answered, and a token to make.
    pub(crate) fn count(&mut self, from: ProcessId) -> Option<A> {
        let Role::Making { awaited, .. } = &mut self.role else { return None };
        if !awaited.remove(from) || !awaited.is_empty() {
            return None;
        }
        match core::mem::replace(&mut self.role, Role::None) {
            Role::Making { answers, .. } => Some(answers),
            Role::None | Role::Owing => None,
        }
    }
}
