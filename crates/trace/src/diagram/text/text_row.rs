//! Lines of text diagrams.

/// A line of a text diagram, as a list of letters that can be overwritten.
pub(super) struct TextRow {
    letters: Vec<char>,
    lanes: Vec<usize>,
}

impl TextRow {
    pub(super) fn new(width: usize) -> Self {
        TextRow { letters: vec![' '; width], lanes: Vec::new() }
    }

    /// Draws the sign of a lifeline at a column.
    pub(super) fn draw_lifeline(&mut self, column: usize, sign: &str) {
        self.write_text(column, sign, 1);
        self.lanes.push(column);
    }

    pub(super) fn put_letter(&mut self, column: usize, letter: char) {
        if self.letters.len() <= column {
            self.letters.resize(column + 1, ' ');
        }
        self.letters[column] = letter;
    }

    /// Writes `words` from a column on, but at most `max_letters` letters.
    pub(super) fn write_text(&mut self, column: usize, words: &str, max_letters: usize) {
        for (offset, letter) in words.chars().take(max_letters).enumerate() {
            self.put_letter(column + offset, letter);
        }
    }

    pub(super) fn is_free(&self, column: usize, width: usize) -> bool {
        let until = (column + width).min(self.letters.len());
        self.letters[column.min(until)..until].iter().all(|letter| *letter == ' ')
    }

    pub(super) fn draw_arrow(&mut self, start: usize, stop: usize, head: char) {
        let (left, right) = (start.min(stop) + 1, start.max(stop) - 1);
        for column in left..=right {
            let crosses = self.lanes.contains(&column) && self.letters[column] == '│';
            let bar = self.lanes.contains(&column) && self.letters[column] != '│';
            if !bar {
                self.letters[column] = if crosses { '┼' } else { '─' };
            }
        }
        self.letters[if start < stop { right } else { left }] = head;
        if self.letters[start] == '│' {
            self.letters[start] = if start < stop { '├' } else { '┤' };
        }
    }

    /// Writes a text on the arrow between the columns `start` and `stop`. `width` is the distance
    /// of two neighbouring lifelines. If there is room, the text is between two lifelines. Returns
    /// false if the text does not fit completely. In that case, writes the beginning of the text,
    /// or nothing if the text contains `‹`.
    pub(super) fn write_on_arrow(
        &mut self,
        start: usize,
        stop: usize,
        width: usize,
        words: &str,
    ) -> bool {
        let length = words.chars().count();
        let (left, right) = (start.min(stop), start.max(stop));
        let lanes = (right - left) / width.max(1);
        if length + 4 <= width {
            // Uses the middle gap between lanes.
            let gap = left + (lanes / 2) * width - if lanes.is_multiple_of(2) { width } else { 0 };
            self.write_text(gap + 1 + (width - 1 - length) / 2, words, usize::MAX);
            return true;
        }
        let room = (right - left).saturating_sub(4);
        if length > room && words.contains('‹') {
            return false;
        }
        let shown = length.min(room);
        self.write_text(left + 2 + (room + 1 - shown) / 2, words, shown);
        length <= room
    }

    pub(super) fn to_text(&self) -> String {
        let line: String = self.letters.iter().collect();
        line.trim_end().to_owned()
    }
}
