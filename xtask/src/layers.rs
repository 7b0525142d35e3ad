//! A crate depends only on crates of lower layers, never on one of its own layer.

use std::collections::BTreeMap;
use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// Layer of each crate, as in the architecture's table.
const LAYERS: &[(&str, u8)] = &[
    ("fabricsim-exchange", 0),
    ("fabricsim-units", 0),
    ("fabricsim-spec", 1),
    ("fabricsim-subnet", 1),
    ("fabricsim-traces", 1),
    ("fabricsim-wire", 1),
    ("fabricsim-management", 2),
    ("fabricsim-model", 2),
    ("fabricsim-topology", 3),
    ("fabricsim-routing", 4),
    ("fabricsim-fabric", 5),
    ("fabricsim-protocols", 5),
    ("fabricsim-workload", 5),
    ("fabricsim-verbs", 6),
    ("fabricsim-engine", 7),
    ("fabricsim-mpi", 7),
    ("fabricsim-sockets", 6),
    ("fabricsim-analysis", 8),
    ("fabricsim-measure", 8),
    ("fabricsim-session", 9),
    ("fabricsim-simulation", 10),
    ("fabricsim-py", 11),
    ("fabricsim-fuzz", 12),
    ("xtask", 12),
];

/// Checks all crates of the workspace. Tests may use what they like.
pub(crate) fn check() -> Result<String, String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec();
    let metadata = metadata.map_err(|error| error.to_string())?;
    let edges: BTreeMap<&str, Vec<&str>> =
        metadata.packages.iter().map(|package| (package.name.as_str(), dependencies(package))).collect();
    let problems = problems(&edges);
    if problems.is_empty() {
        return Ok(format!("layers are kept by {} crates", edges.len()));
    }
    Err(problems.join("\n"))
}

fn dependencies(package: &Package) -> Vec<&str> {
    let shipped =
        package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    shipped
        .filter(|dependency| dependency.path.is_some())
        .map(|dependency| dependency.name.as_str())
        .collect()
}

fn problems(edges: &BTreeMap<&str, Vec<&str>>) -> Vec<String> {
    let layers: BTreeMap<&str, u8> = LAYERS.iter().copied().collect();
    let mut problems = Vec::new();
    for (name, dependencies) in edges {
        let Some(layer) = layers.get(name) else {
            problems.push(format!("{name} has no layer: add it to xtask/src/layers.rs"));
            continue;
        };
        for dependency in dependencies {
            if layers.get(dependency).is_none_or(|below| below >= layer) {
                problems
                    .push(format!("{name} (layer {layer}) depends on {dependency}, which is not below it"));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upward_sideward_and_unknown_are_reported() {
        let edges = BTreeMap::from([
            ("fabricsim-units", vec!["fabricsim-spec"]),
            ("fabricsim-fabric", vec!["fabricsim-workload", "fabricsim-model"]),
            ("fabricsim-new", vec![]),
        ]);
        let problems = problems(&edges);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].contains("fabricsim-fabric (layer 5) depends on fabricsim-workload"));
        assert!(problems[1].contains("fabricsim-new has no layer"));
        assert!(problems[2].contains("fabricsim-units (layer 0)"));
    }

    #[test]
    fn the_workspace_keeps_its_layers() {
        check().unwrap();
    }
}
