use std::collections::BTreeMap;
use std::collections::btree_map::Entry::{Occupied, Vacant};
use std::sync::Arc;

use fabricsim_spec::{DrawPer, Experiment, Injection, OrderingMode, Pattern, Response, Traffic};
use fabricsim_units::{HostId, Rate, Time};

use crate::closed::{Closed, RequestResponse, Requests, Shared};
use crate::error::ErrorLocation;
use crate::injection::{self, Timing};
use crate::job::{self, Job, JobInfo, Ranks};
use crate::multicast::{self, MulticastGroup};
use crate::partitions::Partitions;
use crate::pattern::{self, Draw, Plan};
use crate::select::Selector;
use crate::size::Sizes;
use crate::source::Source;
use crate::stream::{Entry, MessageStream};
use crate::{Hosts, Problem, SilentSource, StreamEnd, StreamInfo, StreamKind, WorkloadError, describe};

/// The traffic of an experiment, ready to run.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The source of each host, by [`HostId`]; without streams if the host sends nothing.
    pub sources: Vec<Source>,
    /// All streams of messages, by number: the entries of the traffic list, then the responses to those that have them,
    /// then the jobs.
    pub streams: Vec<StreamInfo>,
    /// The jobs.
    pub jobs: Vec<JobInfo>,
    /// Sources whose only destination would be themselves: they send nothing.
    pub silent: Vec<SilentSource>,
    /// Partitions, if there are others than the default one.
    pub partitions: Option<Arc<Partitions>>,
    /// Multicast groups, by number.
    pub groups: Vec<MulticastGroup>,
}

impl Workload {
    /// Leaves hosts out that take no part: they send nothing. Messages for them stay.
    ///
    /// # Errors
    ///
    /// The name of a job, and the host, if it has a rank there: it would never end.
    pub fn leave_out(&mut self, hosts: impl Iterator<Item = HostId>) -> Result<(), (String, HostId)> {
        for host in hosts {
            let source = &mut self.sources[host.index()];
            let stream = source.ranks().and_then(|ranks| ranks.streams().next());
            if let Some(job) = self.jobs.iter().find(|job| Some(job.stream) == stream) {
                return Err((job.name.clone(), host));
            }
            *source = Source::new(Vec::new(), None);
        }
        Ok(())
    }
}

/// Builds the sources of `experiment` on `hosts`; `file` is the experiment's name in errors. An experiment without
/// traffic gives sources without streams. Its values are those that [`fabricsim_spec::check`] allows.
pub fn build(experiment: &Experiment, hosts: &Hosts, file: &str) -> Result<Workload, WorkloadError> {
    let general = |key: &str, problem| WorkloadError { file: file.to_owned(), key: key.to_owned(), problem };
    consistent(hosts).map_err(|why| general("topology", Problem::Hosts(why)))?;
    let answered = experiment.traffic.iter().filter(|traffic| traffic.response.is_some()).count();
    let selector = Selector::new(file, &hosts.names, &experiment.groups)?;
    let partitions = Partitions::new(experiment, &selector, hosts.names.len())?;
    let groups = multicast::groups(experiment, &selector)?;
    let mut of_host: Vec<Vec<MessageStream>> = vec![Vec::new(); hosts.names.len()];
    let mut streams = Vec::new();
    let mut responses = Vec::new();
    let mut exchanges = Vec::new();
    let mut silent = Vec::new();
    let names = describe::names(&experiment.traffic);
    for ((entry, traffic), name) in experiment.traffic.iter().enumerate().zip(&names) {
        let place = ErrorLocation { file, list: "traffic", entry };
        let ordering = traffic.ordering.unwrap_or(experiment.transport.mode);
        let builder = Builder {
            seed: experiment.seed,
            hosts,
            selector: &selector,
            groups: &groups,
            place,
            traffic,
            name,
            ordering,
            partitions: partitions.as_ref(),
        };
        let (info, sizes) = builder.add(&mut of_host, &mut silent)?;
        if let Some(response) = &traffic.response {
            let number = (experiment.traffic.len() + exchanges.len()) as u16;
            let exchange = builder.exchange(response, sizes, number)?;
            responses.push(response_info(&info, response, &exchange));
            exchanges.push(exchange);
        }
        streams.push(info);
    }
    streams.append(&mut responses);
    let jobs = job::build(experiment, &selector, hosts.names.len(), streams.len(), file)?;
    streams.extend(experiment.jobs.iter().zip(&jobs).map(|(spec, (job, info))| {
        let ends = StreamEnd::of(job.hosts.iter().copied(), &hosts.rates);
        StreamInfo {
            name: info.name.clone(),
            key: describe::key("jobs", &info.name, usize::from(job.number)),
            text: format!("{}, {} ranks", fabricsim_spec::name(&spec.program), info.ranks),
            kind: StreamKind::Job,
            sources: ends,
            destinations: ends,
            mean_bytes: f64::NAN,
            service_class: spec.service_class,
            ordering: experiment.transport.mode,
            partition: None,
            is_multicast: false,
        }
    }));
    let (jobs, infos): (Vec<Arc<Job>>, Vec<JobInfo>) = jobs.into_iter().unzip();
    let closing = Closing {
        experiment,
        shared: Arc::new(Shared::new(experiment.traffic.len(), exchanges)),
        jobs,
        everywhere: answered > 0,
    };
    let source = |(host, streams): (usize, Vec<MessageStream>)| {
        let closed = closing.of_host(HostId(host as u32), &streams);
        Source::new(streams, closed)
    };
    let sources = of_host.into_iter().enumerate().map(source).collect();
    let partitions =
        partitions.map(|known| Arc::new(known.with_streams(streams.iter().map(|stream| stream.partition))));
    Ok(Workload { sources, streams, jobs: infos, silent, partitions, groups })
}

fn response_info(request: &StreamInfo, response: &Response, exchange: &RequestResponse) -> StreamInfo {
    StreamInfo {
        name: format!("{} response", request.name),
        key: format!("{}.response", request.key),
        text: format!("answers to {}, {}", request.name, describe::size(&response.message)),
        kind: StreamKind::Response,
        sources: request.destinations,
        destinations: request.sources,
        mean_bytes: exchange.responses.mean(),
        service_class: response.service_class,
        ordering: request.ordering,
        partition: request.partition,
        is_multicast: false,
    }
}

/// Input for the closed-loop sides of hosts.
struct Closing<'a> {
    experiment: &'a Experiment,
    shared: Arc<Shared>,
    jobs: Vec<Arc<Job>>,
    /// True if any host may have to answer.
    everywhere: bool,
}

impl Closing<'_> {
    fn of_host(&self, host: HostId, streams: &[MessageStream]) -> Option<Closed> {
        let ranks = self.jobs.iter().flat_map(|job| job.ranks_of(host).map(|rank| (Arc::clone(job), rank)));
        let ranks = Ranks::new(host, ranks);
        if ranks.is_empty() && !self.everywhere {
            return None;
        }
        let requests = streams.iter().filter_map(|stream| {
            let traffic = &self.experiment.traffic[usize::from(stream.number())];
            traffic.response.as_ref()?;
            let window = traffic.window.filter(|_| traffic.injection == Injection::Window);
            Some(Requests::new(stream.number(), host, window, Arc::clone(&self.shared)))
        });
        Some(Closed::new(Arc::clone(&self.shared), requests.collect(), ranks))
    }
}

/// Input for one entry.
struct Builder<'a> {
    seed: u64,
    hosts: &'a Hosts,
    selector: &'a Selector<'a>,
    groups: &'a [MulticastGroup],
    place: ErrorLocation<'a>,
    traffic: &'a Traffic,
    name: &'a str,
    ordering: OrderingMode,
    partitions: Option<&'a Partitions>,
}

impl Builder<'_> {
    fn add(
        &self,
        of_host: &mut [Vec<MessageStream>],
        silent: &mut Vec<SilentSource>,
    ) -> Result<(StreamInfo, Arc<Sizes>), WorkloadError> {
        let stream = self.place.entry as u16;
        let sources = self.selector.select(&self.traffic.sources, &self.place.key("sources"))?.hosts;
        let partition = self.partition(&sources)?;
        let sizes = Arc::new(Sizes::new(&self.traffic.message));
        let Plan { draw, marks } = self.plan(&sources)?;
        let rates = &self.hosts.rates;
        let ends = (
            describe::sources(&sources, &marks, rates),
            describe::destinations(&draw, &marks, self.groups, rates),
        );
        let draw = Arc::new(draw);
        let mut by_rate: BTreeMap<Rate, Arc<Entry>> = BTreeMap::new();
        for (&host, mark) in sources.iter().zip(marks) {
            let link = self.hosts.rates[host.index()];
            let entry = match by_rate.entry(link) {
                Occupied(known) => Arc::clone(known.get()),
                Vacant(new) => Arc::clone(new.insert(Arc::new(self.entry(&sizes, &draw, link)?))),
            };
            match mark {
                Some(mark) => {
                    let streams = &mut of_host[host.index()];
                    // Most hosts have one stream, and there may be very many hosts.
                    streams.reserve_exact(1);
                    streams.push(MessageStream::new(entry, mark, self.seed, host));
                }
                None => silent.push(SilentSource { stream, host }),
            }
        }
        let answered = self.traffic.response.is_some();
        let info = StreamInfo {
            name: self.name.to_owned(),
            key: describe::key("traffic", &self.traffic.name, self.place.entry),
            text: describe::text(self.traffic),
            kind: if answered { StreamKind::Request } else { StreamKind::Traffic },
            sources: ends.0,
            destinations: ends.1,
            mean_bytes: sizes.mean(),
            service_class: self.traffic.service_class,
            ordering: self.ordering,
            partition,
            is_multicast: matches!(self.traffic.pattern, Pattern::Multicast(_)),
        };
        Ok((info, sizes))
    }

    /// The messages of the entry and the responses to them, which are stream `number`.
    fn exchange(
        &self,
        response: &Response,
        requests: Arc<Sizes>,
        number: u16,
    ) -> Result<RequestResponse, WorkloadError> {
        if self.traffic.draw_per == DrawPer::Packet {
            let with = "draw_per = \"packet\"";
            let why = "a message whose packets go to several hosts has no receiver; leave one of them out";
            return Err(self.place.error("response", Problem::NoMeaning { with, why }));
        }
        Ok(RequestResponse {
            stream: self.place.entry as u16,
            response: number,
            delay: response.delay,
            seed: self.seed,
            requests,
            responses: Arc::new(Sizes::new(&response.message)),
        })
    }

    fn entry(&self, sizes: &Arc<Sizes>, draw: &Arc<Draw>, link: Rate) -> Result<Entry, WorkloadError> {
        let &Self { place, traffic, .. } = self;
        let (timing, load) = Timing::new(&injection::InjectionInput { place, traffic, sizes, link })?;
        Ok(Entry {
            stream: place.entry as u16,
            timing,
            sizes: Arc::clone(sizes),
            draw: Arc::clone(draw),
            per_packet: traffic.draw_per == DrawPer::Packet && !draw.is_fixed(),
            start: traffic.start,
            stop: traffic.stop.unwrap_or(Time::MAX),
            messages: traffic.messages.unwrap_or(u64::MAX),
            link,
            load,
        })
    }

    fn plan(&self, sources: &[HostId]) -> Result<Plan, WorkloadError> {
        let &Self { seed, hosts, selector, groups, place, traffic, .. } = self;
        pattern::plan(&pattern::PatternInput { place, seed, hosts, selector, groups, traffic, sources })
    }

    fn partition(&self, sources: &[HostId]) -> Result<Option<u16>, WorkloadError> {
        let (Some(partitions), Some(name)) = (self.partitions, &self.traffic.partition) else {
            return Ok(None);
        };
        let found = partitions.of_sources(name, sources, &self.hosts.names);
        found.map_err(|problem| self.place.error("partition", problem))
    }
}

/// Checks a description of hosts for contradictions.
fn consistent(hosts: &Hosts) -> Result<(), &'static str> {
    let n = hosts.names.len();
    if hosts.rates.len() != n {
        return Err("the numbers of rates and names differ");
    }
    if n > u32::MAX as usize {
        return Err("too many hosts: host numbers have 32 bits");
    }
    let Some(grid) = &hosts.grid else { return Ok(()) };
    if grid.coordinates.len() != n || grid.slot.len() != n {
        return Err("the numbers of coordinates, slots and names differ");
    }
    let k = &grid.dimensions;
    let inside = |at: &Vec<u32>| at.len() == k.len() && at.iter().zip(k).all(|(x, k)| x < k);
    if grid.coordinates.iter().all(inside) { Ok(()) } else { Err("a coordinate is outside the grid") }
}

#[cfg(test)]
mod tests {
    use fabricsim_spec::SpecError;

    use super::*;
    use crate::testing::{build_all, experiment, grid, hosts, refused, workload};

    #[test]
    fn entries_are_described() {
        let two = "
[[traffic]]
name = 'background'
pattern = 'uniform'
load = 0.25
message = { uniform = { min = '100 B', max = '200 B' } }
[[traffic]]
sources = ['H0', 'H1', 'H*']
pattern = { to = 'H1' }
injection = 'saturating'
message = '64 B'
";
        let workload = build_all(&hosts(4), two);
        let infos: Vec<_> = workload
            .streams
            .iter()
            .map(|stream| (stream.name.as_str(), stream.kind, stream.sources.hosts, stream.mean_bytes))
            .collect();
        let traffic = StreamKind::Traffic;
        assert_eq!(infos, [("background", traffic, 4, 150.0), ("to", traffic, 3, 64.0)]);
        assert_eq!(workload.silent, [SilentSource { stream: 1, host: HostId(1) }]);
        let loads: Vec<f64> = workload.sources.iter().map(Source::nominal_load).collect();
        assert_eq!(loads, [1.25, 0.25, 1.25, 1.25]);
        assert_eq!(workload.sources[1].streams().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn the_load_is_relative_to_the_own_link() {
        let mut mixed = hosts(3);
        mixed.rates[1] = Rate::new(16_000_000_000).unwrap();
        let entry = "pattern = 'uniform'\ninjection = 'constant'\nmessage = '1000 B'\n";
        let second = |rest: &str, host: usize| {
            let build = build(&experiment(&format!("[[traffic]]\n{entry}{rest}")), &mixed, "");
            crate::testing::take(&mut build.unwrap().sources[host], 2)[1].created
        };
        assert_eq!([second("load = 0.5", 0), second("load = 0.5", 1)], [Time::us(2), Time::us(1)]);
        assert_eq!([second("rate = '4 Gb/s'", 0), second("rate = '4 Gb/s'", 1)], [Time::us(2), Time::us(2)]);
    }

    #[test]
    fn spans_are_checked() {
        let message = |rest: &str| refused(&hosts(4), &format!("pattern = 'uniform'\nload = 0.1\n{rest}"));
        assert!(message("messages = 0").contains("traffic.0.messages: 0 is not allowed: give"));
        let error = message("start = '1 us'\nstop = '1 us'");
        assert!(
            error.contains("traffic.0.stop: 1 us is out of range: it must be later than `start`"),
            "{error}"
        );
        assert_eq!(workload(&hosts(4), "pattern = 'uniform'\nload = 0.1\nstop = '1 ns'").sources.len(), 4);
    }

    #[test]
    fn errors_turn_into_those_of_the_spec() {
        let error =
            build(&experiment("[[traffic]]\npattern = { to = 'H9' }\nmessage = '1 B'"), &hosts(2), "a.toml");
        let error = error.unwrap_err();
        let text = error.to_string();
        let spec = SpecError::from(error);
        assert_eq!((spec.file.as_str(), spec.key.as_deref()), ("a.toml", Some("traffic.0.pattern.to")));
        assert_eq!(spec.to_string(), text);
    }

    #[test]
    fn contradictions_in_the_hosts_are_refused() {
        let broken: [fn(&mut Hosts); 4] = [
            |h| {
                h.rates.pop();
            },
            |h| h.grid.as_mut().unwrap().dimensions[1] = 0,
            |h| h.grid.as_mut().unwrap().dimensions.push(2),
            |h| {
                h.grid.as_mut().unwrap().slot.pop();
            },
        ];
        for make in broken {
            let mut hosts = grid(&[2, 2], 1);
            make(&mut hosts);
            assert!(refused(&hosts, "pattern = 'tornado'").contains("hosts is inconsistent"));
        }
    }
}
