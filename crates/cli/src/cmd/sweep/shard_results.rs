//! A file with the results of one shard, which is a part of the runs of a sweep. It has JSON lines:
//! a header, a line for each point, and a last line. Without the last line, the file is truncated.

use std::io::BufRead;

use serde::{Deserialize, Serialize};

use super::results::{PointResults, SweepHeader, SweepResults};
use super::shard::Shard;
use crate::cmd::failure::Failure;

const FORMAT: u32 = 1;

#[derive(Debug, PartialEq)]
pub(super) struct ShardResults {
    pub(super) shard: Shard,
    pub(super) results: SweepResults,
}

/// First line of the file, which describes the shard and the runs.
#[derive(Serialize, Deserialize)]
struct FirstLine {
    /// Version of the format of the file.
    tenure_part: u32,
    part: Shard,
    header: SweepHeader,
}

/// Line of the file with the results of a point. `point` is the index of the point in the header.
#[derive(Serialize, Deserialize)]
struct PointLine {
    point: usize,
    cell: PointResults,
}

/// Last line of the file. A file without this line is truncated.
#[derive(Serialize, Deserialize)]
struct LastLine {
    points: usize,
}

impl ShardResults {
    /// Formats the results as the JSON lines of a file.
    pub(super) fn to_json_lines(&self) -> Result<String, Failure> {
        let mut text = String::new();
        let SweepResults { header, point_results: cells } = &self.results;
        let first = FirstLine { tenure_part: FORMAT, part: self.shard, header: header.clone() };
        add(&mut text, &first)?;
        for (point, cell) in cells.iter().enumerate() {
            add(&mut text, &PointLine { point, cell: cell.clone() })?;
        }
        add(&mut text, &LastLine { points: cells.len() })?;
        Ok(text)
    }

    /// Parses the JSON lines of a file.
    ///
    /// # Errors
    ///
    /// A description of the first invalid or missing line, or of the error that occurred while the
    /// file was read.
    pub(super) fn read(mut input: impl BufRead) -> Result<Self, String> {
        let mut number = 0;
        let mut next = || {
            let mut line = String::new();
            number += 1;
            match input.read_line(&mut line) {
                Ok(0) => {
                    Err(format!("line {number} is missing: the shard did not end; run it again"))
                }
                Ok(_) => Ok((number, line)),
                Err(error) => Err(error.to_string()),
            }
        };
        let invalid = |error| format!("line 1: {error}: not the output of --shard");
        let FirstLine { tenure_part, part, header } =
            serde_json::from_str(&next()?.1).map_err(invalid)?;
        if tenure_part != FORMAT {
            let message = format!("version {tenure_part} of the format: expected {FORMAT}");
            return Err(message);
        }
        let is_valid = (1..=part.of).contains(&part.shard);
        if !is_valid {
            return Err(format!("line 1: invalid shard {part}"));
        }
        let mut cells = Vec::with_capacity(header.points.len());
        let runs = part.runs(header.runs);
        let parse = |(number, line): (usize, String)| {
            let at = move |error| format!("line {number}: {error}");
            serde_json::from_str::<PointLine>(&line).map_err(at)
        };
        for (place, point) in header.points.iter().enumerate() {
            let PointLine { point: found, cell } = parse(next()?)?;
            let expected = if point.refused.is_none() { runs.end - runs.start } else { 0 };
            if found != place || cell.runs != expected {
                let runs = cell.runs;
                return Err(format!(
                    "point {found} with {runs} runs: expected point {place} with {expected}"
                ));
            }
            cells.push(cell);
        }
        let (number, last) = next()?;
        let last: LastLine =
            serde_json::from_str(&last).map_err(|error| format!("line {number}: {error}"))?;
        if last.points != cells.len() {
            return Err(format!("line {number}: expected {} points", cells.len()));
        }
        Ok(ShardResults { shard: part, results: SweepResults { header, point_results: cells } })
    }
}

fn add(text: &mut String, line: &impl Serialize) -> Result<(), Failure> {
    text.push_str(&serde_json::to_string(line).map_err(Failure::environment)?);
    text.push('\n');
    Ok(())
}
