//! Why a request is refused, under the codes and in the words that clients of etcd know.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenure_store::{Code as StoreCode, Error};
use tonic::{Code, Status};
use tracing::warn;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    code: Code,
    words: Cow<'static, str>,
}

impl Refusal {
    /// Nobody leads, as far as this member knows.
    pub(crate) const NO_LEADER: Refusal = unavailable("etcdserver: no leader");
    /// Another leads by now, and what was asked was not done.
    pub(crate) const LEADER_CHANGED: Refusal = unavailable("etcdserver: leader changed");
    /// It took too long; what was asked may yet be done.
    pub(crate) const TIMED_OUT: Refusal = unavailable("etcdserver: request timed out");
    /// The client's deadline passed, and nothing that was asked for is under way.
    pub(crate) const DEADLINE_EXCEEDED: Refusal =
        known(Code::DeadlineExceeded, "context deadline exceeded");
    /// The leader is gone that had taken it; what was asked may yet be done.
    pub(crate) const LEADER_FAILED: Refusal =
        unavailable("etcdserver: request timed out, possibly due to previous leader failure");
    /// The member ends.
    pub(crate) const STOPPED: Refusal = unavailable("etcdserver: server stopped");
    /// More waits to be written than may.
    pub(crate) const TOO_MANY: Refusal =
        known(Code::ResourceExhausted, "etcdserver: too many requests");
    /// A request has more bytes than one may have.
    pub(crate) const TOO_LARGE: Refusal =
        known(Code::InvalidArgument, "etcdserver: request is too large");
    /// An answer would have more bytes than one may have.
    pub(crate) const ANSWER_TOO_LARGE: Refusal = known(
        Code::ResourceExhausted,
        "tenure: the answer has more than 64 MiB; ask for fewer keys at a time, by a limit",
    );
    /// A transaction would compare and read more keys than one may.
    pub(crate) const TOO_MANY_KEYS: Refusal = known(
        Code::ResourceExhausted,
        "tenure: the transaction looks at more than 1048576 keys; ask for fewer at a time",
    );
    /// A range is to be sorted in a way that nobody knows.
    pub(crate) const NO_ORDER: Refusal =
        known(Code::InvalidArgument, "etcdserver: invalid sort option");
    /// A transaction compares in a way that nobody knows.
    pub(crate) const NO_COMPARISON: Refusal =
        known(Code::InvalidArgument, "tenure: the transaction compares in an unknown way");
    /// The client took nothing of an answer for a while.
    pub(crate) const NOT_TAKEN: Refusal =
        known(Code::ResourceExhausted, "tenure: nobody took the answer, and it was dropped");
    /// The client sent too little of a request for a while.
    pub(crate) const NOT_ENDED: Refusal = known(
        Code::ResourceExhausted,
        "tenure: too little came of the request, and it was dropped",
    );
    /// The lead can be given only by who has it, to somebody else.
    pub(crate) const NO_TRANSFEREE: Refusal =
        known(Code::FailedPrecondition, "etcdserver: bad leader transferee");
    /// Another leads, and only who leads gives the lead away.
    pub(crate) const LEADS_NOT: Refusal = known(Code::FailedPrecondition, "etcdserver: not leader");
    /// Nothing is known of the health of that service.
    pub(crate) const NO_SERVICE: Refusal = known(Code::NotFound, "unknown service");
    /// There is no member with that number.
    pub(crate) const NO_MEMBER: Refusal = known(Code::NotFound, "etcdserver: member not found");
    /// Somebody who is a member has that URL.
    pub(crate) const URL_IN_USE: Refusal =
        known(Code::FailedPrecondition, "etcdserver: Peer URLs already exists");
    /// Nobody is to have that URL.
    pub(crate) const URL_UNKNOWN: Refusal = known(
        Code::FailedPrecondition,
        "tenure: no member of --initial-cluster has that peer URL, and others cannot be added",
    );
    /// A member is to have URLs that are none.
    pub(crate) const URL_INVALID: Refusal =
        known(Code::InvalidArgument, "etcdserver: given member URLs are invalid");
    /// Only who has the log without a vote can be promoted.
    pub(crate) const NO_LEARNER: Refusal =
        known(Code::FailedPrecondition, "etcdserver: can only promote a learner member");
    /// Who is to vote lacks too much of the log, or does not run.
    pub(crate) const NOT_CAUGHT_UP: Refusal = known(
        Code::FailedPrecondition,
        "etcdserver: can only promote a learner member which is in sync with leader",
    );
    /// Another change of members is under way.
    pub(crate) const CHANGING: Refusal =
        unavailable("tenure: another change of members is under way");
    /// A cluster has one member that votes.
    pub(crate) const NOBODY_LEFT: Refusal =
        known(Code::FailedPrecondition, "tenure: nobody who votes would be left");
    /// There is no such user, or the password is another.
    pub(crate) const AUTH_FAILED: Refusal = known(
        Code::InvalidArgument,
        "etcdserver: authentication failed, invalid user ID or password",
    );
    /// A token that was not given, is of another password, or has expired.
    pub(crate) const INVALID_TOKEN: Refusal =
        known(Code::Unauthenticated, "etcdserver: invalid auth token");
    /// It was not said what is granted.
    pub(crate) const PERMISSION_MISSING: Refusal =
        known(Code::InvalidArgument, "etcdserver: permission not given");
    /// The lease that a claim ends with has ended while it waited.
    pub(crate) const SESSION_OVER: Refusal = known(Code::Unknown, "mutex: session is expired");
    /// The same of an election.
    pub(crate) const CANDIDATE_OVER: Refusal = known(Code::Unknown, "election: session is expired");
    /// Whoever proclaims does not lead.
    pub(crate) const NOT_LEADER: Refusal = known(Code::Unknown, "election: not leader");
    /// Nobody leads.
    pub(crate) const VACANT: Refusal = known(Code::Unknown, "election: no leader");
    /// It was not said who leads.
    pub(crate) const LEADER_MISSING: Refusal =
        known(Code::Unknown, "\"leader\" field must be provided");

    /// What a member does not do.
    pub(crate) fn unimplemented(what: &str) -> Refusal {
        Refusal { code: Code::Unimplemented, words: format!("{what} is not served").into() }
    }

    /// A service or a method that does not exist.
    pub(crate) fn unknown(words: String) -> Refusal {
        Refusal { code: Code::Unimplemented, words: words.into() }
    }

    /// As clients of etcd in Go write it, for where there is no place for a code.
    pub(crate) fn in_words_of_grpc(&self) -> String {
        format!("rpc error: code = {:?} desc = {}", self.code, self.words)
    }

    /// The same words under the code that the services of locks and elections use for everything.
    pub(crate) fn into_unknown(self) -> Refusal {
        match self.code {
            Code::Unavailable
            | Code::ResourceExhausted
            | Code::PermissionDenied
            | Code::Unauthenticated => self,
            // Whoever does not say who they are is told so.
            _ if self == Error::UserEmpty.into() => self,
            _ => Refusal { code: Code::Unknown, ..self },
        }
    }
}

const fn known(code: Code, words: &'static str) -> Refusal {
    Refusal { code, words: Cow::Borrowed(words) }
}

const fn unavailable(words: &'static str) -> Refusal {
    known(Code::Unavailable, words)
}

/// How many requests were refused, by the code.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    counts: [AtomicU64; 17],
    /// When one that somebody had no right to was last told of in the log.
    told: Mutex<Option<Instant>>,
}

impl Refusals {
    pub(crate) fn note(&self, code: Code) {
        if let Some(count) = self.counts.get(i32::from(code) as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Somebody asked for what they have no right to, or did not prove who they are: the log says
    /// so, once in a second.
    pub(crate) fn tell(&self, status: &Status, who: &str, path: &str) {
        let is_of_access = matches!(status.code(), Code::PermissionDenied | Code::Unauthenticated)
            || [Refusal::AUTH_FAILED, Error::UserEmpty.into()]
                .iter()
                .any(|it| it.words == status.message());
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if is_of_access && told.is_none_or(|told| told.elapsed() >= Duration::from_secs(1)) {
            *told = Some(Instant::now());
            let (code, why) = (i32::from(status.code()), status.message());
            let who = who.trim_end();
            warn!("{who} was refused {path} with code {code}: {why}");
        }
    }

    /// Those that there were, with the number of each code.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).enumerate();
        counts.filter(|(_, count)| *count > 0)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let code = match error.code() {
            StoreCode::InvalidArgument => Code::InvalidArgument,
            StoreCode::NotFound => Code::NotFound,
            StoreCode::FailedPrecondition => Code::FailedPrecondition,
            StoreCode::OutOfRange => Code::OutOfRange,
            StoreCode::PermissionDenied => Code::PermissionDenied,
            StoreCode::ResourceExhausted => Code::ResourceExhausted,
        };
        known(code, error.words())
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        Status::new(refusal.code, refusal.words)
    }
}
