//! Rust text as the checks see it: without comments, without what literals say.
//!
//! A full parser would say more than these checks ask and cost more than it says. Line
//! numbers survive, since hidden text is replaced by as many spaces.

/// A Rust file, seen twice.
#[derive(Debug)]
pub(crate) struct Source {
    /// Without comments and the insides of literals.
    pub(crate) code: String,
    /// The same without items under `#[cfg(test)]`: what is shipped.
    pub(crate) shipped: String,
}

impl Source {
    /// Reads a file.
    pub(crate) fn new(text: &str) -> Self {
        let code = hide(text);
        let shipped = without_tests(&code);
        Source { code, shipped }
    }
}

/// A word in code: an identifier, a keyword or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    /// What it is.
    pub(crate) word: &'a str,
    /// Its line, counted from 1.
    pub(crate) line: usize,
    /// Where it begins, in bytes.
    pub(crate) at: usize,
}

/// The words of `code`, in order.
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

/// The line of the byte at `at`, counted from 1.
pub(crate) fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

/// Where the bracket that opens at `at` is closed; the end of the code if it never is.
pub(crate) fn closing(code: &str, at: usize) -> usize {
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

/// Where the item that begins at `at` has its body: the first `{` outside other brackets;
/// `Err` with the place where the item ends when it has none.
pub(crate) fn body(code: &str, at: usize) -> Result<usize, usize> {
    let mut rest = at;
    while let Some(found) = code[rest..].find(['(', '[', '{', ';', ')', ']', '}']) {
        let place = rest + found;
        match code.as_bytes()[place] {
            b'{' => return Ok(place),
            b'(' | b'[' => rest = (closing(code, place) + 1).min(code.len()),
            _ => return Err(place),
        }
    }
    Err(code.len())
}

/// Where the brackets of attributes open and close, in bytes.
pub(crate) fn attributes(code: &str) -> impl Iterator<Item = (usize, usize)> {
    code.match_indices('#').filter_map(|(at, _)| {
        let tail = &code[at + 1..];
        let open = at + 1 + usize::from(tail.starts_with('!'));
        code[open..].starts_with('[').then(|| (open, closing(code, open)))
    })
}

/// Replaces comments and literals by spaces.
fn hide(text: &str) -> String {
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

/// The length of the comment or literal that begins at `at`; 0 if none does.
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

/// `b"…"`, `c"…"`, `r"…"`, `r#"…"#`, `br"…"` and the like; 0 for a word that begins so.
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
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut shipped = String::with_capacity(code.len());
    let mut rest = 0;
    while let Some(found) = code[rest..].find(MARK) {
        let start = rest + found;
        let end = match body(code, start + MARK.len()) {
            Ok(brace) => closing(code, brace) + 1,
            Err(end) => end,
        };
        let end = end.min(code.len());
        shipped.push_str(&code[rest..start]);
        shipped.extend(code[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = end;
    }
    shipped.push_str(&code[rest..]);
    shipped
}

#[cfg(test)]
mod tests {
    use super::{Source, hide, words};

    fn left(text: &str) -> Vec<String> {
        words(&hide(text)).map(|word| word.word.to_owned()).collect()
    }

    #[test]
    fn comments_are_hidden_even_nested_ones() {
        assert_eq!(left("a // b\n c /* d /* e */ f */ g"), ["a", "c", "g"]);
    }

    #[test]
    fn literals_are_hidden_whatever_their_prefix() {
        assert_eq!(
            left(r##"a("b \" c", b"d", r#"e " f"#, br"g", 'h', '\'', '\u{1F}') i"##),
            ["a", "i"]
        );
    }

    #[test]
    fn lifetimes_and_raw_names_are_not_literals() {
        assert_eq!(
            left("fn f<'a>(r#type: &'a str, b: u8)"),
            ["fn", "f", "a", "r", "type", "a", "str", "b", "u8"]
        );
    }

    #[test]
    fn lines_are_counted_through_hidden_text() {
        let code = hide("/* one\ntwo */ \"three\n\" four");
        let found: Vec<_> = words(&code).map(|word| (word.word, word.line)).collect();
        assert_eq!(found, [("four", 3)]);
    }

    #[test]
    fn tests_are_not_shipped_but_what_follows_them_is() {
        let source = Source::new("#[cfg(test)]\nmod tests { fn inner() {} }\nfn outer() {}");
        let found: Vec<_> = words(&source.shipped).map(|word| (word.word, word.line)).collect();
        assert_eq!(found, [("fn", 3), ("outer", 3)]);
        assert!(source.code.contains("inner"));
    }

    #[test]
    fn a_test_only_declaration_ends_at_its_semicolon() {
        let source = Source::new("#[cfg(test)]\nextern crate std;\nmod a;");
        assert!(source.shipped.contains("mod a;") && !source.shipped.contains("extern"));
    }

    #[test]
    fn unfinished_text_is_read_to_its_end() {
        for text in ["\"", "/*", "r#\"", "'\\", "#[cfg(test)]", "b", "fn f() {"] {
            Source::new(text);
        }
    }
}
