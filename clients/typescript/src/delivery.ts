import { setTimeout as pause } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, type Client, type ConnectError } from "@connectrpc/connect";
import type { RunTurnRequestSchema, ThinkingService, TurnAck, TurnDirective, TurnEvent } from "@sidemirror/api/v1/thinking";
import type { TurnPlan, TurnSummary } from "@sidemirror/api/v1/thinking";
import type { Connection } from "./connection.js";
import { FIRST_PAUSE_MS, LONGEST_PAUSE_MS, LONGEST_TIMER_MS, type Link, type Underway } from "./link.js";
import type { Pool } from "./pool.js";
import { broken, corrected, isCounted, isFinal, isThere, isUnable, problemOf } from "./problem.js";
import type { Queue, Report } from "./queue.js";
import { Signal } from "./signal.js";

/** What the sidecar takes in a request, which is kept well below its 4 MiB a message. */
const BATCH_EVENTS = 500;
const BATCH_BYTES = 1024 * 1024;
/**
 * A turn is lost when so many streams in a row have failed without a word that it passes, and nothing more of it was durable
 * after them. A report is lost after as many calls.
 */
const MOST_TRIES = 10;
/** The longest that a report may take. */
const REPORT_MS = 10_000;

/** What a delivery needs of its client. */
export interface Home {
  readonly link: Link;
  readonly pool: Pool;
  /** The calls of turns on a connection. */
  thinking(connection: Connection): Client<typeof ThinkingService>;
  /** Makes the call of a report. */
  send(report: Report, signal: AbortSignal, timeoutMs: number): Promise<unknown>;
}

/** How long something is waited for. Once `signal` is aborted it is not. */
export interface Patience {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** How many events one stream has sent, and how many of these are durable. */
class Sending {
  sent = 0;
  durable = 0;
  ended = false;
}

/**
 * The way of one turn to the sidecar: nothing is lost while it is away, and nothing counts twice.
 *
 * Every event has an id, and stays in the queue until the sidecar has said that it is durable. When the stream breaks,
 * another one takes the turn up and sends again what is not known to be durable; the sidecar drops what it has. Outcomes
 * and goals follow once the turn is durable, each under a request_id that stays the same.
 */
export class Delivery implements Underway {
  error: ConnectError | undefined;
  plan: TurnPlan | undefined;
  summary: TurnSummary | undefined;
  over = false;
  isInProgress = false;
  /** Something has come, was received or is over. */
  readonly news = new Signal();
  private readonly toSend = new Signal();
  private readonly stop = new AbortController();
  private readonly told = new Set<string>();
  private hasToldLater = false;
  private isPending = false;
  private lastSequence = 0n;

  constructor(
    private readonly turnId: string,
    private readonly queue: Queue,
    private readonly home: Home,
  ) {}

  /** There is something in the queue. */
  wake(): void {
    if (this.queue.isFinished && !this.over) this.home.link.delivers(this);
    this.toSend.fire();
  }

  /** Resolves when something comes, or it is over. The process stays alive meanwhile. */
  next(): Promise<void> {
    return this.home.link.heldFor(this.news.next());
  }

  /** The first `count` events were received, and nothing that the sidecar says is in progress. */
  isQuiet(count: number): boolean {
    return this.queue.hasReceived(count) && !this.isPending;
  }

  /** Resolves when it is there, when time is up, and at once while the sidecar is away. */
  async wait(there: () => boolean, { timeoutMs, signal }: Patience): Promise<void> {
    const { link } = this.home;
    const ends = (): boolean => there() || this.over || !link.reachable || signal?.aborted === true;
    if (ends() || !(timeoutMs > 0)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        unlisten.forEach((each) => each());
        resolve();
      };
      const look = (): void => {
        if (ends()) done();
      };
      const timer = setTimeout(done, Math.min(timeoutMs, LONGEST_TIMER_MS));
      signal?.addEventListener("abort", done);
      const unlisten = [this.news.listen(look), link.changes.listen(look)];
    });
  }

  /** Resolves once everything in the queue is durable with the sidecar, or the turn is given up. */
  async delivered(): Promise<void> {
    while (!this.over && (this.queue.events.length > 0 || this.queue.isFinished)) await this.news.next();
  }

  /** Ends it, with what it has not delivered. */
  end(): void {
    this.over = true;
    this.queue.dropRest();
    this.home.link.settled(this);
    this.home.link.delivered(this);
    this.stop.abort();
    this.toSend.fire();
    this.news.fire();
  }

  /** Runs beside the agent: one stream after the other until the turn is over, then its reports. */
  async run(): Promise<void> {
    try {
      if (await this.deliverEvents()) {
        for (let report; !this.isOver && (report = this.queue.nextReport()); ) await this.deliverReport(report);
      }
    } finally {
      this.end();
    }
  }

  private get isOver(): boolean {
    return this.over || this.home.link.closed;
  }

  // --- the stream ---

  /** Returns true once the turn is durable with its end, false when it is given up. */
  private async deliverEvents(): Promise<boolean> {
    const { link, pool } = this.home;
    let failures = 0;
    let tries = 0;
    while (!this.isOver) {
      await link.there();
      const sending = new Sending();
      let { outages } = link;
      let leastMs = 0;
      try {
        await pool.withStream(this.queue.isFinished && link.outages > 0, (connection) => {
          ({ outages } = link);
          return this.stream(connection, sending, outages);
        });
        // Of a turn that the agent did not finish the summary says that the sidecar has abandoned it.
        if ((this.queue.isFinished || this.summary) && this.queue.events.length === 0) return true;
        // Closed by the sidecar, because nothing was said for long: opened again when there is something.
        while (!this.isOver && this.queue.events.length === 0) await this.toSend.next();
      } catch (thrown) {
        const error = broken(corrected(thrown));
        if (this.isOver) return false;
        // The summary is the last that is said of a turn: whatever has become of the stream behind it.
        if (this.summary && this.queue.events.length === 0) return true;
        // After another outage it was given up here.
        if (outages === link.outages && isCounted(error) && sending.durable === 0) tries++;
        if (link.reachable && this.givesUp(error, tries)) return false;
        leastMs = this.leastPauseMs(error, outages);
      } finally {
        link.settled(this);
      }
      // One that is closed without a word is no better than one that breaks.
      failures++;
      if (sending.durable > 0) failures = tries = 0;
      await this.rest(Math.max(leastMs, Math.min(FIRST_PAUSE_MS * failures, LONGEST_PAUSE_MS)));
    }
    return false;
  }

  private async stream(connection: Connection, sending: Sending, outages: number): Promise<void> {
    const { link } = this.home;
    const stop = new AbortController();
    const end = (): void => {
      if (this.isOver || !link.reachable) stop.abort();
    };
    const unlisten = [link.changes.listen(end), this.toSend.listen(end)];
    this.queue.received = 0;
    try {
      end();
      const responses = this.home.thinking(connection).runTurn(this.requests(sending), { signal: stop.signal });
      for await (const response of responses) {
        link.answered(outages);
        for (const directive of response.directives) this.hear(directive, sending);
      }
    } finally {
      unlisten.forEach((each) => each());
      this.isInProgress = false;
      sending.ended = true;
      this.toSend.fire();
    }
  }

  private async *requests(sending: Sending): AsyncGenerator<MessageInitShape<typeof RunTurnRequestSchema>> {
    const { events: waiting } = this.queue;
    let resume = waiting[0]?.event.kind.case !== "turnStarted";
    while (!sending.ended) {
      const events = this.batch(sending);
      if (events.length > 0 || resume) {
        this.home.link.sent(this);
        yield resume ? { resume: { turnId: this.turnId, afterSequence: this.lastSequence }, events } : { events };
        resume = false;
        // Said, so that the stream just ends: one that is reset counts with the sidecar for a while.
        if (events.at(-1)?.kind.case === "turnFinished") return;
      } else await this.toSend.next();
    }
  }

  /** What this stream has not sent yet, as far as it fits one request. */
  private batch(sending: Sending): TurnEvent[] {
    const events: TurnEvent[] = [];
    let size = 0;
    for (const next of this.queue.events.slice(sending.sent - sending.durable, sending.sent - sending.durable + BATCH_EVENTS)) {
      size += next.bytes;
      if (events.length > 0 && size > BATCH_BYTES) break;
      events.push(next.event);
    }
    sending.sent += events.length;
    return events;
  }

  private hear(directive: TurnDirective, sending: Sending): void {
    const { kind } = directive;
    if (directive.sequence > this.lastSequence) this.lastSequence = directive.sequence;
    if (kind.case === "ack") this.settle(kind.value, sending);
    if (kind.case === "ack" || kind.case === "heartbeat" || kind.case === "closing") return;
    if (directive.directiveId !== "" && this.told.has(directive.directiveId)) return;
    this.told.add(directive.directiveId);
    if (kind.case === "turnPlan") {
      if (this.plan) return; // begun again, because the first beginning was lost in a crash
      this.plan = kind.value;
      this.queue.shown(kind.value.context?.receiptId);
    } else if (kind.case === "turnSummary") this.summary = kind.value;
    else if (kind.case === "reflection") this.queue.shown(kind.value.lessons?.receiptId);
    this.queue.say(directive);
    this.news.fire();
  }

  /** The first events of this stream are received, and some of them durable. */
  private settle(ack: TurnAck, sending: Sending): void {
    const durable = Math.max(sending.durable, Math.min(Number(ack.durable), sending.sent));
    const received = Math.min(Number(ack.received), sending.sent);
    this.queue.forget(durable - sending.durable);
    if (durable > sending.durable) this.home.link.renewWait();
    sending.durable = durable;
    this.queue.received = Math.max(0, received - durable);
    this.isPending = ack.pendingIds.length > 0;
    this.isInProgress = this.isPending && this.queue.events.length === 0;
    if (ack.withdrawnIds.length > 0) this.queue.withdraw(ack.withdrawnIds);
    if (received >= sending.sent) this.home.link.settled(this);
    this.news.fire();
  }

  // --- reports ---

  private async deliverReport(report: Report): Promise<void> {
    const { link } = this.home;
    for (let tries = 0; !this.isOver; ) {
      await link.there();
      const { outages } = link;
      let leastMs = FIRST_PAUSE_MS;
      try {
        await link.call((signal) => this.home.send(report, signal, REPORT_MS));
        link.answered(outages);
        link.renewWait();
        this.queue.forgetReport(true);
        return this.news.fire();
      } catch (thrown) {
        const error = corrected(thrown);
        if (this.isOver) return;
        const isLate = error.code === Code.DeadlineExceeded;
        if (outages === link.outages && isCounted(error) && !isLate) tries++;
        if (link.reachable && (isFinal(error) || tries >= MOST_TRIES)) {
          warn(`the sidecar has refused to take one of the ${report.kind} of turn ${this.turnId}`, error);
          this.queue.forgetReport(false);
          return this.news.fire();
        }
        if (isUnable(error)) {
          // Its store is away: it takes the report later.
          link.heard();
          leastMs = Math.max(leastMs, problemOf(error).retryAfterMs ?? 0);
        } else if (!isLate) leastMs = Math.max(leastMs, this.leastPauseMs(error, outages));
      }
      await this.rest(leastMs);
    }
  }

  // --- errors ---

  /** Whether nothing more is tried after this error, of which the agent is told. */
  private givesUp(error: ConnectError, tries: number): boolean {
    if (!isFinal(error) && tries < MOST_TRIES) return false;
    this.error = error;
    const refused = `the sidecar at ${this.home.link.address} has refused turn ${this.turnId}`;
    if (error.code === Code.PermissionDenied) this.home.link.denied(`${refused}: ${error.message}`);
    else if (isFinal(error)) warn(refused, error);
    else warn(`turn ${this.turnId} is lost, the sidecar has failed with it ${tries} times`, error);
    return true;
  }

  /** How long the sidecar wants to be left alone. It is away where neither it nor HTTP/2 says what the matter is. */
  private leastPauseMs(error: ConnectError, outages: number): number {
    const { link } = this.home;
    const { retryAfterMs } = problemOf(error);
    if (error.code === Code.Unauthenticated) link.refused(error, outages);
    else if (error.code === Code.ResourceExhausted && retryAfterMs !== undefined) {
      link.heard();
      if (!this.hasToldLater) warn(`the sidecar refuses turn ${this.turnId} for now`, error);
      this.hasToldLater = true;
      return retryAfterMs;
    } else if (!isThere(error)) link.lost(error, outages);
    return 0;
  }

  /** Ends early when the turn is given up. It keeps no process alive: the link does, as long as that is worth it. */
  private rest(ms: number): Promise<void> {
    return pause(ms, undefined, { signal: this.stop.signal, ref: false }).catch(() => {});
  }
}

/** Tells that something is not taken, though the sidecar is there. */
function warn(what: string, error: ConnectError): void {
  process.emitWarning(`${what}: ${error.message}`, "SidemirrorWarning");
}
