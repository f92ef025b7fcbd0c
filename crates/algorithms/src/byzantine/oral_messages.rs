//! The oral messages algorithm OM(m): agreement of n > 3m generals of whom at most m lie.
//!
//! L. Lamport, R. Shostak and M. Pease, *The Byzantine generals problem*, ACM TOPLAS 4(3), 1982:
//!
//! ```text
//! OM(0): the commander sends its value to every lieutenant.
//!        Each lieutenant uses the value it receives, or RETREAT if it receives none.
//! OM(m): the commander sends its value to every lieutenant.
//!        Each lieutenant i receives v[i], or takes RETREAT, and acts as the commander of OM(m - 1)
//!        to send v[i] to the n - 2 other lieutenants.
//!        Lieutenant i takes v[j] from lieutenant j in this OM(m - 1), or RETREAT,
//!        and uses majority(v[1], …, v[n - 1]).
//! ```
//!
//! | | |
//! |---|---|
//! | assumes | synchronous rounds, reliable links with known senders, n > 3m |
//! | IC1 | all loyal lieutenants obey the same order |
//! | IC2 | if the commander is loyal, every loyal lieutenant obeys its order |
//! | rounds | m + 1 |
//! | messages | (n − 1) + (n − 1)(n − 2) + … + (n − 1)…(n − m − 1); 9 for n = 4, m = 1 |
//!
//! **Why it is right.** *IC2*: OM(m) satisfies IC2 if at most k generals lie and n > 2k + m. The
//! proof is by induction over m: a majority of the lieutenants is loyal, and all of these report
//! the same value.
//!
//! *IC1*: OM(m) also satisfies IC1 if at most m generals lie and n > 3m. If the commander is loyal,
//! IC1 follows from IC2. If the commander lies, at most m − 1 lieutenants lie, and there are more
//! than 3(m − 1) lieutenants. So OM(m − 1) makes all loyal lieutenants take the same value for each
//! `v[i]`. With three generals, a lieutenant cannot tell a lying commander from a lying lieutenant.
//!
//! A lieutenant passes a value on as soon as the value arrives. Waiting for the end of a round
//! would not change the result: a general stores each value with its *path*, the generals that have
//! sent it, and decides when the values of all paths have arrived.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::byzantine::{
    COMMANDER, General, GeneralsCard, OralMessage, OutgoingMessages, Plan,
};
use tenure_core::{Group, ProcessId};

use crate::Variants;
use crate::variants::variant_ids;

/// One general that follows OM(m).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OralMessagesGeneral {
    group: Group,
    config: Config,
    /// At the commander: the order that it has given. `None` before that, and at all other
    /// generals.
    commanded: Option<Plan>,
    /// Received values. The key of a value is its path: the generals that have sent the value, in
    /// order. A path begins with the commander. It ends with the general from which this general
    /// received the value.
    received: BTreeMap<Vec<ProcessId>, Plan>,
}

/// Configuration of the generals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Number of tolerated liars, the paper's *m*.
    pub tolerated_liars: u32,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

variant_ids! {
    ObeysDirectly = "obeys-directly", unsound,
        "a lieutenant obeys the value from the commander, whatever the others report"
        => "Y-2", "-n 4 --property agreement";
    LeavesItselfOut = "leaves-itself-out", unsound,
        "a lieutenant takes the majority of the reports without the value that it received itself"
        => "Y-3", "-n 4 --property validity";
}

impl OralMessagesGeneral {
    /// Name of the algorithm on the command line.
    pub const NAME: &'static str = "byzantine-generals";

    /// Returns the [`GeneralsCard`] of this algorithm for a group of `size` generals of whom at
    /// most `liars` lie.
    pub fn card(size: u32, liars: u32) -> GeneralsCard {
        GeneralsCard {
            name: Self::NAME,
            title: "oral messages OM(m): n > 3m generals agree though m of them lie",
            paper: "Lamport, Shostak and Pease, The Byzantine generals problem, ACM TOPLAS 4(3), \
                1982",
            assumes: "n > 3m generals, synchronous rounds, reliable links with known senders",
            least_generals: 3 * liars + 1,
            messages: "(n - 1) + (n - 1)(n - 2) + … + (n - 1)…(n - m - 1)",
            message_count: messages(size, liars),
            variants: Variants::<VariantId>::declarations(),
        }
    }

    fn me(&self) -> ProcessId {
        self.group.me()
    }

    /// Returns the generals that are not on `path`, except this general itself.
    fn others(&self, path: &[ProcessId]) -> impl Iterator<Item = ProcessId> {
        let is_other = |peer: &ProcessId| *peer != self.group.me() && !path.contains(peer);
        self.group.processes().filter(is_other)
    }

    /// Returns the value that this general attributes to the last general of `path`, after all
    /// values have arrived. In the paper, this value is the result of OM(m − k) with the last
    /// general as the commander. Here m is the number of tolerated liars, and k is the number of
    /// generals on `path` before the last one.
    fn value(&self, path: &[ProcessId]) -> Plan {
        let direct = self.received[path];
        let is_last_round = path.len() as u32 > self.config.tolerated_liars;
        if is_last_round || self.config.variants.has(VariantId::ObeysDirectly) {
            return direct;
        }
        let mut values: Vec<Plan> =
            self.others(path).map(|j| self.value(&extend(path, j))).collect();
        if !self.config.variants.has(VariantId::LeavesItselfOut) {
            values.push(direct);
        }
        majority(&values)
    }

    /// Returns the number of messages that a lieutenant receives: one for each valid path. A path
    /// begins at the commander, has at most m + 1 generals, and does not contain the lieutenant.
    fn expected(&self) -> u64 {
        let size = u64::from(self.group.size());
        let longest = u64::from(self.config.tolerated_liars) + 1;
        let paths =
            |length: u64| -> u64 { (2..=length).map(|place| size.saturating_sub(place)).product() };
        (1..=longest).map(paths).sum()
    }
}

/// Returns the number of messages that OM(m) sends, where m is `liars`, and `size` is the number of
/// generals.
fn messages(size: u32, liars: u32) -> u64 {
    let factor = |place: u32| u64::from(size.saturating_sub(place));
    (1..=liars + 1).map(|length| (1..=length).map(factor).product::<u64>()).sum()
}

fn extend(path: &[ProcessId], next: ProcessId) -> Vec<ProcessId> {
    path.iter().copied().chain([next]).collect()
}

/// Returns the plan that occurs in more than half of `values`. If there is no such plan, returns
/// [`Plan::Retreat`].
fn majority(values: &[Plan]) -> Plan {
    let attacks = values.iter().filter(|value| **value == Plan::Attack).count();
    if 2 * attacks > values.len() { Plan::Attack } else { Plan::Retreat }
}

impl General for OralMessagesGeneral {
    type Config = Config;

    fn boot(group: Group, config: &Config) -> Self {
        OralMessagesGeneral { group, config: *config, commanded: None, received: BTreeMap::new() }
    }

    fn command(&mut self, plan: Plan) -> OutgoingMessages {
        assert!(self.me() == COMMANDER, "only the commander issues an order");
        self.commanded = Some(plan);
        let message = OralMessage { path: vec![COMMANDER], plan };
        self.others(&[]).map(|peer| (peer, message.clone())).collect()
    }

    fn receive(&mut self, message: OralMessage) -> OutgoingMessages {
        let OralMessage { path, plan } = message;
        let is_last_round = path.len() as u32 > self.config.tolerated_liars;
        let sent = match is_last_round {
            true => Vec::new(),
            false => {
                let report = OralMessage { path: extend(&path, self.me()), plan };
                self.others(&path).map(|peer| (peer, report.clone())).collect()
            }
        };
        self.received.insert(path, plan);
        sent
    }

    fn decision(&self) -> Option<Plan> {
        if self.me() == COMMANDER {
            return self.commanded;
        }
        let is_complete = self.received.len() as u64 == self.expected();
        is_complete.then(|| self.value(&[COMMANDER]))
    }
}
