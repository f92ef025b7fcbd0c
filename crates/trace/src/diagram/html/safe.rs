//! Escaping of text that is embedded in HTML.

use std::io::{self, Write};

use crate::escaping::is_visible;

/// Writer that makes JSON safe within a script element. It escapes `<`, `>` and `&`, which could
/// end the script or begin a comment. In JSON, these characters occur only in strings, where a
/// character and its escape have the same meaning.
///
/// The writer replaces each invisible character by visible text, such as `\u{202e}`.
pub(super) struct ScriptSafeWriter<W>(pub(super) W);

impl<W: Write> Write for ScriptSafeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = str::from_utf8(bytes).map_err(io::Error::other)?;
        let is_special = |letter| matches!(letter, '<' | '>' | '&') || !is_visible(letter);
        while let Some(place) = rest.find(is_special) {
            self.0.write_all(&rest.as_bytes()[..place])?;
            let mut letters = rest[place..].chars();
            match letters.next() {
                Some(letter @ ('<' | '>' | '&')) => write!(self.0, "\\u{:04x}", letter as u32)?,
                Some(letter) => write!(self.0, "\\{}", letter.escape_debug())?,
                None => {}
            }
            rest = letters.as_str();
        }
        self.0.write_all(rest.as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Escapes text for use between HTML tags. The result is not safe in attributes.
pub(super) fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</script><!-- <script> ]]> & \u{2027} € \\u003c \u{1b} \" '";

    #[test]
    fn strings_cannot_end_the_script_and_round_trip() {
        let mut written = Vec::new();
        serde_json::to_writer(ScriptSafeWriter(&mut written), HOSTILE).unwrap();
        let text = String::from_utf8(written).unwrap();
        assert!(!text.contains(['<', '>', '&']), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), HOSTILE);
    }

    #[test]
    fn invisible_characters_are_escaped() {
        let mut written = Vec::new();
        serde_json::to_writer(ScriptSafeWriter(&mut written), "a\u{202e}b\u{2028}\u{9b}").unwrap();
        let read: String = serde_json::from_slice(&written).unwrap();
        assert_eq!(read, "a\\u{202e}b\\u{2028}\\u{9b}");
    }

    #[test]
    fn unescaped_string_would_end_the_script() {
        assert!(serde_json::to_string(HOSTILE).unwrap().contains("</script>"));
    }

    #[test]
    fn title_is_escaped() {
        assert_eq!(escape_html("<b>&"), "&lt;b&gt;&amp;");
    }
}
