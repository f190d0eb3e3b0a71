import { readFileSync } from "node:fs";
import { connect as connectSocket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createClient, type Client, type Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { Health, HealthCheckResponse_ServingStatus } from "@sidemirror/api/health";
import { CritiqueService } from "@sidemirror/api/v1/critique";
import { GoalReflectionService } from "@sidemirror/api/v1/goal_reflection";
import { ReflectiveMemoryService } from "@sidemirror/api/v1/reflective_memory";
import { SidecarService } from "@sidemirror/api/v1/sidecar";
import { ThinkingService } from "@sidemirror/api/v1/thinking";
import { CarryingTransport } from "./calls.js";
import { Link } from "./link.js";
import { MOST_TURNS, Turn, type TurnOptions } from "./turn.js";

/** Where a sidecar listens when nobody says otherwise. */
export const DEFAULT_ADDRESS = "127.0.0.1:50051";
/** How long closing waits for events that are still on their way. */
const FLUSH_MS = 2_000;
/** A local call takes a millisecond; an agent that waits this long has lost its sidecar. */
const DEADLINE_MS = 10_000;

/** How to connect. What is absent is read from the environment. */
export interface ConnectOptions {
  /** host:port or unix:/path; else `SIDEMIRROR_ADDRESS`, else {@link DEFAULT_ADDRESS}. */
  address?: string | undefined;
  /** The file that holds the token, read again for each call; else `SIDEMIRROR_TOKEN_FILE`. */
  tokenFile?: string | undefined;
  /** The authorities whose certificates are taken, in PEM; else `SIDEMIRROR_CA_FILE`. With it the connection is TLS. */
  caFile?: string | undefined;
  /** The client's own certificate, in PEM; else `SIDEMIRROR_CLIENT_CERTIFICATE_FILE`. */
  clientCertificateFile?: string | undefined;
  /** Its key; else `SIDEMIRROR_CLIENT_KEY_FILE`. */
  clientKeyFile?: string | undefined;
  /** Filled into requests that name no tenant. */
  tenantId?: string | undefined;
  /** Filled into requests that name no project. */
  projectId?: string | undefined;
  /** For unary calls that have no timeout; 10 seconds by default, and at least 60 for calls that ask a model. */
  deadlineMs?: number | undefined;
  /** Called with the reason when the sidecar goes away, and again only after it was back; else a warning is emitted. */
  onAway?: ((why: Error) => void) | undefined;
}

/** The services of one sidecar on one connection. */
export class Sidemirror implements AsyncDisposable {
  readonly thinking: Client<typeof ThinkingService>;
  readonly critique: Client<typeof CritiqueService>;
  readonly goals: Client<typeof GoalReflectionService>;
  readonly memory: Client<typeof ReflectiveMemoryService>;
  readonly sidecar: Client<typeof SidecarService>;

  private readonly link: Link;
  private readonly turns = new Set<Turn>();

  /** @internal Made by {@link connect}. */
  constructor(
    /** For services that have no field here. */
    readonly transport: Transport,
    private readonly end: () => void,
    onAway: (why: Error) => void,
  ) {
    this.thinking = createClient(ThinkingService, transport);
    this.critique = createClient(CritiqueService, transport);
    this.goals = createClient(GoalReflectionService, transport);
    this.memory = createClient(ReflectiveMemoryService, transport);
    this.sidecar = createClient(SidecarService, transport);
    this.link = new Link((timeoutMs) => this.sidecar.getServerInfo({}, { timeoutMs }), onAway);
  }

  /** Begins a turn of the agent, reported beside it: nothing waits for the sidecar, nothing throws when it is away. */
  beginTurn(options: TurnOptions = {}): Turn {
    const turn = new Turn(this.thinking, this.link, options);
    // Without its beginning the sidecar would take nothing of it.
    if (this.link.closed || this.turns.size >= MOST_TURNS || turn.dropped > 0) {
      turn.abandon();
      return turn;
    }
    this.turns.add(turn);
    void turn.deliver().finally(() => this.turns.delete(turn));
    return turn;
  }

  /** The sidecar is known not to answer now. */
  get away(): boolean {
    return this.link.away;
  }

  /** Resolves once the sidecar says that it serves; rejects when it has not in time. */
  async waitUntilReady(timeoutMs: number = DEADLINE_MS): Promise<void> {
    const health = createClient(Health, this.transport);
    const ends = performance.now() + timeoutMs;
    for (;;) {
      const stop = new AbortController();
      try {
        const left = Math.max(1, Math.ceil(ends - performance.now()));
        for await (const state of health.watch({}, { signal: stop.signal, timeoutMs: left })) {
          if (state.status === HealthCheckResponse_ServingStatus.SERVING) return;
        }
      } catch (error) {
        if (performance.now() >= ends) throw error;
      } finally {
        stop.abort();
      }
      await pause(50);
    }
  }

  /** Waits until everything reported so far is durable with the sidecar; false when time is up first. */
  async flush(timeoutMs: number = FLUSH_MS): Promise<boolean> {
    const stop = new AbortController();
    const late = pause(timeoutMs, false, { signal: stop.signal }).catch(() => false);
    const all = Promise.all([...this.turns].map((turn) => turn.delivered())).then(() => true);
    const done = await Promise.race([all, late]);
    stop.abort();
    return done;
  }

  /** Waits for events that are on their way, then ends the connection and every call on it. */
  async close(flushMs: number = FLUSH_MS): Promise<void> {
    await this.flush(flushMs);
    this.link.close();
    for (const turn of this.turns) turn.abandon();
    this.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** A client for a sidecar. Connects when it is first used; throws when a file cannot be read or the address is none. */
export function connect(options: ConnectOptions = {}): Sidemirror {
  const environment = process.env;
  const address = options.address || environment["SIDEMIRROR_ADDRESS"] || DEFAULT_ADDRESS;
  const path = address.startsWith("unix:") ? address.slice("unix:".length) : undefined;
  const caFile = path === undefined ? (options.caFile ?? environment["SIDEMIRROR_CA_FILE"] ?? "") : "";
  const certificate = options.clientCertificateFile ?? environment["SIDEMIRROR_CLIENT_CERTIFICATE_FILE"] ?? "";
  const key = options.clientKeyFile ?? environment["SIDEMIRROR_CLIENT_KEY_FILE"] ?? "";
  const baseUrl = path === undefined ? `${caFile === "" ? "http" : "https"}://${address}` : "http://localhost";
  const session = new Http2SessionManager(
    baseUrl,
    { pingIntervalMs: 60_000, pingTimeoutMs: 20_000 },
    {
      ...(path === undefined ? {} : { createConnection: () => connectSocket(path) }),
      ...(caFile === "" ? {} : { ca: readFileSync(caFile) }),
      ...(caFile === "" || certificate === "" ? {} : { cert: readFileSync(certificate), key: readFileSync(key) }),
    },
  );
  const transport = new CarryingTransport(createGrpcTransport({ baseUrl, sessionManager: session }), {
    deadlineMs: options.deadlineMs ?? DEADLINE_MS,
    tokenFile: options.tokenFile ?? environment["SIDEMIRROR_TOKEN_FILE"] ?? "",
    tenantId: options.tenantId ?? "",
    projectId: options.projectId ?? "",
  });
  const end = (): void => {
    transport.close();
    session.abort();
  };
  return new Sidemirror(transport, end, options.onAway ?? warn);
}

function warn(why: Error): void {
  process.emitWarning(`the sidecar is away, the agent goes on without it: ${why.message}`, "SidemirrorWarning");
}
