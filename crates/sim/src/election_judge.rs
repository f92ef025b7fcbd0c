use tenure_core::monitors::{Agreement, OneLeader, Scope};
use tenure_core::service::election;
use tenure_core::{Observed, ProcessId, Property, Term};

use crate::beliefs::Beliefs;
use crate::judge::Kept;
use crate::verdict::{Finding, Verdict};
use crate::{Ask, Heard, Settings};

/// Judges elections: by the monitors of the core, from what users ask and are told.
#[derive(Debug)]
pub(crate) struct ElectionJudge {
    agreement: Kept<Agreement>,
    overall: Kept<OneLeader>,
    per_term: Kept<OneLeader>,
    irrevocability: Irrevocability,
    /// What decides each process's rank.
    best: Best,
}

type Seen<'a> = Observed<'a, election::Command, election::Event>;

impl ElectionJudge {
    pub(crate) fn new(settings: &Settings) -> Self {
        ElectionJudge {
            agreement: Kept::new(Agreement::new()),
            overall: Kept::new(OneLeader::new(Scope::Overall)),
            per_term: Kept::new(OneLeader::new(Scope::PerTerm)),
            irrevocability: Irrevocability::new(settings.size),
            best: Best::of(settings),
        }
    }

    pub(crate) fn asked(&mut self, ask: Ask) {
        if matches!(ask, Ask::Elect | Ask::Resign) {
            self.irrevocability.epoch += 1;
        }
    }

    /// Something happened that may rightly start another election.
    pub(crate) fn upset(&mut self) {
        self.irrevocability.epoch += 1;
    }

    pub(crate) fn told(&mut self, time: u64, at: ProcessId, heard: Heard) {
        let event = match heard {
            Heard::Elected { leader, term } => {
                self.irrevocability.elected(time, at, leader, term);
                election::Event::Elected { leader, term }
            }
            Heard::Deposed { term } => {
                self.irrevocability.forget(at);
                election::Event::Deposed { term }
            }
            _ => return,
        };
        self.each(time, at, Observed::Event(&event));
    }

    pub(crate) fn crashed(&mut self, time: u64, at: ProcessId) {
        self.irrevocability.forget(at);
        self.upset();
        self.each(time, at, Observed::Crashed);
    }

    pub(crate) fn recovered(&mut self, time: u64, at: ProcessId) {
        self.upset();
        self.each(time, at, Observed::Recovered);
    }

    /// Judges the end. `ended`: the run was not cut short.
    pub(crate) fn findings(
        &mut self,
        time: u64,
        ended: bool,
        up: &[bool],
        beliefs: &Beliefs,
    ) -> Vec<Finding> {
        let otherwise = if ended { Verdict::Holds } else { Verdict::Incomplete };
        if ended {
            self.agreement.end::<election::Command, election::Event>(time);
        }
        let mut findings = vec![self.agreement.finding(otherwise)];
        let validity = ended.then(|| self.best.invalid(up, beliefs)).flatten();
        findings.push(match validity {
            Some((at, says)) => Finding::violated(Property::Validity, time, at, says),
            None => Finding::undisputed(Property::Validity, otherwise),
        });
        let leaders: Vec<ProcessId> = beliefs.leaders(up).collect();
        findings.push(match leaders.as_slice() {
            _ if !ended => Finding::undisputed(Property::Uniqueness, otherwise),
            [first, second, ..] => {
                let says = format!("in the end {first} and {second} both lead");
                Finding::violated(Property::Uniqueness, time, *second, says)
            }
            [] if beliefs.anybody(up) => {
                let says = "in the end some believe in a leader, but nobody leads".to_owned();
                Finding::violated(Property::Uniqueness, time, ProcessId(0), says)
            }
            _ => Finding::undisputed(Property::Uniqueness, Verdict::Holds),
        });
        findings.push(self.irrevocability.finding());
        findings.push(self.overall.finding(Verdict::Holds));
        findings.push(self.per_term.finding(Verdict::Holds));
        findings
    }

    fn each(&mut self, time: u64, at: ProcessId, seen: Seen<'_>) {
        self.agreement.observe(time, at, seen);
        self.overall.observe(time, at, seen);
        self.per_term.observe(time, at, seen);
    }
}

/// Without terms, nobody changes its mind unless somebody asked for an election, crashed, came
/// back or was suspected in between.
#[derive(Debug, Default)]
struct Irrevocability {
    epoch: u32,
    told: Vec<Belief>,
    violation: Option<Finding>,
}

/// What a process was told last, and when: compact, for there may be a million.
#[derive(Clone, Copy, Debug)]
struct Belief {
    epoch: u32,
    /// The largest number for nobody.
    leader: u32,
}

const NOTHING: Belief = Belief { epoch: 0, leader: u32::MAX };

impl Irrevocability {
    fn new(size: u32) -> Self {
        Irrevocability { told: vec![NOTHING; size as usize], ..Irrevocability::default() }
    }

    fn elected(&mut self, time: u64, at: ProcessId, leader: ProcessId, term: Term) {
        let Some(told) = self.told.get_mut(at.index()) else { return };
        if term.number > 0 {
            // A term names its leader, and that terms only grow is what agreement judges.
            *told = NOTHING;
            return;
        }
        let before = std::mem::replace(told, Belief { epoch: self.epoch, leader: leader.0 });
        let changed = before.leader != NOTHING.leader && before.leader != leader.0;
        if changed && before.epoch == self.epoch && self.violation.is_none() {
            let old = ProcessId(before.leader);
            let says = format!("{at} believed in {old} and then in {leader} in one election");
            self.violation = Some(Finding::violated(Property::Irrevocability, time, at, says));
        }
    }

    fn forget(&mut self, at: ProcessId) {
        if let Some(told) = self.told.get_mut(at.index()) {
            *told = NOTHING;
        }
    }

    fn finding(&self) -> Finding {
        let holds = || Finding::undisputed(Property::Irrevocability, Verdict::Holds);
        self.violation.clone().unwrap_or_else(holds)
    }
}

/// Who ought to lead: the largest live rank.
#[derive(Debug)]
struct Best {
    ranks: std::sync::Arc<[tenure_core::Rank]>,
}

impl Best {
    fn of(settings: &Settings) -> Self {
        Best { ranks: settings.ranks.clone() }
    }

    /// A live process that believes in somebody else than the largest live rank.
    fn invalid(&self, up: &[bool], beliefs: &Beliefs) -> Option<(ProcessId, String)> {
        let live = || (0..up.len()).filter(|place| up[*place]);
        let best = if self.ranks.is_empty() {
            live().next_back()
        } else {
            live().max_by_key(|place| self.ranks[*place])
        };
        let best = ProcessId::at(best?);
        live().map(ProcessId::at).find_map(|process| {
            let leader = beliefs.of(process)?;
            let says =
                || format!("in the end {process} believes in {leader}; {best} ranks highest");
            (leader != best).then(|| (process, says()))
        })
    }
}
