"""The simulator's engine, compiled from Rust (crates/py). Structured values cross the border as JSON text."""

from collections.abc import Callable, Sequence
from typing import Literal, final

__all__ = [
    "CancelledError",
    "ConnectionAdapter",
    "Control",
    "MpiPrograms",
    "NativeError",
    "OrderingNetwork",
    "OrderingStop",
    "Outcome",
    "Programs",
    "Routes",
    "Session",
    "Simulation",
    "SteppedRun",
    "Trace",
    "VerbsAdapter",
    "VerbsCallError",
    "available_memory",
    "check",
    "decode_mpi",
    "demands",
    "describe",
    "dissect_capture",
    "export",
    "import_subnet",
    "job_bounds",
    "opensm_options",
    "ordering_check",
    "ordering_source",
    "ordering_target",
    "parse_size",
    "parse_time",
    "route_subnet",
    "run_perftest",
    "schema",
    "trace_of_calls",
    "version",
    "warnings",
]

class NativeError(ValueError):
    """Bad input. The message is complete: file, line, key, what is wrong, what is allowed."""

class CancelledError(Exception):
    """The construction was cancelled."""

class VerbsCallError(Exception):
    """A call of verbs failed: `errno` and a sentence."""

def available_memory() -> int | None:
    """Bytes of memory that this process may still allocate; None if the system does not report it."""

def version() -> str:
    """Version of the engine."""

def schema() -> str:
    """JSON Schema of an experiment file."""

def parse_time(text: str) -> int:
    """A time such as "10 us", in picoseconds."""

def parse_size(text: str) -> int:
    """A size such as "4 KiB", in bytes."""

def check(text: str, file: str, base: str, overrides: list[tuple[str, str]]) -> str:
    """The experiment with all defaults filled in, as JSON. Builds the network and finds what is wrong with it.

    `file` names the text in messages; files that it refers to are relative to the folder `base`; `overrides` are
    pairs like `("traffic.0.load", "0.4")` with values as they would be written in the file.
    """

def run_perftest(
    experiment: tuple[str, str, str, list[tuple[str, str]]],
    ends: tuple[str | None, str | None],
    options: str,
    control: Control,
) -> str:
    """Tests of latency or bandwidth between two hosts, one after the other: `options` is a JSON list.

    Returns a JSON list of `figures` and `expected`, the closed form.

    Args:
        experiment: text, name for messages, folder and overrides, as for `check`.
        ends: names of client and server; by default the first two hosts.
    """

def warnings(text: str, file: str, base: str, overrides: list[tuple[str, str]]) -> list[str]:
    """Warnings about settings that are allowed and probably not intended, a text for each.

    Builds the network only if there is a transport, whose times depend on it, and reads it if it is in a file.
    """

def describe(text: str, file: str, base: str, overrides: list[tuple[str, str]]) -> str:
    """Facts about the network as JSON: counts, diameter, bisection, zero-load latency, deadlock verdict."""

def job_bounds(text: str, file: str, base: str, overrides: list[tuple[str, str]]) -> str:
    """Lower bounds on the time of each job as JSON, a list; `null` if the jobs send too many messages."""

def demands(
    text: str, file: str, base: str, overrides: list[tuple[str, str]], at: str | None
) -> tuple[
    str,
    list[tuple[str, list[tuple[str, str, str, Literal["f8", "i8", "str"], bytes | list[str]]]]],
]:
    """The traffic at the time `at` ("0.3 s"; None: when most flows are active) and the links that it crosses: a JSON
    object, and tables (`flows`, `links`, `crossings`, `arcs`) as name and columns, these as in `Outcome.columns`."""

def export(text: str, file: str, base: str, overrides: list[tuple[str, str]], format: str) -> str:
    """The network or its forwarding tables as a file: "ned", "dot", "anynet", "fdbs" or "toml"."""

@final
class OrderingStop:
    """Requests an endpoint or a network of the ordering demonstration to end."""

    def __new__(cls) -> OrderingStop: ...
    def set(self) -> None:
        """Ends what was started with it. May be called from another thread."""

@final
class OrderingNetwork:
    """A network on a UDP port of this machine that delays, reorders and drops."""

    def __new__(cls, settings: str) -> OrderingNetwork: ...
    @property
    def port(self) -> int:
        """Port to which endpoints send."""

    @property
    def token(self) -> str:
        """The secret of the session, for its source and its target."""

    def run(self, stop: OrderingStop) -> str:
        """Works until stopped. Returns counters as JSON. Releases the interpreter lock."""

def import_subnet(
    fabric: tuple[bytes, str],
    format_name: str | None,
    tables: tuple[bytes, str] | None,
    sl2vl: tuple[bytes, str] | None,
    path_sls: tuple[bytes, str] | None,
) -> str:
    """Reads a subnet and tables of it; the format is known by the content if none is given. A JSON object.

    Files are their bytes with a name for messages.
    """

def opensm_options(
    engine: str | None,
    files: dict[str, str | None],
    layers: int,
    lmc: int | None,
    port_shifting: bool,
    scatter_ports: int,
    vls: int,
    nue_vls: int,
) -> str:
    """Lines for OpenSM's file of options: those of an engine, or, without one, those that load `files["lfts"]`.

    `files` has the keys `lfts`, `roots`, `compute_nodes` and `torus`; `layers` is the number of virtual lanes in use.
    """

def route_subnet(request: dict[str, object]) -> Routes:
    """Routes a subnet.

    `request` has the keys `fabric`, `is_experiment`, `overrides`, `base`, `engine`, `tables`, `path_sls`, `sl2vl`,
    `roots`, `torus`, `compute_nodes`, `port_shifting`, `scatter_ports`, `lmc`, `manager`, `vls`, `nue_vls`, `fail` and
    `matrix`. RuntimeError: the engine cannot route the subnet.
    """

@final
class Routes:
    """A routed subnet. Its files are written when they are needed."""

    def report(self) -> str:
        """The report, a JSON object."""

    def links(self) -> str:
        """Directions of links between switches, a JSON list."""

    def lids(self) -> list[int]:
        """Base LIDs of the adapters' ports."""

    def tables(self, form: str) -> str:
        """The forwarding tables in a form. RuntimeError: the subnet has no shortest paths, which `opensm-fdbs` has."""

    def fabric(self, form: str) -> str:
        """The subnet with its LIDs in a form."""

    def sl2vl(self) -> str:
        """Lanes of service levels, as OpenSM dumps them."""

    def path_sls(self) -> str:
        """Service levels of paths, as OpenSM dumps them; empty if all are 0."""

def trace_of_calls(
    file: str, ranks: list[bytes], groups: dict[int, list[int]], compute_scale: float
) -> Trace:
    """The trace of calls that a reader has collected.

    `ranks` are records of six 64-bit numbers for each rank (kind, peer or root, tag, bytes or ns, communicator,
    request);
    `groups` the ranks of the communicators from 1 on.
    """

def dissect_capture(bytes: bytes, file: str, most: int, take: Callable[[str], object]) -> None:
    """Dissects a capture file (pcap, pcapng, ERF): calls `take` with its records, up to `most` at a time, as JSON.

    `file` names it in messages. A damaged file is refused before the first call.
    """

def ordering_check(settings: str) -> None:
    """Checks the settings of endpoints."""

def ordering_source(port: int, token: str, data: bytes, settings: str, stop: OrderingStop) -> str:
    """Sends bytes to the target of the session, through the network at `port`. Returns counters as JSON."""

def ordering_target(port: int, token: str, settings: str, stop: OrderingStop) -> tuple[list[bytes], str]:
    """Receives until stopped. Returns the bytes of each stream, and counters as JSON."""

@final
class Control:
    """Control and progress of a run for another thread, its construction included."""

    def __new__(cls) -> Control: ...
    def progress(self) -> str:
        """JSON with `simulated_s`, `total_s`, `packet_hops`, `phase`."""

    def cancel(self) -> None:
        """Ends the construction with `CancelledError` before its next step; makes `Simulation.run` return soon with
        its results so far."""

@final
class Simulation:
    """One run of an experiment."""

    def __new__(
        cls,
        text: str,
        file: str,
        base: str,
        overrides: list[tuple[str, str]],
        control: Control | None = None,
        memory: int | None = None,
    ) -> Simulation:
        """Builds the network and checks it. `memory`: bytes that the run may take; by default what is available."""

    def run(self, capture: str | None = None, only: bool = False, cores: int = 1) -> Outcome:
        """Runs to the end, until its control is cancelled, or until the network has stopped. Releases the interpreter
        lock.

        `capture`: the file that the experiment's capture is written to; by default none is. `only`: the run ends with
        the capture. `cores`: cores that it may use if the experiment does not say how many threads it has."""

@final
class SteppedRun:
    """One run of an experiment, in steps of simulated time. Times are in picoseconds."""

    def __new__(
        cls,
        text: str,
        file: str,
        base: str,
        overrides: list[tuple[str, str]],
        control: Control,
        memory: int | None = None,
        cores: int = 1,
        processes: int = 1,
    ) -> SteppedRun:
        """As `Simulation`; `cores` as in `Simulation.run`. `processes`: those that advance the run together."""

    def experiment(self) -> tuple[str, list[str]]:
        """The experiment with its defaults, as JSON, and the files that it names, relative to its own."""

    def save(self) -> bytes:
        """The state of the run. Raises `NativeError` with the features of the run that have none."""

    def restore(self, bytes: bytes) -> None:
        """Gives the run, at its start, the state that another one of the same experiment wrote. Raises `NativeError` if
        the bytes are not such a state."""

    def join(self, team: object) -> None:
        """From now on several processes advance the run, which is at its start in each of them. `team` has `rank`,
        `size` and `exchange(messages)`, which gives the messages of all for this one. Raises `NativeError` if the run
        has features without a state, or the processes have different runs."""

    def now(self) -> int:
        """The time of the run."""

    def advance_to(self, until: int) -> bool:
        """Goes on until a time, or to the end if no event is left. False if the run has ended, or its control was
        cancelled."""

    def result(self) -> Outcome:
        """Ends the run. Returns its results so far."""

@final
class Session:
    """A run controlled by the caller. Times are in picoseconds. One thread at a time may use it."""

    def __new__(
        cls,
        text: str,
        file: str,
        base: str,
        overrides: list[tuple[str, str]],
        control: Control,
        memory: int | None,
    ) -> Session:
        """Builds the network and checks it. `memory`: bytes that the run may take; by default what is available."""

    def fork(
        self,
        text: str,
        file: str,
        overrides: list[tuple[str, str]],
        control: Control,
        memory: int | None,
    ) -> Session:
        """An independent copy, of an experiment that may differ in failures to come. `memory`: bytes that it may take.
        Releases the interpreter lock."""

    def now(self) -> int:
        """Everything before this time has happened."""

    def is_over(self) -> bool:
        """True if the run has come to its end."""

    def advance_to(
        self, until: int | None, control: Control
    ) -> Literal["reached", "idle", "ended", "stopped"]:
        """Goes on until a time (None: until the run ends), or until `control` is cancelled. Releases the interpreter
        lock."""

    def inject(self, source: str, destination: str, bytes: int, at: int | None, traffic: str | None) -> int:
        """Gives a message to its source. Returns its number."""

    def configure(
        self,
        stop: list[str],
        resume: list[str],
        fail: list[str],
        restore: list[str],
        routes: list[tuple[str, str, str]],
    ) -> None:
        """Lets hosts (names, patterns with `*`, groups) open no messages, or open them again; lets links and switches
        fail, or work again; sets routes: switch, host, neighbour."""

    def snapshot(
        self,
    ) -> tuple[
        int,
        str,
        list[tuple[str, list[tuple[str, str, str, Literal["f8", "i8", "str"], bytes | list[str]]]]],
    ]:
        """Time, totals as JSON, and the tables `ports`, `hosts` and `waits` as in `Outcome.columns`."""

    def deadlock(self) -> list[str] | None:
        """The cycle of a deadlock, a line for each buffer."""

    def subscribe(self, kinds: list[str], capacity: int) -> None:
        """Collects at most `capacity` events of some kinds between two calls of `events`: "deliveries", "marks",
        "completions", "losses"."""

    def events(
        self,
    ) -> tuple[list[tuple[str, str, str, Literal["f8", "i8", "str"], bytes | list[str]]], int]:
        """The columns of the events since the last call, and the number of those that were not kept."""

    def result(self) -> Outcome:
        """Ends the session. Returns the results of the run so far."""

    def close(self) -> None:
        """Ends the session without results."""

@final
class MpiPrograms:
    """The run of an experiment with ranks of MPI, whose programs the caller runs, one at a time.

    Times are in picoseconds. Calls of a rank return the number of the program that goes on, as `Programs.next`.
    Program n is rank n.
    """

    def __new__(
        cls,
        experiment: tuple[str, str, str, list[tuple[str, str]]],
        hosts: tuple[int, list[str]],
        patience: int,
        control: Control,
        memory: int | None,
        kept: tuple[bool, str | None],
    ) -> MpiPrograms:
        """Builds the network. `hosts`: number of ranks, and the name of each one's host; without names the first hosts,
        in blocks of ranks of the same size. `patience`: as of `Programs`. `kept`: True if operations are kept for
        `log`, and the file that the experiment's capture is written to."""

    def hosts(self) -> list[str]:
        """Name of each rank's host."""

    def now(self) -> int:
        """The time of the program that runs."""

    def woken(self, rank: int) -> int:
        """Time at which the last wait of a rank inside a call ended, in picoseconds; 0 if it has not waited."""

    def next(self) -> int:
        """As `Programs.next`; handles the messages of ranks that are in a call."""

    def wait(self, number: int, duration: int | None, things: list[tuple[int, int]]) -> int:
        """The program that ran waits for a duration, or until `wake` without one. `things` must be empty."""

    def poll(self, number: int, duration: int, things: list[tuple[int, int]]) -> int:
        """As `wait` for a duration, of a program that polls in vain."""

    def end(self, number: int) -> None:
        """The program that ran has ended."""

    def wake(self, number: int) -> None:
        """Ends the wait of a program now."""

    def deadlock(self) -> list[str] | None:
        """As `Programs.deadlock`."""

    def send(self, rank: int, data: memoryview, to: tuple[int, int, int, int, int]) -> tuple[int, int]:
        """Starts a send of contiguous bytes. `to`: rank, tag, context, mode, and identity of the memory (0: none).

        Returns the program that goes on, and the request."""

    def receive(self, rank: int, buffer: memoryview, from_: tuple[int, int, int, int]) -> tuple[int, int]:
        """Starts a receive into contiguous bytes. `from_`: source, tag, context, and identity of the memory."""

    def send_and_wait(self, rank: int, data: memoryview, to: tuple[int, int, int, int, int]) -> int:
        """Sends, and waits until the memory may be reused. Returns the program that goes on."""

    def receive_and_wait(
        self, rank: int, buffer: memoryview, from_: tuple[int, int, int, int]
    ) -> tuple[int, tuple[int, int, int, bool, bool] | None]:
        """Receives, and waits for the message. Returns the program that goes on, and the result as of `arrivals` if
        that is the rank's own; else `finished` has it."""

    def exchange(
        self,
        rank: int,
        received: tuple[memoryview, tuple[int, int, int, int]],
        sent: tuple[memoryview, tuple[int, int, int, int, int]],
        waits: bool,
    ) -> tuple[int, int, int]: ...
    def has_received(self, rank: int) -> bool: ...
    def wait_all(self, rank: int, requests: Sequence[int], foreign: bool) -> int:
        """Waits until some requests are complete, all of them, and forgets them; `finished` has their results.
        `foreign`: as of `wait_requests`, for the first of them that is complete."""

    def finished(self, rank: int) -> list[tuple[int, int, int, bool, bool]]:
        """Results, as of `arrivals`, of the requests that the last such call of a rank waited for."""

    def receive_taken(self, rank: int, buffer: memoryview, message: int, memory: int) -> tuple[int, int]:
        """Starts the receive of a message that a probe took."""

    def wait_requests(self, rank: int, requests: list[int], foreign: bool) -> int:
        """Waits until one of some requests is complete. `foreign`: another call started one of them."""

    def test_requests(self, rank: int, requests: list[int]) -> int:
        """Makes progress once, unless one of some requests is complete."""

    def probe(self, rank: int, pattern: tuple[int, int, int], take: bool, blocks: bool) -> int:
        """Looks for a message: source, tag, context. `found` has it."""

    def found(self, rank: int) -> tuple[tuple[int, int, int, bool, bool], int] | None:
        """The message that a probe found: source, tag, length, truncated, cancelled; and its number if it was taken."""

    def arrivals(self, rank: int, requests: list[int]) -> list[tuple[int, int, int, bool, bool] | None]:
        """Results of requests, of those that are complete."""

    def free(self, rank: int, request: int) -> None:
        """Forgets a request; it still completes."""

    def cancel(self, rank: int, request: int) -> None:
        """Completes a receive that has not matched, as cancelled."""

    def close(self, rank: int) -> int:
        """Completes what is in progress."""

    def log(self) -> list[tuple[int, int, int, str, int, str, int]]:
        """Operations that ranks posted: time, from, to, operation, bytes, headers as text, wr_id."""

    def result(self) -> Outcome:
        """Ends the run."""

def decode_mpi(bytes: bytes) -> str:
    """The headers at the beginning of a message of MPI, as text."""

@final
class Programs:
    """The run of an experiment with programs that its caller runs, one at a time. Times are in picoseconds."""

    def __new__(
        cls,
        experiment: tuple[str, str, str, list[tuple[str, str]]],
        hosts: list[str],
        patience: int,
        control: Control,
        memory: int | None,
        capture: str | None = None,
    ) -> Programs:
        """Builds the network. `hosts`: the host of each program, which has its place in the list as its number;
        `patience`: time for which programs may poll in vain while nothing is in progress; `capture`: the file that the
        experiment's capture is written to."""

    def now(self) -> int:
        """The time of the program that runs: everything before it has happened."""

    def next(self) -> int:
        """Advances until a program can go on, and returns its number. Releases the interpreter lock.

        -1: all have ended; -2: none can go on; -3: they poll in vain; -4: the experiment's run is over; -5: stopped.
        """

    def wait(self, number: int, duration: int | None, things: list[tuple[int, int]]) -> int:
        """The program that ran waits for the first of some things, or for a duration. Returns the next one, as `next`.

        A thing is a kind (0 completion, 1 event of a completion queue, 2 remote WRITE, 3 asynchronous event) and the
        handle of its object. Without things the program sleeps for the duration, or until `wake`.
        """

    def poll(self, number: int, duration: int, things: list[tuple[int, int]]) -> int:
        """As `wait`, of a program that polls: it is in vain if the duration passes."""

    def end(self, number: int) -> None:
        """The program that ran has ended."""

    def wake(self, number: int) -> None:
        """Ends the wait of a program now."""

    def adapter(self, number: int) -> VerbsAdapter:
        """The adapter of a program's host."""

    def deadlock(self) -> list[str] | None:
        """The cycle of a deadlock of the network, a line for each buffer."""

    def result(self) -> Outcome:
        """Ends the run. Returns its results."""

@final
class ConnectionAdapter:
    """Communication management of a program's host. Calls raise `VerbsCallError`."""

    def set_options(self, response_timeout: int, retries: int, time_wait: int) -> None:
        """Sets time-outs (codes of 4.096 us x 2^n) and retransmissions."""

    def listen(self, service: int, channel: int) -> None:
        """Accepts requests for a service; their events go to a channel."""

    def unlisten(self, service: int) -> None:
        """Refuses requests for a service."""

    def connect(
        self,
        channel: int,
        path: tuple[int, int, int],
        second: tuple[tuple[int, int, int], int, int, int] | None,
        service: int,
        of_path: tuple[int, int],
        offer: tuple[int, int, int, int, int, int],
        data: bytes,
    ) -> int:
        """Requests a connection: its number. `second`: alternate path; `of_path`: MTU in bytes and time-out;
        `offer`: queue pair, PSN, resources, depth, retries, RNR retries."""

    def accept(self, id: int, offer: tuple[int, int, int, int, int, int], failover: int, data: bytes) -> None:
        """Accepts a request; `failover`: 0 if its alternate path is loaded, 1 or 2 if it is not."""

    def confirm(self, id: int) -> None:
        """Confirms a reply."""

    def reject(self, id: int, data: bytes) -> None:
        """Rejects a request or a reply."""

    def notify(self, id: int) -> None:
        """Data have arrived over a connection that is not established here."""

    def resolve(self, channel: int, dlid: int, service: int, data: bytes) -> int:
        """Asks the host that has a LID for the queue pair of a service: number of the request."""

    def answer(self, id: int, reply: tuple[int, int, int], data: bytes) -> None:
        """Answers a request for a service: status, queue pair, queue key."""

    def delay(self, id: int, code: int) -> None:
        """Asks the peer to wait."""

    def lmc(self) -> int:
        """LID mask control of the port."""

    def p_key(self, index: int) -> int:
        """P_Key of the port with an index."""

    def path_record(self, dlid: int) -> tuple[int, int, int, int, int]:
        """Path record: service level, MTU in bytes, rate in bits per second, packet lifetime, LID of this end."""

    def load_path(self, id: int, path: tuple[int, int, int], timeout: int) -> None:
        """Asks the other end to load an alternate path."""

    def answer_path(self, id: int, status: int) -> None:
        """Answers a request for an alternate path."""

    def disconnect(self, id: int) -> None:
        """Releases a connection."""

    def event(self, channel: int) -> tuple[int, int, list[tuple[str, int]], bytes] | None:
        """Takes an event of a channel: type, connection, values by name, private data."""

@final
class VerbsAdapter:
    """The adapter of a program's host: calls of verbs at the time of the run, with numbers as handles.

    Enumerations have rdma-core's numbers. Calls raise `VerbsCallError`.
    """

    def costs(self) -> tuple[int, int, int, int]:
        """Picoseconds of a post, of a post of a receive request and of a poll; the largest inline message in bytes."""

    def lid(self) -> int:
        """LID of the port."""

    def connections(self) -> ConnectionAdapter:
        """Communication management of the host."""

    def lid_of(self, host: str) -> int:
        """LID of a host, by its name."""

    def alloc_pd(self) -> int:
        """A new protection domain."""

    def dealloc_pd(self, pd: int) -> None:
        """Deallocates a protection domain."""

    def reg_mr(self, pd: int, length: int, access: int) -> tuple[int, int, int]:
        """Registers memory: its handle, key and address."""

    def dereg_mr(self, mr: int) -> None:
        """Deregisters memory."""

    def read_memory(self, mr: int, offset: int, length: int) -> bytes:
        """Copies bytes out of a region."""

    def write_memory(self, mr: int, offset: int, data: bytes) -> None:
        """Copies bytes into a region."""

    def take_write(self, mr: int) -> bool:
        """Takes a remote WRITE to a region that is visible."""

    def alloc_mw(self, pd: int, mw_type: int) -> tuple[int, int]:
        """Allocates a memory window of type 1 or 2: its handle and key."""

    def dealloc_mw(self, mw: int) -> None:
        """Deallocates a memory window."""

    def bind_mw(
        self, qp: int, wr_id: int, flags: int, mw: int, binding: tuple[int, int, int, int] | None
    ) -> int:
        """Posts a bind of a window of type 1 to region, address, length, permissions; or unbinds it. Its new key."""

    def post_local(
        self, qp: int, wr_id: int, flags: int, key: int, window: tuple[int, tuple[int, int, int, int]] | None
    ) -> None:
        """Posts a bind of a window of type 2, with its new key; without a window, an invalidation of the key."""

    def create_ah(self, pd: int, path: tuple[int, int, int]) -> int:
        """An address handle: LID, service level, source path bits."""

    def destroy_ah(self, ah: int) -> None:
        """Destroys an address handle."""

    def group(self, name: str) -> tuple[int, int]:
        """LID and GID of a multicast group."""

    def attach_mcast(self, qp: int, gid: int, lid: int) -> None:
        """Attaches a queue pair to a multicast group."""

    def detach_mcast(self, qp: int, gid: int, lid: int) -> None:
        """Detaches a queue pair from a multicast group."""

    def unreliable_counters(self, qp: int) -> tuple[int, int, int, int]:
        """Messages of UD or UC, messages without a receive request, packets of another queue key, dropped packets."""

    def open_xrcd(self) -> int:
        """A domain of extended reliable connections."""

    def close_xrcd(self, xrcd: int) -> None:
        """Closes such a domain."""

    def create_srq(self, pd: int, max_wr: int, max_sge: int, xrc: tuple[int, int] | None) -> int:
        """A shared receive queue; `xrc`: its XRC domain and completion queue."""

    def destroy_srq(self, srq: int) -> None:
        """Destroys a shared receive queue."""

    def srq_number(self, srq: int) -> int:
        """Number by which messages of XRC name a shared receive queue."""

    def modify_srq(self, srq: int, limit: int) -> None:
        """Sets the limit of a shared receive queue."""

    def query_srq(self, srq: int) -> tuple[int, int]:
        """Limit of a shared receive queue, and requests that are left."""

    def post_srq_recv(self, srq: int, wr_id: int, list: list[tuple[int, int, int]]) -> None:
        """Posts a receive request to a shared receive queue."""

    def create_cq(self, cqe: int) -> int:
        """A new completion queue."""

    def destroy_cq(self, cq: int) -> None:
        """Destroys a completion queue."""

    def poll_cq(
        self, cq: int, most: int
    ) -> list[tuple[int, int, int, int, int, int | None, int | None, tuple[int, int, bool, int, int] | None]]:
        """Takes completions: `wr_id`, status, opcode, `byte_len`, `qp_num`, immediate data, invalidated key."""

    def req_notify_cq(self, cq: int, solicited_only: bool) -> None:
        """Requests an event for the next completion."""

    def take_cq_event(self, cq: int) -> bool:
        """Takes an event of a completion queue."""

    def take_async_event(self) -> tuple[int, int] | None:
        """Takes an asynchronous event: its type, and the number of its queue pair or completion queue."""

    def create_qp(
        self,
        kind: int,
        pd: int,
        cqs: tuple[int, int],
        capacities: tuple[int, int, int, int, int],
        signal_all: bool,
        shared: tuple[int | None, int | None],
    ) -> int:
        """A new queue pair: its number. `cqs`: of sends and receives; `capacities`: the fields of `ibv_qp_cap`;
        `shared`: a shared receive queue, or an XRC domain."""

    def destroy_qp(self, qp: int) -> None:
        """Destroys a queue pair."""

    def modify_qp(
        self,
        qp: int,
        attributes: list[tuple[str, int]],
        path: tuple[int, int, int] | None,
        alternate: tuple[tuple[int, int, int], int, int, int] | None,
    ) -> None:
        """Changes attributes, by their names in `ibv_qp_attr`, and paths: LID, service level, source path bits; of the
        second one also P_Key index, port and time-out."""

    def qp_path(self, qp: int) -> tuple[int, tuple[int, int] | None]:
        """State of path migration, and LID and service level of the path."""

    def qp_state(self, qp: int) -> int:
        """State of a queue pair."""

    def post_send(
        self,
        qp: int,
        wr_id: int,
        opcode: int,
        flags: int,
        list: list[tuple[int, int, int]],
        inline: bytes | None,
        extra: int,
        remote: tuple[int, int],
        atomic: tuple[int, int],
        to: tuple[tuple[int, int, int] | None, int | None],
    ) -> None:
        """Posts a work request. `list`: address, length and key of its memory; `remote`: address and key; `atomic`: the
        compared or added value, and the new one; `to`: address handle, queue pair and queue key of a datagram, or the
        number of a shared receive queue."""

    def post_recv(self, qp: int, wr_id: int, list: list[tuple[int, int, int]]) -> None:
        """Posts a receive request."""

@final
class Trace:
    """A trace of an MPI program that has been read: a schedule of sends, receives and computations."""

    def __new__(cls, path: str, format: str, compute_scale: float, flops_per_s: float) -> Trace:
        """Reads a trace. `format` is "goal", "ti", "chakra" or "dumpi".

        Args:
            path: a file of the trace.
            format: name of its format.
            compute_scale: factor of the durations of computations, from 0.
            flops_per_s: floating-point operations of a processor in a second, for traces that count them.
        """

    @property
    def ranks(self) -> int:
        """Number of ranks."""

    @property
    def events(self) -> int:
        """Number of operations."""

    def with_computation(self, ns: int) -> Trace:
        """The same trace, in which each computation that takes time takes `ns`."""

    def replay_loggp(self, parameters: str) -> str:
        """Replays it on a LogGP network with parameters such as `L=1000,o=100,g=10,G=0`, in ns. A JSON object."""

    def operations(
        self, rank: int
    ) -> tuple[list[tuple[int, int, int, int]], list[list[int]], list[list[int]]]:
        """Operations of a rank: kind (1 send, 2 receive, 3 computation), peer, tag, bytes or ns; -1 for any.

        Then for each the numbers of the operations that wait for its end, and of those that wait for its start.
        """

    def write_goal(self, path: str, binary: bool) -> None:
        """Writes it as a GOAL schedule, text or LogGOPSim's binary form, and replaces the file."""

@final
class Outcome:
    """Results of a run."""

    @property
    def status(self) -> str:
        """ "ok", "deadlock" or "interrupted"."""

    def summary(self) -> str:
        """Totals, latency, flows and invariants as JSON."""

    def scaling(self) -> str:
        """How the run was divided among threads, as JSON: see `fabricsim.scaling.Scaling`."""

    def capture(self) -> str | None:
        """Report of the capture as JSON; None without one."""

    def tables(self) -> list[str]:
        """Names of the tables of results."""

    def columns(
        self, table: str
    ) -> list[tuple[str, str, str, Literal["f8", "i8", "str"], bytes | list[str]]]:
        """A table's columns: name, unit, description, type, values (little endian; names as a list)."""
