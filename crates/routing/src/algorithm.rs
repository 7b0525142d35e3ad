//! Which algorithm fits which graph.

use fabricsim_spec::{Algorithm, SpecError, name};
use fabricsim_topology::{Graph, Shape};

/// Virtual lanes of an InfiniBand link (IBA 1.5, section 3.5.7), and the most that there are here.
pub(crate) const MOST_LANES: u8 = 16;

/// Returns the algorithm that [`Algorithm::Auto`] means on this graph.
pub(crate) fn resolve(algorithm: Algorithm, graph: &Graph) -> Algorithm {
    match (algorithm, &graph.shape) {
        (Algorithm::Auto, Shape::Grid(_)) => Algorithm::DimensionOrder,
        (Algorithm::Auto, Shape::Tree(_)) => Algorithm::UpDown,
        (Algorithm::Auto, Shape::Dragonfly(_) | Shape::Megafly(_) | Shape::HyperX(_) | Shape::Direct) => {
            Algorithm::Minimal
        }
        (Algorithm::Auto, Shape::Irregular) => Algorithm::ShortestPath,
        (chosen, _) => chosen,
    }
}

/// The error of an algorithm that needs another graph, with one that fits.
pub(crate) fn unsuitable(file: &str, algorithm: Algorithm, needed: &str, graph: &Graph) -> SpecError {
    let fitting = name(&resolve(Algorithm::Auto, graph));
    let message = format!(
        "`{}` needs {needed}; this topology is: {}. `{fitting}` fits (and is what `auto` chooses)",
        name(&algorithm),
        graph.title
    );
    SpecError::at_key(file, "routing.algorithm", message)
}
