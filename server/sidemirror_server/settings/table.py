"""The table of settings: every knob with its unit, its default and the reason for it. Read by `reading.py`."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

# What gRPC takes where it takes a number.
_LARGEST_C_INT = 2**31 - 1

Bytes = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
# As in the contract: printable; checked more exactly by whoever is called.
ScopeName = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]*$")]


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
    """Files in PEM for the TCP address. All are read again when they change; the key only where nobody else can read
    it."""

    # The server's certificate, with what leads up to its authority; no TLS when empty.
    certificate_file: str = ""
    # Its key.
    key_file: str = ""
    # Authorities of clients' certificates: with them a client has to show one. Every client may connect when empty.
    client_ca_file: str = ""


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the server accepts. Defaults: design section 11, unless it says otherwise."""

    # Largest request, in bytes. gRPC's own default, which clients share.
    message_bytes: Annotated[int, Meta(ge=1, le=_LARGEST_C_INT)] = 4 * 1024 * 1024
    # Longest text of an event or a request, in bytes. The contract allows no more than the default.
    text_bytes: Annotated[int, Meta(ge=1, le=256 * 1024)] = 256 * 1024
    # Events that one turn may have.
    events_per_turn: Annotated[int, Meta(ge=1)] = 10_000
    # Bytes of events that one turn may have, as they are kept. Chosen here: 10,000 events of 6 KiB each, or what a
    # backlog holds in all.
    turn_bytes: Bytes = 64 * 1024 * 1024
    # Unary calls that are served at once. Chosen here: at some 20 KiB each they stay well below the memory that a
    # sidecar is usually given; an agent makes one at a time.
    concurrent_calls: Annotated[int, Meta(ge=1)] = 1_000
    # Streams that are open at once. Chosen here: the 5,000 watches of design section 14, and room for their agents; 25
    # KiB each.
    open_streams: Annotated[int, Meta(ge=1)] = 8_000
    # Seconds after which any stream is ended; whoever needs it longer takes it up again. 0: never. Chosen here: a day
    # outlasts every turn, and is the longest that a revoked token, or a client that is lost, holds a stream.
    stream_age_s: Seconds = 86_400.0
    # Requests of one tenant in a second, and at once; 0 is no limit. Chosen here: about what one core serves, so that
    # a tenant alone can fill a sidecar.
    requests_per_second: Annotated[float, Meta(ge=0)] = 5_000.0
    # Jobs of a kind (goal reports) that wait or run in one tenant and project. Chosen here: at a second each, which a
    # model takes, they are hours of work, and some 100 MiB at most.
    queued_jobs: Annotated[int, Meta(ge=1)] = 10_000
    # Streams (and calls) at once on one connection. Also what keeps one client from starving the others
    # (research page reliability-and-security, fact 8).
    streams_per_connection: Annotated[int, Meta(ge=1, le=_LARGEST_C_INT)] = 100
    # Seconds after which a stream of the client's (RunTurn, ImportReflections) on which it sends nothing is ended.
    idle_stream_s: Seconds = 600.0
    # Bytes of events that wait in memory while the store is away. Chosen here: minutes of a busy agent, and a quarter
    # of what a sidecar is usually given.
    backlog_bytes: Bytes = 64 * 1024 * 1024


Usd = Annotated[float, Meta(ge=0)]


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What answers, and where. Without any of these it is `rules`, which is no language model and costs nothing."""

    # rules, anthropic, openai_compatible, or the name of an installed package's entry point `sidemirror.models`.
    # When it is not said: openai_compatible where there is a base_url, else anthropic where there is a key (this
    # group's or ANTHROPIC_API_KEY), else rules.
    provider: str = "rules"
    # The provider's name of the model; when it is not said RAE_LLM_MODEL_DEFAULT, else the provider's small one.
    name: str = ""
    # Where the provider listens, for Ollama, vLLM, llama.cpp and proxies. When it is not said ANTHROPIC_BASE_URL, or
    # for openai_compatible OPENAI_BASE_URL, else the provider's own address.
    base_url: Annotated[str, Meta(pattern="^(https?://.+)?$")] = ""
    # When it is not said ANTHROPIC_API_KEY, or for openai_compatible without a base_url of this group OPENAI_API_KEY.
    # In the environment only: a flag can be read by everyone on the machine.
    api_key: Secret = Secret()
    # Calls at once to one model; further ones wait. Chosen here: what the smallest paid tiers take.
    concurrency: Annotated[int, Meta(ge=1)] = 8
    # USD for a million tokens, in and out. Needed where no price list has the model (one of your own: 0 and 0): an
    # unknown price counts as the dearest known.
    input_usd_per_mtok: Usd | None = None
    output_usd_per_mtok: Usd | None = None


class Embedding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What finds memories by meaning, besides by words: an embedding model behind `/v1/embeddings`. Needs the extra
    `embeddings`. Another model here makes every vector anew, beside all calls; until then words alone are searched."""

    # The model's name, such as text-embedding-3-small or nomic-embed-text; none when empty.
    name: str = ""
    # Where it is served, up to and including /v1. When it is not said OPENAI_BASE_URL, else OpenAI's own address.
    base_url: Annotated[str, Meta(pattern="^(https?://.+)?$")] = ""
    # When it is not said OPENAI_API_KEY, where this group has no base_url. In the environment only.
    api_key: Secret = Secret()
    # Calls at once; further ones wait. Chosen here: one for what was written, one for questions, and two to spare.
    concurrency: Annotated[int, Meta(ge=1)] = 4
    # USD for a million tokens. Needed where no price list has the model (one of your own: 0): an unknown price counts
    # as the dearest known.
    usd_per_mtok: Usd | None = None


class SpendCaps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The most that models may cost in a day (UTC); null is no cap. Default: design section 9."""

    # Everything this sidecar's store knows of.
    usd_per_day: Usd | None = 5.0
    tokens_per_day: Count | None = None
    # Each tenant, all its projects.
    tenant_usd_per_day: Usd | None = None
    tenant_tokens_per_day: Count | None = None
    # Each project.
    project_usd_per_day: Usd | None = None
    project_tokens_per_day: Count | None = None


class PurposeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How models are asked for one purpose."""

    # Another model of the same provider; empty: the one of `model`.
    model: str = ""
    # low, medium or high; null: the least that the model has.
    effort: Literal["low", "medium", "high"] | None = None
    # Where the provider takes one; null: its own.
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    # The longest answer, in tokens; null: what the purpose needs.
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    # What this purpose may cost in a day, in all scopes together; null is no cap but the others.
    usd_per_day: Usd | None = None
    tokens_per_day: Count | None = None


class DreamingSettings(PurposeSettings, frozen=True, forbid_unknown_fields=True):
    """Dreaming is nobody's request, so it has a cap of its own."""

    # Design section 9.
    usd_per_day: Usd | None = 0.5


class Purposes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By the purpose's name (models/language_model.py)."""

    mid_turn_reflection: PurposeSettings = PurposeSettings()
    dreaming: DreamingSettings = DreamingSettings()
    memory_reflection: PurposeSettings = PurposeSettings()
    # Of these only the caps count: what makes vectors is `embedding`.
    memory_embedding: PurposeSettings = PurposeSettings()


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Reflective memory (seed reflection-engine-v2, "Configuration"; design section 8)."""

    # Whether there is one: without it, every call of ReflectiveMemoryService is refused. When it is not said
    # REFLECTIVE_MEMORY_ENABLED.
    enabled: bool = True
    # full, or lite: reflection on demand only. When it is not said REFLECTIVE_MEMORY_MODE.
    mode: Literal["full", "lite"] = "full"
    # Reflections that matter less than this, 0 to 1, are not stored. 0 stores all.
    min_store_importance: Annotated[float, Meta(ge=0, le=1)] = 0.0
    # labelled: what rests on untrusted text is recalled as data, with its label. corroborated: it stays in quarantine
    # until a second episode or a person confirms it. Either way a text that tries to steer is quarantined.
    trust_policy: Literal["labelled", "corroborated"] = "labelled"
    # The name of an installed package's entry point `sidemirror.scorers`, which says how much a reflection matters and
    # how sure it is; the model says so itself when it is empty.
    scorer: str = ""


# At most a century: a time before which nothing was ever kept must still be one that stores can compare with.
Days = Annotated[int, Meta(ge=1, le=36_500)]


class Retention(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long records are kept, in days, and how many memories; null is for ever, and without a bound."""

    # What models cost, by scope, day and purpose. Chosen here: a quarter, which bills go back to. The day that counts
    # against the caps is never among what is removed.
    spend_days: Days | None = 90
    # Critiques, with the responses they are about. Chosen here: a year, so that figures can be compared with those of
    # the same time last year, and what agents have written is not kept for ever.
    critique_days: Days | None = 365
    # Memories that matter less than `memory_importance` and were neither made, learned again nor changed since. Chosen
    # here: a quarter. What somebody changed or reviewed stays, and so does what is retired, what has a trial since, and
    # a reflection whose strategy matters (`trace/pruning.py`).
    memory_days: Days | None = 90
    # 0 to 1. Chosen here: what QueryReflections leaves out when nothing is said.
    memory_importance: Annotated[float, Meta(ge=0, le=1)] = 0.5
    # Memories that a project of a tenant keeps at most; of more, those that matter least go, and of these the ones that
    # were left alone longest, some 2,000 a minute. What is retired stays. Chosen here: twice what searches are measured
    # with (design section 14), some 10 GB.
    memory_count: Annotated[int, Meta(ge=1)] | None = 2_000_000
    # Turns that have ended, with their events and directives, and sessions whose last turn goes. Chosen here: a
    # quarter. What was learned from them stays.
    trace_days: Days | None = 90


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a server is told before it starts."""

    # Where to listen: host:port, or unix:/path for a Unix socket alone. Beyond loopback only with tls and access_file.
    address: str = "127.0.0.1:50051"
    # A Unix socket to listen on as well, as a path; none when empty.
    socket: str = ""
    # The group that may use the socket, by name or number; the process's own when empty.
    socket_group: str = ""
    # The socket's mode, in octal. Design section 11: its owner and its group.
    socket_mode: Annotated[str, Meta(pattern="^0?[0-7]{3}$")] = "0660"
    # Where to tell of health, and of nothing else, without TLS and tokens: host:port, also beyond loopback, because
    # Kubernetes asks the pod's address. Nowhere when empty.
    health_address: str = ""
    # Where Prometheus finds metrics (http://…/metrics): host:port. They hold no contents, and anybody may read them.
    # Nowhere when empty. Needs the extra `telemetry`.
    metrics_address: str = ""
    # A file of tokens, each with the tenants and projects that it is good for; then every call needs one. Read again
    # when it changes. Everybody who reaches the server may call when empty.
    access_file: str = ""
    tls: Tls = Tls()
    # The folder of the embedded store. Made with mode 0700 when it is missing.
    data_dir: Path = Path("sidemirror-data")
    # A Postgres database that many sidecars share, as postgresql://role@host/database; then nothing is kept in
    # data_dir. Its schema is made by `sidemirror migrate`; the role owns nothing there. None when empty.
    database_url: Secret = Secret()
    # How many connections to it at once, at most; one of them stays when nothing is asked. Chosen here: calls of one
    # agent rarely need more at once, and 200 sidecars share a server of 400.
    database_connections: Annotated[int, Meta(ge=1, le=100)] = 4
    # A Redis for goal reflections, as redis://, rediss:// or unix://, where other programs read them too; no Cluster.
    # The reports that they are made from stay in the store above, from which what Redis has lost is published again.
    # None when empty: reflections are kept there as well.
    redis_url: Secret = Secret()
    # The scope of calls that name none.
    tenant_id: ScopeName = "default"
    project_id: ScopeName = "default"
    # Refuse every other scope, and do no other's work.
    pin_scope: bool = False
    # Whose calls are answered and whose background work is done, where the scope is not pinned: a list such as
    # `acme/*, globex/shop`; `*` is everything. Empty is everything too, and then a shared store is not pruned by this
    # sidecar's `retention`: others may keep theirs for longer.
    serves: str = ""
    # Answer server reflection (grpcurl, buf curl). null: where only this machine reaches the server (design section 2).
    reflection: bool | None = None
    # One span for each call, to wherever OTEL_EXPORTER_OTLP_ENDPOINT says. Needs the extra `telemetry`.
    tracing: bool = False
    # Metrics, to wherever OTEL_EXPORTER_OTLP_ENDPOINT says. Needs the extra `telemetry`.
    metrics: bool = False
    # Seconds between heartbeats on a stream that says nothing else (design section 5). With less than the minimum quiet
    # streams would keep the server busy.
    heartbeat_s: Annotated[float, Meta(ge=0.01)] = 20.0
    # Seconds after which an open turn that nothing was heard of is abandoned (design section 5: 30 minutes). With less
    # than the minimum a turn could end between two events of an agent at work.
    abandon_after_s: Annotated[float, Meta(ge=1)] = 1800.0
    # Seconds that running calls get when the server is told to stop. Chosen here: what Kubernetes' default of 30 s
    # leaves room for three times over.
    grace_s: Seconds = 10.0
    # debug, info, warning or error; in capitals too.
    log_level: Annotated[str, Meta(pattern="^(debug|info|warning|error)$")] = "info"
    # A folder of templates that take the place of the built-in prompts; none when empty.
    prompts_dir: str = ""
    limits: Limits = Limits()
    model: ModelSettings = ModelSettings()
    spend: SpendCaps = SpendCaps()
    retention: Retention = Retention()
    purposes: Purposes = Purposes()
    memory: Memory = Memory()
    embedding: Embedding = Embedding()
