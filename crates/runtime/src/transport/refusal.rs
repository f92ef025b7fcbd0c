//! Why a handshake is refused: the sentence, the code on the wire, the counter.

use std::fmt;

/// Why a connection was closed before it carried a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    /// What came was not a handshake at all.
    Malformed,
    /// The dialer speaks a version newer than this build knows.
    NewerVersion,
    /// The dialer speaks a version that this build no longer knows.
    OlderVersion,
    /// The dialer belongs to another cluster.
    WrongCluster,
    /// The dialer's group has another number of processes.
    WrongGroupSize,
    /// The dialer is no process of the group, or one that does not dial this one.
    WrongSender,
    /// The dialer looked for another process at this address.
    WrongReceiver,
    /// The dialer's session has been followed by a newer one.
    OldSession,
    /// The other side did not prove that it knows the secret.
    Unproven,
    /// The handshake did not end in time.
    TooSlow,
    /// Too many connections were in the middle of a handshake, and this was the oldest.
    CrowdedOut,
    /// The connection broke during the handshake.
    Broken,
}

impl Refusal {
    /// Every refusal, in order of the codes.
    pub const ALL: [Refusal; 12] = [
        Refusal::Malformed,
        Refusal::NewerVersion,
        Refusal::OlderVersion,
        Refusal::WrongCluster,
        Refusal::WrongGroupSize,
        Refusal::WrongSender,
        Refusal::WrongReceiver,
        Refusal::OldSession,
        Refusal::Unproven,
        Refusal::TooSlow,
        Refusal::CrowdedOut,
        Refusal::Broken,
    ];

    /// The number on the wire and in metrics: 1 for the first. Codes are never reused.
    pub const fn code(self) -> u8 {
        self as u8 + 1
    }

    /// The name in metrics: lower case with underscores.
    pub const fn name(self) -> &'static str {
        match self {
            Refusal::Malformed => "malformed",
            Refusal::NewerVersion => "newer_version",
            Refusal::OlderVersion => "older_version",
            Refusal::WrongCluster => "wrong_cluster",
            Refusal::WrongGroupSize => "wrong_group_size",
            Refusal::WrongSender => "wrong_sender",
            Refusal::WrongReceiver => "wrong_receiver",
            Refusal::OldSession => "old_session",
            Refusal::Unproven => "unproven",
            Refusal::TooSlow => "too_slow",
            Refusal::CrowdedOut => "crowded_out",
            Refusal::Broken => "broken",
        }
    }

    /// What the refused side is told.
    const fn sentence(self) -> &'static str {
        match self {
            Refusal::Malformed => "this is not a handshake of tenure",
            Refusal::NewerVersion => {
                "this node does not speak a version that new; upgrade it first"
            }
            Refusal::OlderVersion => "this node no longer speaks a version that old; upgrade yours",
            Refusal::WrongCluster => "this node belongs to another cluster",
            Refusal::WrongGroupSize => "this node's group has another number of processes",
            Refusal::WrongSender => "no such process dials this node",
            Refusal::WrongReceiver => "another process lives at this address",
            Refusal::OldSession => "a newer session of this process has been seen",
            Refusal::Unproven => "the shared secret was not proven; compare it on both nodes",
            Refusal::TooSlow => "the handshake took too long",
            Refusal::CrowdedOut => "too many handshakes at once",
            Refusal::Broken => "the connection broke during the handshake",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_count_from_one_in_the_order_of_all() {
        for (place, refusal) in Refusal::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(refusal.code()), place + 1, "{refusal:?}");
        }
    }
}
