//! Graphs in GraphML: Brandes, Eiglsperger, Lerner & Pich 2013, "Graph Markup Language (GraphML)".
//!
//! Read are nodes, edges, their directions, weights and labels, also those that yEd writes (`y:NodeLabel`).
//! Ports, hyperedges and nested graphs are not.

use std::path::Path;

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table::{self, TableOptions, normalise};
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::graph::Builder;
use crate::graph::names::{Index, Names};
use crate::graph::options::{EdgeOptions, NodeNames, ReadGraph, parse_weight};

/// A message about the element that is read.
type Checked<T> = std::result::Result<T, String>;

/// Whether the name of a file ends with `.graphml` or `.graphml.gz`.
pub(crate) fn is_graphml(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".gz").unwrap_or(&name).ends_with(".graphml")
}

/// Reads a graph. Nodes are named by their `label`, or else by their `y:NodeLabel`, or else by their
/// `name`, or else by their `id`; with [`NodeNames::Id`] by their `id`. An undirected edge becomes two
/// pairs, one for each direction.
///
/// # Errors
/// If the file cannot be read, is not XML or not GraphML, or an edge has an end that is no node. If two nodes
/// have the same name. If it has nested graphs or hyperedges, or options are about tables.
pub(crate) fn read(path: &Path, options: &EdgeOptions) -> Result<ReadGraph> {
    if options.table != TableOptions::default() {
        let message = "this is GraphML: --separator, --header and --columns are for tables";
        return Err(AppError::content(path, message));
    }
    let content = table::content(path)?;
    let wrong = |position: u64, message| AppError::line(path, table::line_at(&content, position), message);
    let text = std::str::from_utf8(&content);
    let text = text.map_err(|error| wrong(error.valid_up_to() as u64, "invalid UTF-8".to_owned()))?;
    let weight = options.weight.as_deref().unwrap_or("weight");
    let mut document = Document {
        weight: (!options.no_weights()).then(|| normalise(weight)),
        node_names: options.node_names,
        ..Document::default()
    };
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    loop {
        let position = reader.buffer_position();
        match reader.read_event() {
            Ok(Event::Eof) => break,
            Ok(event) => document.add(&event, position).map_err(|message| wrong(position, message))?,
            Err(error) => return Err(wrong(reader.error_position(), error.to_string())),
        }
    }
    if document.depth > 0 || document.directed.is_none() {
        let message = if document.depth > 0 { "the file ends before </graphml>" } else { "no <graph>" };
        let end = text.trim_end().len().saturating_sub(1);
        return Err(wrong(end as u64, message.to_owned()));
    }
    if document.keys.weight.is_none() && options.weight.is_some() && document.weight.is_some() {
        return Err(AppError::usage(format!("--weight {weight}: no edge of {} has one", path.display())));
    }
    document.finish().map_err(|(position, message)| wrong(position, message))
}

/// What has been read so far.
#[derive(Default)]
struct Document {
    /// Number of elements that are open.
    depth: usize,
    /// Whether edges are directed unless they say otherwise; `None` before the graph.
    directed: Option<bool>,
    keys: Keys,
    /// The name of the attribute that is the weight, if any, and what names the nodes.
    weight: Option<String>,
    node_names: NodeNames,
    /// Identifiers of nodes, also of those that only edges have named so far.
    ids: Names,
    index: Index,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    element: Element,
    /// The key of the `<data>` that is read.
    data: String,
    text: String,
}

/// The keys of data that are used.
#[derive(Default)]
struct Keys {
    label: Option<String>,
    name: Option<String>,
    weight: Option<String>,
    default_weight: Option<f64>,
}

/// The element that data belong to.
#[derive(Default)]
enum Element {
    #[default]
    Other,
    WeightKey,
    Node(u32),
    Edge,
}

#[derive(Clone, Default)]
struct Node {
    /// Where its element begins, if there is one.
    position: Option<u64>,
    /// Its label, and how good a name that is: the smallest number counts.
    label: Option<(u8, String)>,
}

/// Where a label comes from, the best first.
mod rank {
    pub(super) const LABEL: u8 = 0;
    pub(super) const NODE_LABEL: u8 = 1;
    pub(super) const NAME: u8 = 2;
}

impl Node {
    /// Takes a label, if it is not blank and better than the one before.
    fn label(&mut self, rank: u8, text: &str) {
        if !text.is_empty() && self.label.as_ref().is_none_or(|(known, _)| rank < *known) {
            self.label = Some((rank, text.to_owned()));
        }
    }
}

struct Edge {
    position: u64,
    ends: [u32; 2],
    directed: bool,
    weight: Option<f64>,
}

/// An attribute that is required.
fn required(element: &BytesStart<'_>, name: &str) -> Checked<String> {
    let missing = || format!("<{}> without the attribute {name}", element.local_name().as_ref());
    attribute(element, name)?.ok_or_else(missing)
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Checked<Option<String>> {
    let found = element.try_get_attribute(name).map_err(|error| error.to_string())?;
    let value = found.map(|found| found.normalized_value(XmlVersion::Implicit1_0));
    Ok(value.transpose().map_err(|error| error.to_string())?.map(|value| value.into_owned()))
}

/// One of two values of an attribute.
fn either(name: &str, value: &str, [yes, no]: [&str; 2]) -> Checked<bool> {
    if value == yes || value == no {
        Ok(value == yes)
    } else {
        Err(format!("{name}={value:?} is neither {yes:?} nor {no:?}"))
    }
}

impl Document {
    /// Takes a part of the file that begins at this byte.
    fn add(&mut self, event: &Event<'_>, position: u64) -> Checked<()> {
        match event {
            Event::Start(element) => self.start(element, position),
            Event::End(element) => self.end(element.local_name().as_ref()),
            Event::Text(text) => {
                self.text += &text.xml10_content();
                Ok(())
            }
            Event::CData(text) => {
                self.text += &text.xml10_content();
                Ok(())
            }
            Event::GeneralRef(entity) => {
                match entity.resolve_char_ref().map_err(|error| error.to_string())? {
                    Some(character) => self.text.push(character),
                    None => {
                        let unknown = || format!("unknown entity &{};", &**entity);
                        self.text += resolve_predefined_entity(entity).ok_or_else(unknown)?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, element: &BytesStart<'_>, position: u64) -> Checked<()> {
        let name = element.local_name();
        if self.depth == 0 && name.as_ref() != "graphml" {
            return Err(format!("<{}> where <graphml> is expected", name.as_ref()));
        }
        self.depth += 1;
        match name.as_ref() {
            "key" => self.start_key(element)?,
            "graph" => {
                let value = required(element, "edgedefault")?;
                let directed = either("edgedefault", &value, ["directed", "undirected"])?;
                if self.directed.replace(directed).is_some() {
                    return Err("a second <graph>; only one is read, and none inside another".to_owned());
                }
            }
            "node" => {
                let node = self.node(&required(element, "id")?);
                if self.nodes[node as usize].position.replace(position).is_some() {
                    return Err(format!("node {:?} occurs twice", &self.ids[node as usize]));
                }
                self.element = Element::Node(node);
            }
            "edge" => {
                let ends = [required(element, "source")?, required(element, "target")?];
                let ends = ends.map(|id| self.node(&id));
                let directed = match attribute(element, "directed")? {
                    Some(value) => either("directed", &value, ["true", "false"])?,
                    None => self.directed.unwrap_or(true),
                };
                self.edges.push(Edge { position, ends, directed, weight: self.keys.default_weight });
                self.element = Element::Edge;
            }
            "hyperedge" => return Err("a hyperedge; only edges between two nodes are read".to_owned()),
            "data" => {
                self.data = required(element, "key")?;
                self.text.clear();
            }
            "default" | "NodeLabel" => self.text.clear(),
            _ => {}
        }
        Ok(())
    }

    fn start_key(&mut self, element: &BytesStart<'_>) -> Checked<()> {
        let id = required(element, "id")?;
        let domain = attribute(element, "for")?;
        let is_for = |wanted: &str| domain.as_deref().is_none_or(|domain| [wanted, "all"].contains(&domain));
        let name = normalise(&attribute(element, "attr.name")?.unwrap_or_default());
        if self.weight.as_ref() == Some(&name) && is_for("edge") {
            self.keys.weight = Some(id);
            self.element = Element::WeightKey;
        } else if name == "label" && is_for("node") {
            self.keys.label = Some(id);
        } else if name == "name" && is_for("node") {
            self.keys.name = Some(id);
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Checked<()> {
        self.depth -= 1;
        let is = |key: &Option<String>| key.as_deref() == Some(self.data.as_str());
        match (name, &self.element) {
            ("data", Element::Edge) if is(&self.keys.weight) => {
                if let Some(edge) = self.edges.last_mut() {
                    edge.weight = Some(parse_weight(&self.text)?);
                }
            }
            ("data", Element::Node(node)) => {
                let (label, name) = (is(&self.keys.label), is(&self.keys.name));
                let node = &mut self.nodes[*node as usize];
                if label || name {
                    node.label(if label { rank::LABEL } else { rank::NAME }, &self.text);
                }
            }
            ("NodeLabel", Element::Node(node)) => {
                self.nodes[*node as usize].label(rank::NODE_LABEL, self.text.trim());
            }
            ("default", Element::WeightKey) => self.keys.default_weight = Some(parse_weight(&self.text)?),
            ("node" | "edge" | "key", _) => self.element = Element::Other,
            _ => {}
        }
        Ok(())
    }

    /// The number of a node's identifier.
    fn node(&mut self, id: &str) -> u32 {
        let node = self.index.find_or_add(&mut self.ids, id);
        self.nodes.resize(self.ids.len(), Node::default());
        node
    }

    /// The graph, or where something is wrong and what.
    fn finish(self) -> std::result::Result<ReadGraph, (u64, String)> {
        let Document { ids, nodes, edges, node_names, weight, .. } = self;
        let labelled = match node_names {
            NodeNames::Label => nodes.iter().filter(|node| node.label.is_some()).count(),
            NodeNames::Id => 0,
        };
        for edge in &edges {
            if let Some(&end) = edge.ends.iter().find(|&&end| nodes[end as usize].position.is_none()) {
                return Err((edge.position, format!("no node {:?}", &ids[end as usize])));
            }
        }
        let name = |(node, id): (Node, &str)| match node.label {
            Some((_, label)) if node_names == NodeNames::Label => String::from(label.trim()),
            _ => String::from(id.trim()),
        };
        let positions: Vec<u64> = nodes.iter().map(|node| node.position.unwrap_or_default()).collect();
        let names: Names = nodes.into_iter().zip(ids.iter()).map(name).collect();
        if let Some(node) = names.iter().position(str::is_empty) {
            return Err((positions[node], "an empty name".to_owned()));
        }
        Index::new(&names).map_err(|[first, second]| {
            let (a, b, name) = (&ids[first], &ids[second], &names[first]);
            let message =
                format!("nodes {a:?} and {b:?} have one name, {name:?}; --node-names id takes the ids");
            (positions[first].max(positions[second]), message)
        })?;
        let mut builder = Builder::default();
        for Edge { ends, directed, weight, .. } in edges {
            let [u, v] = ends.map(|end| &names[end as usize]);
            builder.add(u, v, weight);
            if !directed && u != v {
                builder.add(v, u, weight);
            }
        }
        let graph = builder.finish();
        let mut read_as = match names.len() - labelled {
            0 => "read as GraphML, nodes named by their labels".to_owned(),
            unlabelled if labelled > 0 => {
                format!("read as GraphML, nodes named by their labels, {unlabelled} by their ids")
            }
            _ => "read as GraphML, nodes named by their ids".to_owned(),
        };
        if let Some(weight) = weight.filter(|_| !graph.weights.is_empty()) {
            read_as += &format!(", weights from '{weight}'");
        }
        Ok(ReadGraph { graph, read_as })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;

    fn read_text(text: &str) -> Result<Graph> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("g.graphml");
        std::fs::write(&path, text).unwrap();
        Ok(crate::graph::edges::read(&path, &EdgeOptions::default())?.graph)
    }

    /// A document with these keys, this value of `edgedefault` and this graph, which begins in line 3.
    fn document(keys: &str, default: &str, graph: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?><graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">{keys}\n\
             <graph id=\"G\" edgedefault=\"{default}\">\n{graph}\n</graph></graphml>\n"
        )
    }

    const ABC: &str = "<node id=\"a\"/><node id=\"b\"/><node id=\"c\"></node>";

    fn error(text: &str) -> String {
        let message = read_text(text).unwrap_err().to_string();
        message.rsplit_once("g.graphml").unwrap().1.to_owned()
    }

    #[test]
    fn directions_are_those_of_the_graph_or_of_the_edge() {
        let edges = "<edge source=\"b\" target=\"c\"/><edge source=\"a\" target=\"b\" directed=\"false\"/>\
                     <edge source=\"c\" target=\"c\" directed=\"true\"/>";
        let directed = read_text(&document("", "directed", &format!("{edges}{ABC}"))).unwrap();
        assert_eq!(directed.names, ["b", "c", "a"]);
        assert_eq!(directed.pairs, [(0, 1), (2, 0), (0, 2)]);
        assert_eq!((directed.self_loops, directed.weights.len()), (1, 0));
        let undirected = read_text(&document("", "undirected", &format!("{ABC}{edges}"))).unwrap();
        assert_eq!(undirected.pairs, [(0, 1), (1, 0), (2, 0), (0, 2)]);
    }

    #[test]
    fn labels_and_weights_are_found_by_their_keys() {
        let keys = "<key id=\"d0\" for=\"node\" attr.name=\"Label\" attr.type=\"string\"/>\
            <key id=\"d1\" for=\"all\" attr.name=\"name\"/><key id=\"d2\" for=\"edge\" attr.name=\"name\"/>\
            <key id=\"w\" for=\"edge\" attr.name=\"weight\"><default>1.5</default></key>\
            <key id=\"x\" for=\"node\" attr.name=\"weight\"><default>none</default></key>";
        let graph = "<node id=\"a\"><data key=\"d1\">x</data><data key=\"d0\">A &amp; &#66;</data></node>\
            <node id=\"b\"><data key=\"d1\"><![CDATA[<b>]]></data><data key=\"w\">no weight</data></node>\
            <node id=\"c\"><data key=\"d0\"/><desc>text</desc></node>\
            <edge source=\"a\" target=\"b\"/><edge source=\"b\" target=\"c\"><data key=\"d2\">e</data>\
            <data key=\"w\"> 2 </data></edge>";
        let read = read_text(&document(keys, "directed", graph)).unwrap();
        assert_eq!(read.names, ["A & B", "<b>", "c"]);
        assert_eq!((read.pairs, read.weights), (vec![(0, 1), (1, 2)], vec![1.5, 2.0]));
    }

    /// As yEd writes them. Its nodes are called n0, n1, ..
    #[test]
    fn labels_of_yed_are_read() {
        let keys = "<key for=\"node\" id=\"d5\" attr.name=\"description\"/>\
            <key for=\"node\" id=\"d6\" yfiles.type=\"nodegraphics\"/>";
        let node = |id: &str, label: &str| {
            format!(
                "<node id=\"{id}\"><data key=\"d5\">text</data><data key=\"d6\"><y:ShapeNode>\
                 <y:Geometry height=\"30.0\"/><y:NodeLabel visible=\"true\">{label}\n<y:LabelModel>\n\
                 <y:SmartNodeLabelModel/></y:LabelModel></y:NodeLabel><y:Shape/></y:ShapeNode></data>\
                 </node>\n"
            )
        };
        let edges = "<edge id=\"e0\" source=\"n0\" target=\"n1\"><data key=\"d9\"><y:PolyLineEdge>\
            <y:EdgeLabel>is a</y:EdgeLabel></y:PolyLineEdge></data></edge>\
            <edge source=\"n1\" target=\"n2\"/>";
        let text = |last: &str| {
            let nodes = node("n0", "dog &amp; cat") + &node("n1", "animal") + &node("n2", last);
            document(keys, "directed", &(nodes + edges))
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("g.graphml");
        let read = |text: &str, options: &EdgeOptions| {
            std::fs::write(&path, text).unwrap();
            crate::graph::edges::read(&path, options)
        };
        let default = EdgeOptions::default();
        let labelled = read(&text("thing"), &default).unwrap();
        assert_eq!(labelled.graph.names, ["dog & cat", "animal", "thing"]);
        assert_eq!(labelled.read_as, "read as GraphML, nodes named by their labels");
        let partly = read(&text(""), &default).unwrap();
        assert_eq!(partly.graph.names, ["dog & cat", "animal", "n2"]);
        assert_eq!(partly.read_as, "read as GraphML, nodes named by their labels, 1 by their ids");
        // Equal labels are refused, and the message says what helps.
        let equal = text("animal");
        let message = read(&equal, &default).unwrap_err().to_string();
        assert!(message.ends_with("have one name, \"animal\"; --node-names id takes the ids"), "{message}");
        let by_id = read(&equal, &EdgeOptions { node_names: NodeNames::Id, ..default.clone() }).unwrap();
        assert_eq!(by_id.graph.names, ["n0", "n1", "n2"]);
        assert_eq!(by_id.read_as, "read as GraphML, nodes named by their ids");
        let table = TableOptions { columns: vec!["1".to_owned(), "2".to_owned()], ..TableOptions::default() };
        let message = read(&equal, &EdgeOptions { table, ..default }).unwrap_err().to_string();
        assert!(message.ends_with("--separator, --header and --columns are for tables"), "{message}");
    }

    /// The option names another attribute, or none.
    #[test]
    fn weights_are_those_that_the_option_names() {
        let keys = "<key id=\"w\" for=\"edge\" attr.name=\"weight\"/>\
            <key id=\"s\" for=\"edge\" attr.name=\"Strength\"/>";
        let edge = "<edge source=\"a\" target=\"b\"><data key=\"w\">2</data><data key=\"s\">3</data></edge>";
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("g.graphml");
        std::fs::write(&path, document(keys, "directed", &format!("{ABC}{edge}"))).unwrap();
        let read = |weight: Option<&str>| {
            let options = EdgeOptions { weight: weight.map(str::to_owned), ..EdgeOptions::default() };
            crate::graph::edges::read(&path, &options).map(|read| (read.graph.weights, read.read_as))
        };
        let sentence = "read as GraphML, nodes named by their ids";
        assert_eq!(read(None).unwrap(), (vec![2.0], format!("{sentence}, weights from 'weight'")));
        assert_eq!(
            read(Some("strength")).unwrap(),
            (vec![3.0], format!("{sentence}, weights from 'strength'"))
        );
        assert_eq!(read(Some("none")).unwrap(), (vec![], sentence.to_owned()));
        assert!(read(Some("year")).unwrap_err().to_string().starts_with("--weight year: no edge of"));
    }

    #[test]
    fn prefixes_and_byte_order_marks_do_not_matter() {
        let plain = document("", "directed", &format!("{ABC}<edge source=\"a\" target=\"b\"/>"));
        let mut prefixed = plain.replace("</", "</g:").replace('<', "<g:");
        prefixed = prefixed.replace("<g:/g:", "</g:").replace("<g:?", "<?").replace("xmlns=", "xmlns:g=");
        let marked = format!("\u{feff}{plain}");
        assert_eq!(read_text(&prefixed).unwrap(), read_text(&plain).unwrap());
        assert_eq!(read_text(&marked).unwrap(), read_text(&plain).unwrap());
    }

    #[test]
    fn every_bad_input_names_its_line() {
        let graph = |graph: &str| error(&document("", "directed", &format!("{ABC}\n{graph}")));
        assert_eq!(graph("<edge source=\"a\" target=\"z\"/>"), ":4: no node \"z\"");
        assert_eq!(graph("<edge source=\"a\"/>"), ":4: <edge> without the attribute target");
        assert_eq!(graph("<node/>"), ":4: <node> without the attribute id");
        assert_eq!(graph("<node id=\"a\"/>"), ":4: node \"a\" occurs twice");
        assert_eq!(graph("<node id=\"\"/>"), ":4: an empty name");
        assert_eq!(graph("<node id=\"x\"><data>1</data></node>"), ":4: <data> without the attribute key");
        assert!(graph("<graph edgedefault=\"directed\"></graph>").starts_with(":4: a second <graph>"));
        assert!(graph("<hyperedge/>").starts_with(":4: a hyperedge"));
        assert_eq!(graph("<node id=\"x\">&nbsp;</node>"), ":4: unknown entity &nbsp;");
        let directed = graph("<edge source=\"a\" target=\"b\" directed=\"yes\"/>");
        assert_eq!(directed, ":4: directed=\"yes\" is neither \"true\" nor \"false\"");
        let mismatch = graph("<node id=\"x\"></edge>");
        assert!(mismatch.starts_with(":4: ") && mismatch.contains("edge"), "{mismatch}");
        assert!(graph("<node id=\"x></node>").starts_with(":4: "));
        assert!(graph("<node id=x></node>").starts_with(":4: "));
        assert_eq!(graph(""), ": no edges");

        assert!(error(&document("", "mixed", ABC)).starts_with(":2: edgedefault=\"mixed\" is neither"));
        let keys = "<key id=\"n\" for=\"node\" attr.name=\"name\"/><key id=\"w\" attr.name=\"weight\"/>";
        let named = "<node id=\"a\"><data key=\"n\">b</data></node>\n<node id=\"b\"/>";
        assert_eq!(
            error(&document(keys, "directed", named)),
            ":4: nodes \"a\" and \"b\" have one name, \"b\"; --node-names id takes the ids"
        );
        let weight = "<edge source=\"a\" target=\"b\"><data key=\"w\">\n-1</data></edge>";
        let weight = error(&document(keys, "directed", &format!("{ABC}{weight}")));
        assert_eq!(weight, ":4: weight \"\\n-1\" is not a positive number");

        assert_eq!(
            error("<graphml>\n<graph edgedefault=\"directed\">\n"),
            ":2: the file ends before </graphml>"
        );
        assert_eq!(error("<graphml></graphml>"), ":1: no <graph>");
        assert_eq!(error(""), ":1: no <graph>");
        assert_eq!(error("\n<html></html>"), ":2: <html> where <graphml> is expected");
        assert_eq!(
            error("<graphml>\n<graph></graph></graphml>"),
            ":2: <graph> without the attribute edgedefault"
        );
    }
}
