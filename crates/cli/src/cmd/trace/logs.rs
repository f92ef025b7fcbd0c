//! `tenure trace diagram --logs`: what all had as their logs, as a row of boxes each.

use std::path::PathBuf;

use tenure_trace::diagram::{LogPicture, Moment};

use super::diagram::Form;
use super::of_input;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::{is_coloured, print_file};

/// So many entries are drawn beside each other in a picture; of longer logs, the last ones.
const MOST_IN_SVG: u64 = 24;

pub(super) fn run(
    files: &[PathBuf],
    form: Form,
    moments: &[Moment],
    columns: usize,
) -> Result<Status, Failure> {
    if form == Form::Html {
        let says = "--logs means nothing to --as html: the page shows logs where there are any";
        return Err(Failure::usage(says));
    }
    let picture = LogPicture::of_files(files, moments).map_err(of_input)?;
    if picture.is_empty() {
        return Err(Failure::usage("nobody has an entry in a log in this trace at that time"));
    }
    print_file(&match form {
        Form::Svg => picture.to_svg(MOST_IN_SVG),
        _ => picture.to_text(columns, is_coloured()),
    })?;
    Ok(Status::Held)
}
