import { Code, ConnectError } from "@connectrpc/connect";
import { broken, corrected, isAbsence, isUnable, problemOf, TokenUnusable } from "./problem.js";
import { Signal } from "./signal.js";

/** After so long the sidecar counts as back. */
const STEADY_MS = 5_000;
/** How long is waited before the sidecar is looked for again: the first time, and at most. */
export const FIRST_PAUSE_MS = 100;
export const LONGEST_PAUSE_MS = 1_000;
/** While it is away, an answer that takes longer is none. */
const PROBE_MS = 2_000;
/**
 * What was sent waits so long, and so long nothing is heard, until the sidecar is asked whether it is there; and so long it
 * may take to answer that.
 */
const SILENT_MS = 1_000;
const ASKED_MS = 1_000;
/** How often that is looked at, and by how much a look may be late: a client that was held up has heard nothing. */
const LOOK_MS = 250;
const LATE_MS = 500;
/** So long it is not told again that the sidecar is too busy for a call, or has no answer now. */
const BUSY_PAUSE_MS = 60_000;
const NOT_LET_IN =
  "the sidecar refuses the token, or there is none: name a file with one that it knows in SIDEMIRROR_TOKEN_FILE";

/** So long nothing is taken, and nobody waits, until nothing keeps the process alive: what closing waits by default. */
const LEFT_MS = 2_000;
/** The longest that a timer of Node.js can be. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** What a link needs of its client. */
export interface Ways {
  /** A cheap call that carries the token, on a connection of its own. */
  probe(timeoutMs: number): Promise<unknown>;
  /** One that every sidecar answers at once, whatever its store does, on a connection of its own. */
  ask(timeoutMs: number): Promise<unknown>;
  /** What is sent from now on goes over new connections. */
  renew(): void;
}

/** What the agent wants to be told, and of which address. Must not block. */
export interface Told {
  readonly address: string;
  away(why: Error): void;
  refused(why: Error): void;
}

/** A turn's way to the sidecar. */
export interface Underway {
  /** The sidecar has all of it, and ends it once what is in progress is said. */
  readonly isInProgress: boolean;
}

/**
 * Whether the sidecar is there, shared by all turns of a client: told once when it goes, and looked for again until it is
 * back.
 */
export class Link {
  /** How often the sidecar went away. */
  outages = 0;
  closed = false;
  /** Bytes that wait, of all turns. */
  waitingBytes = 0;
  /** The sidecar comes or goes, or the client is closed. */
  readonly changes = new Signal();
  private gone = false;
  private isRefused = false;
  private hasTold = false;
  private hasToldDenied = false;
  private readonly toldDeclined = new Set<string>();
  private readonly toldUnansweredMs = new Map<string, number>();
  private backMs = Number.NEGATIVE_INFINITY;
  private search: NodeJS.Timeout | undefined;
  private waitedForMs = Number.NEGATIVE_INFINITY;
  /** Since when what was sent waits for an answer; the oldest first. */
  private readonly waiting = new Map<object, number>();
  private heardMs = Number.NEGATIVE_INFINITY;
  private heldUpMs = Number.NEGATIVE_INFINITY;
  private look: NodeJS.Timeout | undefined;
  private asking = false;
  /** How many wait for what a turn brings, without a time limit. */
  private waiters = 0;
  /** Turns that are finished and not delivered. */
  private readonly deliveries = new Set<Underway>();
  private keeper: NodeJS.Timeout | undefined;

  constructor(
    private readonly ways: Ways,
    private readonly told: Told,
  ) {}

  get address(): string {
    return this.told.address;
  }

  /** Nothing is known to answer there now. */
  get away(): boolean {
    return this.gone && !this.isRefused;
  }

  /** The sidecar is there, and takes the token. */
  get reachable(): boolean {
    return !this.gone;
  }

  /** Something has come from the sidecar. */
  heard(): void {
    this.heardMs = performance.now();
  }

  /**
   * The sidecar has answered what was begun after so many outages. The next one is told again, unless it follows so soon
   * that it is the same one to whoever is told.
   */
  answered(outages: number): void {
    this.heard();
    this.hasToldDenied = false;
    if (outages !== this.outages || this.closed) return;
    if (this.gone) this.comeBack();
    else if (performance.now() - this.backMs > STEADY_MS) this.hasTold = false;
  }

  /** What was begun after so many outages has failed by the sidecar's absence. Of many in one outage the first counts. */
  lost(why: Error, outages: number): void {
    if (!this.leave(outages, FIRST_PAUSE_MS) || this.hasTold) return;
    this.hasTold = true;
    this.tell("onAway", () => this.told.away(why));
  }

  /** The sidecar does not know the token, with which something was begun after so many outages, or there is none. */
  refused(why: ConnectError, outages: number): void {
    if (this.leave(outages, LONGEST_PAUSE_MS)) this.refuse(why);
  }

  /** The sidecar does not let in a turn of whoever has this token. Of many such turns the first is told, until one is taken. */
  denied(what: string): void {
    if (this.hasToldDenied) return;
    this.hasToldDenied = true;
    this.tell("onRefused", () => this.told.refused(new Error(`${what} (the token is that of SIDEMIRROR_TOKEN_FILE)`)));
  }

  /** The sidecar refuses what an agent asks for. It is told once of each call and code. */
  declined(what: string, error: ConnectError): void {
    const kind = `${what} ${error.code}`;
    if (this.toldDeclined.has(kind)) return;
    this.toldDeclined.add(kind);
    process.emitWarning(`the sidecar has refused ${what}: ${error.message}`, "SidemirrorWarning");
  }

  /**
   * What an agent has asked for at that time has no answer in time. A sidecar of which nothing was heard since may be away,
   * which is told otherwise.
   */
  late(what: string, beganMs: number): void {
    const tookMs = Math.round(performance.now() - beganMs);
    if (this.heardMs > beganMs) this.busy(what, `no answer within ${tookMs} ms`);
  }

  /** The sidecar is too busy for what an agent asks for. It is told once a minute of each call. */
  busy(what: string, why: string): void {
    this.tellUnanswered(`is too busy for ${what}`, why);
  }

  /** The sidecar has no answer to what an agent asks for, and says so. It is told once a minute of each call. */
  unable(what: string, why: string): void {
    this.tellUnanswered(`has no answer now for ${what}`, why);
  }

  private tellUnanswered(what: string, why: string): void {
    const now = performance.now();
    if (now - (this.toldUnansweredMs.get(what) ?? Number.NEGATIVE_INFINITY) < BUSY_PAUSE_MS) return;
    this.toldUnansweredMs.set(what, now);
    process.emitWarning(`the sidecar at ${this.address} ${what}: ${why}`, "SidemirrorWarning");
  }

  /** A call that was begun after so many outages has failed: with what the sidecar says, or because it is gone. */
  failed(error: ConnectError, outages: number): void {
    if (error.code === Code.Unauthenticated) this.refused(error, outages);
    else if (isUnable(error)) this.heard();
    else if (isAbsence(error)) this.lost(error, outages);
    else if (error.code !== Code.DeadlineExceeded) this.heard();
  }

  /** Resolves once the sidecar is there, or the client is closed. */
  async there(): Promise<void> {
    while (this.gone && !this.closed) await this.changes.next();
  }

  /** Runs a call, which is over when the sidecar goes away, and when `own` is aborted. Rejects at once then. */
  async call<T>(use: (signal: AbortSignal) => Promise<T>, own?: AbortSignal): Promise<T> {
    const stop = new AbortController();
    const end = (): void => stop.abort();
    const unlisten = this.changes.listen(() => {
      if (this.gone || this.closed) end();
    });
    own?.addEventListener("abort", end);
    this.sent(stop);
    try {
      // A call that waits for its place, or for its next attempt, does not look at the signal.
      const over = new Promise<never>((_, reject) => {
        stop.signal.addEventListener("abort", () => reject(new ConnectError("nobody waits for it", Code.Canceled)), { once: true });
      });
      return await Promise.race([use(stop.signal), over]);
    } finally {
      this.settled(stop);
      unlisten();
      own?.removeEventListener("abort", end);
    }
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.search);
    clearTimeout(this.look);
    this.holdProcess();
    this.changes.fire();
  }

  // --- the process: no stream of a turn keeps it alive ---

  /** Waits for something, and the process stays alive meanwhile. */
  async heldFor<T>(wait: Promise<T>): Promise<T> {
    this.waiters++;
    this.renewWait();
    try {
      return await wait;
    } finally {
      this.waiters--;
      this.holdProcess();
    }
  }

  /** A turn is finished: the process stays alive until it is `delivered`, for two seconds in which nothing is taken. */
  delivers(what: Underway): void {
    if (this.deliveries.has(what)) return;
    this.deliveries.add(what);
    this.renewWait();
  }

  /** The turn is delivered, or given up. */
  delivered(what: Underway): void {
    this.deliveries.delete(what);
    this.holdProcess();
  }

  /** Somebody begins to wait, or something was taken: the process may wait for as long again. */
  renewWait(): void {
    this.waitedForMs = performance.now();
    this.search?.ref();
    this.holdProcess();
  }

  private holdProcess(): void {
    if (!this.gone && !this.closed && this.isWorthWaiting()) {
      this.keeper ??= setInterval(() => this.holdProcess(), LOOK_MS);
    } else {
      clearInterval(this.keeper);
      this.keeper = undefined;
    }
  }

  private isWorthWaiting(): boolean {
    if (this.waiters > 0) return true;
    if (performance.now() - this.waitedForMs < LEFT_MS) return this.deliveries.size > 0;
    return [...this.deliveries].some(({ isInProgress }) => isInProgress);
  }

  // --- silence ---

  /** Something was sent that the sidecar answers at once. Counts from the first time until it is `settled`. */
  sent(what: object): void {
    if (this.closed) return;
    if (!this.waiting.has(what)) this.waiting.set(what, performance.now());
    this.look ??= this.nextLook();
  }

  /** It is answered, or given up. */
  settled(what: object): void {
    this.waiting.delete(what);
  }

  private nextLook(): NodeJS.Timeout {
    const due = performance.now() + LOOK_MS;
    return setTimeout(() => {
      const now = performance.now();
      if (now - due > LATE_MS) {
        this.heldUpMs = now;
        for (const what of this.waiting.keys()) this.waiting.set(what, now);
      }
      const [oldest] = this.waiting.values();
      if (oldest !== undefined && !this.gone && now - Math.max(oldest, this.heardMs) >= SILENT_MS) void this.ask();
      this.look = this.closed || (this.waiting.size === 0 && !this.asking) ? undefined : this.nextLook();
    }, LOOK_MS).unref();
  }

  /** Asks whether the sidecar is there. */
  private async ask(): Promise<void> {
    if (this.asking) return;
    const { outages } = this;
    const began = performance.now();
    this.asking = true;
    try {
      await this.ways.ask(ASKED_MS);
      this.heard();
    } catch (thrown) {
      const error = broken(corrected(thrown));
      const isSilent = error.code === Code.DeadlineExceeded || isAbsence(error);
      // One that was held up meanwhile may have its answer, unread.
      if (!isSilent || this.heldUpMs >= began) this.heard();
      // One that is heard meanwhile is busy.
      else if (this.heardMs < began) this.lost(error, outages);
    } finally {
      this.asking = false;
    }
  }

  // --- away ---

  /** Whether the sidecar goes with this. It is looked for after `pauseMs`. */
  private leave(outages: number, pauseMs: number): boolean {
    if (outages !== this.outages || this.closed || this.gone) return false;
    this.outages++;
    this.gone = true;
    this.holdProcess();
    this.ways.renew();
    this.changes.fire();
    this.lookForIt(pauseMs);
    return true;
  }

  private comeBack(): void {
    clearTimeout(this.search);
    this.backMs = performance.now();
    this.gone = this.isRefused = false;
    this.holdProcess();
    this.heard();
    this.changes.fire();
  }

  private refuse(error: ConnectError): void {
    if (this.isRefused) return;
    this.isRefused = true;
    const why = error instanceof TokenUnusable ? error.rawMessage : `${NOT_LET_IN}: ${error.rawMessage}`;
    this.tell("onRefused", () => this.told.refused(new Error(`${why} (what is reported waits)`)));
  }

  private lookForIt(pauseMs: number): void {
    const { outages } = this;
    const look = async (): Promise<void> => {
      try {
        await this.ways.probe(PROBE_MS);
      } catch (thrown) {
        // The client was closed meanwhile, or the sidecar has answered something else.
        if (this.closed || !this.gone || outages !== this.outages) return;
        const error = corrected(thrown);
        if (error.code === Code.Unauthenticated) this.refuse(error);
        // An error that the sidecar itself answers with is an answer.
        else if (problemOf(error).reason !== "" && error.code !== Code.Unavailable) return this.comeBack();
        this.lookForIt(this.isRefused ? LONGEST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS));
        return;
      }
      if (!this.closed && this.gone && outages === this.outages) this.comeBack();
    };
    this.search = setTimeout(() => void look(), pauseMs * (0.8 + 0.4 * Math.random()));
    const now = performance.now();
    if (this.waiters > 0) this.waitedForMs = now;
    if (now - this.waitedForMs > LEFT_MS) this.search.unref();
  }

  private tell(name: string, use: () => unknown): void {
    // What it throws, or rejects with where it is async, would end the delivery, and by default the process.
    new Promise((resolve) => resolve(use())).catch((thrown: unknown) => {
      process.emitWarning(`${name} has thrown: ${thrown}`, "SidemirrorWarning");
    });
  }
}
