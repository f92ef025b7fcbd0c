//! Text that stays text within HTML.

use std::io::{self, Write};

/// Writes JSON so that it may stand in a script of a page: what could end the script, begin a
/// comment or be taken for the end of a line is written as an escape.
///
/// In JSON all of these stand within strings only, where an escape means the same.
pub(super) struct Safe<W>(pub(super) W);

/// U+2028 and U+2029 in UTF-8, but for their last bytes.
const SEPARATOR: [u8; 2] = [0xE2, 0x80];

impl<W: Write> Write for Safe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut plain = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let (escape, length): (&[u8], usize) = match byte {
                b'<' => (b"\\u003c", 1),
                b'>' => (b"\\u003e", 1),
                b'&' => (b"\\u0026", 1),
                0xE2 if bytes[at..].starts_with(&[SEPARATOR[0], SEPARATOR[1], 0xA8]) => {
                    (b"\\u2028", 3)
                }
                0xE2 if bytes[at..].starts_with(&[SEPARATOR[0], SEPARATOR[1], 0xA9]) => {
                    (b"\\u2029", 3)
                }
                _ => continue,
            };
            self.0.write_all(&bytes[plain..at])?;
            self.0.write_all(escape)?;
            plain = at + length;
        }
        self.0.write_all(&bytes[plain..])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Text as it may stand between the tags of HTML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</script><!-- <script> ]]> & \u{2028}\u{2029} \u{2027} € \\u003c \" '";

    #[test]
    fn nothing_in_a_string_ends_the_script_and_everything_is_read_back() {
        let mut written = Vec::new();
        serde_json::to_writer(Safe(&mut written), HOSTILE).unwrap();
        let text = String::from_utf8(written).unwrap();
        for never in ["<", ">", "&", "\u{2028}", "\u{2029}"] {
            assert!(!text.contains(never), "{text}");
        }
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), HOSTILE);
    }

    #[test]
    fn without_it_the_script_would_end() {
        assert!(serde_json::to_string(HOSTILE).unwrap().contains("</script>"));
    }

    #[test]
    fn a_title_is_text() {
        assert_eq!(escaped("<b>&"), "&lt;b&gt;&amp;");
    }
}
