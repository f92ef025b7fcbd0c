//! A page, and the commands in it.

use std::ops::Range;

use super::compare::renewed;

/// A document.
#[derive(Debug)]
pub(super) struct Page {
    /// From the repository's root.
    pub(super) path: String,
    lines: Vec<String>,
    /// In the order in which they stand.
    pub(super) commands: Vec<Command>,
}

/// A command that the reader is told to type.
#[derive(Debug)]
pub(super) struct Command {
    /// The line where it begins, counted from 1.
    pub(super) line: usize,
    pub(super) text: String,
    /// The exit status with which it shall end.
    pub(super) status: i32,
    /// The lines below it, counted from 0: what it shall print.
    pub(super) output: Range<usize>,
}

impl Page {
    /// Finds the commands of a page; an error says in which line something is odd.
    pub(super) fn new(path: &str, text: &str) -> Result<Page, String> {
        let lines: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
        let odd = |line: usize, says: &str| Err(format!("{path}:{}: {says}", line + 1));
        let mut commands = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let Some(info) = lines[at].strip_prefix("```") else {
                at += 1;
                continue;
            };
            let begin = at + 1;
            let Some(length) = lines[begin..].iter().position(|line| line == "```") else {
                return odd(at, "the block has no end");
            };
            let end = begin + length;
            at = end + 1;
            if info.split([',', ' ']).next() != Some("console") {
                continue;
            }
            if !lines[begin].starts_with("$ ") {
                return odd(begin, "a console block begins with a command, as in `$ tenure list`");
            }
            commands.extend(in_block(&lines, begin..end));
        }
        Ok(Page { path: path.to_owned(), lines, commands })
    }

    /// What a command shall print.
    pub(super) fn output(&self, command: &Command) -> &[String] {
        &self.lines[command.output.clone()]
    }

    /// Writes what each command printed below it; what was elided stays elided.
    pub(super) fn renew(&mut self, outputs: &[Vec<String>]) {
        // From the last to the first, since what is above it stays where it is.
        for (command, output) in self.commands.iter().zip(outputs).rev() {
            let lines = renewed(&self.lines[command.output.clone()], output);
            self.lines.splice(command.output.clone(), lines);
        }
    }

    /// The page as it is to be written.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn in_block(lines: &[String], block: Range<usize>) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
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
            commands.push(Command { line, text, status: status.unwrap_or(0), output });
        } else if let Some(command) = commands.last_mut() {
            command.output.end = line;
        }
        at += 1;
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::Page;

    const TEXT: &str = "prose\n```text\n$ no command\n```\n```console\n$ a b # exit 1\nsays\n\
                        so\n$ c \\\n    d\n```\n";

    #[test]
    fn commands_have_their_line_their_status_and_their_output() {
        let page = Page::new("a.md", TEXT).unwrap();
        let told: Vec<_> = page
            .commands
            .iter()
            .map(|command| (command.line, command.text.as_str(), command.status))
            .collect();
        assert_eq!(told, [(6, "a b # exit 1", 1), (9, "c \\\n    d", 0)]);
        assert_eq!(page.output(&page.commands[0]), ["says", "so"]);
        assert!(page.output(&page.commands[1]).is_empty());
    }

    #[test]
    fn a_renewed_page_has_the_new_output_and_the_old_prose() {
        let mut page = Page::new("a.md", TEXT).unwrap();
        page.renew(&[vec!["says".into()], vec!["one".into(), "two".into()]]);
        let renewed = TEXT.replace("so\n", "").replace("    d\n", "    d\none\ntwo\n");
        assert_eq!(page.text(), renewed);
    }

    #[test]
    fn a_block_without_end_or_without_command_is_refused() {
        assert!(Page::new("a.md", "\n```console\n$ a\n").unwrap_err().starts_with("a.md:2: "));
        assert!(Page::new("a.md", "```console\na\n```\n").unwrap_err().starts_with("a.md:2: "));
    }
}
