import { writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { createClient, Code, ConnectError, type Client, type Transport } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus } from "@sidemirror/api/health";
import { TaskOutcome } from "@sidemirror/api/v1/common";
import { CritiqueService } from "@sidemirror/api/v1/critique";
import { GoalReflectionService } from "@sidemirror/api/v1/goal_reflection";
import { ReflectiveMemoryService } from "@sidemirror/api/v1/reflective_memory";
import { SidecarService } from "@sidemirror/api/v1/sidecar";
import { ThinkingService } from "@sidemirror/api/v1/thinking";
import { DEFAULT_ADDRESS, wayTo, type Way } from "./address.js";
import { CarryingTransport, within, type Carried } from "./calls.js";
import { Connection } from "./connection.js";
import { Link, LONGEST_TIMER_MS, type Told } from "./link.js";
import { Losses, type Undelivered } from "./losses.js";
import { Pool } from "./pool.js";
import { MOST_TURNS } from "./queue.js";
import { Turn, type Surroundings, type TurnOptions } from "./turn.js";

/** How long closing waits for events that are still on their way. */
const FLUSH_MS = 2_000;
/** A local call takes a millisecond; an agent that waits this long has lost its sidecar. */
const DEADLINE_MS = 10_000;

/** How to connect. What is absent is read from the environment. */
export interface ConnectOptions {
  /** host:port, https://host:port or unix:/path; else `SIDEMIRROR_ADDRESS`, else {@link DEFAULT_ADDRESS}. */
  address?: string | undefined;
  /** The connection is TLS, by the authorities that Node.js trusts unless `caFile` names others. */
  tls?: boolean | undefined;
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
  /** Called with what to set when the sidecar refuses the token, or wants one; else a warning is emitted. */
  onRefused?: ((why: Error) => void) | undefined;
}

/** The clients that have a turn to deliver. */
const open = new Set<Sidemirror>();

/** The services of one sidecar. */
export class Sidemirror implements AsyncDisposable {
  readonly thinking: Client<typeof ThinkingService>;
  readonly critique: Client<typeof CritiqueService>;
  readonly goals: Client<typeof GoalReflectionService>;
  readonly memory: Client<typeof ReflectiveMemoryService>;
  readonly sidecar: Client<typeof SidecarService>;
  /** For services that have no field here. */
  readonly transport: Transport;

  private readonly link: Link;
  private readonly home: Surroundings;
  private readonly end: () => void;
  private readonly turns = new Set<Turn>();
  private readonly losses = new Losses();

  /** @internal Made by {@link connect}. */
  constructor(way: Way, carried: Carried, told: Told) {
    const calls = new Connection(way);
    const probes = new Connection(way);
    const pool = new Pool(() => new Connection(way, false));
    const probing = new CarryingTransport(probes, carried, undefined, 1);
    this.link = new Link(
      {
        probe: (timeoutMs) => {
          // Not the one that gave no answer the time before.
          probes.renew();
          return createClient(SidecarService, probing).getServerInfo({}, { timeoutMs });
        },
        ask: (timeoutMs) => createClient(Health, probes).check({}, { timeoutMs }),
        renew: () => [calls, pool].forEach((each) => each.renew()),
      },
      told,
    );
    const transport = new CarryingTransport(calls, carried, this.link);
    this.transport = transport;
    this.thinking = createClient(ThinkingService, transport);
    this.critique = createClient(CritiqueService, transport);
    this.goals = createClient(GoalReflectionService, transport);
    this.memory = createClient(ReflectiveMemoryService, transport);
    this.sidecar = createClient(SidecarService, transport);
    this.home = {
      link: this.link,
      losses: this.losses,
      pool,
      memory: this.memory,
      critique: this.critique,
      thinking: (connection) => createClient(ThinkingService, new CarryingTransport(connection, carried)),
      send: ({ kind, request }, signal, timeoutMs) =>
        kind === "goals"
          ? this.goals.reportGoal(request, { signal, timeoutMs })
          : this.memory.reportOutcome(request, { signal, timeoutMs }),
    };
    this.end = () => {
      transport.close();
      probing.close();
      [calls, probes, pool].forEach((each) => each.close());
    };
  }

  /** Begins a turn of the agent, reported beside it: nothing waits for the sidecar, nothing throws when it is away. */
  beginTurn(options: TurnOptions = {}): Turn {
    const turn = new Turn(this.home, options);
    // Without its beginning the sidecar would take nothing of it.
    if (this.link.closed || this.turns.size >= MOST_TURNS || turn.dropped > 0) {
      turn.abandon();
      return turn;
    }
    this.turns.add(turn);
    open.add(this);
    const ended = () => {
      this.turns.delete(turn);
      if (this.turns.size === 0) open.delete(this);
    };
    // Whatever fails there must not end the agent's process.
    turn.deliver().then(ended, (error: unknown) => {
      ended();
      process.emitWarning(`turn ${turn.id} is not delivered: ${String(error)}`, "SidemirrorWarning");
    });
    return turn;
  }

  /** The sidecar is known not to answer now. */
  get away(): boolean {
    return this.link.away;
  }

  /** Resolves once the sidecar says that it serves and does not count as away; rejects when it has not in time. */
  async waitUntilReady(timeoutMs: number = DEADLINE_MS): Promise<void> {
    const health = createClient(Health, this.transport);
    const ends = performance.now() + within(timeoutMs);
    for (;;) {
      const stop = new AbortController();
      try {
        const left = Math.max(1, Math.ceil(ends - performance.now()));
        for await (const state of health.watch({}, { signal: stop.signal, timeoutMs: left })) {
          if (state.status !== HealthCheckResponse_ServingStatus.SERVING) continue;
          if (!this.away) return;
          break;
        }
        if (performance.now() >= ends) {
          const why = this.away ? "counts as away" : "does not serve";
          throw new ConnectError(`the sidecar ${why}`, Code.DeadlineExceeded);
        }
      } catch (error) {
        if (performance.now() >= ends) throw error;
      } finally {
        stop.abort();
      }
      await pause(50);
    }
  }

  /**
   * Waits until nothing reported so far waits any more; false when time is up first. What was dropped, or refused by the
   * sidecar, is not waited for: {@link close} says it.
   */
  async flush(timeoutMs: number = FLUSH_MS): Promise<boolean> {
    const stop = new AbortController();
    const late = pause(Math.min(timeoutMs, LONGEST_TIMER_MS), false, { signal: stop.signal }).catch(() => false);
    const all = Promise.all([...this.turns].map((turn) => turn.delivered())).then(() => true);
    const done = await Promise.race([all, late]);
    stop.abort();
    return done;
  }

  /**
   * Waits for what is on its way, then ends the connections and every call on them. Says what was not delivered, what was
   * dropped before among it, of which a warning tells as well.
   */
  async close(flushMs: number = FLUSH_MS): Promise<Undelivered> {
    if (!this.link.closed) {
      await this.flush(flushMs);
      this.endNow();
      // The warning waits for a tick, before which what the agent throws next may end the process.
      await new Promise<void>((resolve) => process.nextTick(resolve));
    }
    return this.losses.soFar;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * @internal Nothing keeps the process alive. Turns that the agent has left open end as UNSPECIFIED, and are delivered
   * while the process goes on for that; the next time the client is closed.
   */
  leave(): void {
    const left = [...this.turns].filter((turn) => !turn.isFinished);
    for (const turn of left) turn.finish(TaskOutcome.UNSPECIFIED);
    if (left.length === 0) this.endNow();
  }

  /** @internal Closes it without waiting; `say` tells what was not delivered. */
  endNow(say = warn): void {
    open.delete(this);
    if (this.link.closed) return;
    this.link.close();
    for (const turn of this.turns) turn.abandon();
    this.end();
    const { events, outcomes, goals, turns } = this.losses.soFar;
    if (turns.length === 0) return;
    say(`not delivered: ${events} events, ${outcomes} outcomes and ${goals} goals, of ${turns.length} turns`);
  }
}

/**
 * A client for a sidecar. Connects when it is first used. Throws when a file cannot be read, TypeError when the address is
 * none, TokenInTheClear when the token would go to another machine without TLS.
 */
export function connect(options: ConnectOptions = {}): Sidemirror {
  const environment = process.env;
  const tokenFile = options.tokenFile ?? environment["SIDEMIRROR_TOKEN_FILE"] ?? "";
  const address = options.address || environment["SIDEMIRROR_ADDRESS"] || DEFAULT_ADDRESS;
  const way = wayTo(address, {
    tls: options.tls ?? false,
    caFile: options.caFile ?? environment["SIDEMIRROR_CA_FILE"] ?? "",
    certificateFile: options.clientCertificateFile ?? environment["SIDEMIRROR_CLIENT_CERTIFICATE_FILE"] ?? "",
    keyFile: options.clientKeyFile ?? environment["SIDEMIRROR_CLIENT_KEY_FILE"] ?? "",
    tokenFile,
  });
  const carried = {
    deadlineMs: options.deadlineMs ?? DEADLINE_MS,
    tokenFile,
    tenantId: options.tenantId ?? "",
    projectId: options.projectId ?? "",
  };
  return new Sidemirror(way, carried, {
    address,
    away:
      options.onAway ??
      ((why) => warn(`Sidemirror at ${address} is away, the agent goes on without it: ${why.message.trim()}`)),
    refused: options.onRefused ?? ((why) => warn(why.message)),
  });
}

// Nothing keeps the process alive any more. What cannot be delivered is told, as closing tells it.
process.on("beforeExit", () => [...open].forEach((client) => client.leave()));

// An error that nobody has caught, or `process.exit()`: Node.js runs nothing any more that waits for anything.
process.on("exit", () => [...open].forEach((client) => client.endNow(lastWords)));

/** Says it at once: a warning would come after the end of the process. */
function lastWords(what: string): void {
  try {
    writeSync(process.stderr.fd, `SidemirrorWarning: the process ends before its client was closed: ${what}\n`);
  } catch {
    // Nobody reads it.
  }
}

function warn(what: string): void {
  process.emitWarning(what, "SidemirrorWarning");
}
