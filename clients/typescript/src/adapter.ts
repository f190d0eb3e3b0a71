/**
 * What adapters of agent frameworks share: one run of an agent as one turn, by their settings.
 *
 * An adapter hands over what its framework shows it, and puts the texts that it gets back where the framework lets the model
 * see them.
 *
 * @packageDocumentation
 */
import { create } from "@bufbuild/protobuf";
import { TaskOutcome } from "@sidemirror/api/v1/common";
import { ThinkingConfigSchema } from "@sidemirror/api/v1/thinking";
import type { Checked } from "./adapterSettings.js";
import { adviceText } from "./advice.js";
import { mayHaveFailed } from "./failing.js";
import type { EventInit } from "./queue.js";
import { asText } from "./text.js";
import type { Turn } from "./turn.js";

export { checked, type Checked, type Level, type Settings } from "./adapterSettings.js";

/** What ends a run that ran out of time or was aborted, by the names that the platform and the SDK give it. */
const TIMES_OUT = ["AbortError", "TimeoutError", "ResponseAborted"];

/** What a run has in common with those that its tools begin: the turn, and how far it has come. */
interface Shared {
  readonly settings: Checked;
  readonly task: string;
  readonly turn: Turn;
  mustAsk: boolean;
  needsLessons: boolean;
  revisionsLeft: number;
  isOver: boolean;
}

/**
 * One run of an agent: a turn, or part of the turn of the run whose tool began it. It throws nothing because of the sidecar,
 * nor because of the settings' functions.
 */
export class Run {
  /** Calls on record that have not ended yet, by their id. */
  private readonly open = new Set<string>();
  /** The ends of calls that are not on record yet. */
  private readonly early: (() => void)[] = [];

  private constructor(
    private readonly shared: Shared,
    private readonly agent: string,
    private readonly isWhole: boolean,
  ) {}

  /** A run begins: a turn, or part of the turn of the run whose tool begins it (`outer`), unless that is over. */
  static begin(settings: Checked, task: string, agent: string, provider: string, model: string, outer?: Run): Run {
    if (outer && !outer.shared.isOver) return new Run(outer.shared, agent, false);
    const said = told(settings, task);
    const turn = settings.client.beginTurn({
      agent: name(agent),
      sessionId: settings.sessionId ?? "",
      task: said,
      provider: name(provider),
      model: name(model),
      config: create(ThinkingConfigSchema, { level: settings.level }),
      hasShell: settings.hasShell ?? false,
      withoutAdvice: !(settings.advice ?? true),
      ...(settings.budget && { budget: settings.budget }),
    });
    const past = { mustAsk: false, needsLessons: settings.lessons ?? true, revisionsLeft: settings.revisions ?? 1 };
    return new Run({ settings, task: said, turn, isOver: false, ...past }, agent, true);
  }

  /** The model is asked. */
  modelStarted(provider: string, model: string): void {
    this.report(this.agent, { case: "modelStarted", value: { provider: name(provider), model: name(model) } });
  }

  /** The model has answered. */
  modelReturned(text: string, inputTokens = 0, outputTokens = 0): void {
    const value = { text: this.told(text), inputTokens: tokens(inputTokens), outputTokens: tokens(outputTokens) };
    this.report(this.agent, { case: "modelReturned", value });
  }

  /** A tool is called, once for each id that is open. Arguments that are no text become JSON. */
  toolCalled(callId: string, tool: string, args: unknown): void {
    if (this.open.has(callId)) return;
    this.open.add(callId);
    const value = { callId: id(callId), name: name(tool), arguments: this.told(asText(args)) };
    this.report(this.agent, { case: "toolCalled", value });
  }

  /** All calls of the model's answer are on record: the ends of those that have ended meanwhile are behind them. */
  allCalled(): void {
    this.early.splice(0).forEach((report) => report());
  }

  /** A tool whose call is open has returned; `isError`: with a failure, in words that the model gets. */
  toolReturned(callId: string, content: unknown, isError = false): void {
    const said = this.told(asText(content));
    const value = { callId: id(callId), content: said, isError };
    this.ended(callId, isError || mayHaveFailed(said), { case: "toolReturned", value });
  }

  /** A tool call that is open has thrown. */
  toolFailed(callId: string, error: unknown): void {
    this.ended(callId, true, { case: "toolFailed", value: { callId: id(callId), error: this.told(messageOf(error)) } });
  }

  /**
   * What a tool gives, whose end is reported: what it returns, brings last where it comes piece by piece, or throws. Of a
   * call that is not on record yet, as the model still answers, the end waits for `allCalled`.
   */
  calling(callId: string, execute: () => unknown): unknown {
    const end = (report: () => void): void => {
      if (this.open.has(callId)) report();
      else this.early.push(report);
    };
    const returned = <T>(value: T): T => {
      end(() => this.toolReturned(callId, value));
      return value;
    };
    const failed = (error: unknown): never => {
      end(() => this.toolFailed(callId, error));
      throw error;
    };
    const pieces = async function* (all: AsyncIterable<unknown>): AsyncGenerator {
      let last: unknown;
      try {
        for await (last of all) yield last;
      } catch (error) {
        failed(error);
      }
      returned(last);
    };
    try {
      const result = execute() as AsyncIterable<unknown> | undefined;
      if (typeof result?.[Symbol.asyncIterator] === "function") return pieces(result);
      return Promise.resolve(result).then(returned, failed);
    } catch (error) {
      return failed(error);
    }
  }

  /** What the model is shown behind what a request has: lessons in the first one, advice. It waits until `signal` is aborted. */
  async texts(tools: string[], signal?: AbortSignal): Promise<string[]> {
    return [await this.lessons(tools, signal), await this.advice(signal)].filter((text) => text !== "");
  }

  private async lessons(tools: string[], signal?: AbortSignal): Promise<string> {
    if (!this.isWhole || !this.shared.needsLessons || signal?.aborted) return "";
    this.shared.needsLessons = false;
    const timeoutMs = this.shared.settings.lessonsMs;
    return (await this.shared.turn.recall({ tools: tools.slice(0, 100).map(name), timeoutMs, signal }))?.text ?? "";
  }

  /** Waits only after a call that has failed, or whose result may say so: the sidecar recognises what nobody has marked. */
  private async advice(signal?: AbortSignal): Promise<string> {
    const { settings, turn, mustAsk } = this.shared;
    if (!(settings.advice ?? true) || signal?.aborted) return "";
    this.shared.mustAsk = false;
    if (!mustAsk) return adviceText(turn.take());
    const said = await turn.advice({ timeoutMs: settings.adviceMs, signal });
    if (signal?.aborted) this.shared.mustAsk = true; // for another agent of the turn
    return adviceText(said);
  }

  /** Why a final answer is to be revised, as a text for the model; empty if it may be sent. */
  async revision(answer: string, signal?: AbortSignal): Promise<string> {
    if (!this.isWhole || this.shared.revisionsLeft <= 0 || answer === "") return "";
    const { turn, settings } = this.shared;
    const verdict = await turn.critique(this.told(answer), { timeoutMs: settings.critiqueMs, signal });
    if (!verdict?.shouldRevise) return "";
    this.shared.revisionsLeft--;
    return verdict.revisionPrompt;
  }

  /**
   * The run is over, with an answer or an error, or with neither: it waits for somebody. What comes after it is ignored.
   * TIMEOUT: it ran out of time, or was aborted (`isAborted`); ERROR: it threw.
   */
  end(answer: string | undefined, error?: unknown, isAborted = false): void {
    if (this.shared.isOver || !this.isWhole) return;
    this.shared.isOver = true;
    const { settings, turn, task } = this.shared;
    const { goalId, outcome } = settings;
    if (answer !== undefined) this.report("", { case: "responseDrafted", value: { text: this.told(answer) } });
    const hasFailed = isAborted || error !== undefined;
    let came = TaskOutcome.UNSPECIFIED;
    if (hasFailed) came = isAborted || TIMES_OUT.includes((error as Error)?.name) ? TaskOutcome.TIMEOUT : TaskOutcome.ERROR;
    else if (outcome && answer !== undefined) came = tried("outcome", outcome, answer, judged) ?? came;
    const failure = hasFailed ? { error: this.told(messageOf(error ?? "aborted")) } : {};
    turn.finish(came, { goal: goalId ? { goalId, objective: task, ...failure } : undefined });
  }

  private ended(callId: string, mustAsk: boolean, kind: EventInit["kind"]): void {
    if (!this.open.delete(callId)) return;
    this.shared.mustAsk ||= mustAsk;
    this.report(this.agent, kind);
  }

  private report(agent: string, kind: EventInit["kind"]): void {
    this.shared.turn.report({ agent: name(agent), kind });
  }

  private told(text: string): string {
    return told(this.shared.settings, text);
  }
}

/**
 * What was added to a conversation, for frameworks that make each request anew: it is added again to each, at the same
 * places, so that requests go on from one another.
 */
export class Added<M> {
  /** Each with its place in the request and the message before it. */
  private readonly all: { place: number; behind: string; texts: string[] }[] = [];

  /** `followed` is the message with texts behind it. */
  constructor(private readonly followed: (message: M, texts: readonly string[]) => M[]) {}

  /** These texts stand behind the request's last message from here on. */
  add(request: readonly M[], texts: readonly string[]): void {
    if (texts.length === 0) return;
    const [place, behind, last] = [request.length - 1, JSON.stringify(request.at(-1)), this.all.at(-1)];
    if (last?.place === place && last.behind === behind) last.texts.push(...texts);
    else this.all.push({ place, behind, texts: [...texts] });
  }

  /**
   * The request with what was added. Where the message before has been taken away nothing is: it might part a call and its
   * result.
   */
  to(request: readonly M[]): M[] {
    const full = [...request];
    for (const { place, behind, texts } of this.all.toReversed()) {
      const message = full[place];
      if (message === undefined || JSON.stringify(request[place]) !== behind) continue;
      full.splice(place, 1, ...this.followed(message, texts));
    }
    return full;
  }
}

/** What of a text is reported. */
function told({ redact }: Checked, text: string): string {
  if (!redact || text === "") return text;
  return tried("redact", redact, text, left) ?? "[not reported: the redactor failed]";
}

/** What the user's redactor leaves. Throws for what is no text. */
function left(said: unknown): string {
  if (typeof said !== "string") throw new TypeError(`it gives no text, but ${typeof said}`);
  return said;
}

/** What the SDK tells the model of an error. */
function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : asText(error);
}

/** What the user's judge says. Throws for what is no outcome. */
function judged(said: unknown): TaskOutcome {
  if (typeof said === "boolean") return said ? TaskOutcome.SUCCESS : TaskOutcome.FAILURE;
  // The enum has its names as keys too.
  if (typeof said !== "number" || TaskOutcome[said] === undefined) throw new TypeError(`${String(said)} is no TaskOutcome`);
  return said;
}

/** What a function of the settings says, as `read` takes it; undefined where one of them throws, as a warning says. */
function tried<T>(
  setting: string,
  ask: (text: string) => unknown,
  text: string,
  read: (said: unknown) => T,
): T | undefined {
  try {
    const said = ask(text);
    if (typeof (said as PromiseLike<unknown> | undefined)?.then !== "function") return read(said);
    // Nobody waits for it: that it rejects must not end the process.
    Promise.resolve(said).catch(() => {});
    throw new TypeError("it gives a promise, for which nothing waits");
  } catch (error) {
    const failed = `the function "${setting}" of the settings has failed: ${messageOf(error)}`;
    process.emitWarning(failed, "SidemirrorWarning");
    return undefined;
  }
}

function id(text: string): string {
  return text.length <= 128 && /^\P{C}*$/u.test(text) ? text : "";
}

function tokens(count: number): bigint {
  return BigInt(Math.max(0, Math.trunc(count) || 0));
}

function name(text: string): string {
  return text.slice(0, 256);
}
