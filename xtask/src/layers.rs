//! A crate depends only on crates of lower layers, never on one of its own layer.

use std::collections::BTreeMap;
use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// Layer of each crate, as in the architecture's table.
const LAYERS: &[(&str, u8)] = &[
    ("fabricsim-exchange", 0),
    ("fabricsim-state-derive", 0),
    ("fabricsim-state", 1),
    ("fabricsim-units", 2),
    ("fabricsim-spec", 3),
    ("fabricsim-subnet", 3),
    ("fabricsim-traces", 3),
    ("fabricsim-wire", 3),
    ("fabricsim-management", 4),
    ("fabricsim-model", 4),
    ("fabricsim-topology", 5),
    ("fabricsim-routing", 6),
    ("fabricsim-fabric", 7),
    ("fabricsim-protocols", 7),
    ("fabricsim-workload", 7),
    ("fabricsim-verbs", 8),
    ("fabricsim-engine", 9),
    ("fabricsim-mpi", 9),
    ("fabricsim-sockets", 8),
    ("fabricsim-analysis", 10),
    ("fabricsim-measure", 10),
    ("fabricsim-session", 11),
    ("fabricsim-simulation", 12),
    ("fabricsim-py", 13),
    ("fabricsim-fuzz", 14),
    ("xtask", 14),
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
        assert!(problems[0].contains("fabricsim-fabric (layer 7) depends on fabricsim-workload"));
        assert!(problems[1].contains("fabricsim-new has no layer"));
        assert!(problems[2].contains("fabricsim-units (layer 2)"));
    }

    #[test]
    fn the_workspace_keeps_its_layers() {
        check().unwrap();
    }
}
