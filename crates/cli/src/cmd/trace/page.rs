//! `tenure trace diagram --as html`: writes a page on which the user steps through a run.

use std::path::PathBuf;

use tenure_core::Card;
use tenure_trace::diagram::{DiagramPage, TimeAxis, TraceWindow};
use tenure_trace::{Header, TraceProducer};

use super::replay;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::print_unwrapped;

pub(super) fn print_diagram_page(
    files: &[PathBuf],
    window: TraceWindow,
    scale: Option<TimeAxis>,
) -> Result<Status, Failure> {
    let page = DiagramPage::from_files(files, window).map_err(Failure::usage)?;
    let is_real = page.trace_header().source == TraceProducer::Node;
    let otherwise = if is_real { TimeAxis::Causal } else { TimeAxis::Time };
    let page = page.with_initial_axis(scale.unwrap_or(otherwise));
    if page.is_window_empty() {
        let message = format!("none of the {} events is in this window", page.record_count());
        return Err(Failure::usage(message));
    }
    let card = card(page.trace_header());
    let mut text = Vec::new();
    page.write_html(card.as_ref(), &mut text).map_err(Failure::environment)?;
    print_unwrapped(&String::from_utf8(text).expect("a page is text"))?;
    Ok(Status::Success)
}

/// Returns the [`Card`] of the algorithm that the header of a trace names. Returns `None` if this
/// release does not have the algorithm, or if the options in the header are invalid.
fn card(header: &Header) -> Option<Card> {
    tenure_instances::card(&header.algorithm, &replay::parameters_from_header(header).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use tenure_trace::Service;

    use super::*;

    fn header(algorithm: &str, n: u32, options: &[&str]) -> Header {
        let options = options.iter().map(ToString::to_string).collect();
        Header { options, ..Header::new(algorithm, Service::Mutex, n, TraceProducer::Simulator) }
    }

    #[test]
    fn card_fits_the_group_of_the_trace() {
        let most =
            |n, options: &[&str]| card(&header("ricart-agrawala", n, options))?.messages.most;
        assert_eq!(most(3, &[]), Some(4));
        assert_eq!(most(5, &["-n", "5"]), Some(8));
        assert_eq!(most(3, &["-n", "5"]), None);
        assert_eq!(most(3, &["--no-such-option"]), None);
    }

    #[test]
    fn unknown_algorithm_has_no_card() {
        assert_eq!(card(&header("telepathy", 3, &[])), None);
    }
}
