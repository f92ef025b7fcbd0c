//! Checks of an agreement algorithm, which is selected by its name in the catalogue. The tests of
//! all agreement algorithms share these checks, so that the checker is compiled only once.

use tenure_algorithms::catalogue::{self, AlgorithmVisitor, Parameters};
use tenure_check::{Check, CheckReport};
use tenure_core::monitors::AgreementMonitor;
use tenure_core::{Agreement, Algorithm, ChannelOrder, Election, Monitor, Mutex, Property};

use crate::verdicts::Explored;

/// An agreement algorithm, its workload and its network. `times` contains one number for each user:
/// the commands that the user issues, or the rounds that it performs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgreementCase<'a> {
    pub(crate) name: &'a str,
    pub(crate) times: &'a [u32],
    pub(crate) variants: &'a [&'a str],
    pub(crate) order: ChannelOrder,
    pub(crate) duplicates: u32,
}

/// Bound on the messages in flight per link. No test case reaches this bound.
const MAX_IN_FLIGHT: usize = 16;

#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// Counts states. Progress is the only property that the check judges.
    States,
    /// Checks progress, and all properties that the algorithm promises.
    Promises,
    /// Judges one property. The search ends at the first violation.
    Property(Property),
    Messages,
}

impl AgreementCase<'_> {
    /// Returns the number of states and the number of steps. Asserts progress.
    pub(crate) fn states(&self) -> (u64, u64) {
        let report = self.explore(Purpose::States).report();
        report.assert_holds();
        (report.states, report.transitions)
    }

    pub(crate) fn judged(&self) -> CheckReport {
        self.explore(Purpose::Promises).report()
    }

    /// Returns the length of the shortest run that violates a property.
    pub(crate) fn steps_to_violation(&self, property: Property) -> usize {
        let report = self.explore(Purpose::Property(property)).report();
        let found = report.counterexample(property.name());
        found.unwrap_or_else(|| panic!("{self:?}: {report}")).step_count()
    }

    pub(crate) fn messages(&self) -> (u64, u64) {
        self.explore(Purpose::Messages).messages()
    }

    fn explore(&self, purpose: Purpose) -> Explored {
        let size = self.times.len() as u32;
        let variants = self.variants.iter().map(ToString::to_string).collect();
        let parameters = Parameters { variants, ..Parameters::with_defaults(size) };
        let explored = catalogue::visit(self.name, &parameters, Explore { case: *self, purpose });
        explored.unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }
}

struct Explore<'a> {
    case: AgreementCase<'a>,
    purpose: Purpose,
}

impl AlgorithmVisitor for Explore<'_> {
    type Output = Explored;

    fn mutex<P: Mutex + Algorithm>(self, _: P::Config) -> Explored {
        unreachable!("{} is no lock", self.case.name)
    }

    fn election<P: Election + Algorithm>(self, _: P::Config) -> Explored {
        unreachable!("{} is no election", self.case.name)
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Explored {
        let size = self.case.times.len() as u32;
        let card = P::card(&config, size);
        let mut check = Check::<P>::with_protocol_config(size, config)
            .configure(|config| config.service = card.service)
            .channel_order(self.case.order)
            .in_flight_per_link(MAX_IN_FLIGHT)
            .request_limits(self.case.times)
            .max_duplicates(self.case.duplicates);
        let judges = |property: Property| match self.purpose {
            Purpose::Promises => card.promises.contains(&property),
            Purpose::Property(one) => one == property,
            Purpose::States | Purpose::Messages => false,
        };
        for monitor in AgreementMonitor::all_for_service(card.service, size, &[]) {
            check = match judges(monitor.property()) {
                true if monitor.is_judged_at_end() => check.always_and_at_end(monitor),
                true => check.always(monitor),
                false => check,
            };
        }
        match self.purpose {
            Purpose::Property(one) if one != Property::Progress => {}
            Purpose::States | Purpose::Promises | Purpose::Property(_) => {
                check = check.check_progress()
            }
            Purpose::Messages => return Explored::measured(check),
        }
        Explored::checked(check)
    }
}
