//! Reads GraphML: nodes, edges, and the weights of edges. The weight of an edge is in the data
//! element with the name `weight`.

use roxmltree::{Document, Node};

use super::builder::{GraphBuilder, LineError, parse_weight};

pub(super) fn parse_graphml(text: &str) -> Result<GraphBuilder, LineError> {
    let document = Document::parse(text)
        .map_err(|error| LineError::new(error.pos().row as usize, error.to_string()))?;
    let named = |name| move |node: &Node<'_, '_>| node.tag_name().name() == name;
    let root = document.root_element();
    let graph = root
        .descendants()
        .find(named("graph"))
        .ok_or_else(|| LineError::new(1, "the document has no element graph: expected GraphML"))?;
    if graph.attribute("edgedefault") == Some("directed") {
        return Err(error_at(graph, DIRECTED_GRAPH_ERROR));
    }
    // Key of the data elements that contain weights. It is the ID that the file declares for
    // `weight`, or `weight` without such a declaration.
    let is_weight = |key: &Node<'_, '_>| key.attribute("attr.name") == Some("weight");
    let key = root.children().filter(named("key")).find(is_weight);
    let key = key.and_then(|key| key.attribute("id")).unwrap_or("weight");
    let required = |node: Node<'_, '_>, name: &str| {
        let found = node.attribute(name).map(str::to_owned);
        found.ok_or_else(|| {
            let element = node.tag_name().name();
            error_at(node, format!("{element} has no attribute {name}"))
        })
    };
    let mut builder = GraphBuilder::default();
    for node in graph.descendants().filter(named("node")) {
        builder.add_vertex(&required(node, "id")?);
    }
    for edge in graph.descendants().filter(named("edge")) {
        if edge.attribute("directed") == Some("true") {
            return Err(error_at(edge, DIRECTED_GRAPH_ERROR));
        }
        let data = edge.children().filter(named("data"));
        let weight =
            data.filter(|data| data.attribute("key") == Some(key)).find_map(|it| it.text());
        let weight = weight.map_or(Ok(1), |text| parse_weight(text.trim()));
        let weight = weight.map_err(|message| error_at(edge, message))?;
        let [one, other] = ["source", "target"].map(|end| required(edge, end));
        let (one, other) = (one?, other?);
        if let Some(unknown) = [&one, &other].into_iter().find(|end| !builder.contains(end)) {
            let message = format!("the edge names '{unknown}', which is no node");
            return Err(error_at(edge, message));
        }
        let ends = (builder.add_vertex(&one), builder.add_vertex(&other));
        builder.add_edge(ends, weight).map_err(|message| error_at(edge, message))?;
    }
    Ok(builder)
}

/// Returns an error with the line of `node`. This takes time in proportion to the text before the
/// line.
fn error_at(node: Node<'_, '_>, message: impl Into<String>) -> LineError {
    let position = node.document().text_pos_at(node.range().start);
    LineError::new(position.row as usize, message)
}

pub(super) const DIRECTED_GRAPH_ERROR: &str = "the graph is directed: expected an undirected graph";
