//! This project's own format, see [`Format::Toml`](super::Format::Toml).

use fabricsim_spec::{LinkOverride, SpecError};
use fabricsim_units::{Bytes, Rate, Time};
use serde::Deserialize;
use toml::Spanned;

use super::Lines;
use super::draft::{Draft, DraftEnd, DraftHost, DraftLink, DraftSwitch};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    title: String,
    #[serde(default)]
    switch: Vec<Spanned<Switch>>,
    #[serde(default)]
    host: Vec<Spanned<Host>>,
    #[serde(default)]
    link: Vec<Spanned<Link>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    name: String,
    ports: Option<u64>,
    coordinates: Option<Vec<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Host {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    a: String,
    a_port: Option<u64>,
    b: String,
    b_port: Option<u64>,
    rate: Option<Rate>,
    latency: Option<Time>,
    buffer: Option<Bytes>,
    packet_overhead: Option<Bytes>,
    reads: Option<u16>,
    bit_error_rate: Option<f64>,
    mtu: Option<Bytes>,
}

pub(super) fn read(text: &str, file: &str) -> Result<Draft, SpecError> {
    let parsed: File = toml::from_str(text).map_err(|error| SpecError::of_toml(&error, text, file))?;
    let lines = Lines::new(text);
    let switch = |entry: Spanned<Switch>| {
        let line = lines.of(entry.span().start);
        let Switch { name, ports, coordinates } = entry.into_inner();
        DraftSwitch { name, line, ports, coordinates }
    };
    let host = |entry: Spanned<Host>| {
        let line = lines.of(entry.span().start);
        DraftHost { name: entry.into_inner().name, line }
    };
    let link = |entry: Spanned<Link>| {
        let line = lines.of(entry.span().start);
        let Link { a, a_port, b, b_port, rate, latency, buffer, packet_overhead, reads, bit_error_rate, mtu } =
            entry.into_inner();
        let ends = [DraftEnd { node: a, port: a_port }, DraftEnd { node: b, port: b_port }];
        let given = LinkOverride { rate, latency, buffer, packet_overhead, reads, bit_error_rate, mtu };
        DraftLink { ends, line, given }
    };
    Ok(Draft {
        title: parsed.title,
        switches: parsed.switch.into_iter().map(switch).collect(),
        hosts: parsed.host.into_iter().map(host).collect(),
        links: parsed.link.into_iter().map(link).collect(),
    })
}
