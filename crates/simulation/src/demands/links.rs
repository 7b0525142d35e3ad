//! Possible bottlenecks: every direction of a link, and every sink that is slower than that.

use fabricsim_engine::Prepared;
use fabricsim_model::Table;
use fabricsim_spec::{LinkErrors, Links};
use fabricsim_topology::LinkClass;
use fabricsim_units::HostId;

/// Number of a host's sink in the table `links`, where sinks come after the directions of links.
pub(super) fn sink(prepared: &Prepared, host: HostId) -> i64 {
    (2 * prepared.graph.links.len() + host.index()) as i64
}

/// Rate of every sink in Gb/s, if it has one: that of its bus, for as much of the time as it works.
pub(super) fn sink_rate(prepared: &Prepared) -> Option<f64> {
    let sink = &prepared.experiment.host.sink;
    let working = match (sink.pause_every, sink.pause_for) {
        (Some(work), Some(pause)) if work.0 > 0 => work.0 as f64 / (work.0 as f64 + pause.0 as f64),
        _ => 1.0,
    };
    sink.rate.map(|rate| rate.as_gbps() * working)
}

/// A row for every direction of a link, by number of sending port; then for every limited sink.
pub(super) fn table(prepared: &Prepared) -> Table {
    let graph = &prepared.graph;
    let ports = 0..2 * graph.links.len() as u32;
    let mut names: Vec<String> = ports.clone().map(|port| graph.port_name(port)).collect();
    let class = |port: u32| match graph.links[(port / 2) as usize].class {
        LinkClass::Host if port.is_multiple_of(2) => "injection".to_owned(),
        LinkClass::Host => "ejection".to_owned(),
        LinkClass::Dimension(d) => format!("dimension {d}"),
        LinkClass::Level(level) => format!("level {level}"),
        LinkClass::Local => "local".to_owned(),
        LinkClass::Global => "global".to_owned(),
        LinkClass::Plain => "plain".to_owned(),
    };
    let mut classes: Vec<String> = ports.clone().map(class).collect();
    let Links { errors, retry, .. } = &prepared.experiment.links;
    let rate = |port: u32| {
        let link = &graph.links[(port / 2) as usize].parameters;
        let carried = if *errors == LinkErrors::Retry { retry.throughput(link) } else { 1.0 };
        link.rate.as_gbps() * carried
    };
    let mut rates: Vec<f64> = ports.map(rate).collect();
    if let Some(sink) = sink_rate(prepared) {
        names.extend(graph.hosts.iter().map(|host| format!("sink of {}", host.name)));
        classes.extend(graph.hosts.iter().map(|_| "sink".to_owned()));
        rates.extend(graph.hosts.iter().map(|_| sink));
    }
    let mut table = Table { name: "links", columns: Vec::new() };
    table.text("link", "Direction of a link, or a sink", names);
    table.text("class", "Kind of link", classes);
    table.real("gbps", "Gb/s", "Its rate, without what bit errors take", rates);
    table
}
