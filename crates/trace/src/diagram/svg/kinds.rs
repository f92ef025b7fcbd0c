//! Kinds of messages: a colour and a dash for each, and what they mean.

use std::collections::BTreeMap;

use super::Drawing;
use crate::diagram::layout::Crossing;

/// So many colours there are, and so many dashes. The first kinds have one of each; with the next
/// ones the colours begin anew and have other dashes, until each colour had each dash.
const LOOKS: usize = 6;

/// What an arrow that arrives is drawn as: the class of its line, and the head at its end.
pub(super) fn look(crossing: &Crossing) -> (String, String) {
    let head = |name: &str| format!(" marker-end=\"url(#{name})\"");
    if crossing.token {
        return ("carries".to_owned(), head("gemhead"));
    }
    let (colour, turn) = (crossing.kind % LOOKS, crossing.kind / LOOKS % LOOKS);
    let (class, head) = match colour {
        0 => ("arrow".to_owned(), head("head")),
        colour => (format!("arrow kind{colour}"), head(&format!("head{colour}"))),
    };
    let dash = (colour + turn) % LOOKS;
    (if turn == 0 { class } else { format!("{class} dash{dash}") }, head)
}

impl<'l> Drawing<'l> {
    /// A message of each kind that is in the picture, where there are several kinds.
    pub(super) fn kinds(&self) -> Vec<&'l Crossing> {
        let mut kinds = BTreeMap::new();
        for crossing in &self.layout.crossings {
            kinds.entry(crossing.kind).or_insert(crossing);
        }
        if kinds.len() > 1 { kinds.into_values().collect() } else { Vec::new() }
    }

    /// The heads of arrows that have the colour of their kind.
    pub(super) fn heads(&self) -> String {
        let most = self.layout.crossings.iter().map(|crossing| crossing.kind).max();
        let looks = 1..LOOKS.min(most.map_or(1, |most| most + 1));
        looks
            .map(|look| {
                format!(
                    "<marker id=\"head{look}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" \
                     markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" \
                     orient=\"auto\"><path class=\"head{look}\" \
                     d=\"M0 0L10 5L0 10L3 5Z\"/></marker>\n"
                )
            })
            .collect()
    }
}
