import { AsyncLocalStorage } from "node:async_hooks";
import { Added, Run, type Checked } from "@sidemirror/client/adapter";
import { gateway, type ModelMessage, type TextStreamPart, type Tool, type ToolSet } from "ai";
import { followed, isCall, isWhole, namesOf, refused, resultsOf, summed, textOf, tokensOf } from "./model.js";
import type { Answer, Message, Model, Request, StreamPart } from "./model.js";

/** What `generateText`, `streamText` and `ToolLoopAgent` are given. */
export type Given = Record<string, any>;

/** The call of the SDK's that is prepared or runs. Those that its tools begin are part of its turn. */
export const CURRENT = new AsyncLocalStorage<Watch>();

/** Looks at one call of the SDK's, which asks a model and runs tools until there is an answer. */
export class Watch {
  private readonly outer = CURRENT.getStore();
  private run: Run | undefined;
  /** A model was asked and has not answered. What the SDK tries again is the same request. */
  private isAsking = false;
  /** What a stream has brought of the answer so far. */
  private soFar: Answer["content"] | undefined;
  /** What the model's last answer came to, if it was a final one. */
  private answer: string | undefined;
  /** The SDK makes requests anew from its own messages. */
  private readonly added = new Added<Message>(followed);

  constructor(
    private readonly settings: Checked,
    private readonly agent: string,
  ) {}

  /** Does what ends with an answer. */
  async generated<T>(given: Given, work: (watched: Given) => PromiseLike<T>): Promise<T> {
    try {
      const result = await CURRENT.run(this, () => work(this.around(given)));
      this.end();
      return result;
    } catch (error) {
      this.end(error ?? "error", given["abortSignal"]?.aborted);
      throw error;
    }
  }

  /** Begins what streams. A transform behind the user's own sees how it ends. */
  streamed<T>(given: Given, work: (watched: Given) => T): T {
    const transforms = [given["experimental_transform"] ?? [], () => this.ending()].flat();
    return CURRENT.run(this, () => work({ ...this.around(given), experimental_transform: transforms }));
  }

  /** The given with this watch around models and tools. */
  around(given: Given): Given {
    const { model, tools, prepareStep } = given;
    const prepared = async (asked: unknown) => {
      const step = await prepareStep(asked);
      return step?.model ? { ...step, model: this.model(step.model) } : step;
    };
    return {
      ...given,
      ...(model && { model: this.model(model) }),
      ...(tools && { tools: this.tools(tools) }),
      ...(prepareStep && { prepareStep: prepared }),
    };
  }

  private ending(): TransformStream<TextStreamPart<ToolSet>, TextStreamPart<ToolSet>> {
    let error: unknown;
    let isAborted = false;
    return new TransformStream({
      transform: (part, controller) => {
        if (part.type === "error") error = part.error ?? "error";
        if (part.type === "abort") isAborted = true;
        controller.enqueue(part);
      },
      flush: () => this.end(error, isAborted),
    });
  }

  private end(error?: unknown, isAborted = false): void {
    if (this.soFar) this.answered(this.soFar);
    this.run?.end(error === undefined && !isAborted ? this.answer : undefined, error, isAborted);
  }

  private tools(tools: ToolSet): ToolSet {
    return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, this.tool(name, tool)]));
  }

  private tool(name: string, tool: Tool): Tool {
    const { execute } = tool;
    if (!execute) return tool;
    const watched: typeof execute = (input, options) => {
      const run = this.begun(options.messages);
      if (!this.soFar) run.toolCalled(options.toolCallId, name, input);
      return CURRENT.run(this, () => run.calling(options.toolCallId, () => execute(input, options)));
    };
    return { ...tool, execute: watched } as Tool;
  }

  /** As the SDK's `wrapLanguageModel`, which in 6.0 takes a model of version 2 for one of version 3. */
  private model(given: Model | string): Model {
    const known = globalThis.AI_SDK_DEFAULT_PROVIDER ?? gateway;
    const inner = typeof given === "string" ? (known.languageModel(given) as Model) : given;
    const { specificationVersion, provider, modelId, supportedUrls } = inner;
    return {
      ...{ specificationVersion, provider, modelId, supportedUrls },
      doGenerate: async (request) => {
        const asked = await this.asked(inner, request);
        const answer = await inner.doGenerate(asked);
        this.answered(answer.content, answer.usage);
        return this.revised(inner, asked, answer);
      },
      doStream: async (request) => {
        const { stream, ...rest } = await inner.doStream(await this.asked(inner, request));
        return { ...rest, stream: stream.pipeThrough(this.collected()) };
      },
    };
  }

  /**
   * The turn. It begins with the first request, or with a tool that was approved meanwhile. Calls of an earlier answer,
   * which the messages bring, run here or have their results in the first request.
   */
  private begun(messages: readonly (Message | ModelMessage)[], model?: Model): Run {
    if (this.run) return this.run;
    const lastOf = (asked: string) => messages.findLast(({ role }) => role === asked)?.content ?? "";
    const task = textOf(lastOf("user"));
    this.run = Run.begin(this.settings, task, this.agent, ...namesOf(model), this.outer?.run);
    for (const part of lastOf("assistant")) {
      if (isCall(part)) this.run.toolCalled(part.toolCallId, part.toolName, part.input);
    }
    return this.run;
  }

  /** The request with lessons and advice. */
  private async asked(model: Model, request: Request): Promise<Request> {
    const { prompt, tools = [], abortSignal } = request;
    const run = this.begun(prompt, model);
    if (!this.isAsking) {
      // Of calls that have not run here, such as those of unknown tools.
      for (const { toolCallId, output } of resultsOf(prompt)) {
        // A refused call has no value, and may have a reason.
        const content = "value" in output ? output.value : ["Tool execution denied", output.reason].filter(Boolean).join(": ");
        run.toolReturned(toolCallId, content, output.type.startsWith("error"));
      }
      const names = tools.map(({ name }) => name);
      this.added.add(prompt, await run.texts(names, abortSignal));
      run.modelStarted(...namesOf(model));
      this.isAsking = true;
      this.answer = undefined;
    }
    return { ...request, prompt: this.added.to(prompt) };
  }

  /** The model's answer, the calls in it, and the results of tools that the provider runs. */
  private answered(content: Answer["content"], usage?: Answer["usage"]): void {
    this.isAsking = false;
    this.soFar = undefined;
    this.run?.modelReturned(textOf(content), tokensOf(usage?.inputTokens), tokensOf(usage?.outputTokens));
    for (const part of content) {
      if (part.type === "tool-call") this.run?.toolCalled(part.toolCallId, part.toolName, part.input);
      if (part.type === "tool-result") this.run?.toolReturned(part.toolCallId, part.result, part.isError);
    }
    this.run?.allCalled();
    this.answer = content.some(isCall) ? undefined : textOf(content);
  }

  /** A wrong final answer goes back to the model, whose next is taken if it is whole. The tokens of both are counted. */
  private async revised(model: Model, asked: Request, first: Answer): Promise<Answer> {
    const { run, answer = "" } = this;
    const why = await run?.revision(answer, asked.abortSignal);
    if (!run || !why) return first;
    run.modelStarted(...namesOf(model));
    try {
      const second = await model.doGenerate({ ...asked, prompt: [...asked.prompt, ...refused(first, why)] });
      const isTaken = await isWhole(second, asked);
      // Else its calls do not run.
      this.answered(second.content.filter((part) => isTaken || !isCall(part)), second.usage);
      if (!isTaken) this.answer = answer;
      return { ...(isTaken ? second : first), usage: summed(first.usage, second.usage) };
    } catch (error) {
      if (asked.abortSignal?.aborted) throw error;
      return first;
    }
  }

  private collected(): TransformStream<StreamPart, StreamPart> {
    const content: Answer["content"] = [];
    this.soFar = content;
    return new TransformStream({
      transform: (part, controller) => {
        if (part.type === "text-delta") content.push({ type: "text", text: part.delta });
        if (part.type === "tool-call" || part.type === "tool-result") content.push(part);
        // Before the SDK hears of it, and goes on.
        if (part.type === "finish") this.answered(content, part.usage);
        controller.enqueue(part);
      },
    });
  }
}
