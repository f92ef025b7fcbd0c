//! A CSV file with all quantities that were measured in each single run.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tenure_trace::files::{self, File};
use tenure_trace::units::format_ticks_as_time_units;

use super::csv::line;
use super::perform::RunMeasurements;
use super::results::{SweepHeader, SweepPoint};
use crate::cmd::failure::Failure;

pub(super) struct RawCsvFile {
    path: PathBuf,
    file: BufWriter<File>,
}

impl RawCsvFile {
    pub(super) fn create(path: &Path, header: &SweepHeader) -> Result<Self, Failure> {
        let file = files::create(path).map_err(Failure::cannot_write(path))?;
        let mut raw = RawCsvFile { path: path.to_owned(), file: BufWriter::new(file) };
        let parameters = header.parameters.iter().map(String::as_str);
        let head = ["algorithm"].into_iter().chain(parameters).chain(["seed", "figure", "value"]);
        raw.write(&line(head))?;
        Ok(raw)
    }

    pub(super) fn add(
        &mut self,
        point: &SweepPoint,
        runs: &[RunMeasurements],
    ) -> Result<(), Failure> {
        for (seed, figures) in runs {
            let seed = seed.to_string();
            for (figure, value) in figures {
                let value = format_ticks_as_time_units(*value);
                let values = point.values.iter().map(String::as_str);
                let cells = [point.algorithm.as_str()].into_iter().chain(values);
                let text = line(cells.chain([seed.as_str(), &figure.name(), &value]));
                self.write(&text)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.file.flush().map_err(Failure::cannot_write(&self.path))
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        self.file.write_all(text.as_bytes()).map_err(Failure::cannot_write(&self.path))
    }
}
