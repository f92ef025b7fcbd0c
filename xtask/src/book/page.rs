//! Pages of the book and other documents, with the commands that they contain.

use std::ops::Range;

use super::compare::updated_output;

/// A document, and the commands in it that a reader can type.
#[derive(Debug)]
pub(super) struct BookPage {
    /// Path relative to the root of the repository.
    pub(super) path: String,
    lines: Vec<String>,
    pub(super) commands: Vec<PageCommand>,
}

#[derive(Debug)]
pub(super) struct PageCommand {
    /// Line number of the command, from 1.
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) status: i32,
    /// Indices of the lines with the expected output of the command.
    pub(super) output: Range<usize>,
}

impl BookPage {
    /// Parses a page. The error contains the number of the invalid line.
    pub(super) fn new(path: &str, text: &str) -> Result<BookPage, String> {
        let lines: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
        let error = |line: usize, message: &str| Err(format!("{path}:{}: {message}", line + 1));
        let mut commands = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let Some(info) = lines[at].strip_prefix("```") else {
                at += 1;
                continue;
            };
            let begin = at + 1;
            let Some(length) = lines[begin..].iter().position(|line| line == "```") else {
                return error(at, "unterminated code block");
            };
            let end = begin + length;
            at = end + 1;
            if info.split([',', ' ']).next() != Some("console") {
                continue;
            }
            if !lines[begin].starts_with("$ ") {
                return error(
                    begin,
                    "a console block must begin with a command, for example `$ tenure list`",
                );
            }
            commands.extend(in_block(&lines, begin..end));
        }
        Ok(BookPage { path: path.to_owned(), lines, commands })
    }

    pub(super) fn expected_output(&self, command: &PageCommand) -> &[String] {
        &self.lines[command.output.clone()]
    }

    /// Replaces the expected output of each command by the element of `outputs` with the same
    /// index. Each `…` for omitted text in the old output stays in the new output.
    pub(super) fn replace_outputs(&mut self, outputs: &[Vec<String>]) {
        // In reverse order, because a replacement moves the lines below it.
        for (command, output) in self.commands.iter().zip(outputs).rev() {
            let lines = updated_output(&self.lines[command.output.clone()], output);
            self.lines.splice(command.output.clone(), lines);
        }
    }

    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn in_block(lines: &[String], block: Range<usize>) -> Vec<PageCommand> {
    let mut commands: Vec<PageCommand> = Vec::new();
    let mut at = block.start;
    while at < block.end {
        let line = at + 1;
        let begins = lines[at].strip_prefix("$ ");
        if let Some(begin) = begins {
            let mut text = begin.to_owned();
            while text.ends_with('\\') && at + 1 < block.end {
                at += 1;
                text = format!("{text}\n{}", lines[at]);
            }
            let status = text.rsplit_once("# exit ").and_then(|(_, tail)| tail.parse().ok());
            let output = at + 1..at + 1;
            commands.push(PageCommand { line, text, status: status.unwrap_or(0), output });
        } else if let Some(command) = commands.last_mut() {
            command.output.end = line;
        }
        at += 1;
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::BookPage;

    const TEXT: &str = "prose\n```text\n$ no command\n```\n```console\n$ a b # exit 1\nsays\n\
                        so\n$ c \\\n    d\n```\n";

    #[test]
    fn parses_line_status_and_output() {
        let page = BookPage::new("a.md", TEXT).unwrap();
        let commands: Vec<_> = page
            .commands
            .iter()
            .map(|command| (command.line, command.text.as_str(), command.status))
            .collect();
        assert_eq!(commands, [(6, "a b # exit 1", 1), (9, "c \\\n    d", 0)]);
        assert_eq!(page.expected_output(&page.commands[0]), ["says", "so"]);
        assert!(page.expected_output(&page.commands[1]).is_empty());
    }

    #[test]
    fn update_replaces_output_only() {
        let mut page = BookPage::new("a.md", TEXT).unwrap();
        page.replace_outputs(&[vec!["says".into()], vec!["one".into(), "two".into()]]);
        let updated = TEXT.replace("so\n", "").replace("    d\n", "    d\none\ntwo\n");
        assert_eq!(page.text(), updated);
    }

    #[test]
    fn rejects_unterminated_and_empty_blocks() {
        assert!(BookPage::new("a.md", "\n```console\n$ a\n").unwrap_err().starts_with("a.md:2: "));
        assert!(BookPage::new("a.md", "```console\na\n```\n").unwrap_err().starts_with("a.md:2: "));
    }
}
