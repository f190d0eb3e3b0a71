import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { clone, create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { Code, type Client, type ConnectError } from "@connectrpc/connect";
import { TaskOutcome } from "@sidemirror/api/v1/common";
import type { RunTurnRequestSchema, ThinkingService, TurnDirective, TurnEvent } from "@sidemirror/api/v1/thinking";
import type { TurnPlan, TurnStartedSchema, TurnSummary } from "@sidemirror/api/v1/thinking";
import { TurnEventSchema } from "@sidemirror/api/v1/thinking";
import { Bell, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, type Link } from "./link.js";
import { corrected, isRefusedStream, problemOf } from "./problem.js";

/** What the sidecar takes in a turn; a request is kept well below its 4 MiB a message. */
const MOST_EVENTS = 10_000;
const BATCH_EVENTS = 500;
const BATCH_BYTES = 1024 * 1024;
/** Bytes of events that wait for a sidecar that is away. Beyond that they are dropped, and counted. */
const MOST_BYTES = 16 * 1024 * 1024;
/** The same of all turns of a client, and how many turns may be open: one that begins beyond that is not reported. */
export const MOST_BYTES_IN_ALL = 64 * 1024 * 1024;
export const MOST_TURNS = 10_000;
/** The longest text that the sidecar takes; of a longer one the beginning is reported. */
const LONGEST_TEXT_BYTES = 256 * 1024;
const CUT = " … [cut]";
/** An event that would not fit the sidecar's 4 MiB a message, texts cut. */
const MOST_EVENT_BYTES = 4 * 1024 * 1024 - 64 * 1024;
/** Directives that nobody takes: the oldest go. */
const MOST_DIRECTIVES = 1_000;
/** A turn is lost when so many streams in a row have ended with INTERNAL and nothing more of it was durable after them. */
const MOST_TRIES = 10;
/** The sidecar has understood, and will say the same again. */
const FINAL = new Set([
  Code.InvalidArgument,
  Code.NotFound,
  Code.AlreadyExists,
  Code.FailedPrecondition,
  Code.OutOfRange,
  Code.PermissionDenied,
  Code.Unimplemented,
]);

/** What happened, in the fields of a TurnEvent. */
export type EventInit = MessageInitShape<typeof TurnEventSchema>;

/** What is known when a turn begins. */
export interface TurnOptions extends Omit<MessageInitShape<typeof TurnStartedSchema>, "$typeName" | "$unknown"> {
  /** Chosen here when it is absent. */
  turnId?: string;
  /** Which of several agents acts. */
  agent?: string;
}

interface Waiting {
  readonly event: TurnEvent;
  readonly bytes: number;
}

/** How many events one stream has sent, and how many of these are durable. */
class Sending {
  sent = 0;
  durable = 0;
  ended = false;
}

/**
 * One turn, reported beside the agent: nothing waits, nothing is lost while the sidecar is away, nothing counts twice.
 *
 * Every event has an id, and stays here until the sidecar has said that it is durable. When the stream breaks, another one
 * takes the turn up and sends again what is not known to be durable; the sidecar drops what it has.
 */
export class Turn implements AsyncIterable<TurnDirective> {
  /** The turn's id. */
  readonly id: string;
  /** Events that were not kept: there were too many, one was too large, or the turn is over. */
  dropped = 0;
  /**
   * Why nothing more of this turn is reported: the sidecar has refused it, or it is lost, because the sidecar has failed
   * with it ten times in a row; undefined otherwise.
   */
  error: ConnectError | undefined;

  private readonly agent: string;
  private waiting: Waiting[] = [];
  private waitingBytes = 0;
  private events = 0;
  private finishing = false;
  private over = false;
  private lastSequence = 0n;
  private readonly told = new Set<string>();
  private toldLater = false;
  private directives: TurnDirective[] = [];
  private turnPlan: TurnPlan | undefined;
  private turnSummary: TurnSummary | undefined;
  private readonly news = new Bell();
  private readonly toSend = new Bell();
  private readonly abort = new AbortController();

  /** @internal */
  constructor(
    private readonly thinking: Client<typeof ThinkingService>,
    private readonly link: Link,
    options: TurnOptions,
  ) {
    const { turnId, agent, ...started } = options;
    this.id = turnId || randomUUID();
    this.agent = agent ?? "";
    this.report({ turnId: this.id, kind: { case: "turnStarted", value: started } });
  }

  /**
   * Takes an event and returns its id. It never waits. Of a text of more than 256 KiB, which is what the sidecar takes,
   * the beginning is kept, and half a surrogate pair is replaced.
   */
  report(given: EventInit): string {
    const event = copied(given);
    event.eventId ||= randomUUID();
    event.agent ||= this.agent;
    event.time ??= timestampNow();
    const ends = event.kind.case === "turnFinished";
    let bytes = toBinary(TurnEventSchema, event).length;
    if (bytes > LONGEST_TEXT_BYTES) {
      fit(event);
      bytes = toBinary(TurnEventSchema, event).length;
    }
    const full =
      this.events >= MOST_EVENTS ||
      bytes > MOST_EVENT_BYTES ||
      this.waitingBytes + bytes > MOST_BYTES ||
      this.link.waitingBytes + bytes > MOST_BYTES_IN_ALL;
    if (this.finishing || this.over || (full && !ends)) {
      this.dropped++;
      return event.eventId;
    }
    this.finishing = ends;
    this.events++;
    this.keep(bytes);
    this.waiting.push({ event, bytes });
    this.toSend.ring();
    return event.eventId;
  }

  /** Reports that a tool was called. */
  toolCalled(name: string, args: string): string {
    return this.report({ kind: { case: "toolCalled", value: { name, arguments: args } } });
  }

  /** Reports a tool's result; `isError`: the tool reported a failure. */
  toolReturned(content: string, isError = false): string {
    return this.report({ kind: { case: "toolReturned", value: { content, isError } } });
  }

  /** Ends the turn. What is on its way is still delivered, also after the sidecar was away. */
  finish(outcome: TaskOutcome = TaskOutcome.SUCCESS, score?: number): void {
    this.report({ kind: { case: "turnFinished", value: { outcome, score } } });
  }

  /** The directives that have come since the last time, in their order, without waiting. */
  take(): TurnDirective[] {
    return this.directives.splice(0);
  }

  /** Directives as they come, until the turn is over. */
  async *[Symbol.asyncIterator](): AsyncGenerator<TurnDirective, void, void> {
    for (;;) {
      const next = this.directives.shift();
      if (next) yield next;
      else if (this.over) return;
      else await this.news.rings;
    }
  }

  /** The plan; undefined when it has not come in time, or at once while the sidecar is away. */
  async plan(timeoutMs = 1_000): Promise<TurnPlan | undefined> {
    await this.wait(() => this.turnPlan !== undefined, timeoutMs);
    return this.turnPlan;
  }

  /** The summary after `finish`; undefined when it has not come in time, or at once while the sidecar is away. */
  async summary(timeoutMs = 1_000): Promise<TurnSummary | undefined> {
    await this.wait(() => this.turnSummary !== undefined, timeoutMs);
    return this.turnSummary;
  }

  /** @internal Resolves once everything reported is durable with the sidecar, or the turn is given up. */
  async delivered(): Promise<void> {
    while (!this.over && (this.waiting.length > 0 || this.finishing)) await this.news.rings;
  }

  /** Ends the reporting, with what it has not delivered. The sidecar abandons the turn after 30 idle minutes. */
  abandon(): void {
    this.end();
    this.abort.abort();
    this.toSend.ring();
  }

  private end(): void {
    this.over = true;
    this.dropped += this.waiting.length;
    this.waiting = [];
    this.keep(-this.waitingBytes);
    this.news.ring();
  }

  /** So many bytes more wait, or fewer. */
  private keep(bytes: number): void {
    this.waitingBytes += bytes;
    this.link.waitingBytes += bytes;
  }

  /** @internal Runs beside the agent until the turn is over: one stream after the other. */
  async deliver(): Promise<void> {
    let failures = 0;
    let tries = 0;
    while (!this.over && !this.link.closed) {
      await this.link.there();
      const sending = new Sending();
      let outages = this.link.outages;
      let leastMs = 0;
      try {
        await this.link.withStream(this.finishing && this.link.outages > 0, () => {
          outages = this.link.outages;
          return this.stream(sending, outages);
        });
        await this.somethingToSend();
      } catch (thrown) {
        const error = corrected(thrown);
        if (this.over || this.link.closed) break;
        if (error.code === Code.Internal && sending.durable === 0) tries++;
        if (this.givesUp(error, tries)) break;
        leastMs = this.leastPauseMs(error, outages);
      }
      // One that is closed without a word is no better than one that breaks.
      failures++;
      if (sending.durable > 0) failures = tries = 0;
      await this.rest(Math.max(leastMs, pauseMs(failures)));
    }
    this.end();
  }

  /** Whether nothing more is tried after this error, of which the agent is told. */
  private givesUp(error: ConnectError, tries: number): boolean {
    if (!isFinal(error) && tries < MOST_TRIES) return false;
    this.error = error;
    if (isFinal(error)) say(`the sidecar has refused turn ${this.id}`, error);
    else say(`turn ${this.id} is lost, the sidecar has failed with it ${tries} times`, error);
    return true;
  }

  /** How long the sidecar wants to be left alone. It is away where neither it nor HTTP/2 says what the matter is. */
  private leastPauseMs(error: ConnectError, outages: number): number {
    const { reason, retryAfterMs } = problemOf(error);
    if (error.code === Code.ResourceExhausted && retryAfterMs !== undefined) {
      if (!this.toldLater) say(`the sidecar refuses turn ${this.id} for now`, error);
      this.toldLater = true;
      return retryAfterMs;
    }
    const isThere = (error.code === Code.Internal && reason !== "") || isRefusedStream(error);
    if (!isThere) this.link.lost(error, outages);
    return 0;
  }

  /** Ends early when the turn is given up: a timer would keep the process alive. */
  private rest(ms: number): Promise<void> {
    return pause(ms, undefined, { signal: this.abort.signal }).catch(() => {});
  }

  private async wait(there: () => boolean, timeoutMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const ends = performance.now() + timeoutMs;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)));
    const bell = new Bell();
    this.link.listeners.add(bell);
    while (!there() && !this.over && !this.link.away && performance.now() < ends) {
      await Promise.race([late, this.news.rings, bell.rings]);
    }
    this.link.listeners.delete(bell);
    clearTimeout(timer);
  }

  /** Resolves at once unless the sidecar has closed an idle stream; then when there is something to send. */
  private async somethingToSend(): Promise<void> {
    while (!this.over && this.waiting.length === 0) await this.toSend.rings;
  }

  private async stream(sending: Sending, outages: number): Promise<void> {
    try {
      for await (const response of this.thinking.runTurn(this.requests(sending), { signal: this.abort.signal })) {
        this.link.answered(outages);
        for (const directive of response.directives) this.hear(directive, sending);
      }
    } finally {
      sending.ended = true;
      this.toSend.ring();
    }
    if (this.finishing && this.waiting.length === 0) this.over = true;
  }

  private async *requests(sending: Sending): AsyncGenerator<MessageInitShape<typeof RunTurnRequestSchema>> {
    if (this.waiting[0]?.event.kind.case !== "turnStarted") {
      const events = this.batch(sending);
      yield { resume: { turnId: this.id, afterSequence: this.lastSequence }, events };
      if (isEnd(events)) return;
    }
    while (!sending.ended) {
      const events = this.batch(sending);
      if (events.length > 0) yield { events };
      else await this.toSend.rings;
      // Said, so that the stream just ends: one that is reset counts with the sidecar for a while.
      if (isEnd(events)) return;
    }
  }

  /** What this stream has not sent yet, as far as it fits one request. */
  private batch(sending: Sending): TurnEvent[] {
    const events: TurnEvent[] = [];
    let size = 0;
    for (let place = sending.sent - sending.durable; place < this.waiting.length; place++) {
      const next = this.waiting[place] as Waiting;
      size += next.bytes;
      if (events.length > 0 && (size > BATCH_BYTES || events.length >= BATCH_EVENTS)) break;
      events.push(next.event);
    }
    sending.sent += events.length;
    return events;
  }

  private hear(directive: TurnDirective, sending: Sending): void {
    const { kind } = directive;
    if (directive.sequence > this.lastSequence) this.lastSequence = directive.sequence;
    if (kind.case === "ack") {
      const durable = Math.max(sending.durable, Math.min(Number(kind.value.durable), sending.sent));
      for (const { bytes } of this.waiting.splice(0, durable - sending.durable)) this.keep(-bytes);
      sending.durable = durable;
      this.news.ring();
    }
    if (kind.case === "ack" || kind.case === "heartbeat" || kind.case === "closing") return;
    if (directive.directiveId !== "" && this.told.has(directive.directiveId)) return;
    this.told.add(directive.directiveId);
    if (kind.case === "turnPlan") {
      if (this.turnPlan) return; // begun again, because the first beginning was lost in a crash
      this.turnPlan = kind.value;
    } else if (kind.case === "turnSummary") this.turnSummary = kind.value;
    this.directives.push(directive);
    if (this.directives.length > MOST_DIRECTIVES) this.directives.shift();
    this.news.ring();
  }
}

/** Tells that a turn is not taken, though the sidecar is there. */
function say(what: string, error: ConnectError): void {
  process.emitWarning(`${what}: ${error.message}`, "SidemirrorWarning");
}

/** After so many failures one after the other. */
function pauseMs(failures: number): number {
  return Math.min(FIRST_PAUSE_MS * failures, LONGEST_PAUSE_MS);
}

function isEnd(events: TurnEvent[]): boolean {
  return events[events.length - 1]?.kind.case === "turnFinished";
}

function isFinal(error: ConnectError): boolean {
  if (error.code !== Code.ResourceExhausted) return FINAL.has(error.code);
  // A limit of the turn, such as its bytes. Where there will be room again the sidecar says when.
  const { reason, retryAfterMs } = problemOf(error);
  return reason !== "" && retryAfterMs === undefined;
}

/** The caller's own stays as it is. */
function copied(given: EventInit): TurnEvent {
  try {
    return clone(TurnEventSchema, create(TurnEventSchema, given));
  } catch {
    // A text that was cut within a surrogate pair is no UTF-8.
    const mended = structuredClone(given);
    fit(mended);
    return clone(TurnEventSchema, create(TurnEventSchema, mended));
  }
}

/** Shortens texts that the sidecar would refuse the turn for, and replaces what cannot be sent. */
function fit(message: object): void {
  for (const [name, value] of Object.entries(message)) {
    if (typeof value === "object" && value !== null) fit(value);
    else if (typeof value === "string") (message as Record<string, unknown>)[name] = fitting(value);
  }
}

function fitting(text: string): string {
  const bytes = Buffer.from(text); // which replaces half a surrogate pair
  if (bytes.length <= LONGEST_TEXT_BYTES) return bytes.toString();
  const kept = bytes.subarray(0, LONGEST_TEXT_BYTES - Buffer.byteLength(CUT));
  // With `stream` the part of a character that the cut leaves is left out.
  return new TextDecoder().decode(kept, { stream: true }) + CUT;
}
