//! The Python classes of `fabricsim.spec`, from the JSON Schema.

mod collect;
mod write;

use std::collections::BTreeMap;

use serde_json::Value;

use collect::Collector;
pub(crate) use write::{HEAD, docstring};

/// A generated module: its name, its docstring, and the types whose classes it has, with all that they consist of.
struct Module {
    name: &'static str,
    doc: &'static str,
    roots: &'static [&'static str],
    /// True if a field that is left out has the default of the schema, for classes whose values Python uses itself. Else it is
    /// `None`, which leaves the default to the engine.
    has_defaults: bool,
}

const fn module(name: &'static str, doc: &'static str, roots: &'static [&'static str]) -> Module {
    Module { name, doc, roots, has_defaults: false }
}

/// A type belongs to the first module that reaches it.
const MODULES: [Module; 15] = [
    module(
        "transport",
        "Ordering and completeness of messages over a network that keeps no order.",
        &["Transport"],
    ),
    module("queue_pairs", "Queue pairs of InfiniBand.", &["QueuePairs"]),
    module("adapter", "Channel adapters of programs that use verbs.", &["Adapter"]),
    module("mpi", "Protocols and processor times of MPI.", &["Mpi"]),
    module("topologies", "Kinds of topologies.", &["Topology"]),
    module("congestion", "Congestion control.", &["CongestionControl"]),
    module("faults", "Links and switches that fail while traffic flows.", &["Faults", "Switches"]),
    module("subnet_manager", "InfiniBand's subnet manager in packets.", &["SubnetManager"]),
    module("jobs", "Jobs: parallel programs whose ranks wait for each other.", &["Job"]),
    module("network", "Links, switches and hosts.", &["Links", "Switch", "Host"]),
    module("routing", "Routing of packets.", &["Routing"]),
    module(
        "traffic",
        "Streams of messages, partitions of hosts, and multicast groups.",
        &["Traffic", "Partition", "MulticastGroup"],
    ),
    module("measurement", "Phases of a run, and what is recorded.", &["Run", "Measure", "Capture"]),
    Module {
        name: "sweep",
        doc: "The points of a sweep, as they stand in the section `[sweep]` of an experiment file.",
        roots: &["Range", "RandomPoints"],
        has_defaults: true,
    },
    module("tuning", "Objectives and parameters of a tuning, as the section `tune` has them.", &["Tune"]),
];

/// Hand-written parts of the package: module and names.
const HAND_WRITTEN: [(&str, &[&str]); 2] = [
    ("experiment", &["Experiment", "as_experiment"]),
    ("values", &["parse_assignment", "split_values", "toml_value"]),
];

/// A definition of a module.
enum Item {
    Class(Class),
    /// A type of texts: name, docstring, allowed texts with descriptions.
    Names(String, String, Vec<(String, String)>),
    /// A type that is one of several: name, docstring, types.
    Union(String, String, Vec<String>),
}

struct Class {
    name: String,
    base: Option<&'static str>,
    doc: String,
    /// Name of the variant that it is the content of.
    kind: Option<String>,
    /// Its only field, if the content is not a table.
    content: Option<&'static str>,
    is_keyword_only: bool,
    fields: Vec<Field>,
}

struct Field {
    name: String,
    annotation: String,
    /// `None` for a field that must be given.
    default: Option<String>,
    doc: String,
}

impl Item {
    fn name(&self) -> &str {
        match self {
            Self::Class(Class { name, .. }) | Self::Names(name, ..) | Self::Union(name, ..) => name,
        }
    }

    /// True if the package itself has the name. Other types of texts are only in its modules.
    fn is_public(&self) -> bool {
        match self {
            Self::Class(_) => true,
            Self::Names(name, ..) => name == "OrderingMode",
            Self::Union(name, ..) => name == "Topology" || name == "Program",
        }
    }
}

/// Paths below `python/fabricsim/spec` and contents of the generated files.
pub(crate) fn files(schema: &Value) -> Vec<(String, String)> {
    let mut homes = BTreeMap::new();
    let (mut files, mut package) = (Vec::new(), Vec::new());
    for module in &MODULES {
        let items = Collector::new(schema, module.has_defaults, &homes).collect(module.roots);
        homes.extend(items.iter().map(|item| (item.name().to_owned(), module.name)));
        let public = items.iter().filter(|item| item.is_public()).map(|item| item.name().to_owned());
        package.push((module.name, public.collect::<Vec<_>>()));
        files.push((format!("{}.py", module.name), write::module(module.doc, &items, &homes, module.name)));
    }
    let by_hand = HAND_WRITTEN
        .iter()
        .map(|(name, names)| (*name, names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()));
    package.extend(by_hand);
    files.push(("__init__.py".to_owned(), write::package(package)));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> String {
        let files = files(&fabricsim_spec::json_schema());
        files.into_iter().find(|(path, _)| path == name).unwrap().1
    }

    #[test]
    fn fields_have_type_default_range_and_unit() {
        let network = file("network.py");
        let lanes =
            "    virtual_lanes: int | None = None\n    \"\"\"Virtual lanes (virtual channels) of every link";
        assert!(network.contains(lanes), "{network}");
        assert!(network.contains("Range: from 1 to 16. Unit: lanes. Default: 1."), "{network}");
        assert!(network.contains("    arbiter: Arbiter | None = None\n"), "{network}");
        assert!(file("measurement.py").contains("    duration: str\n"));
        assert!(file("sweep.py").contains("    scale: Scale = \"linear\"\n"));
    }

    #[test]
    fn required_fields_come_first_and_all_else_is_in_order() {
        let traffic = file("traffic.py");
        let traffic = &traffic[traffic.find("class Traffic:").unwrap()..];
        let place = |field: &str| traffic.find(&format!("\n    {field}: ")).unwrap();
        assert!(place("pattern") < place("message") && place("message") < place("name"));
        assert!(place("name") < place("sources") && place("packet_load") < place("response"));
    }

    #[test]
    fn variants_are_classes_names_or_texts() {
        let topologies = file("topologies.py");
        for class in ["Mesh", "Torus", "Grid", "FatTree", "HyperX", "File"] {
            assert!(topologies.contains(&format!("\nclass {class}:\n")), "{class}");
        }
        assert!(topologies.contains("    kind: ClassVar[str] = \"fat-tree\"\n"));
        let traffic = file("traffic.py");
        assert!(traffic.contains("\n    _content: ClassVar[str] = \"host\"\n    host: str\n"), "{traffic}");
        assert!(traffic.contains("Pattern = PatternName | "));
        assert!(file("congestion.py").contains("    cct: str | Mapping[str, Any] | None = None\n"));
        assert!(file("jobs.py").contains("Placement = PlacementName | Mapping[str, int]\n"));
    }

    #[test]
    fn the_package_has_all_classes_and_says_what_wrote_it() {
        let package = file("__init__.py");
        for name in ["Traffic", "TuneObjective", "OrderingMode", "Topology", "toml_value"] {
            assert!(package.contains(&format!("    \"{name}\",\n")), "{name}");
        }
        for (path, content) in files(&fabricsim_spec::json_schema()) {
            assert!(content.starts_with("# Generated by `cargo run -p xtask -- generate`"), "{path}");
        }
    }
}
