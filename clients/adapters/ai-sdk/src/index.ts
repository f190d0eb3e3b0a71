/**
 * Sidemirror for the AI SDK: `const { generateText } = sidemirror()` in the place of the one of `ai`.
 *
 * Every model and tool call is reported to the sidecar. Lessons for the task are a part of the user's message, advice stands
 * behind the results of the tools, and a wrong final answer is sent back to the model.
 *
 * @packageDocumentation
 */
import * as ai from "ai";
import { checked, type Settings } from "@sidemirror/client/adapter";
import { CURRENT, Watch, type Given } from "./watch.js";

export type { Level, Settings } from "@sidemirror/client/adapter";

/** What asks models in a loop, as `ai` has it, with its arguments, types and results. */
export interface Watched {
  generateText: typeof ai.generateText;
  /** The answer is shown as it comes, so that nothing is revised. */
  streamText: typeof ai.streamText;
  ToolLoopAgent: typeof ai.ToolLoopAgent;
}

/**
 * The SDK's functions with a second look at what they do. They serve any number of agents and calls at once. Throws
 * TypeError for settings that are wrong, and what `connect` of the client throws.
 */
export function sidemirror(settings: Settings = {}): Watched {
  const right = checked("sidemirror()", settings);
  /** Runs it in the watch, which ends with it. */
  const whole = async <T>(watch: Watch, signal: AbortSignal | undefined, work: () => PromiseLike<T>): Promise<T> => {
    try {
      const result = await CURRENT.run(watch, work);
      watch.end();
      return result;
    } catch (error) {
      watch.end(error ?? "error", signal?.aborted);
      throw error;
    }
  };
  const streaming = <G extends Given>(watch: Watch, given: G): G => {
    const own = given["experimental_transform"] ?? [];
    return { ...given, experimental_transform: [...(Array.isArray(own) ? own : [own]), () => watch.transform()] };
  };

  class ToolLoopAgent extends (ai.ToolLoopAgent as unknown as new (given: Given) => Loop) {
    constructor(given: Given) {
      const prepareCall = async (call: Given) => {
        const prepared = (await given["prepareCall"]?.(call)) ?? call;
        return CURRENT.getStore()?.around(prepared, modelNamed) ?? prepared;
      };
      super({ ...given, prepareCall });
    }

    override generate(given: Given): Promise<unknown> {
      const watch = new Watch(right, this.id ?? "");
      return whole(watch, given["abortSignal"], () => super.generate(given));
    }

    override async stream(given: Given): Promise<unknown> {
      const watch = new Watch(right, this.id ?? "");
      return CURRENT.run(watch, () => super.stream(streaming(watch, given)));
    }
  }

  const generateText = (given: Given) => {
    const watch = new Watch(right, named(given));
    return whole(watch, given["abortSignal"], () => ai.generateText(watch.around(given, modelNamed) as never));
  };
  const streamText = (given: Given) => {
    const watch = new Watch(right, named(given));
    return CURRENT.run(watch, () => ai.streamText(streaming(watch, watch.around(given, modelNamed)) as never));
  };
  return { generateText, streamText, ToolLoopAgent } as unknown as Watched;
}

/** What of the SDK's agent is called and overridden here. */
interface Loop {
  readonly id: string | undefined;
  generate(given: Given): Promise<unknown>;
  stream(given: Given): Promise<unknown>;
}

/** The agent's name where the SDK has one: that of a function, for telemetry. */
function named(given: Given): string {
  return (given["telemetry"] ?? given["experimental_telemetry"])?.functionId ?? "";
}

/** The model of a name, as the SDK finds it. */
function modelNamed(name: string): unknown {
  const known = globalThis as { AI_SDK_DEFAULT_PROVIDER?: { languageModel(name: string): unknown } };
  return (known.AI_SDK_DEFAULT_PROVIDER ?? ai.gateway).languageModel(name);
}
