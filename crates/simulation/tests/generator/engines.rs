//! OpenSM's routing engines, and files of service levels and their lanes.

use std::path::Path;

use fabricsim_subnet::Sl2Vl;

use super::Build;
use super::topology::written;

/// Engines, with a root for those that want one. Where one does not fit the fabric and its lanes, the next is taken.
const ENGINES: [(&str, bool); 10] = [
    ("torus-2QoS", false),
    ("minhop", false),
    ("updn", true),
    ("ftree", false),
    ("dnup", false),
    ("dor", false),
    ("lash", false),
    ("sssp", false),
    ("dfsssp", false),
    ("nue", false),
];

/// LIDs of hosts, and the engine that routes them.
pub fn write_engine(build: &mut Build) -> &'static str {
    let (paths, is_managed) = (build.choice("paths"), !build.is("manager", "none"));
    build.lmc = match paths {
        "first" if is_managed && !build.is("engine", "ftree") => build.draw.range(0, 2) as u8,
        "first" => 0,
        _ => build.draw.range(1, 2) as u8,
    };
    build.draft.text("paths", paths);
    if !is_managed {
        build.draft.key("lmc", build.lmc);
    }
    engine(build)
}

/// The engine: one that routes this fabric on its lanes.
fn engine(build: &mut Build) -> &'static str {
    let chosen = ENGINES.iter().position(|engine| build.is("engine", engine.0));
    let first = chosen.unwrap_or_else(|| build.draw.below(ENGINES.len()));
    let root = format!("[\"{}\"]", build.graph.switches[0].name);
    let text = format!("{}[run]\nduration = \"1 us\"\n", build.draft);
    let (levels_fit, lmc) = (levels_fit(build), build.lmc);
    let fits = |engine: &str, has_root: bool| {
        if engine == "torus-2QoS" && !levels_fit {
            return false;
        }
        let mut overrides = vec![("routing.engine".to_owned(), format!("\"{engine}\""))];
        overrides.push(("routing.lmc".to_owned(), lmc.to_string()));
        overrides.extend(has_root.then(|| ("routing.roots".to_owned(), root.clone())));
        let experiment = fabricsim_spec::read(&text, "generated.toml", &overrides)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        fabricsim_routing::build(&experiment, &build.graph, Path::new("."), "generated.toml").is_ok()
    };
    let turns = (0..ENGINES.len()).map(|turn| ENGINES[(first + turn) % ENGINES.len()]);
    let (engine, has_root) =
        turns.into_iter().find(|&(engine, root)| fits(engine, root)).unwrap_or(ENGINES[1]);
    build.draft.text("engine", engine);
    if has_root {
        build.draft.key("roots", root);
    }
    engine
}

/// A file with the service level of the path from the first host to the second; none if there are not two.
pub fn path_sls(build: &mut Build) -> Option<String> {
    let identity = fabricsim_routing::identity(&build.graph, 0, None).ok()?;
    let (from, to) = (*identity.hosts.first()?, *identity.hosts.get(1)?);
    let (guid, lid) = (identity.subnet.port(from).guid, identity.subnet.port(to).lid);
    let text = format!("{guid} 0x{lid:04x} {}\n", build.draw.below(3));
    Some(written("levels", "sls", &text).display().to_string())
}

/// True if service levels take the place of the only service class.
pub fn levels_fit(build: &Build) -> bool {
    build.is("classes", "one")
        && build.is("priority", "none")
        && !build.is("arbiter", "age-based")
        && !build.is("lane_policy", "hops")
}

/// A file with the SL2VL tables of all ports: lane of a level is the level modulo the number of lanes.
pub fn sl2vl(build: &Build) -> Option<String> {
    let identity = fabricsim_routing::identity(&build.graph, 0, None).ok()?;
    let lanes = if build.is("lanes", "spare") { 2 } else { 1 };
    let text = Sl2Vl::modulo(lanes).to_dump(&identity.subnet);
    Some(written("lanes", "dump", &text).display().to_string())
}
