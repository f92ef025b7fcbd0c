//! Tables in plain text.

/// Formats rows as columns. Each column is as wide as its longest cell.
pub(super) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let longest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| longest(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        // Not `{cell:width$}`, whose width is limited, as a name may have 64 KiB.
        let padded = |cell: &String, width: usize| {
            cell.to_owned() + &" ".repeat(width - cell.chars().count())
        };
        let cells = row.iter().zip(&widths).map(|(cell, width)| padded(cell, *width));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
