//! Reads GraphML: nodes, edges, and the weights of edges. The weight of an edge is in its data
//! element for the key `weight`, or else in the default value of this key.

use roxmltree::{Document, Node};

use super::builder::{GraphBuilder, LineError, parse_weight};

pub(super) fn parse_graphml(text: &str) -> Result<GraphBuilder, LineError> {
    let document = Document::parse(text)
        .map_err(|error| LineError::new(error.pos().row as usize, error.to_string()))?;
    let root = document.root_element();
    let graph = root
        .descendants()
        .find(named("graph"))
        .ok_or_else(|| LineError::new(1, "the document has no element graph: expected GraphML"))?;
    if graph.attribute("edgedefault") == Some("directed") {
        return Err(error_at(graph, DIRECTED_GRAPH_ERROR));
    }
    let weights = EdgeWeights::declared_in(root);
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
        let weight = weights.element(edge).map_or(Ok(1), |element| {
            parse_weight(text_of(element).trim()).map_err(|message| error_at(element, message))
        })?;
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

/// Returns an error with the line of `node`. Finding the line takes time in proportion to the
/// length of the text before the line.
fn error_at(node: Node<'_, '_>, message: impl Into<String>) -> LineError {
    let position = node.document().text_pos_at(node.range().start);
    LineError::new(position.row as usize, message)
}

/// Places in a file that contain the weights of edges.
struct EdgeWeights<'a, 'input> {
    /// IDs of the keys that the file declares with the name `weight` for edges. If the file
    /// declares none, the list contains only `weight`.
    keys: Vec<&'a str>,
    /// Element with the default weight, for edges without a weight of their own; `None` if there is
    /// no default.
    default: Option<Node<'a, 'input>>,
}

impl<'a, 'input> EdgeWeights<'a, 'input> {
    fn declared_in(root: Node<'a, 'input>) -> Self {
        let is_weight = |key: &Node<'_, '_>| {
            // A key without the attribute `for` is for all elements.
            let is_for_edges = matches!(key.attribute("for"), None | Some("edge" | "all"));
            is_for_edges && key.attribute("attr.name") == Some("weight")
        };
        let declared: Vec<_> = root.children().filter(named("key")).filter(is_weight).collect();
        let default = declared.iter().find_map(|key| key.children().find(named("default")));
        let mut keys: Vec<&str> = declared.iter().filter_map(|key| key.attribute("id")).collect();
        if keys.is_empty() {
            keys.push("weight");
        }
        EdgeWeights { keys, default }
    }

    /// Returns the element that contains the weight of `edge`. It is a data element of the edge, or
    /// else the element with the default weight. Returns `None` if the file has neither.
    fn element(&self, edge: Node<'a, 'input>) -> Option<Node<'a, 'input>> {
        let is_weight =
            |data: &Node<'_, '_>| data.attribute("key").is_some_and(|key| self.keys.contains(&key));
        edge.children().filter(named("data")).find(is_weight).or(self.default)
    }
}

/// Returns a filter for the elements with a name.
fn named(name: &str) -> impl Fn(&Node<'_, '_>) -> bool {
    move |node| node.tag_name().name() == name
}

/// Returns the whole text of an element, without comments.
fn text_of(element: Node<'_, '_>) -> String {
    let texts = element.descendants().filter(Node::is_text);
    texts.filter_map(|node| node.text()).collect()
}

pub(super) const DIRECTED_GRAPH_ERROR: &str = "the graph is directed: expected an undirected graph";
