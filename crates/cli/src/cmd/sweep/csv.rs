//! Results of a sweep as comma-separated values (RFC 4180). Each line after the first contains the
//! statistics of one measured quantity at one point. A point is an algorithm with a value for each
//! parameter.

use super::results::{PointResults, SweepHeader, SweepPoint, SweepResults};
use super::statistics::Statistics;

const COLUMNS: &str = "seed,runs,figure,unit,count,mean,ci95_low,ci95_high,stddev,min,p50,p90,p99,\
                       max,violated,incomplete,note";

pub(super) fn csv(results: &SweepResults) -> String {
    let header = &results.header;
    let parameters = header.parameters.iter().map(String::as_str);
    let mut text = line(["algorithm"].into_iter().chain(parameters).chain(COLUMNS.split(',')));
    for (point, cell) in results.all_points() {
        text.push_str(&lines(header, point, cell));
    }
    text
}

/// Formats the lines for a point of the sweep, one line per measured quantity. If the point was not
/// run, formats one line with the reason.
fn lines(header: &SweepHeader, point: &SweepPoint, cell: &PointResults) -> String {
    let values = || point.values.iter().map(String::as_str);
    let start = || [point.algorithm.as_str()].into_iter().chain(values());
    let (seed, runs) = (header.seed.to_string(), cell.runs.to_string());
    let ends =
        [cell.most_runs_violating_one_property(), cell.incomplete].map(|count| count.to_string());
    let [violated, incomplete] = &ends;
    if let Some(reason) = &point.refused {
        let empty = ["", "", "0", "", "", "", "", "", "", "", "", ""];
        let cells = start().chain([&*seed, &*runs]).chain(empty);
        return line(cells.chain([&**violated, &**incomplete, &**reason]));
    }
    let mut text = String::new();
    for (figure, sample) in &cell.figures {
        let Statistics { count, mean, ci95, stddev, min, p50, p90, p99, max } =
            Statistics::from_sample(sample);
        let [low, high] = ci95.map_or([None; 2], |ends| ends.map(Some));
        let quantiles = [min, p50, p90, p99, max].map(Some);
        // An undefined number is an empty cell.
        let numbers = [Some(mean), low, high, stddev].into_iter().chain(quantiles);
        let numbers = numbers.map(|it| it.map_or(String::new(), |number| number.to_string()));
        let numbers: Vec<String> = numbers.collect();
        let (name, count) = (figure.name(), count.to_string());
        let cells = start()
            .chain([&*seed, &*runs, &*name, figure.unit(), &*count])
            .chain(numbers.iter().map(String::as_str));
        text.push_str(&line(cells.chain([&**violated, &**incomplete, ""])));
    }
    text
}

/// Formats one line. A cell with a comma, a quote or a line break is quoted.
pub(super) fn line<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let quoted = |cell: &str| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    };
    let cells: Vec<String> = cells.into_iter().map(quoted).collect();
    cells.join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_separators_are_quoted() {
        assert_eq!(
            line(["a", "lognormal:1,0.5", "say \"no\""]),
            "a,\"lognormal:1,0.5\",\"say \"\"no\"\"\"\n"
        );
    }
}
