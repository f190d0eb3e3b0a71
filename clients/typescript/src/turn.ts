import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, type Client, type ConnectError } from "@connectrpc/connect";
import { ResultStatus, TaskOutcome, type ContextBlock, type CritiqueResult } from "@sidemirror/api/v1/common";
import { CritiqueRequestSchema, type CritiqueService } from "@sidemirror/api/v1/critique";
import { GoalState, type ReportGoalRequestSchema } from "@sidemirror/api/v1/goal_reflection";
import { BuildMemoryContextRequestSchema, type ReflectiveMemoryService } from "@sidemirror/api/v1/reflective_memory";
import type { ThinkLevel, TurnDirective, TurnPlan, TurnStartedSchema, TurnSummary } from "@sidemirror/api/v1/thinking";
import { TurnFinishedSchema } from "@sidemirror/api/v1/thinking";
import { Delivery, type Home, type Patience } from "./delivery.js";
import { FIRST_PAUSE_MS } from "./link.js";
import type { Losses } from "./losses.js";
import { corrected, isFinal, isRefusedStream, isUnable } from "./problem.js";
import { Queue, type EventInit } from "./queue.js";
import { asText, fitted } from "./text.js";

const PLAN_MS = 1_000;
const SUMMARY_MS = 1_000;
const ADVICE_MS = 1_000;
const RECALL_MS = 2_000;
const CRITIQUE_MS = 10_000;
/** The most lessons that the sidecar gives at once. */
const MOST_ITEMS = 20;

/** What is known when a turn begins. */
export interface TurnOptions extends Omit<MessageInitShape<typeof TurnStartedSchema>, "$typeName" | "$unknown"> {
  /** Chosen here when it is absent. */
  turnId?: string;
  /** Which of several agents acts. */
  agent?: string;
  /** How much the sidecar does; short for `config.level`. */
  level?: ThinkLevel | undefined;
  /** What the turn works towards, reported with its outcome however it ends. */
  goal?: GoalInit | undefined;
}

/**
 * What a turn worked towards: `goalId` and `objective` are needed. `state`: from the turn's outcome unless it is given.
 * `tasks`: the turn's own calls unless they are given.
 */
export type GoalInit = Omit<GoalReport, "$typeName" | "$unknown" | "goalId" | "objective" | "turnId"> & {
  goalId: string;
  objective: string;
};
type GoalReport = MessageInitShape<typeof ReportGoalRequestSchema>;

/** How a turn ended, beside its outcome. */
export interface FinishOptions {
  /** 0 to 1. */
  score?: number | undefined;
  goal?: GoalInit | undefined;
}

/** What a turn is run with. */
export interface RunOptions {
  /** What the turn works towards; else what it began with. */
  goal?: GoalInit | undefined;
  /** How it ends when the work has not finished it and throws nothing; UNSPECIFIED by default. */
  outcome?: TaskOutcome | undefined;
}

/** How long something is waited for. */
export interface WaitOptions {
  /** Without it each method has its own time. */
  timeoutMs?: number | undefined;
  /** When this is aborted the wait is over at once, as when time is up. Nothing is thrown. */
  signal?: AbortSignal | undefined;
}

/** For which task lessons are wanted, and how long they are waited for: 2 seconds by default. */
export interface RecallOptions extends WaitOptions {
  /** Else the turn's. */
  task?: string | undefined;
  /** The task's tools. */
  tools?: string[] | undefined;
  /** The most lessons, 1 to 20; 5 by default, and for 0. A number beyond is brought to 0 or 20. */
  maxItems?: number | undefined;
}

/** Which call a tool's event is of. */
export interface ToolOptions {
  /** Needed where calls overlap; else what returns belongs to the last call that is still open. */
  callId?: string | undefined;
}

/** What a verdict is asked with, and how long it is waited for: 10 seconds by default. */
export interface CritiqueOptions extends WaitOptions {
  /** What is answered; else the turn's question. */
  userMessage?: string | undefined;
}

/** @internal What a turn needs of its client. */
export interface Surroundings extends Home {
  readonly losses: Losses;
  readonly memory: Client<typeof ReflectiveMemoryService>;
  readonly critique: Client<typeof CritiqueService>;
}

/** How long a method waits: as the options say, else for this time. */
function within(options: WaitOptions | number, otherwiseMs: number): Patience {
  const { timeoutMs = otherwiseMs, signal } = typeof options === "number" ? { timeoutMs: options } : options;
  return { timeoutMs, signal };
}

/** Nobody wants it any more: what a signal of an AbortController makes the calls of Node.js throw. */
function isAbort(thrown: unknown): boolean {
  return (thrown as { name?: unknown } | null | undefined)?.name === "AbortError";
}

/**
 * One turn, reported beside the agent. Nothing of it throws because of the sidecar: what has no answer in time is undefined
 * or empty, at once while the sidecar is away.
 */
export class Turn implements AsyncIterable<TurnDirective>, Disposable, AsyncDisposable {
  /** The turn's id. */
  readonly id: string;
  private readonly task: string;
  private readonly queue: Queue;
  private readonly delivery: Delivery;
  private goal: GoalInit | undefined;

  /** @internal Made by `beginTurn`. */
  constructor(
    private readonly home: Surroundings,
    options: TurnOptions,
  ) {
    const { turnId, agent, level, goal, ...started } = options;
    if (level !== undefined) started.config = { ...started.config, level };
    this.goal = goal;
    this.id = turnId || randomUUID();
    this.task = options.task ?? "";
    this.queue = new Queue(this.id, agent ?? "", home.link, home.losses);
    this.delivery = new Delivery(this.id, this.queue, home);
    this.report({ turnId: this.id, kind: { case: "turnStarted", value: started } });
  }

  /** @internal The agent is done with it. */
  get isFinished(): boolean {
    return this.queue.isFinished;
  }

  /** Events that were not kept: there were too many, one was too large, or the turn is over. */
  get dropped(): number {
    return this.queue.dropped;
  }

  /**
   * Why nothing more of this turn is reported: the sidecar has refused it, or it is lost, because the sidecar has failed
   * with it ten times in a row; undefined otherwise.
   */
  get error(): ConnectError | undefined {
    return this.delivery.error;
  }

  /**
   * Takes an event and returns its id. It never waits. Of a text of more than 256 KiB, which is what the sidecar takes,
   * the beginning is kept, and so it is of a tool's name of more than 256 characters; half a surrogate pair is replaced. A
   * call whose tool has no name is one of `unnamed`.
   */
  report(event: EventInit): string {
    const id = this.queue.put(event);
    this.delivery.wake();
    return id;
  }

  /** Reports that a tool was called. `args`: as the content of what returned. */
  toolCalled(name: string, args: unknown = "", { callId }: ToolOptions = {}): string {
    return this.report({ kind: { case: "toolCalled", value: { callId, name, arguments: asText(args) } } });
  }

  /**
   * Reports a tool's result. `content`: a text is reported as it is, an `Error` as its name and message, everything else as
   * JSON. `isError`: the tool reported a failure.
   */
  toolReturned(content: unknown, isError = false, { callId }: ToolOptions = {}): string {
    return this.report({ kind: { case: "toolReturned", value: { callId, content: asText(content), isError } } });
  }

  /**
   * Reports the result of a call that is known to have worked, as by an exit status of 0: its text is never taken for a
   * failure. That nothing was thrown is not enough, since tools return texts of errors too.
   */
  toolWorked(content: unknown, { callId }: ToolOptions = {}): string {
    return this.report({ kind: { case: "toolReturned", value: { callId, content: asText(content), hasWorked: true } } });
  }

  /** Reports that a call never returned, such as by a timeout. `why`: as the content of what returned. */
  toolFailed(why: unknown, { callId }: ToolOptions = {}): string {
    return this.report({ kind: { case: "toolFailed", value: { callId, error: asText(why) } } });
  }

  /** Reports what the user said. */
  userMessage(text: string): string {
    return this.report({ kind: { case: "userMessage", value: { text } } });
  }

  /** Reports an answer that is ready to be sent. */
  responseDrafted(text: string): string {
    return this.report({ kind: { case: "responseDrafted", value: { text } } });
  }

  /**
   * Ends the turn. Unless the outcome is UNSPECIFIED, which teaches nothing, it is reported for every block of lessons that
   * the turn was given, and so is the goal, or else the one that it began or was run with. What is on its way is still
   * delivered, also after the sidecar was away. A number in the place of options is the score; one that is not from 0 to 1
   * is left out, as a warning says. JavaScript that says no outcome says UNSPECIFIED.
   */
  finish(outcome: TaskOutcome, options: FinishOptions | number = {}): void {
    outcome ??= TaskOutcome.UNSPECIFIED;
    const given: FinishOptions = typeof options === "number" ? { score: options } : options;
    const { goal = this.goal } = given;
    const score = this.scoreOf(given);
    // Throws for an outcome that is none, and leaves nothing behind.
    fitted(TurnFinishedSchema, { outcome, score });
    const state = outcome === TaskOutcome.SUCCESS ? GoalState.COMPLETED : GoalState.FAILED;
    this.queue.putReports(outcome, score, goal && { ...goal, state: goal.state || state, turnId: this.id });
    this.report({ kind: { case: "turnFinished", value: { outcome, score } } });
  }

  /**
   * Runs `use` in the turn, which ends with it unless it is finished: as ERROR when it throws, else with `outcome`. An error
   * whose name is AbortError says that nobody wants the work any more, and nothing of the work: UNSPECIFIED. The goal is
   * reported with the outcome unless that is UNSPECIFIED; an `Error` that was thrown is the goal's, unless it has one.
   */
  async run<T>(
    use: (turn: this) => T | Promise<T>,
    { goal = this.goal, outcome = TaskOutcome.UNSPECIFIED }: RunOptions = {},
  ): Promise<T> {
    this.goal = goal;
    try {
      return await use(this);
    } catch (thrown) {
      if (goal && thrown instanceof Error) this.goal = { ...goal, error: goal.error || asText(thrown) };
      this.leave(isAbort(thrown) ? TaskOutcome.UNSPECIFIED : TaskOutcome.ERROR);
      throw thrown;
    } finally {
      this.leave(outcome);
    }
  }

  /** Ends the turn as UNSPECIFIED unless it is finished: JavaScript does not say whether something was thrown. */
  [Symbol.dispose](): void {
    this.leave(TaskOutcome.UNSPECIFIED);
  }

  /** The same. It does not wait. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.leave(TaskOutcome.UNSPECIFIED);
  }

  /** The directives that have come since the last time, in their order, without waiting. */
  take(): TurnDirective[] {
    return this.queue.take();
  }

  /** Directives as they come, until the turn is over. */
  async *[Symbol.asyncIterator](): AsyncGenerator<TurnDirective, void, void> {
    for (;;) {
      const next = this.queue.takeOne();
      if (next) yield next;
      else if (this.delivery.over) return;
      else await this.delivery.next();
    }
  }

  /** The plan; undefined when it has not come in time, or at once while the sidecar is away. */
  async plan(options: WaitOptions | number = {}): Promise<TurnPlan | undefined> {
    await this.delivery.wait(() => this.delivery.plan !== undefined, within(options, PLAN_MS));
    return this.delivery.plan;
  }

  /** The summary after `finish`; undefined when it has not come in time, or at once while the sidecar is away. */
  async summary(options: WaitOptions | number = {}): Promise<TurnSummary | undefined> {
    await this.delivery.wait(() => this.delivery.summary !== undefined, within(options, SUMMARY_MS));
    return this.delivery.summary;
  }

  /**
   * What the sidecar says to what was reported by now: nudges, recoveries, reflections and critiques that nobody has
   * taken yet, as far as they have a text for a model. It waits until nothing is in progress, or time is up; an empty
   * list is an answer. Once the signal is aborted nothing is taken.
   */
  async advice(options: WaitOptions | number = {}): Promise<TurnDirective[]> {
    const given = within(options, ADVICE_MS);
    const { count } = this.queue;
    await this.delivery.wait(() => this.delivery.isQuiet(count), given);
    return given.signal?.aborted ? [] : this.queue.take(true);
  }

  /** The lessons for the turn's task, or another one; undefined when no lesson fits, or none came in time. */
  async recall(options: RecallOptions = {}): Promise<ContextBlock | undefined> {
    const { task = this.task, tools = [], maxItems = 0 } = options;
    const [request] = fitted(BuildMemoryContextRequestSchema, {
      task,
      tools,
      maxItems: Math.min(Math.max(maxItems, 0), MOST_ITEMS),
      turnId: this.id,
    });
    const patience = within(options, RECALL_MS);
    const answer = await this.ask("a recall", performance.now(), patience, (given) => this.home.memory.buildMemoryContext(request, given));
    this.queue.shown(answer?.block?.receiptId);
    return answer?.block?.text ? answer.block : undefined;
  }

  /**
   * The verdict on a response that was not sent yet, beside what the turn's tools returned; undefined without one in time.
   * It reports no event.
   */
  async critique(text: string, options: CritiqueOptions = {}): Promise<CritiqueResult | undefined> {
    const { userMessage = "" } = options;
    const patience = within(options, CRITIQUE_MS);
    const [request] = fitted(CritiqueRequestSchema, { turnId: this.id, response: text, userMessage });
    const began = performance.now();
    const { count } = this.queue;
    await this.delivery.wait(() => this.queue.hasReceived(count), patience);
    const answer = await this.ask("a critique", began, patience, (given) => this.home.critique.critique(request, given));
    return answer?.critique?.status === ResultStatus.OK ? answer.critique : undefined;
  }

  /**
   * The answer, revised once where its critique asks for that: what `again` gives for the prompt, which nobody judges. The
   * answer itself when no revision is asked for, or there is no verdict in time. What `again` throws goes through.
   */
  async revised(
    answer: string,
    again: (prompt: string) => string | Promise<string>,
    options: CritiqueOptions = {},
  ): Promise<string> {
    const verdict = await this.critique(answer, options);
    return verdict?.shouldRevise ? again(verdict.revisionPrompt) : answer;
  }

  /** @internal Resolves once everything reported is durable with the sidecar, or the turn is given up. */
  delivered(): Promise<void> {
    return this.delivery.delivered();
  }

  /** @internal Runs beside the agent until nothing is left to deliver. */
  deliver(): Promise<void> {
    return this.delivery.run();
  }

  /** Ends the reporting, with what it has not delivered. The sidecar abandons the turn after 30 idle minutes. */
  abandon(): void {
    this.delivery.end();
  }

  private scoreOf({ score }: FinishOptions): number | undefined {
    if (score === undefined || (typeof score === "number" && score >= 0 && score <= 1)) return score;
    process.emitWarning(`turn ${this.id} ends without its score: a number from 0 to 1, not ${score}`, "SidemirrorWarning");
    return undefined;
  }

  private leave(outcome: TaskOutcome): void {
    if (!this.queue.isFinished) this.finish(outcome);
  }

  /**
   * The answer to a call, or undefined: nothing of the sidecar's makes an agent fail. One that HTTP/2 refuses is tried again
   * for as long as it may take; of one that the sidecar refuses, or has no answer to, a warning tells. `began`: when the agent
   * has asked.
   */
  private async ask<T>(
    what: string,
    began: number,
    { timeoutMs, signal: own }: Patience,
    call: (options: { signal: AbortSignal; timeoutMs: number }) => Promise<T>,
  ): Promise<T | undefined> {
    const { link } = this.home;
    const ends = began + timeoutMs;
    while (link.reachable && !link.closed && !own?.aborted) {
      const { outages } = link;
      const left = ends - performance.now();
      if (left <= 0) {
        link.late(what, began);
        return undefined;
      }
      try {
        const answer = await link.call((signal) => call({ signal, timeoutMs: Math.ceil(left) }), own);
        link.answered(outages);
        return answer;
      } catch (thrown) {
        if (own?.aborted) return undefined;
        const error = corrected(thrown);
        link.failed(error, outages);
        if (isFinal(error)) link.declined(what, error);
        else if (error.code === Code.ResourceExhausted) link.busy(what, error.message);
        else if (isUnable(error)) link.unable(what, error.message);
        else if (error.code === Code.DeadlineExceeded) link.late(what, began);
        if (!isRefusedStream(error)) return undefined;
        const waitMs = Math.min(ends - performance.now(), FIRST_PAUSE_MS * (0.8 + 0.4 * Math.random()));
        await pause(waitMs, undefined, own && { signal: own }).catch(() => {}); // aborted
      }
    }
    return undefined;
  }
}
