//! From an experiment to the routing of a dragonfly, megafly or HyperX, and to minimal, Valiant and UGAL-L routing on other graphs.

use fabricsim_spec::{Algorithm, Experiment, Load, SpecError, name};
use fabricsim_topology::{Graph, LinkClass, Shape, failed_links};
use fabricsim_units::Time;

use crate::algorithm::{MOST_LANES, unsuitable};
use crate::dragonfly::{Detours, Policy, Via};
use crate::lanes::HopLadder;
use crate::route_lengths::{lengths, longest};
use crate::{
    Dragonfly, HyperX, HyperXPolicy, Indirect, IndirectPolicy, Megafly, MegaflyPolicy, Router, TableRouting,
    shortest_paths,
};

/// `routing.threshold` and `routing.congested` by default, in packets.
const THRESHOLD: f64 = 3.0;

/// `routing.ratio` by default: the 45 % of García et al. (ICPP 2013).
const RATIO: f64 = 0.45;

/// The factor of piggyback routing, in 256ths.
const TWICE: u32 = 512;

/// The router for an algorithm that needs a network whose switches are joined directly.
pub(crate) fn build(
    algorithm: Algorithm,
    experiment: &Experiment,
    graph: &Graph,
    file: &str,
) -> Result<Router, SpecError> {
    let lanes = experiment.switch.lanes_per_class();
    let classes = experiment.switch.virtual_lanes / lanes.max(1);
    let few = |needed| too_few_lanes(algorithm, needed, (lanes, classes), file);
    let third = |groups| third_group(algorithm, groups, file);
    let threshold = blocks(experiment, experiment.routing.threshold);
    match &graph.shape {
        Shape::Dragonfly(shape) => {
            let policy = dragonfly(algorithm, experiment)
                .ok_or_else(|| unsuitable(file, algorithm, "a HyperX", graph))?;
            third(shape.groups.count)?;
            let via = via(experiment.routing.via);
            let router = Dragonfly::new(graph, shape, (policy, via), lanes).map_err(few)?;
            let router = router.with_weights(experiment.routing.weights);
            Ok(router.with_state_delay(state_delay(experiment, graph, file)?).into())
        }
        Shape::Megafly(shape) => {
            let policy = match algorithm {
                Algorithm::Minimal => MegaflyPolicy::Minimal,
                Algorithm::Valiant => MegaflyPolicy::Valiant,
                Algorithm::UgalL => MegaflyPolicy::UgalLocal { threshold },
                Algorithm::Dal => return Err(unsuitable(file, algorithm, "a HyperX", graph)),
                _ => return Err(unsuitable(file, algorithm, "a dragonfly", graph)),
            };
            third(shape.groups.count)?;
            let router = Megafly::new(graph, shape, policy, lanes).map_err(few)?;
            Ok(router.with_weights(experiment.routing.weights).into())
        }
        Shape::HyperX(shape) => {
            let policy = match algorithm {
                Algorithm::Minimal => HyperXPolicy::Minimal,
                Algorithm::Valiant => HyperXPolicy::Valiant,
                Algorithm::Dal => HyperXPolicy::Dal { threshold },
                _ => return Err(unsuitable(file, algorithm, "a dragonfly", graph)),
            };
            Ok(HyperX::new(graph, shape, policy, lanes).map_err(few)?.into())
        }
        Shape::Direct | Shape::Irregular => searched(algorithm, experiment, graph, file),
        _ => Err(unsuitable(
            file,
            algorithm,
            "a dragonfly, megafly or HyperX, or a graph without coordinates or levels",
            graph,
        )),
    }
}

/// The router for a graph on which routes are found by search.
fn searched(
    algorithm: Algorithm,
    experiment: &Experiment,
    graph: &Graph,
    file: &str,
) -> Result<Router, SpecError> {
    let lanes = experiment.switch.lanes_per_class();
    let classes = experiment.switch.virtual_lanes / lanes.max(1);
    let threshold = blocks(experiment, experiment.routing.threshold);
    if experiment.routing.via.is_some() {
        let message = "only on a dragonfly: here packets go over the switch of a random host";
        return Err(SpecError::at_key(file, "routing.via", message));
    }
    let failed = failed_links(graph, &experiment.links, file)?;
    let tables = shortest_paths(graph, &failed, file)?;
    let many = |needed: u32| {
        let needed = u8::try_from(needed).unwrap_or(u8::MAX);
        too_few_lanes(algorithm, needed, (lanes, classes), file)
    };
    let policy = match algorithm {
        Algorithm::Minimal => {
            let longest = longest(&lengths(&tables, graph), graph);
            let lanes = HopLadder::new(graph, longest, lanes).map_err(many)?;
            return Ok(TableRouting::new(tables, lanes).into());
        }
        Algorithm::Valiant => IndirectPolicy::Valiant,
        Algorithm::UgalL => IndirectPolicy::UgalLocal { threshold },
        Algorithm::Dal => return Err(unsuitable(file, algorithm, "a HyperX", graph)),
        _ => return Err(unsuitable(file, algorithm, "a dragonfly", graph)),
    };
    let router = Indirect::new(graph, tables, policy, lanes).map_err(many)?;
    Ok(router.with_weights(experiment.routing.weights).into())
}

/// Flow-control units of `packets` of the largest packets; of [`THRESHOLD`] if it is not given.
fn blocks(experiment: &Experiment, packets: Option<f64>) -> u32 {
    let unit = experiment.switch.flow_control_unit.0.max(1);
    let packet = experiment.host.mtu.0.div_ceil(unit) as f64;
    (packets.unwrap_or(THRESHOLD) * packet).round() as u32
}

/// Policy of packets on a dragonfly.
fn dragonfly(algorithm: Algorithm, experiment: &Experiment) -> Option<Policy> {
    let routing = &experiment.routing;
    let threshold = blocks(experiment, routing.threshold);
    let congested = blocks(experiment, routing.congested);
    let part = |part: Option<f64>, default: f64| (part.unwrap_or(default) * 65536.0).round() as u32;
    Some(match algorithm {
        Algorithm::Minimal => Policy::Minimal,
        Algorithm::Valiant => Policy::Valiant,
        Algorithm::UgalL => Policy::UgalLocal { threshold },
        Algorithm::UgalG => Policy::UgalGlobal { threshold },
        Algorithm::Piggyback => Policy::Piggyback { threshold, factor: TWICE, congested },
        Algorithm::Par => Policy::Progressive { threshold },
        Algorithm::Par62 => Policy::Detours(Detours {
            // One of the two is enough.
            threshold: if routing.trigger.is_some() && routing.threshold.is_none() { 0 } else { threshold },
            trigger: part(routing.trigger, 0.0),
            ratio: part(routing.ratio, RATIO),
            of_lane: routing.load == Load::CreditsOfLane,
        }),
        _ => return None,
    })
}

fn via(via: Option<fabricsim_spec::Via>) -> Via {
    match via {
        Some(fabricsim_spec::Via::Router) => Via::Router,
        Some(fabricsim_spec::Via::Host) => Via::Host,
        Some(fabricsim_spec::Via::Group) | None => Via::Group,
    }
}

/// Least age of what routers know of each other.
fn state_delay(experiment: &Experiment, graph: &Graph, file: &str) -> Result<Time, SpecError> {
    let local = graph.links.iter().filter(|link| link.class == LinkClass::Local);
    let least = local.map(|link| link.parameters.latency).max().unwrap_or(Time::ns(1));
    let given = experiment.routing.state_delay.unwrap_or(least);
    if (least..=Time::ms(1000)).contains(&given) {
        return Ok(given);
    }
    let message = format!(
        "{given} is not allowed: what a router says takes at least as long as a packet to the others of its group, {least}; \
         give that or more, at most 1 s"
    );
    Err(SpecError::at_key(file, "routing.state_delay", message))
}

fn too_few_lanes(algorithm: Algorithm, needed: u8, (lanes, classes): (u8, u8), file: &str) -> SpecError {
    let all = u32::from(needed) * u32::from(classes);
    let remedy = if all <= u32::from(MOST_LANES) {
        format!("set `switch.virtual_lanes` to {all}, or a multiple of it")
    } else {
        format!("a link has at most {MOST_LANES} in all; `minimal` needs fewer")
    };
    let message = format!(
        "`{}` needs {needed} virtual lanes in each service class to be free of deadlock, and there are {lanes}: {remedy}",
        name(&algorithm)
    );
    SpecError::at_key(file, "switch.virtual_lanes", message)
}

fn third_group(algorithm: Algorithm, groups: u32, file: &str) -> Result<(), SpecError> {
    if algorithm == Algorithm::Minimal || groups > 2 {
        return Ok(());
    }
    let message = format!(
        "`{}` sends packets over a third group, and there are {groups}: `minimal` fits",
        name(&algorithm)
    );
    Err(SpecError::at_key(file, "routing.algorithm", message))
}

#[cfg(test)]
mod tests {
    use crate::samples::{experiment, graph, try_router};

    #[test]
    fn lanes_are_counted_for_each_class() {
        let topology = "dragonfly = { p = 1, a = 2, h = 1 }";
        let mut experiment = experiment(topology, "algorithm = \"par-6/2\"", 8);
        experiment.switch.service_classes = 2;
        let error =
            crate::build(&experiment, &graph(topology), std::path::Path::new("."), "e.toml").unwrap_err();
        let error = error.to_string();
        assert!(error.contains("needs 6 virtual lanes in each service class"), "{error}");
        assert!(error.contains("and there are 4: set `switch.virtual_lanes` to 12, or"), "{error}");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (fly, mega, hyperx) = (
            "dragonfly = { p = 1, a = 2, h = 1 }",
            "megafly = { p = 1, leaves = 2, spines = 2, h = 1 }",
            "hyperx = { dimensions = [3, 3] }",
        );
        let cases = [
            (fly, "algorithm = \"dal\"", "`dal` needs a HyperX; this topology is: dragonfly p=1"),
            (mega, "algorithm = \"par\"", "`par` needs a dragonfly; this topology is: megafly"),
            (mega, "algorithm = \"dal\"", "`dal` needs a HyperX; this topology is: megafly"),
            (mega, "algorithm = \"dal\"", "`minimal` fits (and is what `auto` chooses)"),
            (hyperx, "algorithm = \"ugal-l\"", "`ugal-l` needs a dragonfly"),
            (
                "mesh = { dimensions = [2] }",
                "algorithm = \"minimal\"",
                "`minimal` needs a dragonfly, megafly or HyperX",
            ),
            (
                "dragonfly = { p = 1, a = 2, h = 1, g = 2 }",
                "algorithm = \"valiant\"",
                "routing.algorithm: `valiant` sends packets over a third group, and there are 2",
            ),
            (
                "hyperx = { dimensions = [3, 3, 3, 3, 3, 3, 3, 3, 3] }",
                "algorithm = \"dal\"",
                "needs 18 virtual lanes in each service class to be free of deadlock, and there are 16: a link has at most \
                 16 in all; `minimal` needs fewer",
            ),
            (
                fly,
                "algorithm = \"minimal\"\nvia = \"router\"",
                "routing.via: only for `valiant`, `ugal-l`, `ugal-g`, `piggyback` and `par`, not for `minimal`",
            ),
            (
                fly,
                "algorithm = \"par\"\nweights = [1, 2]",
                "routing.weights: only for `ugal-l`, `ugal-g` and `piggyback`, not for `par`",
            ),
            (
                fly,
                "algorithm = \"par\"\nchoices = 2",
                "routing.choices: only for `up-down-adaptive`, not for `par`",
            ),
            (fly, "algorithm = \"par\"\nratio = 0.5", "routing.ratio: only for `par-6/2`, not for `par`"),
            (
                fly,
                "algorithm = \"par\"\nstate_delay = \"1 us\"",
                "routing.state_delay: only for `ugal-g` and",
            ),
            (
                fly,
                "algorithm = \"ugal-g\"\nstate_delay = \"1 ns\"",
                "routing.state_delay: 1 ns is not allowed: what a router says takes at least as long as a packet to the \
                 others of its group, 10 ns",
            ),
        ];
        for (topology, routing, expected) in cases {
            let error = try_router(&graph(topology), topology, routing, 16).unwrap_err().to_string();
            assert!(error.contains(expected), "{topology} {routing}\n{error}");
        }
    }
}
