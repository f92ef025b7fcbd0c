//! Kinds of messages: their colors, dashes, and legend.

use std::collections::BTreeMap;

use super::Drawing;
use crate::diagram::layout::MessageArrow;

/// Number of line colors, and also the number of dash patterns. If a picture has more kinds of
/// messages than colors, the colors repeat with another dash pattern.
const STYLE_COUNT: usize = 6;

/// Returns the CSS class of an arrow's line, and the name of its head.
pub(super) fn arrow_style(arrow: &MessageArrow) -> (String, String) {
    let head = |name: &str| format!(" marker-end=\"url(#{name})\"");
    if arrow.carries_token {
        return ("carries".to_owned(), head("gemhead"));
    }
    let (colour, turn) =
        (arrow.kind_index % STYLE_COUNT, arrow.kind_index / STYLE_COUNT % STYLE_COUNT);
    let (class, head) = match colour {
        0 => ("arrow".to_owned(), head("head")),
        colour => (format!("arrow kind{colour}"), head(&format!("head{colour}"))),
    };
    let dash = (colour + turn) % STYLE_COUNT;
    (if turn == 0 { class } else { format!("{class} dash{dash}") }, head)
}

impl<'l> Drawing<'l> {
    /// Returns one message of each kind in the picture, for the legend. If there is only one kind,
    /// returns an empty list, because no legend is needed.
    pub(super) fn legend_arrows(&self) -> Vec<&'l MessageArrow> {
        let mut kinds = BTreeMap::new();
        for arrow in &self.layout.arrows {
            kinds.entry(arrow.kind_index).or_insert(arrow);
        }
        if kinds.len() > 1 { kinds.into_values().collect() } else { Vec::new() }
    }

    /// Returns the SVG definitions of the arrow heads for the kinds of messages in the picture.
    /// Each head has the color of the messages that use it. The heads of the first color and of
    /// tokens are in `SVG_DEFINITIONS`.
    pub(super) fn arrowhead_definitions(&self) -> String {
        let most = self.layout.arrows.iter().map(|arrow| arrow.kind_index).max();
        let looks = 1..STYLE_COUNT.min(most.map_or(1, |most| most + 1));
        looks
            .map(|arrow_style| {
                format!(
                    "<marker id=\"head{arrow_style}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" \
                     markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" \
                     orient=\"auto\"><path class=\"head{arrow_style}\" \
                     d=\"M0 0L10 5L0 10L3 5Z\"/></marker>\n"
                )
            })
            .collect()
    }
}
