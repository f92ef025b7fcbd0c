//! Text of Rust files without comments and literals.
//!
//! The checks need no complete parser. Removed text is replaced by spaces, so that line numbers
//! stay the same.

/// Text of a Rust file for the checks, in two versions: with and without the tests.
#[derive(Debug)]
pub(crate) struct RustSource {
    /// Text of the file, without comments and without the contents of literals.
    pub(crate) code: String,
    /// The text in `code`, without the items under `#[cfg(test)]`.
    pub(crate) production: String,
}

impl RustSource {
    pub(crate) fn new(text: &str) -> Self {
        let code = blank_literals(text);
        let production = remove_tests(&code);
        RustSource { code, production }
    }
}

/// An identifier, keyword or number in the text of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    pub(crate) word: &'a str,
    /// Line number, from 1.
    pub(crate) line: usize,
    /// Offset of the word in the text, in bytes.
    pub(crate) at: usize,
}

pub(crate) fn words(code: &str) -> impl Iterator<Item = Word<'_>> {
    let mut rest = 0;
    let mut line = 1;
    std::iter::from_fn(move || {
        let at = rest + code[rest..].find(is_wordy)?;
        line += code[rest..at].matches('\n').count();
        let length = code[at..].find(|letter| !is_wordy(letter)).unwrap_or(code.len() - at);
        rest = at + length;
        Some(Word { word: &code[at..rest], line, at })
    })
}

fn is_wordy(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Returns the number of the line that contains a byte offset. Lines are counted from 1.
pub(crate) fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

/// Returns the offset of the bracket that closes the bracket at the offset `at`. If there is none,
/// returns the length of the code.
pub(crate) fn closing_bracket(code: &str, at: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, letter) in code[at..].char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + offset;
        }
    }
    code.len()
}

/// Returns the offset of the body of the item at `at`. The body begins at the first `{` outside of
/// other brackets. For an item without a body, returns `Err` with the offset of the end of the
/// item.
pub(crate) fn body_start(code: &str, at: usize) -> Result<usize, usize> {
    let mut rest = at;
    while let Some(found) = code[rest..].find(['(', '[', '{', ';', ')', ']', '}']) {
        let place = rest + found;
        match code.as_bytes()[place] {
            b'{' => return Ok(place),
            b'(' | b'[' => rest = (closing_bracket(code, place) + 1).min(code.len()),
            _ => return Err(place),
        }
    }
    Err(code.len())
}

fn blank_literals(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < letters.len() {
        let hidden = hidden_length(&letters, at).min(letters.len() - at);
        for &letter in &letters[at..at + hidden] {
            code.push(if letter == '\n' { '\n' } else { ' ' });
        }
        at += hidden;
        if hidden == 0 {
            code.push(letters[at]);
            at += 1;
        }
    }
    code
}

/// Returns the length of the comment or literal at `at`. Returns 0 if no comment or literal begins
/// there.
fn hidden_length(letters: &[char], at: usize) -> usize {
    let rest = &letters[at..];
    match rest {
        ['/', '/', ..] => rest.iter().position(|&c| c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => block_comment(rest),
        ['"', ..] => string(rest),
        ['\'', '\\', _, tail @ ..] => 4 + tail.iter().position(|&c| c == '\'').unwrap_or(0),
        ['\'', _, '\'', ..] => 3,
        ['b' | 'c' | 'r', ..] if at == 0 || !is_wordy(letters[at - 1]) => prefixed(rest),
        _ => 0,
    }
}

fn block_comment(rest: &[char]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// If a literal with a prefix begins at the start of `rest`, as in `b"…"`, `r#"…"#` or `br"…"`,
/// returns the length of the literal. Otherwise, returns 0.
fn prefixed(rest: &[char]) -> usize {
    let letters = rest.iter().take(2).take_while(|c| matches!(c, 'b' | 'c' | 'r')).count();
    let raw = rest[..letters].contains(&'r');
    let hashes = rest[letters..].iter().take_while(|&&c| c == '#').count();
    let quote = letters + hashes;
    if rest.get(quote) != Some(&'"') || (hashes > 0 && !raw) {
        return 0;
    }
    if !raw {
        return quote + string(&rest[quote..]);
    }
    let closes = |at: &usize| {
        rest[*at] == '"' && rest[at + 1..].iter().take_while(|&&c| c == '#').count() >= hashes
    };
    (quote + 1..rest.len()).find(closes).map_or(rest.len(), |at| at + 1 + hashes)
}

/// Replaces the items under `#[cfg(test)]` by spaces.
fn remove_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut production = String::with_capacity(code.len());
    let mut rest = 0;
    while let Some(found) = code[rest..].find(MARK) {
        let start = rest + found;
        let end = match body_start(code, start + MARK.len()) {
            Ok(brace) => closing_bracket(code, brace) + 1,
            Err(end) => end,
        };
        let end = end.min(code.len());
        production.push_str(&code[rest..start]);
        production.extend(code[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = end;
    }
    production.push_str(&code[rest..]);
    production
}

#[cfg(test)]
mod tests {
    use super::{RustSource, blank_literals, words};

    fn left(text: &str) -> Vec<String> {
        words(&blank_literals(text)).map(|word| word.word.to_owned()).collect()
    }

    #[test]
    fn removes_nested_comments() {
        assert_eq!(left("a // b\n c /* d /* e */ f */ g"), ["a", "c", "g"]);
    }

    #[test]
    fn removes_literals_with_any_prefix() {
        assert_eq!(
            left(r##"a("b \" c", b"d", r#"e " f"#, br"g", 'h', '\'', '\u{1F}') i"##),
            ["a", "i"]
        );
    }

    #[test]
    fn keeps_lifetimes_and_raw_names() {
        assert_eq!(
            left("fn f<'a>(r#type: &'a str, b: u8)"),
            ["fn", "f", "a", "r", "type", "a", "str", "b", "u8"]
        );
    }

    #[test]
    fn preserves_line_numbers() {
        let code = blank_literals("/* one\ntwo */ \"three\n\" four");
        let found: Vec<_> = words(&code).map(|word| (word.word, word.line)).collect();
        assert_eq!(found, [("four", 3)]);
    }

    #[test]
    fn removes_tests_but_not_code_after_them() {
        let source = RustSource::new("#[cfg(test)]\nmod tests { fn inner() {} }\nfn outer() {}");
        let found: Vec<_> = words(&source.production).map(|word| (word.word, word.line)).collect();
        assert_eq!(found, [("fn", 3), ("outer", 3)]);
        assert!(source.code.contains("inner"));
    }

    #[test]
    fn removes_test_only_declaration() {
        let source = RustSource::new("#[cfg(test)]\nextern crate std;\nmod a;");
        assert!(source.production.contains("mod a;") && !source.production.contains("extern"));
    }

    #[test]
    fn accepts_unterminated_text() {
        for text in ["\"", "/*", "r#\"", "'\\", "#[cfg(test)]", "b", "fn f() {"] {
            RustSource::new(text);
        }
    }
}
