//! `tenure check`: every schedule.

mod options;
mod perform;

use tenure_algorithms::catalogue;
use tenure_check::{Judgement, Report};

use self::perform::Perform;
use super::failure::{Failure, Status};
use super::output::{Format, print, print_json};

pub(crate) use options::Options;

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    if options.group.draws_ids() {
        return Err(Failure::usage("a check is of certain ranks; list them: --ids 2,3,1"));
    }
    let parameters = options.group.parameters()?;
    let card = catalogue::card(&options.algorithm, &parameters).map_err(Failure::usage)?;
    let properties = options.properties(&card)?;
    let perform = Perform { options, parameters: &parameters, card: &card, properties };
    let report =
        catalogue::visit(&options.algorithm, &parameters, perform).map_err(Failure::usage)??;
    save(options, &report)?;
    match options.format {
        Format::Text => print(&report.to_string())?,
        Format::Json => print_json(&report)?,
    }
    Ok(match report.judgement() {
        Judgement::Holds => Status::Held,
        Judgement::Violated => Status::Violated,
        Judgement::Incomplete => Status::Incomplete,
    })
}

/// Writes the shortest counterexample where `--trace` says.
fn save(options: &Options, report: &Report) -> Result<(), Failure> {
    let Some(path) = &options.trace else { return Ok(()) };
    match report.shortest() {
        Some(found) => found.save(path).map_err(Failure::environment),
        None => {
            eprintln!("nothing is violated, so there is no trace to write");
            Ok(())
        }
    }
}
