//! GraphML, see [`Format::Graphml`](super::Format::Graphml).

use std::collections::BTreeMap;

use fabricsim_spec::{LinkOverride, SpecError};
use fabricsim_units::nearest;
use roxmltree::{Document, Node, ParsingOptions};

use super::Lines;
use super::draft::{DraftEnd, DraftLink};
use super::edges::{self, ATTRIBUTES, CABLES, Edges, Kind, set};

/// Attributes of a node.
const NODE_ATTRIBUTES: [&str; 3] = ["name", "kind", "coordinates"];

/// Most elements of a file.
const MAX_ELEMENTS: u32 = 100_000_000;

/// A declared attribute: its name, and its value where there is none.
struct Key<'a> {
    name: &'a str,
    default: Option<&'a str>,
}

pub(super) fn read(text: &str, file: &str) -> Result<Edges, SpecError> {
    let fail = |line: usize, message: String| SpecError::at_line(file, line, message);
    let options = ParsingOptions { nodes_limit: MAX_ELEMENTS, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| fail(error.pos().row as usize, format!("this is no XML: {error}")))?;
    let lines = Lines::new(text);
    let line = |node: Node<'_, '_>| lines.of(node.range().start);
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        return Err(fail(line(root), format!("the root is <{}>: must be <graphml>", root.tag_name().name())));
    }
    let graphs: Vec<_> = root.descendants().filter(|node| node.has_tag_name_of("graph")).collect();
    let graph = match graphs[..] {
        [graph] => graph,
        [] => return Err(fail(line(root), "there is no <graph>".to_owned())),
        [_, second, ..] => return Err(fail(line(second), "a second <graph>: one is read".to_owned())),
    };
    let mut reader = Reader::default();
    for key in root.children().filter(|node| node.has_tag_name_of("key")) {
        reader.declare(key).map_err(|message| fail(line(key), message))?;
    }
    let (mut nodes, mut links) = (Vec::new(), Vec::new());
    for element in graph.children().filter(Node::is_element) {
        match element.tag_name().name() {
            "node" => nodes.push(element),
            "edge" => links.push(element),
            "data" | "desc" => {}
            other => {
                return Err(fail(
                    line(element),
                    format!("<{other}> is not supported: <node> and <edge> are"),
                ));
            }
        }
    }
    for node in nodes {
        reader.node(node, line(node)).map_err(|message| fail(line(node), message))?;
    }
    let is_directed = graph.attribute("edgedefault") == Some("directed");
    for edge in links {
        reader.link(edge, is_directed, line(edge)).map_err(|message| fail(line(edge), message))?;
    }
    Ok(reader.edges())
}

#[derive(Default)]
struct Reader<'a> {
    /// By what they are of (`node` or `edge`), and identifier.
    keys: BTreeMap<(&'a str, &'a str), Key<'a>>,
    /// Names of nodes, by identifier.
    names: BTreeMap<&'a str, String>,
    edges: Edges,
    /// Links, and the number of parallel cables of each.
    links: Vec<(DraftLink, u32)>,
    /// Directed links without one in the opposite direction yet, by their ends.
    single: BTreeMap<[String; 2], Vec<usize>>,
}

impl<'a> Reader<'a> {
    fn declare(&mut self, key: Node<'a, '_>) -> Result<(), String> {
        let (Some(id), Some(name)) = (key.attribute("id"), key.attribute("attr.name")) else {
            // A key without name is an extension of an editor.
            return Ok(());
        };
        let default =
            key.children().find(|node| node.has_tag_name_of("default")).and_then(|node| node.text());
        let of = key.attribute("for").unwrap_or("all");
        let edge_attributes = ATTRIBUTES.into_iter().chain([CABLES]).collect::<Vec<_>>();
        for (kind, known) in [("node", &NODE_ATTRIBUTES[..]), ("edge", &edge_attributes)] {
            if of != kind && of != "all" {
                continue;
            }
            // Attributes of other programs are left out, and those that are nearly ours are slips.
            if !known.contains(&name)
                && let Some(near) = nearest(name, known.iter().copied()).filter(|near| is_slip(name, near))
            {
                return Err(format!(
                    "the attribute `{name}` of {kind}s is not known; did you mean `{near}`?"
                ));
            }
            self.keys.insert((kind, id), Key { name, default: default.map(str::trim) });
        }
        Ok(())
    }

    /// Attributes of an element by name.
    fn attributes(
        &self,
        of: &'static str,
        element: Node<'a, '_>,
    ) -> Result<BTreeMap<&'a str, &'a str>, String> {
        let of_kind = self.keys.iter().filter(|((kind, _), _)| *kind == of);
        let mut found: BTreeMap<_, _> =
            of_kind.filter_map(|(_, key)| Some((key.name, key.default?))).collect();
        for data in element.children().filter(|node| node.has_tag_name_of("data")) {
            let id = data.attribute("key").ok_or("<data> has no key")?;
            if let Some(key) = self.keys.get(&(of, id)) {
                found.insert(key.name, data.text().unwrap_or_default().trim());
            }
        }
        Ok(found)
    }

    fn node(&mut self, element: Node<'a, '_>, line: usize) -> Result<(), String> {
        let id = element.attribute("id").ok_or("a <node> has no id")?;
        let attributes = self.attributes("node", element)?;
        let name = attributes.get("name").copied().unwrap_or(id);
        let kind = attributes.get("kind").map(|text| text.parse::<Kind>()).transpose()?;
        if self.names.insert(id, name.to_owned()).is_some() {
            return Err(format!("the node {id} is there twice"));
        }
        if self.edges.has(name) {
            return Err(format!("the name {name} is used twice: names are unique"));
        }
        let numbers = |text: &&str| text.split(',').map(|part| part.trim().parse()).collect::<Result<_, _>>();
        let coordinates = attributes.get("coordinates").map(|text| {
            numbers(text).map_err(|_| format!("coordinates = `{text}`: must be numbers such as `0,2`"))
        });
        self.edges.node(name, line, (kind, coordinates.transpose()?));
        Ok(())
    }

    fn link(&mut self, element: Node<'a, '_>, is_directed: bool, line: usize) -> Result<(), String> {
        let end = |name: &str| {
            let id = element.attribute(name).ok_or_else(|| format!("an <edge> has no {name}"))?;
            let node = self.names.get(id).ok_or_else(|| format!("there is no node {id}"))?;
            Ok::<_, String>(DraftEnd { node: node.clone(), port: None })
        };
        let mut ends = [end("source")?, end("target")?];
        let mut given = LinkOverride::default();
        let mut cables = 1;
        for (name, text) in self.attributes("edge", element)? {
            if name == CABLES {
                cables = edges::cables(text)?;
            } else {
                set((&mut ends, &mut given), name, text)?;
            }
        }
        edges::check_ports(&ends, cables)?;
        let is_directed = match element.attribute("directed") {
            Some(text) => text == "true",
            None => is_directed,
        };
        let link = DraftLink { ends, line, given };
        if is_directed {
            return self.one_direction(link, cables);
        }
        self.links.push((link, cables));
        Ok(())
    }

    /// Two links in opposite directions are one cable.
    fn one_direction(&mut self, link: DraftLink, cables: u32) -> Result<(), String> {
        let [a, b] = &link.ends;
        let back = [b.node.clone(), a.node.clone()];
        let Some(place) = self.single.get_mut(&back).and_then(Vec::pop) else {
            let names = [a.node.clone(), b.node.clone()];
            self.single.entry(names).or_default().push(self.links.len());
            self.links.push((link, cables));
            return Ok(());
        };
        let (other, others) = &self.links[place];
        if *others != cables
            || other.given != link.given
            || [other.ends[1].port, other.ends[0].port] != [a.port, b.port]
        {
            return Err(format!("the attributes differ from the opposite direction (line {})", other.line));
        }
        Ok(())
    }

    fn edges(mut self) -> Edges {
        for (link, cables) in self.links {
            self.edges.parallel(&link, cables);
        }
        self.edges
    }
}

/// True if a name is another spelling of a known one: another case, a dash, or one letter.
fn is_slip(name: &str, known: &str) -> bool {
    let name = name.replace(['-', ' ', '.'], "_").to_lowercase();
    strsim::damerau_levenshtein(&name, known) <= 1
}

/// Names of elements without their namespace.
trait Tag {
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl Tag for Node<'_, '_> {
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}
