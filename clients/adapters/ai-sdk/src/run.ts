import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { TaskOutcome } from "@sidemirror/api/v1/common";
import { ThinkingConfigSchema, ThinkLevel, type TurnBudgetSchema } from "@sidemirror/api/v1/thinking";
import { adviceText, connect, type EventInit, type Sidemirror, type Turn } from "@sidemirror/client";

/** What the adapter does. Times are in milliseconds, and are waited at most. */
export interface Settings {
  /** How deep the sidecar thinks about a run; MEDIUM by default, `ThinkLevel.OFF`: no reflections. */
  level?: ThinkLevel | undefined;
  /** What reflections on a run may spend; the sidecar's own defaults without one. */
  budget?: MessageInitShape<typeof TurnBudgetSchema> | undefined;
  /** Lessons for the task are shown at the start; true by default. */
  lessons?: boolean | undefined;
  /** 2 seconds by default. */
  lessonsMs?: number | undefined;
  /** What the sidecar says to what was reported is shown with the next request; true by default. Off, it says nothing. */
  advice?: boolean | undefined;
  /** 1 second by default. */
  adviceMs?: number | undefined;
  /** How often a final answer may be sent back, at most; 1 by default, 0: no answer is judged. */
  revisions?: number | undefined;
  /** 10 seconds by default. */
  critiqueMs?: number | undefined;
  /** Of each text that is reported, what may be: task, arguments, results, errors, what the model said. */
  redact?: ((text: string) => string) | undefined;
  /**
   * How a run went that ended with this answer. Without it such a run is UNSPECIFIED, from which nothing is learned: that
   * it ended does not say that its task was done.
   */
  outcome?: ((answer: string) => TaskOutcome) | undefined;
  /** The goal that runs work towards, reported with the outcome; its objective is the task. */
  goalId?: string | undefined;
  /** The session of all runs. */
  sessionId?: string | undefined;
  /** Else one that connects as the environment says, shared by all that have none, at the first run. */
  client?: Sidemirror | undefined;
}

/** What ends a run that ran out of time or was aborted, by the names that the platform and the SDK give it. */
const TIMES_OUT = ["AbortError", "TimeoutError", "ResponseAborted"];

let shared: Sidemirror | undefined;

/**
 * One run of an agent as one turn. It throws nothing because of the sidecar, nor because of the settings' functions. `agent`
 * names which of several agents acted.
 */
export class Run {
  readonly settings: Settings;
  private readonly task: string;
  private readonly turn: Turn;
  private mustAsk = false;
  private revisionsLeft: number;
  isOver = false;

  constructor(settings: Settings, task: string, agent: string, provider: string, model: string) {
    this.settings = settings;
    this.task = this.told(task);
    this.revisionsLeft = settings.revisions ?? 1;
    this.turn = (settings.client ?? (shared ??= connect())).beginTurn({
      agent: name(agent),
      sessionId: settings.sessionId ?? "",
      task: this.task,
      provider: name(provider),
      model: name(model),
      config: create(ThinkingConfigSchema, { level: settings.level ?? ThinkLevel.MEDIUM }),
      withoutAdvice: !(settings.advice ?? true),
      ...(settings.budget && { budget: settings.budget }),
    });
  }

  /** The model is asked. */
  modelStarted(agent: string, provider: string, model: string): void {
    this.report(agent, { case: "modelStarted", value: { provider: name(provider), model: name(model) } });
  }

  /** The model has answered. */
  modelReturned(agent: string, text: string, inputTokens = 0, outputTokens = 0): void {
    const value = { text: this.told(text), inputTokens: tokens(inputTokens), outputTokens: tokens(outputTokens) };
    this.report(agent, { case: "modelReturned", value });
  }

  /** A tool is called. Arguments that are no text become JSON. */
  toolCalled(agent: string, callId: string, tool: string, args: unknown): void {
    const value = { callId: id(callId), name: name(tool), arguments: this.told(asText(args)) };
    this.report(agent, { case: "toolCalled", value });
  }

  /** A tool has returned; `isError`: with a failure, in words that the model gets. */
  toolReturned(agent: string, callId: string, content: unknown, isError = false): void {
    this.mustAsk ||= isError;
    this.report(agent, { case: "toolReturned", value: { callId: id(callId), content: this.told(asText(content)), isError } });
  }

  /** A tool call has thrown. */
  toolFailed(agent: string, callId: string, error: unknown): void {
    this.mustAsk = true;
    this.report(agent, { case: "toolFailed", value: { callId: id(callId), error: this.told(messageOf(error)) } });
  }

  /** The lessons for the task, as a text for the model; empty without any. */
  async lessons(tools: string[]): Promise<string> {
    if (!(this.settings.lessons ?? true)) return "";
    const block = await this.turn.recall({ tools: tools.slice(0, 100).map(name), timeoutMs: this.settings.lessonsMs });
    return block?.text ?? "";
  }

  /** What the sidecar says, as a text for the model; empty without any. Waits only after a call has failed. */
  async advice(): Promise<string> {
    if (!(this.settings.advice ?? true)) return "";
    const waits = this.mustAsk;
    this.mustAsk = false;
    return adviceText(waits ? await this.turn.advice(this.settings.adviceMs) : this.turn.take());
  }

  /** Why a final answer is to be revised, as a text for the model; empty if it may be sent. */
  async revision(answer: string): Promise<string> {
    if (this.revisionsLeft <= 0 || answer === "") return "";
    const verdict = await this.turn.critique(this.told(answer), { timeoutMs: this.settings.critiqueMs });
    if (!verdict?.shouldRevise) return "";
    this.revisionsLeft--;
    return verdict.revisionPrompt;
  }

  /**
   * The run is over, with an answer or an error, or with neither: it waits for somebody. What comes after it is ignored.
   * TIMEOUT: it ran out of time, or was aborted (`isAborted`); ERROR: it threw.
   */
  end(answer: string | undefined, error?: unknown, isAborted = false): void {
    if (this.isOver) return;
    this.isOver = true;
    if (answer !== undefined) this.report("", { case: "responseDrafted", value: { text: this.told(answer) } });
    const { goalId, outcome } = this.settings;
    const hasFailed = isAborted || error !== undefined;
    let came = TaskOutcome.UNSPECIFIED;
    if (hasFailed) came = isAborted || TIMES_OUT.includes((error as Error)?.name) ? TaskOutcome.TIMEOUT : TaskOutcome.ERROR;
    else if (outcome && answer !== undefined) came = tried(outcome, answer, TaskOutcome.UNSPECIFIED);
    const failure = hasFailed ? { error: this.told(messageOf(error ?? "aborted")) } : {};
    this.turn.finish(came, { goal: goalId ? { goalId, objective: this.task, ...failure } : undefined });
  }

  private report(agent: string, kind: EventInit["kind"]): void {
    this.turn.report({ agent: name(agent), kind });
  }

  private told(text: string): string {
    const { redact } = this.settings;
    if (!redact || text === "") return text;
    const left: unknown = tried(redact, text, undefined);
    return typeof left === "string" ? left : "[not reported: the redactor failed]";
  }
}

/** A text as it is, everything else as JSON; what JSON cannot say, such as a circle, as JavaScript shows it. */
function asText(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return String(value);
  }
}

/** What the SDK tells the model of an error. */
function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : asText(error);
}

function tried<T, O>(ask: (text: string) => T, text: string, otherwise: O): T | O {
  try {
    return ask(text);
  } catch (error) {
    process.emitWarning(`a function in the settings has failed: ${messageOf(error)}`, "SidemirrorWarning");
    return otherwise;
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
