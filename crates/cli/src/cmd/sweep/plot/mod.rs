//! Plots of a sweep. Each of the main figures has a panel with 95 % confidence intervals.

mod chart;
mod convert;
mod svg;

use std::path::Path;

use tenure_trace::files;

use super::results::SweepResults;
use crate::cmd::failure::Failure;
use chart::Chart;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Svg,
    Png,
    Pdf,
}

fn kind(path: &Path) -> Result<Kind, Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension {
        Some("svg") => Ok(Kind::Svg),
        Some("png") => Ok(Kind::Png),
        Some("pdf") => Ok(Kind::Pdf),
        _ => {
            let path = path.display();
            Err(Failure::usage(format!(
                "invalid value '{path}' for --plot: expected a file name that ends in .svg, .png \
                 or .pdf"
            )))
        }
    }
}

/// Returns a failure if the extension of the file is no known format, or if plots in this format
/// cannot be written. Called before the runs start.
pub(crate) fn check_can_write_plot(path: &Path) -> Result<(), Failure> {
    match kind(path)? {
        Kind::Svg => Ok(()),
        Kind::Png | Kind::Pdf => convert::check_can_convert(),
    }
}

pub(super) fn write(results: &SweepResults, path: &Path) -> Result<(), Failure> {
    let chart = Chart::new(results)?;
    let svg = svg::draw(&chart);
    let bytes = match kind(path)? {
        Kind::Svg => svg.into_bytes(),
        Kind::Png => convert::to_png(&svg)?,
        Kind::Pdf => convert::to_pdf(&svg)?,
    };
    files::write(path, &bytes).map_err(Failure::cannot_write(path))
}
