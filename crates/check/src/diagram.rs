//! A small space–time diagram in text: one column for each process, one line for each step.

use std::fmt::Write;

use tenure_core::ProcessId;

use crate::story::{Mark, Scene, Story};

/// The widest line.
const MOST_COLUMNS: usize = 100;
/// The number of the step, and a space.
const MARGIN: usize = 5;

/// Draws a story: time runs downwards, a message is drawn when it arrives.
pub(crate) fn diagram(story: &Story) -> String {
    let size = story.size as usize;
    let width = ((MOST_COLUMNS - MARGIN) / size.max(1)).clamp(3, 22);
    let mut text = " ".repeat(MARGIN);
    for process in 0..size {
        let _ = write!(text, "{:<width$}", ProcessId::at(process).to_string());
    }
    let mut text = text.trim_end().to_owned() + "\n";
    let mut number = 0;
    for scene in &story.scenes {
        let head = if scene.mark == Mark::Time {
            " ".repeat(MARGIN)
        } else {
            number += 1;
            format!("{number:>4} ")
        };
        let line: String = draw(scene, size, width).into_iter().collect();
        let line = head + line.trim_end();
        text.extend(line.chars().take(MOST_COLUMNS));
        text.push('\n');
    }
    text
}

fn draw(scene: &Scene, size: usize, width: usize) -> Vec<char> {
    let mut line = vec![' '; size * width];
    for process in 0..size {
        line[process * width] = if scene.mark == Mark::Time { '┊' } else { '│' };
    }
    match &scene.mark {
        Mark::Time => {}
        Mark::At(process, words) => {
            let enters = scene.told.first().map_or(String::new(), |_| " ●".to_owned());
            write_at(&mut line, process.index() * width, &format!("● {words}{enters}"));
        }
        Mark::Arrow(from, to, kind) => {
            arrow(&mut line, (*from, *to), width, kind, if from < to { '►' } else { '◄' });
            if !scene.told.is_empty() {
                line[to.index() * width] = '●';
            }
        }
        Mark::Broken(from, to, kind) => arrow(&mut line, (*from, *to), width, kind, '×'),
    }
    line
}

/// An arrow between two columns, with what it carries written on it.
fn arrow(
    line: &mut [char],
    (from, to): (ProcessId, ProcessId),
    width: usize,
    kind: &str,
    head: char,
) {
    let (start, end) = (from.index() * width, to.index() * width);
    if start == end {
        write_at(line, start, &format!("↺ {kind}"));
        return;
    }
    let (left, right) = (start.min(end) + 1, start.max(end) - 1);
    line[left..=right].fill('─');
    let room = (right - left).saturating_sub(1);
    let kind: String = kind.chars().take(room).collect();
    let begin = left + (right + 1 - left - kind.chars().count()) / 2;
    write_at(line, begin, &kind);
    line[if start < end { right } else { left }] = head;
}

fn write_at(line: &mut [char], place: usize, words: &str) {
    for (slot, letter) in line[place..].iter_mut().zip(words.chars()) {
        *slot = letter;
    }
}
