//! Reads graphs from files: edge lists, DOT and GraphML.

use std::fs;
use std::path::Path;

use tenure_trace::files;

use super::builder::{GraphBuilder, LineError, NamedGraph};
use super::{dot, edge_list, graphml};

const MAX_BYTES: u64 = 64 << 20;

/// Reads the graph in a file. The extension of the file determines the format. If the extension is
/// unknown, the beginning of the text determines the format. The format of any other text is an
/// edge list.
pub(super) fn read_graph(path: &Path) -> Result<NamedGraph, String> {
    let text = read_text(path)?;
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    parse(extension, &text).map_err(|LineError { line, message }| match line {
        0 => format!("{}: {message}", path.display()),
        _ => format!("{}:{line}: {message}", path.display()),
    })
}

/// Returns true if the value of an option names a file: the file exists, or the value looks like a
/// path.
pub(super) fn is_path(text: &str) -> bool {
    let path = Path::new(text);
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let is_known = ["dot", "gv", "graphml", "xml", "txt"].contains(&extension);
    is_known || text.contains(std::path::MAIN_SEPARATOR) || path.exists()
}

/// Reads a text file. Returns an error message if the file cannot be read or has more than
/// [`MAX_BYTES`] bytes. A file in memory may have any size.
pub(super) fn read_text(path: &Path) -> Result<String, String> {
    if files::keeps_files_in_memory() {
        return in_memory(path);
    }
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let length = fs::metadata(path).map_err(failed)?.len();
    if length > MAX_BYTES {
        return Err(format!("{} has {length} bytes: at most {MAX_BYTES}", path.display()));
    }
    fs::read_to_string(path).map_err(failed)
}

fn in_memory(path: &Path) -> Result<String, String> {
    let read = files::open(path).and_then(std::io::read_to_string);
    read.map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn parse(extension: &str, text: &str) -> Result<NamedGraph, LineError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let builder = match extension.to_lowercase().as_str() {
        "dot" | "gv" => dot::parse_dot(text),
        "graphml" | "xml" => graphml::parse_graphml(text),
        _ if text.trim_start().starts_with('<') => graphml::parse_graphml(text),
        _ if is_dot(text) => dot::parse_dot(text),
        _ => edge_list::parse_edge_list(text),
    };
    // Line 0 means that the error concerns the whole graph.
    GraphBuilder::build(builder?).map_err(|message| LineError::new(0, message))
}

fn is_dot(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default().to_lowercase();
    let is_keyword = ["strict", "graph", "digraph"].contains(&first.trim_end_matches('{'));
    is_keyword && text.contains('{')
}

#[cfg(test)]
mod tests {
    use tenure_core::{Graph, ProcessId};

    use super::*;

    fn triangle_with_tail() -> Graph {
        let edges = [(0, 1, 1), (1, 2, 7), (0, 2, 1), (2, 3, 1)];
        let edges = edges.map(|(one, other, weight)| (ProcessId(one), ProcessId(other), weight));
        Graph::new(4, edges).unwrap()
    }

    fn error(extension: &str, text: &str) -> (usize, String) {
        let LineError { line, message } = parse(extension, text).unwrap_err();
        (line, message)
    }

    #[test]
    fn formats_agree_on_graph() {
        let list = "# a triangle\nberlin paris\nparis rome 7 # far\n\nberlin rome\nrome oslo\n";
        let dot = "graph cities {\n  node [shape=circle]\n  berlin -- paris;\n  \
                   paris -- rome [label=\"far\", weight=7]\n  berlin -- rome -- \"oslo\"\n}";
        let graphml = "<?xml version=\"1.0\"?>\n\
            <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n\
            <key id=\"d0\" for=\"edge\" attr.name=\"weight\" attr.type=\"int\"/>\n\
            <graph edgedefault=\"undirected\">\n<node id=\"berlin\"/><node id=\"paris\"/>\n\
            <node id=\"rome\"/><node id=\"oslo\"/>\n<edge source=\"berlin\" target=\"paris\"/>\n\
            <edge source=\"paris\" target=\"rome\"><data key=\"d0\">7</data></edge>\n\
            <edge source=\"berlin\" target=\"rome\"/><edge source=\"rome\" target=\"oslo\"/>\n\
            </graph></graphml>";
        for (extension, text) in
            [("txt", list), ("dot", dot), ("", dot), ("graphml", graphml), ("", graphml)]
        {
            let named = parse(extension, text).unwrap();
            assert_eq!(*named.graph, triangle_with_tail(), "{extension}");
            assert_eq!(named.vertex_names(), ["berlin", "paris", "rome", "oslo"], "{extension}");
            assert_eq!(named.vertex_label(ProcessId(3)), "oslo (P4)");
            assert_eq!(named.graph.to_string(), "1-2,1-3,2-3:7,3-4");
        }
    }

    #[test]
    fn numbered_vertices_keep_their_numbers() {
        let named = parse("", "3 1\n1 2\n2 3 7\n4 3\n").unwrap();
        assert_eq!(*named.graph, triangle_with_tail());
        assert!(named.vertex_names().is_empty());
        assert_eq!(parse("", "P2 P1\n").unwrap().vertex_label(ProcessId(1)), "P2");
        // 2 is missing, so 1 and 3 are names and not the numbers of processes.
        assert_eq!(parse("", "1 3\n").unwrap().vertex_names(), ["1", "3"]);
    }

    #[test]
    fn dot_groups_chains_and_strict_graphs_expand() {
        let star = parse("gv", "graph { a -- { b c; d } }").unwrap();
        assert_eq!(*star.graph, Graph::star(4));
        let line = parse("gv", "strict graph { a -- b -- c; b -- a; c:n -- b }").unwrap();
        assert_eq!(*line.graph, Graph::line(3));
        let alone = parse("gv", "graph { rankdir = LR; a; b /* far */ // and away\n }").unwrap();
        assert_eq!((alone.size(), alone.graph.edge_count()), (2, 0));
        let unicode = parse("gv", "graph { Zürich -- \"São Paulo\" -- -1.5 -- Ålesund }").unwrap();
        assert_eq!(unicode.vertex_names(), ["Zürich", "São Paulo", "-1.5", "Ålesund"]);
    }

    #[test]
    fn errors_name_line_and_vertices() {
        let cases = [
            ("", "a b\na b c d\n", 2, "expected 'a b' or 'a b weight', found 'a b c d'"),
            ("", "a b\nb a\n", 2, "edge b – a occurs twice"),
            ("", "a b\n\nc c\n", 3, "edge c – c joins a vertex with itself"),
            ("", "a b 0\n", 1, "invalid weight '0': expected a whole number from 1"),
            ("", "# nothing\n", 0, "the graph has no vertices: expected at least one"),
            ("dot", "graph {\n a -- b\n a -- ;\n}", 3, "expected a vertex, found ';'"),
            (
                "dot",
                "graph {\n a -> b\n}",
                2,
                "an arrow '->' joins no vertices here: expected '--'",
            ),
            ("dot", "digraph { a -> b }", 1, DIRECTED_MESSAGE),
            ("dot", "graph { a -- b", 1, "expected '}', found the end of the file"),
            (
                "dot",
                "graph {\n a -- b [weight=x]\n}",
                2,
                "invalid weight 'x': expected a whole number from 1",
            ),
            ("dot", "graph { \"a }", 1, "a quoted text has no end '\"'"),
            ("dot", "graph { a @ b }", 1, "unexpected character '@'"),
            (
                "xml",
                "<graphml>\n<graph edgedefault=\"directed\"/>\n</graphml>",
                2,
                DIRECTED_MESSAGE,
            ),
            ("xml", "<svg/>", 1, "the document has no element graph: expected GraphML"),
            (
                "xml",
                "<graphml><graph><node id=\"a\"/>\n\
                 <edge source=\"a\" target=\"b\"/></graph></graphml>",
                2,
                "the edge names 'b', which is no node",
            ),
        ];
        for (extension, text, line, message) in cases {
            assert_eq!(error(extension, text), (line, message.to_owned()), "{text}");
        }
        let (line, message) = error("graphml", "<graphml>\n<graph>\n</graphml>");
        assert!(line == 3 && !message.contains('\n'), "{line}: {message}");
        let deep = "graph ".to_owned() + &"{".repeat(1_000_000);
        assert!(error("dot", &deep).1.contains("nested more than"));
    }

    fn weights(extension: &str, text: &str) -> String {
        parse(extension, text).unwrap().graph.to_string()
    }

    #[test]
    fn graphml_weights_of_edges_have_keys_and_defaults() {
        let graph = |keys: &str| {
            format!(
                "<graphml>{keys}<graph><node id=\"1\"><data key=\"d0\">0.5</data></node>\
                 <node id=\"2\"/><node id=\"3\"/>\
                 <edge source=\"1\" target=\"2\"><data key=\"d1\"><!-- far -->7</data></edge>\
                 <edge source=\"2\" target=\"3\"/></graph></graphml>"
            )
        };
        let node = "<key id=\"d0\" for=\"node\" attr.name=\"weight\"/>";
        let edge = |target: &str, content: &str| {
            format!("{node}<key id=\"d1\" {target} attr.name=\"weight\">{content}</key>")
        };
        for target in ["for=\"edge\"", "for=\"all\"", ""] {
            assert_eq!(weights("graphml", &graph(&edge(target, ""))), "1-2:7,2-3", "{target}");
            let default = edge(target, "<default>5</default>");
            assert_eq!(weights("graphml", &graph(&default)), "1-2:7,2-3:5", "{target}");
        }
        assert_eq!(weights("graphml", &graph(node)), "1-2,2-3");
        let invalid = edge("for=\"edge\"", "\n<default>0.5</default>");
        let message = "invalid weight '0.5': expected a whole number from 1";
        assert_eq!(error("graphml", &graph(&invalid)), (2, message.to_owned()));
    }

    #[test]
    fn dot_weights_have_defaults_within_braces() {
        let text = "graph { 1 -- 2; edge [weight=5]; 2 -- 3; 3 -- 4 [weight=7];\n\
                    subgraph { edge [weight=9] 4 -- 5 } -- 6; node [weight=0.5]; 1 [weight=x] }";
        assert_eq!(weights("gv", text), "1-2,2-3:5,3-4:7,4-5:9,4-6:5,5-6:5");
        let strict = "strict graph { 1 -- 2; edge [weight=5]; 2 -- 1; 1 -- 3; 3 -- 1 [weight=7] }";
        assert_eq!(weights("gv", strict), "1-2,1-3:7");
        let message = "invalid weight '0': expected a whole number from 1".to_owned();
        assert_eq!(error("gv", "graph {\nedge [weight=0] }"), (2, message));
    }

    /// Parsing this text would take minutes if the parser computed the line number of each edge.
    #[test]
    fn parses_large_graphml() {
        let vertices = 20_000;
        let nodes: String = (1..=vertices).map(|it| format!("<node id=\"{it}\"/>\n")).collect();
        let edge = |it| {
            let next = it + 1;
            let weight = "<data key=\"weight\">2</data>";
            format!("<edge source=\"{it}\" target=\"{next}\">{weight}</edge>\n")
        };
        let edges: String = (1..vertices).map(edge).collect();
        let text = format!("<graphml>\n<graph>\n{nodes}{edges}</graph>\n</graphml>");
        let named = parse("graphml", &text).unwrap();
        assert_eq!((named.size(), named.graph.edge_count()), (vertices, vertices as usize - 1));
    }

    #[test]
    fn dot_rejects_products_of_large_groups() {
        let group = |name: char, size: usize| {
            let names: Vec<String> = (0..size).map(|number| format!("{name}{number}")).collect();
            format!("{{ {} }}", names.join(" "))
        };
        let chain: Vec<String> = ('a'..='h').map(|name| group(name, 1_000)).collect();
        let pair = [group('a', 2_000), group('b', 2_000)];
        for (keyword, groups, edges) in
            [("graph", chain.as_slice(), 7_000_001), ("strict graph", &pair, 4_000_001)]
        {
            let text = format!("{keyword} {{\n x -- y\n {}\n}}", groups.join(" -- "));
            let message = format!("{edges} edges up to this line: expected at most 4000000");
            assert_eq!(error("dot", &text), (3, message));
        }
    }

    const DIRECTED_MESSAGE: &str = graphml::DIRECTED_GRAPH_ERROR;
}
