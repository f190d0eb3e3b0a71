"""The table of settings, each with its unit, its default and the reason for it. Used by `reading.py`."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

# The largest number that a gRPC channel argument can have.
_LARGEST_C_INT = 2**31 - 1

Bytes = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
# As in the contract: printable characters. The table of limits (rpc/boundary) checks calls more exactly. What means
# many elsewhere, such as `*` and `acme/*`, would be the name of one here.
ScopeName = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^(?!(.*/)?\*$)[^\x00-\x1f\x7f]*$")]


class Secret:
    """A value that prints as `[secret]`, in logs, tracebacks and `doctor`; empty when it is not set."""

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself."""
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "[secret]" if self._value else ""


class Tls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """PEM files for the TCP address. The server reads a file again when it changes, and refuses a key that other users
    can read."""

    # The server's certificate chain; no TLS when empty.
    certificate_file: str = ""
    # The private key of that certificate.
    key_file: str = ""
    # Certificate authorities of clients. When given, each client must present a certificate; when empty, none must.
    client_ca_file: str = ""


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds on what the server accepts. Defaults: decision 005; "chosen here" gives the reason for the others."""

    # Largest request, in bytes. gRPC's own default, which clients share.
    message_bytes: Annotated[int, Meta(ge=1, le=_LARGEST_C_INT)] = 4 * 1024 * 1024
    # Longest text of an event or a request, in bytes. The contract allows no more than the default.
    text_bytes: Annotated[int, Meta(ge=1, le=256 * 1024)] = 256 * 1024
    # Events of one turn.
    events_per_turn: Annotated[int, Meta(ge=1)] = 10_000
    # Stored bytes of the events of one turn. Chosen here: 10,000 events of 6 KiB each, as much as the whole backlog.
    turn_bytes: Bytes = 64 * 1024 * 1024
    # Concurrent unary calls. Chosen here: at about 20 KiB each they stay well below the usual memory of a sidecar, and
    # an agent makes one at a time.
    concurrent_calls: Annotated[int, Meta(ge=1)] = 1_000
    # Streams open at once. Chosen here: 5,000 watches and room for their agents (decision 005), at 25 KiB each.
    open_streams: Annotated[int, Meta(ge=1)] = 8_000
    # Seconds after which the server ends any stream; its client may open another. 0: never. Chosen here: a day outlasts
    # every turn. It bounds how long a revoked token or a lost client holds a stream.
    stream_age_s: Seconds = 86_400.0
    # HTTP connections open at once, each with at most one request. Chosen here: the agents, shells and pages of one
    # machine, at some 50 KiB each.
    http_connections: Annotated[int, Meta(ge=1)] = 256
    # Requests of all HTTP connections per second, refused ones too; more of them wait. Chosen here: many times what the
    # agents of one machine ask, and so little of a core that gRPC's callers do not notice it.
    http_requests_per_second: Annotated[float, Meta(ge=1)] = 100.0
    # Requests of one tenant per second, and the size of a burst; 0 is no limit. Chosen here: about what one core
    # serves, so that one tenant can use a whole sidecar.
    requests_per_second: Annotated[float, Meta(ge=0)] = 5_000.0
    # Jobs of one kind (goal reports) that wait or run in one project of a tenant. Chosen here: hours of work for a
    # model that takes a second for each, and some 100 MiB at most.
    queued_jobs: Annotated[int, Meta(ge=1)] = 10_000
    # Exports of spans that wait to be decoded; a further one is to be sent again. Chosen here: a second of work, and 64
    # MiB at most.
    telemetry_exports: Annotated[int, Meta(ge=1)] = 16
    # Projects of a tenant that have a policy of their own (`sidemirror policy set`). Chosen here: retention reads them
    # all twice a minute, and more projects than that are better served by the tenant's policy.
    project_policies: Annotated[int, Meta(ge=0)] = 1_000
    # Tombstones in one project of a tenant, above which `Erase` refuses an id of which nothing is stored. Chosen here:
    # some 100 MiB, and more than any project erases; what is stored is always erased.
    tombstones: Annotated[int, Meta(ge=0)] = 1_000_000
    # Concurrent streams and calls on one connection. Keeps one client from starving the others (decision 006).
    streams_per_connection: Annotated[int, Meta(ge=1, le=_LARGEST_C_INT)] = 100
    # Seconds without a message from the client after which its stream (RunTurn, ImportReflections) ends.
    idle_stream_s: Seconds = 600.0
    # Bytes of events that wait in memory while the store is unavailable. Chosen here: minutes of a busy agent, and a
    # quarter of the usual memory of a sidecar.
    backlog_bytes: Bytes = 64 * 1024 * 1024
    # What one agent may take where many share a sidecar: those that have a token of the access file. 0: no limit, as
    # befits a sidecar of one agent. Unary calls of one agent at once.
    agent_calls: Annotated[int, Meta(ge=0)] = 0
    # Streams of one agent at once.
    agent_streams: Annotated[int, Meta(ge=0)] = 0
    # Bytes of requests that one agent may send in a second, 12 KiB at least for each message, 4 KiB more for each event
    # and 52 KiB more for each call that may ask a model. What is more waits: streams until it is their turn, unary
    # calls a second at most.
    agent_bytes_per_second: Annotated[int, Meta(ge=0, le=_LARGEST_C_INT)] = 0
    # Bytes of one agent's requests that wait in memory for their turn, where the bytes of a second are limited. From
    # half of it on the agent's streams are not read from; a message above it is refused, and its client sends it again.
    # One message may always wait.
    agent_waiting_bytes: Annotated[int, Meta(ge=0, le=_LARGEST_C_INT)] = 0
    # Bytes of one project's events that wait in memory while the store is unavailable.
    project_backlog_bytes: Annotated[int, Meta(ge=0)] = 0


Usd = Annotated[float, Meta(ge=0)]


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model that answers. The default, `rules`, is no language model and costs nothing."""

    # rules, anthropic, openai_compatible, or the name of an installed package's entry point `sidemirror.models`.
    # Default: openai_compatible when base_url is set, else anthropic when a key is set (api_key or ANTHROPIC_API_KEY),
    # else rules.
    provider: str = "rules"
    # The provider's name of the model. Default: RAE_LLM_MODEL_DEFAULT, else the provider's small model.
    name: str = ""
    # The provider's address, for Ollama, vLLM, llama.cpp and proxies. Default: ANTHROPIC_BASE_URL, or OPENAI_BASE_URL
    # for openai_compatible, else the provider's public address.
    base_url: Annotated[str, Meta(pattern="^(https?://.+)?$")] = ""
    # Default: ANTHROPIC_API_KEY, or OPENAI_API_KEY for openai_compatible without base_url. Read from the environment
    # only, because every user of the machine can read a flag.
    api_key: Secret = Secret()
    # Concurrent calls to one model; further calls wait. Chosen here: the limit of the smallest paid tiers.
    concurrency: Annotated[int, Meta(ge=1)] = 8
    # USD per million tokens of input and of output. Needed for a model that no price list has (0 and 0 for a model you
    # run): else the highest known price is assumed.
    input_usd_per_mtok: Usd | None = None
    output_usd_per_mtok: Usd | None = None


class Embedding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The embedding model behind `/v1/embeddings` by which memories are found by meaning. Needs the extra `embeddings`.
    Changing the model recomputes all vectors in the background; until then searches use words alone."""

    # The model's name, such as text-embedding-3-small or nomic-embed-text; no embeddings when empty.
    name: str = ""
    # The model's URL, up to and including /v1. Default: OPENAI_BASE_URL, else OpenAI's public address.
    base_url: Annotated[str, Meta(pattern="^(https?://.+)?$")] = ""
    # Default: OPENAI_API_KEY, when base_url is empty. Read from the environment only.
    api_key: Secret = Secret()
    # Concurrent calls; further calls wait. Chosen here: one for new memories, one for queries, and two to spare.
    concurrency: Annotated[int, Meta(ge=1)] = 4
    # USD per million tokens. Needed for a model that no price list has (0 for a model you run): else the highest known
    # price is assumed.
    usd_per_mtok: Usd | None = None


class SpendCaps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The most that models may cost in a day (UTC); null is no cap. Policies may have caps too, and all of them hold.
    Defaults: decision 024."""

    # The spending of the scopes that the sidecar serves.
    usd_per_day: Usd | None = 5.0
    tokens_per_day: Count | None = None
    # Each tenant, with all projects.
    tenant_usd_per_day: Usd | None = None
    tenant_tokens_per_day: Count | None = None
    # Each project.
    project_usd_per_day: Usd | None = None
    project_tokens_per_day: Count | None = None


class PurposeCaps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one purpose may cost."""

    # The most that this purpose may cost in a day, of the spending that `spend__usd_per_day` counts; null adds no cap.
    usd_per_day: Usd | None = None
    tokens_per_day: Count | None = None


class PurposeSettings(PurposeCaps, frozen=True, forbid_unknown_fields=True):
    """Parameters of the calls to language models for one purpose. They go before those that the purpose has itself."""

    # Another model of the same provider; empty: `model__name`.
    model: str = ""
    # low, medium or high; null: the least that the model offers.
    effort: Literal["low", "medium", "high"] | None = None
    # For providers that accept one; null: the purpose's own (0.1 for what judges and remembers), else the provider's.
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    # The longest answer, in tokens, where it is less than the purpose's own; null: enough for the purpose.
    max_tokens: Annotated[int, Meta(ge=1)] | None = None


class DreamingSettings(PurposeSettings, frozen=True, forbid_unknown_fields=True):
    """Dreaming has a separate cap, because no caller requests it."""

    # Decision 024.
    usd_per_day: Usd | None = 0.5


class LearningSettings(PurposeSettings, frozen=True, forbid_unknown_fields=True):
    """Learning from what ended has a separate cap, because no caller requests it."""

    # Decision 053: as much as dreaming.
    usd_per_day: Usd | None = 0.5


class Purposes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings by the name of the purpose (models/language_model.py)."""

    mid_turn_reflection: PurposeSettings = PurposeSettings()
    dreaming: DreamingSettings = DreamingSettings()
    # Reflections on turns that ended, and goals' lessons as memories.
    learning: LearningSettings = LearningSettings()
    critique: PurposeSettings = PurposeSettings()
    revision: PurposeSettings = PurposeSettings()
    comparison: PurposeSettings = PurposeSettings()
    trace_evaluation: PurposeSettings = PurposeSettings()
    # The critics of a debate, and its judge.
    debate: PurposeSettings = PurposeSettings()
    goal_reflection: PurposeSettings = PurposeSettings()
    memory_reflection: PurposeSettings = PurposeSettings()
    # `embedding` configures the model.
    memory_embedding: PurposeCaps = PurposeCaps()


class Defaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a session starts with where neither its first turn nor its creator says otherwise (decision 052)."""

    # Thinking costs tokens, so nobody thinks unasked.
    level: Literal["off", "low", "medium", "high"] = "off"
    # Whether drafted responses are critiqued: off, gated (when failures or length make it worthwhile) or always.
    critique_mode: Literal["off", "gated", "always"] = "off"
    # Whether the plan of every turn brings lessons from earlier work. When false, only of turns that ask for them.
    context: bool = False
    # Whether turns are learned from when they end. With a model, `learn__model` must be on too.
    learning: bool = True


class Learn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Learning from turns and goals that end, in memory mode full (decision 053)."""

    # off or on: whether a model (also one that embeds or scores memories) may be used. Off, so that an upgrade neither
    # pays nor sends anything by itself; without any model this does not matter.
    model: Literal["off", "on"] = "off"
    # Turns of a project that are learned from in an hour, of each sidecar; 0 is no limit. What is beyond is left to
    # dreaming. Chosen here: one a minute, more than an agent's failures are worth, and seconds of work without a model.
    turns_per_hour: Count = 60


class AdviceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What agents are told of earlier work: lessons and recoveries (decision 065). Policies turn it off."""

    # on, or shadow: nothing is told, and what would have been told is kept with what happened then (decision 066).
    mode: Literal["on", "shadow"] = "on"
    # Whether the starter pack is told: reviewed look-ups that only read, for common failures of which nothing was
    # learned yet. Without it the first sessions are told nothing.
    starter_pack: bool = True
    # The most tokens of a block at a failing call, counted roughly. Design, section 17: an agent reads it in the middle
    # of its work.
    failure_tokens: Annotated[int, Meta(ge=0, le=1_000)] = 200
    # The most tokens of a block at a turn's start, and of BuildMemoryContext where a call does not say. Design, 17.
    start_tokens: Annotated[int, Meta(ge=0, le=1_000)] = 400


class Telemetry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Spans of instrumented agents, received by OTLP (decisions 074 and 075)."""

    # Take OTLP's exports, on the address of gRPC and on that of HTTP. Needs the extra `telemetry`.
    receive: bool = False
    # The scopes that have opted in to the texts in their spans (arguments, results, messages), as a list such as
    # `acme/*, globex/shop`; `*` is every scope. Of others only names, times and whether a call failed are kept, from
    # which nothing is learned. None when empty, since instrumentations record users' texts without being asked.
    content: str = ""
    # Seconds without a span of a trace before its turn is made. Chosen here: twice the 5 s after which exporters send.
    settle_s: Annotated[float, Meta(ge=0.1, le=600)] = 10.0


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Reflective memory (seed reflection-engine-v2, "Configuration"; decision 029)."""

    # When false, every call of ReflectiveMemoryService is refused. Default: REFLECTIVE_MEMORY_ENABLED, else true.
    enabled: bool = True
    # full, or lite: reflection on demand only. Default: REFLECTIVE_MEMORY_MODE, else full.
    mode: Literal["full", "lite"] = "full"
    # Reflections of a lower importance, 0 to 1, are not stored. 0 stores all.
    min_store_importance: Annotated[float, Meta(ge=0, le=1)] = 0.0
    # labelled: a lesson from untrusted text is recalled as data, with a label. corroborated: the lesson is quarantined
    # until a second episode or a person confirms it. Both policies quarantine a text that tries to steer the agent.
    trust_policy: Literal["labelled", "corroborated"] = "labelled"
    # The name of an installed package's entry point `sidemirror.scorers`, which scores the importance and confidence of
    # a reflection. Empty: the model's own scores.
    scorer: str = ""


class HookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hooks of coding agents, which are served where HTTP is (decision 068)."""

    # Whether a final answer that a critique finds wrong is sent back to the agent, once in a turn. With a model it
    # costs a critique for each answer. Off, because nothing shows yet that a project's answers get better by it.
    revise: bool = False


# At most a century, so that stores can represent the resulting time.
Days = Annotated[int, Meta(ge=1, le=36_500)]


class Retention(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long records are kept, in days, and how many memories; null is no limit. A policy of the project or tenant
    overrides each value. In a shared store policies alone decide."""

    # Model costs by scope, day and purpose. Chosen here: a quarter, as long as bills cover. The current day, which
    # counts against the caps, is never removed.
    spend_days: Days | None = 90
    # Critiques, with the responses they judge. Chosen here: a year allows figures to be compared with last year's, and
    # bounds how long agents' texts are kept.
    critique_days: Days | None = 365
    # Memories below `memory_importance` that were not made, learned again or changed in that time. Chosen here: a
    # quarter. Memories that a person changed or reviewed stay. So do retired ones, those with a trial in that time, and
    # reflections with an important strategy (`trace/pruning.py`).
    memory_days: Days | None = 90
    # 0 to 1. Chosen here: the default threshold of QueryReflections.
    memory_importance: Annotated[float, Meta(ge=0, le=1)] = 0.5
    # The most memories of a project. Surplus ones are removed at some 2,000 a minute: the least important first, and
    # among equals the longest untouched. Retired memories stay. Chosen here: twice what searches are measured with
    # (decision 005), some 10 GB.
    memory_count: Annotated[int, Meta(ge=1)] | None = 2_000_000
    # Ended turns, with their events and directives, and sessions that have no turn left. Chosen here: a quarter.
    # Lessons learned from them stay.
    trace_days: Days | None = 90


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a server."""

    # Where to listen: host:port, or unix:/path for a Unix socket only. Beyond loopback it needs tls and access_file.
    address: str = "127.0.0.1:50051"
    # Path of an additional Unix socket to listen on; none when empty.
    socket: str = ""
    # The group that may use the socket, by name or number; the group of the process when empty.
    socket_group: str = ""
    # The socket's mode, in octal. Default: the owner and the group (decision 009).
    socket_mode: Annotated[str, Meta(pattern="^0?[0-7]{3}$")] = "0660"
    # host:port of a listener for health checks only, without TLS and tokens. It may be beyond loopback, because
    # Kubernetes probes the pod's address. No such listener when empty.
    health_address: str = ""
    # host:port at which Prometheus scrapes metrics (http://…/metrics). Anybody may read them: they hold no contents.
    # Not served when empty. Needs the extra `telemetry`.
    metrics_address: str = ""
    # host:port on loopback where HTTP/1.1 is served: Connect, for curl, shells and pages. Every HTTP call needs a
    # token: one of the access file, else the one in `http-token` of data_dir, which is made there. Not served when
    # empty.
    http_address: str = ""
    # A file of tokens, each with its tenants and projects; every call then needs a token. Read again when it changes.
    # When empty, everybody who reaches the server may call.
    access_file: str = ""
    tls: Tls = Tls()
    # The folder of the embedded store. Created with mode 0700 when it is missing.
    data_dir: Path = Path("sidemirror-data")
    # A Postgres database that many sidecars share, as postgresql://role@host/database; data_dir is then unused.
    # `sidemirror migrate` creates the schema as its owner; this role owns nothing. None when empty.
    database_url: Secret = Secret()
    # The size of the connection pool; when idle it keeps one, and none after 5 minutes. Chosen here: the calls of one
    # agent rarely need more, and 200 sidecars share a server's 400 connections.
    database_connections: Annotated[int, Meta(ge=1, le=100)] = 4
    # An address of the same database without a pooler between, for wake-ups between sidecars (LISTEN, NOTIFY). It may
    # be database_url itself; all sidecars of a database have one, or none has. When empty, a watch looks for what other
    # sidecars record, every 5 s when they are quiet.
    database_listen_url: Secret = Secret()
    # A Redis (redis://, rediss:// or unix://, no Cluster) for goal reflections, which other programs can read there.
    # Goal reports stay in the main store, and reflections that Redis loses are restored from them. When empty, the main
    # store keeps the reflections too.
    redis_url: Secret = Secret()
    # A store of an installed package, by the name of its entry point in the group `sidemirror.stores`. It takes the
    # place of the main store for goal reflections, for the search of memories, or for everything. None when empty.
    store: str = ""
    # The address that this store is given; what it means is up to the package.
    store_url: Secret = Secret()
    # The scope of calls that name no scope.
    tenant_id: ScopeName = "default"
    project_id: ScopeName = "default"
    # Refuse calls of every other scope, and do no background work for it.
    pin_scope: bool = False
    # The scopes whose calls are answered and whose background work is done, unless pin_scope is set: a list such as
    # `acme/*, globex/shop`; `*` is every scope, and so is an empty list.
    serves: str = ""
    # Answer server reflection (grpcurl, buf curl). null: on where only this machine can reach the server.
    reflection: bool | None = None
    # Send a span for each call to OTEL_EXPORTER_OTLP_ENDPOINT. Needs the extra `telemetry`.
    tracing: bool = False
    # Send metrics to OTEL_EXPORTER_OTLP_ENDPOINT. Needs the extra `telemetry`.
    metrics: bool = False
    # Seconds between heartbeats on a stream without other messages (decision 005). Below the minimum, quiet streams
    # would keep the server busy.
    heartbeat_s: Annotated[float, Meta(ge=0.01)] = 20.0
    # Seconds of silence after which an open turn is abandoned (decision 005: 30 minutes). Below the minimum, a turn
    # could end between two events of an active agent.
    abandon_after_s: Annotated[float, Meta(ge=1)] = 1800.0
    # Seconds in which the server stops; running calls get all but the last 2, which are for the store. Chosen here: a
    # third of Kubernetes' default of 30 s.
    grace_s: Seconds = 10.0
    # debug, info, warning or error.
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    # A folder of templates that replace the built-in prompts; none when empty.
    prompts_dir: str = ""
    limits: Limits = Limits()
    model: ModelSettings = ModelSettings()
    spend: SpendCaps = SpendCaps()
    retention: Retention = Retention()
    purposes: Purposes = Purposes()
    defaults: Defaults = Defaults()
    learn: Learn = Learn()
    advice: AdviceSettings = AdviceSettings()
    telemetry: Telemetry = Telemetry()
    memory: Memory = Memory()
    hooks: HookSettings = HookSettings()
    embedding: Embedding = Embedding()
