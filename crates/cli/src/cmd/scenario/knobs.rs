//! What can be varied about a scenario.

use clap::Args;

use crate::cmd::failure::Failure;

/// The options of all scenarios; each takes some of them.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Knobs {
    /// How many processes
    #[arg(short, value_name = "N")]
    n: Option<u32>,
    /// Two generals: the least that a message takes, in units
    #[arg(long, value_name = "D")]
    min: Option<u64>,
    /// Two generals: the most that it takes
    #[arg(long, value_name = "D")]
    max: Option<u64>,
    /// Two generals: how long the leader waits before it attacks
    #[arg(long, value_name = "D")]
    wait: Option<u64>,
    /// How many seeds
    #[arg(long, value_name = "K")]
    seeds: Option<u64>,
    /// The race: what the counter is at the start
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    start: Option<i64>,
}

/// An option, and between which ends it makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knob {
    /// From and to.
    N(u32, u32),
    Min,
    Max,
    Wait,
    Seeds,
    Start,
}

impl Knob {
    const fn name(self) -> &'static str {
        match self {
            Knob::N(..) => "-n",
            Knob::Min => "--min",
            Knob::Max => "--max",
            Knob::Wait => "--wait",
            Knob::Seeds => "--seeds",
            Knob::Start => "--start",
        }
    }
}

/// More seeds than this take longer than anybody waits for an example.
const MOST_SEEDS: u64 = 100_000;
/// Longer times than this are not worth telling apart.
const LONGEST: u64 = 1_000_000_000;

impl Knobs {
    /// How many processes there are, five unless somebody says so.
    pub(super) fn n(&self) -> u32 {
        self.n.unwrap_or(5)
    }

    /// How many there are, `otherwise` unless somebody says so.
    pub(super) fn n_or(&self, otherwise: u32) -> u32 {
        self.n.unwrap_or(otherwise)
    }

    /// From and to what a message takes, in units.
    pub(super) fn delay(&self) -> (u64, u64) {
        let max = self.max.unwrap_or(self.min.map_or(10, |min| min.max(10)));
        (self.min.unwrap_or(max.min(2)), max)
    }

    pub(super) fn wait(&self) -> u64 {
        self.wait.unwrap_or(self.delay().0)
    }

    pub(super) fn seeds(&self, otherwise: u64) -> u64 {
        self.seeds.unwrap_or(otherwise)
    }

    pub(super) fn start(&self) -> i64 {
        self.start.unwrap_or(5)
    }

    /// Refuses what was given and means nothing here.
    pub(super) fn check(&self, scenario: &str, takes: &[Knob]) -> Result<(), Failure> {
        let knows = |name: &str| takes.iter().any(|knob| knob.name() == name);
        if let Some(strange) = self.given().find(|name| !knows(name)) {
            let known: Vec<_> = takes.iter().map(|knob| knob.name()).collect();
            let known = if known.is_empty() { "no option".to_owned() } else { known.join(", ") };
            return Err(Failure::usage(format!("{scenario} takes {known}, and not {strange}")));
        }
        for knob in takes {
            if let (Knob::N(least, most), Some(n)) = (*knob, self.n)
                && !(least..=most).contains(&n)
            {
                let says = format!("-n {n} makes no sense for {scenario}; give {least} to {most}");
                return Err(Failure::usage(says));
            }
        }
        let (min, max) = self.delay();
        if min > max {
            let says = format!("--min {min} is more than --max {max}; swap them");
            return Err(Failure::usage(says));
        }
        if max.max(self.wait.unwrap_or(0)) > LONGEST {
            return Err(Failure::usage(format!("times are at most {LONGEST} units")));
        }
        if self.seeds.is_some_and(|seeds| !(1..=MOST_SEEDS).contains(&seeds)) {
            return Err(Failure::usage(format!("--seeds is 1 to {MOST_SEEDS}")));
        }
        Ok(())
    }

    /// The list takes none.
    pub(super) fn refuse_all(&self) -> Result<(), Failure> {
        match self.given().next() {
            Some(option) => {
                let says = format!("{option} belongs to a scenario; name one");
                Err(Failure::usage(says))
            }
            None => Ok(()),
        }
    }

    fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("-n", self.n.is_some()),
            ("--min", self.min.is_some()),
            ("--max", self.max.is_some()),
            ("--wait", self.wait.is_some()),
            ("--seeds", self.seeds.is_some()),
            ("--start", self.start.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name)
    }
}
