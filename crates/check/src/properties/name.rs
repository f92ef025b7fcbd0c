//! What a property is called.

use std::any::{TypeId, type_name};

use tenure_core::monitors::{Bypass, OneLeader};

/// The name of a monitor's property, as the command line spells it: that of its type, but for
/// those whose type says how it is judged.
pub(crate) fn name_of<M: 'static>() -> String {
    if TypeId::of::<M>() == TypeId::of::<Bypass>() {
        return "no-starvation".to_owned();
    }
    if TypeId::of::<M>() == TypeId::of::<OneLeader>() {
        return "one-leader-at-a-time".to_owned();
    }
    let whole = type_name::<M>();
    // An adapter such as `OnMutex<…>` judges what is inside it.
    let inner = whole.rsplit('<').next().unwrap_or(whole).trim_end_matches('>');
    kebab(inner.rsplit("::").next().unwrap_or(inner))
}

fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(letter.to_lowercase());
    }
    kebab
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::monitors::{Agreement, MutualExclusion, OnMutex};

    #[test]
    fn properties_are_called_as_on_the_command_line() {
        assert_eq!(name_of::<MutualExclusion>(), "mutual-exclusion");
        assert_eq!(name_of::<OnMutex<MutualExclusion>>(), "mutual-exclusion");
        assert_eq!(name_of::<Agreement>(), "agreement");
        assert_eq!(name_of::<Bypass>(), "no-starvation");
    }
}
