//! Reads edge lists. Each line has an edge, as `a b` or `a b weight`, and comments begin with `#`.

use std::collections::BTreeSet;

use tenure_core::graph::ParseGraphError;

use super::builder::{GraphBuilder, LineError, NamedGraph, parse_weight};

/// Parses an edge list. A line with a single name adds a vertex.
pub(super) fn parse_edge_list(text: &str) -> Result<GraphBuilder, LineError> {
    let mut builder = GraphBuilder::default();
    for (line, content) in (1..).zip(text.lines()) {
        let at_line = |message| LineError::new(line, message);
        let content = content.split('#').next().unwrap_or_default();
        let words: Vec<&str> = content.split_whitespace().collect();
        match *words {
            [] => {}
            [vertex] => {
                builder.add_vertex(vertex);
            }
            [one, other] => {
                let ends = (builder.add_vertex(one), builder.add_vertex(other));
                builder.add_edge(ends, 1).map_err(at_line)?;
            }
            [one, other, weight] => {
                let weight = parse_weight(weight).map_err(at_line)?;
                let ends = (builder.add_vertex(one), builder.add_vertex(other));
                builder.add_edge(ends, weight).map_err(at_line)?;
            }
            _ => {
                let found = content.trim();
                let message = format!("expected 'a b' or 'a b weight', found '{found}'");
                return Err(at_line(message));
            }
        }
    }
    Ok(builder)
}

/// Parses edges that are written as one word, such as `1-2,2-3:7`. The word `1` is a graph with one
/// vertex. Returns `None` if the text does not have this form.
pub(super) fn parse_inline_edges(text: &str) -> Option<Result<NamedGraph, String>> {
    let is_inline = |byte: u8| byte.is_ascii_digit() || b"-,:".contains(&byte);
    if !text.bytes().all(is_inline) || !text.contains('-') && text != "1" {
        return None;
    }
    let graph = || text.parse().map_err(|error: ParseGraphError| error.to_string());
    Some(check_numbers(text).and_then(|()| graph()).map(NamedGraph::numbered))
}

/// Returns an error if the edges leave out a number between 1 and the largest process number. Such
/// a graph is not connected. Without this check, a short text with a large number could create a
/// graph of gigabytes.
fn check_numbers(text: &str) -> Result<(), String> {
    let ends = text.split(',').flat_map(|item| item.split(':').next().unwrap_or(item).split('-'));
    // Leaves text that is not a number to the parser of the graph, which rejects the text.
    let Ok(named) = ends.map(str::parse).collect::<Result<BTreeSet<u32>, _>>() else {
        return Ok(());
    };
    let largest = named.last().copied().unwrap_or(1);
    match (2..=largest).find(|number| !named.contains(number)) {
        Some(apart) => Err(format!("the graph is not connected: no path joins P1 and P{apart}")),
        None => Ok(()),
    }
}
