//! Parameters of links that an experiment gives and that no link has, since its graph file has others.

use std::fmt::Display;

use fabricsim_spec::{Experiment, LinkOverride, LinkParameters, Topology};

use crate::{Graph, LinkClass};

/// A parameter: its key, its value in a link and in a section that may lack it.
type Parameter<T> = (&'static str, fn(&LinkParameters) -> T, fn(&LinkOverride) -> Option<T>);

/// A warning for each parameter of `links.all` and `links.hosts` that the graph file overrules on every link.
///
/// `links.all` with a default value is taken as not given.
#[must_use]
pub fn overruled(graph: &Graph, experiment: &Experiment) -> Vec<String> {
    let name = match &experiment.topology {
        Topology::File { path, .. } => path.as_str(),
        Topology::Inline { .. } => "the graph",
        _ => return Vec::new(),
    };
    let of = Overruled { graph, experiment, name };
    let mut found = of.sections(("rate", |link| link.rate, |given| given.rate));
    found.extend(of.sections(("latency", |link| link.latency, |given| given.latency)));
    found.extend(of.sections(("buffer", |link| link.buffer, |given| given.buffer)));
    found
}

struct Overruled<'a> {
    graph: &'a Graph,
    experiment: &'a Experiment,
    name: &'a str,
}

impl Overruled<'_> {
    fn sections<T: PartialEq + Display + Copy>(&self, (key, of_link, given): Parameter<T>) -> Vec<String> {
        let links = &self.experiment.links;
        let (all, of_hosts) = (of_link(&links.all), given(&links.hosts));
        let all = Some(all).filter(|all| *all != of_link(&LinkParameters::default()));
        let values = |hosts: bool, others: bool| {
            let links = self.graph.links.iter();
            let links = links.filter(move |link| if link.class == LinkClass::Host { hosts } else { others });
            links.map(move |link| of_link(&link.parameters)).collect::<Vec<T>>()
        };
        let sections =
            [("all", all, values(of_hosts.is_none(), true)), ("hosts", of_hosts, values(true, false))];
        let lost = sections.into_iter().filter_map(|(section, value, values)| {
            let value = value.filter(|value| !values.is_empty() && !values.contains(value))?;
            Some(format!(
                "links.{section}.{key} = \"{value}\" has no effect: every such link has the {key} of {}, which wins; links.named changes single links",
                self.name
            ))
        });
        lost.collect()
    }
}
