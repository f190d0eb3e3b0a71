import { randomUUID } from "node:crypto";
import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { TaskOutcome } from "@sidemirror/api/v1/common";
import { ReportGoalRequestSchema, type ReportGoalRequest } from "@sidemirror/api/v1/goal_reflection";
import { ReportOutcomeRequestSchema, type ReportOutcomeRequest } from "@sidemirror/api/v1/reflective_memory";
import { TurnEventSchema, type TurnDirective, type TurnEvent } from "@sidemirror/api/v1/thinking";
import { isAdvice } from "./advice.js";
import type { Link } from "./link.js";
import type { Losses } from "./losses.js";
import { fitted, toolName } from "./text.js";

/** What the sidecar takes of a turn. */
const MOST_EVENTS = 10_000;
/** Bytes that wait for a sidecar that is away. Beyond that they are dropped, and counted. */
const MOST_BYTES = 16 * 1024 * 1024;
/** The same of all turns of a client, and how many turns may be open: one that begins beyond that is not reported. */
export const MOST_BYTES_IN_ALL = 64 * 1024 * 1024;
export const MOST_TURNS = 10_000;
/** A larger event would not fit the sidecar's 4 MiB a message. What it takes of an event, texts cut, it says itself. */
const MOST_EVENT_BYTES = 4 * 1024 * 1024 - 64 * 1024;
/** Directives that nobody takes: the oldest go. */
const MOST_DIRECTIVES = 1_000;

/** What happened, in the fields of a TurnEvent. */
export type EventInit = MessageInitShape<typeof TurnEventSchema>;

/** An event that the sidecar does not have yet, and its size. */
export interface Waiting {
  readonly event: TurnEvent;
  readonly bytes: number;
}

/** A call that follows the turn. */
export type Report = { readonly bytes: number } & (
  | { readonly kind: "outcomes"; readonly request: ReportOutcomeRequest }
  | { readonly kind: "goals"; readonly request: ReportGoalRequest }
);

/** What a turn has reported and the sidecar does not have yet, and what the agent has not taken yet. */
export class Queue {
  /** Events that are not durable, in their order. */
  readonly events: Waiting[] = [];
  /** How many of them the sidecar has received. */
  received = 0;
  dropped = 0;
  /** How many events the turn has, with those that are durable. */
  count = 0;
  /** The turn has its end, which may be among the events. */
  isFinished = false;
  private isLate = false;
  private isOver = false;
  private bytes = 0;
  private outcome = TaskOutcome.UNSPECIFIED;
  private score: number | undefined;
  private readonly receipts = new Set<string>();
  private readonly reports: Report[] = [];
  private readonly directives: TurnDirective[] = [];

  constructor(
    private readonly turnId: string,
    private readonly agent: string,
    private readonly link: Link,
    private readonly losses: Losses,
  ) {}

  /** Takes an event, filled in and cut to what the sidecar takes. Returns its id. Throws for a value of a wrong type. */
  put(given: EventInit): string {
    const [event, size] = fitted(TurnEventSchema, given);
    event.eventId ||= randomUUID();
    event.agent ||= this.agent;
    event.time ??= timestampNow();
    if (event.kind.case === "toolCalled") event.kind.value.name = toolName(event.kind.value.name);
    // What was filled in: two ids, a time and a name.
    const bytes = size + event.eventId.length + event.agent.length + 32;
    const ends = event.kind.case === "turnFinished";
    const isLarge = bytes > MOST_EVENT_BYTES;
    const isFull = this.count >= MOST_EVENTS || isLarge || !this.hasRoom(bytes);
    if (this.isFinished && ends) {
      process.emitWarning(`turn ${this.turnId} is finished: another finish changes nothing`, "SidemirrorWarning");
    } else if (this.isFinished || this.isOver || (isFull && !ends)) {
      if (this.isFinished && !this.isLate) {
        this.isLate = true;
        const late = `turn ${this.turnId} is finished: what is reported after that is not delivered`;
        process.emitWarning(late, "SidemirrorWarning");
      } else if (isLarge) {
        const large = `turn ${this.turnId}: an event that is too large for a message is not delivered`;
        process.emitWarning(large, "SidemirrorWarning");
      }
      this.dropEvents(1);
    } else {
      this.count++;
      this.keep(bytes);
      this.events.push({ event, bytes });
    }
    this.isFinished ||= ends;
    return event.eventId;
  }

  /**
   * What follows the turn's end: its outcome, for each receipt that it has by then, and its goal. Call it before the end is
   * put. Throws for a value of a wrong type.
   */
  putReports(outcome: TaskOutcome, score: number | undefined, goal: MessageInitShape<typeof ReportGoalRequestSchema> | undefined): void {
    if (this.isFinished || outcome === TaskOutcome.UNSPECIFIED) return;
    if (goal !== undefined) {
      const [request, bytes] = fitted(ReportGoalRequestSchema, goal);
      request.requestId ||= randomUUID();
      if (this.isOver || !this.hasRoom(bytes)) this.losses.add(this.turnId, "goals", 1);
      else this.add({ kind: "goals", request, bytes });
    }
    this.outcome = outcome;
    this.score = score;
  }

  /** The turn was given a block with this receipt. */
  shown(receiptId: string | undefined): void {
    if (receiptId) this.receipts.add(receiptId);
  }

  /** The directives that have come, in their order; only advice where that is asked for, and the others are left. */
  take(adviceOnly = false): TurnDirective[] {
    const all = this.directives.splice(0);
    if (!adviceOnly) return all;
    this.directives.push(...all.filter((each) => !isAdvice(each)));
    return all.filter(isAdvice);
  }

  /** The first directive that has come. */
  takeOne(): TurnDirective | undefined {
    return this.directives.shift();
  }

  /** Keeps a directive for the agent. */
  say(directive: TurnDirective): void {
    this.directives.push(directive);
    if (this.directives.length > MOST_DIRECTIVES) this.directives.shift();
  }

  /** Nobody needs to be told these any more: what was not taken was not shown. */
  withdraw(ids: string[]): void {
    for (const { kind, directiveId } of this.directives) {
      const receiptId = kind.case === "reflection" ? kind.value.lessons?.receiptId : undefined;
      if (receiptId && ids.includes(directiveId)) this.receipts.delete(receiptId);
    }
    const left = this.directives.filter((each) => !ids.includes(each.directiveId));
    this.directives.splice(0, this.directives.length, ...left);
  }

  /** The sidecar has received the first `count` events. */
  hasReceived(count: number): boolean {
    return this.count - this.events.length + this.received >= count;
  }

  /** The first `count` events are durable. */
  forget(count: number): void {
    for (const { bytes } of this.events.splice(0, count)) this.keep(-bytes);
    this.received = Math.max(0, this.received - count);
  }

  /** What is to be reported next, once the turn is durable; undefined when there is nothing. */
  nextReport(): Report | undefined {
    if (this.outcome !== TaskOutcome.UNSPECIFIED) {
      for (const receiptId of this.receipts) {
        const { outcome, score } = this;
        const request = create(ReportOutcomeRequestSchema, { requestId: randomUUID(), receiptId, outcome, score });
        this.add({ kind: "outcomes", request, bytes: toBinary(ReportOutcomeRequestSchema, request).length });
      }
      // The outcomes come before the goal.
      this.reports.sort((one, other) => Number(one.kind === "goals") - Number(other.kind === "goals"));
      this.receipts.clear();
    }
    return this.reports[0];
  }

  /** The first report is made, or it is not taken. */
  forgetReport(isMade: boolean): void {
    const report = this.reports.shift();
    if (report === undefined) return;
    this.keep(-report.bytes);
    if (!isMade) this.losses.add(this.turnId, report.kind, 1);
  }

  /** Nothing more is delivered. */
  dropRest(): void {
    this.isOver = true;
    this.dropEvents(this.events.splice(0).length);
    this.received = 0;
    while (this.reports.length > 0) this.forgetReport(false);
    if (this.outcome !== TaskOutcome.UNSPECIFIED) this.losses.add(this.turnId, "outcomes", this.receipts.size);
    this.receipts.clear();
    this.keep(-this.bytes);
  }

  private add(report: Report): void {
    this.reports.push(report);
    this.keep(report.bytes);
  }

  private dropEvents(count: number): void {
    this.dropped += count;
    this.losses.add(this.turnId, "events", count);
  }

  private hasRoom(bytes: number): boolean {
    return this.bytes + bytes <= MOST_BYTES && this.link.waitingBytes + bytes <= MOST_BYTES_IN_ALL;
  }

  /** So many bytes more wait, or fewer. */
  private keep(bytes: number): void {
    this.bytes += bytes;
    this.link.waitingBytes += bytes;
  }
}
