import { AsyncLocalStorage } from "node:async_hooks";
import { Added, Run, type Checked } from "@sidemirror/client/adapter";

/** What is read of the SDK's messages, the same in each version that its providers may have (`specificationVersion`). */
interface Message {
  role: string;
  content: string | Part[];
}

interface Part {
  type: string;
  [field: string]: any;
}

/** What is read of a model's options, its answer and its stream. */
type Options = { prompt: Message[]; tools?: Part[]; responseFormat?: { type: string }; abortSignal?: AbortSignal };
type Answer = { content: Part[]; usage: any; finishReason?: string | { unified: string }; structuredOutputText?: string };
interface Model {
  specificationVersion: string;
  provider: string;
  modelId: string;
  supportedUrls: unknown;
  doGenerate(given: Options): PromiseLike<Answer>;
  doStream(given: Options): PromiseLike<{ stream: ReadableStream<Part> }>;
}

/** What `generateText`, `streamText` and `ToolLoopAgent` are given, as far as it is changed here. */
export type Given = Record<string, any>;

/** The agent whose tool runs, or whose call is prepared. Agents that run inside are part of its turn. */
export const CURRENT = new AsyncLocalStorage<Watch>();

/** Looks at one call of the SDK's, which asks a model and runs tools until there is an answer. */
export class Watch {
  private run: Run | undefined;
  /** A model was asked and has not answered. What the SDK tries again is the same request. */
  private isAsking = false;
  /** The calls that were asked for, or have run, here. */
  private readonly known = new Set<string>();
  /** What a stream has brought so far, and the ends of calls that ran before it was over. */
  private soFar: Answer | undefined;
  private early: (() => void)[] = [];
  /** The SDK makes requests anew from its own messages. */
  private readonly added = new Added<Message>();
  /** What the model's last answer came to, if it was a final one. */
  answer: string | undefined;

  constructor(
    private readonly settings: Checked,
    private readonly agent: string,
  ) {
    const outer = CURRENT.getStore()?.run;
    this.run = outer?.isOver ? undefined : outer?.inner(agent);
  }

  /** The given with this watch around its model and its tools. `find` finds the model of a name. */
  around(given: Given, find: (name: string) => unknown): Given {
    const modelOf = (model: unknown) => this.model((typeof model === "string" ? find(model) : model) as Model);
    const { prepareStep } = given;
    return {
      ...given,
      ...(given["model"] && { model: modelOf(given["model"]) }),
      ...(given["tools"] && { tools: this.tools(given["tools"]) }),
      ...(prepareStep && {
        prepareStep: async (step: unknown) => {
          const prepared = await prepareStep(step);
          return prepared?.model ? { ...prepared, model: modelOf(prepared.model) } : prepared;
        },
      }),
    };
  }

  /** It is over: with its answer, or with what it has thrown. */
  end(error?: unknown, isAborted = false): void {
    if (this.soFar) this.answered(this.soFar);
    this.run?.end(error === undefined && !isAborted ? this.answer : undefined, error, isAborted);
  }

  /** A transform that forwards a stream of the SDK's, and sees how it ends. */
  transform(): TransformStream<Part, Part> {
    let error: unknown;
    let isAborted = false;
    return new TransformStream<Part, Part>({
      transform: (part, controller) => {
        if (part.type === "error") error = part["error"] ?? "error";
        if (part.type === "abort") isAborted = true;
        controller.enqueue(part);
      },
      flush: () => this.end(error, isAborted),
    });
  }

  // --- the model -------------------------------------------------------------------------------------------------------

  /** As the SDK's `wrapLanguageModel`, but of the version that the model has. */
  private model(inner: Model): Model {
    const { specificationVersion, provider, modelId, supportedUrls } = inner;
    return {
      ...{ specificationVersion, provider, modelId, supportedUrls },
      doGenerate: async (given: Options) => {
        const asked = await this.asked(inner, given);
        const answer = await inner.doGenerate(asked);
        this.answered(answer);
        return this.revised(inner, asked, answer);
      },
      doStream: async (given: Options) => {
        const came = await inner.doStream(await this.asked(inner, given));
        this.soFar = { content: [], usage: {} };
        return { ...came, stream: came.stream.pipeThrough(this.collected(this.soFar)) };
      },
    };
  }

  /** The request with lessons, as a part of the user's message, and advice, behind what it has. */
  private async asked(model: Model, given: Options): Promise<Options> {
    const { prompt, abortSignal } = given;
    const run = this.begun(prompt, model);
    this.answer = undefined;
    if (!this.isAsking) {
      this.results(run, prompt);
      const tools = (given.tools ?? []).map((tool) => String(tool["name"]));
      const said = (await run.texts(tools, abortSignal)).map(user);
      said.forEach((message) => SAID.add(message));
      this.added.add(prompt, said);
      run.modelStarted(...namesOf(model));
      this.isAsking = true;
    }
    return { ...given, prompt: joined(this.added.to(prompt)) };
  }

  /** The model's answer, and the calls in it. */
  private answered({ content, usage }: Answer): void {
    this.soFar = undefined;
    this.isAsking = false;
    const text = textOf(content);
    this.run?.modelReturned(text, tokensOf(usage?.inputTokens), tokensOf(usage?.outputTokens));
    const calls = content.filter((part) => part.type === "tool-call");
    for (const { toolCallId, toolName, input } of calls) {
      this.known.add(toolCallId);
      this.run?.toolCalled(toolCallId, toolName, input);
    }
    // Of tools that the provider runs.
    const ends = content.filter((part) => part.type === "tool-result");
    for (const { toolCallId, result, isError } of ends) this.run?.toolReturned(toolCallId, result, isError);
    this.answer = content.some(isCall) ? undefined : text;
    this.early.splice(0).forEach((report) => report());
  }

  /** A wrong final answer goes back to the model, whose next is taken if it is whole. The tokens of both are counted. */
  private async revised(model: Model, asked: Options, first: Answer): Promise<Answer> {
    const { answer } = this;
    if (!this.run || !answer) return first;
    const why = await this.run.revision(answer, asked.abortSignal);
    if (why === "") return first;
    const said = first.content.filter(({ type }) => type === "text" || type === "reasoning");
    const content = said.map(({ providerMetadata, ...part }) => ({ ...part, providerOptions: providerMetadata }));
    const wrong = { role: "assistant", content };
    this.run.modelStarted(...namesOf(model));
    try {
      const second = await model.doGenerate({ ...asked, prompt: [...asked.prompt, wrong, user(why)] });
      const isTaken = isWhole(second, asked);
      // Else its calls do not run.
      this.answered(isTaken ? second : { ...second, content: second.content.filter((part) => !isCall(part)) });
      if (!isTaken) this.answer = answer;
      return { ...(isTaken ? second : first), usage: summed(first.usage, second.usage) };
    } catch (error) {
      if (asked.abortSignal?.aborted) throw error;
      return first;
    }
  }

  private collected(soFar: Answer): TransformStream<Part, Part> {
    const { content } = soFar;
    return new TransformStream<Part, Part>({
      transform: (part, controller) => {
        if (part.type === "text-delta") content.push({ type: "text", text: part["delta"] });
        if (part.type === "tool-call" || part.type === "tool-result") content.push(part);
        // Before the SDK hears of it, and goes on.
        if (part.type === "finish") this.answered({ content, usage: part["usage"] });
        controller.enqueue(part);
      },
    });
  }

  /** The turn, which begins with the first request. */
  private begun(messages: Message[], model?: Model): Run {
    const task = () => textOf(messages.findLast(({ role }) => role === "user")?.content ?? "");
    return (this.run ??= Run.begin(this.settings, task(), this.agent, ...namesOf(model)));
  }

  // --- tools -----------------------------------------------------------------------------------------------------------

  private tools(tools: Record<string, Part>): Record<string, Part> {
    const around = ([name, tool]: [string, Part]) => {
      const { execute } = tool;
      const watched = (input: unknown, options: any): unknown => {
        const callId = options.toolCallId as string;
        const run = this.begun(options.messages);
        this.known.add(callId);
        // One that was approved meanwhile; the model has asked for it in an earlier call of the SDK's.
        if (!this.soFar) run.toolCalled(callId, name, input);
        return CURRENT.run(this, () => this.watched(run, callId, () => execute(input, options)));
      };
      return [name, execute ? { ...tool, execute: watched } : tool];
    };
    return Object.fromEntries(Object.entries(tools).map(around));
  }

  /** The end of a call. A tool may return a stream of what it has so far. */
  private watched(run: Run, callId: string, execute: () => unknown): unknown {
    // Of a call that runs while the model is still answering, the end is on record behind the call.
    const behind = (report: () => void): unknown => (this.soFar ? this.early.push(report) : report());
    const failed = (error: unknown): never => {
      behind(() => run.toolFailed(callId, error));
      throw error;
    };
    const returned = <T>(value: T): T => {
      behind(() => run.toolReturned(callId, value));
      return value;
    };
    const lastOf = async function* (parts: AsyncIterable<unknown>): AsyncGenerator {
      let last: unknown;
      try {
        for await (last of parts) yield last;
      } catch (error) {
        failed(error);
      }
      returned(last);
    };
    try {
      const result = execute() as AsyncIterable<unknown> | undefined;
      if (typeof result?.[Symbol.asyncIterator] === "function") return lastOf(result);
      return Promise.resolve(result).then(returned, failed);
    } catch (error) {
      return failed(error);
    }
  }

  /**
   * The ends of calls that have not run here: of unknown tools, with arguments that do not fit, refused ones. What the
   * user's own loop runs was asked for in the last answer of an earlier call of the SDK's.
   */
  private results(run: Run, prompt: Message[]): void {
    const last = prompt.slice(prompt.findLastIndex(({ role }) => role === "assistant"));
    const brought = new Set(last.flatMap(resultsOf).map(({ toolCallId }) => toolCallId));
    for (const { type, toolCallId, toolName, input } of last.flatMap(partsOf)) {
      const isNew = type === "tool-call" && brought.has(toolCallId) && !this.known.has(toolCallId);
      if (isNew) run.toolCalled(toolCallId, toolName, input);
    }
    for (const { toolCallId, output } of prompt.flatMap(resultsOf)) {
      run.toolReturned(toolCallId, output.value ?? output.reason ?? "", String(output.type).startsWith("error"));
    }
  }
}

function partsOf({ content }: Message): Part[] {
  return typeof content === "string" ? [] : content;
}

/** The results in a message, beside which there may be approvals of what the provider runs. */
function resultsOf(message: Message): Part[] {
  return message.role === "tool" ? partsOf(message).filter(({ type }) => type === "tool-result") : [];
}

function user(text: string): Message {
  return { role: "user", content: [{ type: "text", text }] };
}

/** What the sidecar says. */
const SAID = new WeakSet<Message>();

/** What stands behind the user's message becomes a part of it: middleware that guards a model reads the last one. */
function joined(messages: Message[]): Message[] {
  const all: Message[] = [];
  for (const message of messages) {
    const last = all.at(-1);
    const isPart = SAID.has(message) && last?.role === "user" && !SAID.has(last) && typeof last.content !== "string";
    if (isPart) all[all.length - 1] = { ...last, content: [...partsOf(last), ...partsOf(message)] };
    else all.push(message);
  }
  return all;
}

function textOf(content: string | Part[]): string {
  return typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part["text"] : "")).join("");
}

/** A call of a tool that the provider does not run. */
function isCall({ type, providerExecuted }: Part): boolean {
  return type === "tool-call" && !providerExecuted;
}

/** Why an answer ends too early. */
const CUT = ["length", "content-filter", "error", "interrupted"];

/** Whether an answer is neither cut nor refused, and calls tools or is one: a text, and JSON where that was asked for. */
function isWhole({ content, finishReason, structuredOutputText }: Answer, { responseFormat }: Options): boolean {
  // A text, or since version 3 of the providers an object.
  const reason = typeof finishReason === "object" ? finishReason?.unified : finishReason;
  if (CUT.includes(reason ?? "")) return false;
  if (content.some(isCall)) return true;
  if (responseFormat?.type === "json") return isJson(structuredOutputText ?? textOf(content));
  return textOf(content).trim() !== "";
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The provider's name, without the kind of its models, and the model's. */
function namesOf(model: Model | undefined): [string, string] {
  return [model?.provider.split(".")[0] ?? "", model?.modelId ?? ""];
}

/** A number, or since version 3 of the providers a number with its parts. */
function tokensOf(usage: number | { total?: number } | undefined): number {
  return (typeof usage === "object" ? usage.total : usage) ?? 0;
}

function summed(one: any, other: any): any {
  if (typeof one === "number" && typeof other === "number") return one + other;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return other ?? one;
  return Object.fromEntries(Object.keys({ ...one, ...other }).map((key) => [key, summed(one[key], other[key])]));
}
