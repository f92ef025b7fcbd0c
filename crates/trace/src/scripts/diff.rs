//! Line-based difference of two texts.

use crate::alignment::{AlignedItem, align};

/// Returns the lines of both texts in one order. A line that only `old` contains begins with `-`. A
/// line that only `new` contains begins with `+`. Any other line begins with a blank.
pub(crate) fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let line = |place| match place {
        AlignedItem::Both(at, _) => format!(" {}\n", old[at]),
        AlignedItem::First(at) => format!("-{}\n", old[at]),
        AlignedItem::Second(at) => format!("+{}\n", new[at]),
    };
    align(&old, &new).items.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn diff_marks_only_changed_lines() {
        assert_eq!(diff("a\nb\nc\n", "a\nx\nc\nd\n"), " a\n-b\n+x\n c\n+d\n");
        assert_eq!(diff("a", "a"), " a\n");
        assert_eq!(diff("", "a"), "+a\n");
    }
}
