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
    /// The other side proved no key that is listed for the group.
    Unproven,
    /// The handshake did not end in time.
    TooSlow,
    /// Too many connections were in the middle of a handshake, and this was the oldest.
    CrowdedOut,
    /// The connection broke during the handshake.
    Broken,
    /// Another node runs as the same process, from a copy of its state.
    Twin,
    /// The session is too far above those that were seen to be the next of this process.
    FarSession,
}

/// What a refusal by a peer means for a node as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Nothing: another attempt may go well.
    Passing,
    /// The two belong to different groups: it depends on how many say so.
    Counted,
    /// This node is out.
    Final,
}

impl Refusal {
    /// Every refusal, in order of the codes.
    pub const ALL: [Refusal; 14] = [
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
        Refusal::Twin,
        Refusal::FarSession,
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
            Refusal::Twin => "twin",
            Refusal::FarSession => "far_session",
        }
    }

    /// What the refused side is told.
    pub(crate) const fn sentence(self) -> &'static str {
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
            Refusal::OldSession => {
                "a newer session of this process has been seen; if it takes the place of a member, \
                 that is to be removed first"
            }
            Refusal::Unproven => "no key of the group was proven; compare the keys of both nodes",
            Refusal::TooSlow => "the handshake took too long",
            Refusal::CrowdedOut => "too many handshakes at once",
            Refusal::Broken => "the connection broke during the handshake",
            Refusal::Twin => "another node runs as this process, with the same session",
            Refusal::FarSession => "this session is too far above the last that was seen",
        }
    }

    /// The refusal of this code; nothing if this build knows none.
    pub(crate) fn of_code(code: u8) -> Option<Refusal> {
        Refusal::ALL.into_iter().find(|refusal| refusal.code() == code)
    }

    /// What it means for the node that is refused.
    pub(crate) const fn weight(self) -> Weight {
        match self {
            Refusal::OldSession | Refusal::Twin | Refusal::FarSession => Weight::Final,
            Refusal::WrongCluster | Refusal::WrongGroupSize => Weight::Counted,
            _ => Weight::Passing,
        }
    }

    /// What a node that is out is told, and what may be the cause.
    pub(crate) const fn reproach(self) -> &'static str {
        match self {
            Refusal::OldSession => {
                "a newer session of this process has been seen; its saved state was lost or is an \
                 old one, or another node runs as this process"
            }
            Refusal::Twin => {
                "another node runs as this process, with a copy of its state, or the state of this \
                 one was lost; stop one of the two"
            }
            Refusal::FarSession => {
                "the number of this session is too far above the last that was seen; the saved \
                 state is not that of this process"
            }
            Refusal::WrongCluster => {
                "it belongs to another cluster, and with it too many for a majority; compare \
                 cluster.name"
            }
            Refusal::WrongGroupSize => {
                "its group has another size, and with it too many for a majority; compare \
                 cluster.addresses"
            }
            other => other.sentence(),
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
