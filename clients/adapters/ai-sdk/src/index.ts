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

/** What asks models in a loop, as `ai` has it, with its arguments, types and results. What streams is not revised. */
export type Watched = Pick<typeof ai, "generateText" | "streamText" | "ToolLoopAgent">;

/**
 * The SDK's functions with a second look at what they do. They serve any number of agents and calls at once. Throws
 * TypeError for settings that are wrong, and what `connect` of the client throws.
 */
export function sidemirror(settings: Settings = {}): Watched {
  const right = checked("sidemirror()", settings);

  const generateText = (given: Given) =>
    new Watch(right, named(given)).generated(given, (watched) => ai.generateText(watched as never));
  const streamText = (given: Given) =>
    new Watch(right, named(given)).streamed(given, (watched) => ai.streamText(watched as never));

  class ToolLoopAgent extends ai.ToolLoopAgent<any, any, any, any> {
    constructor({ prepareCall, ...given }: Given) {
      const prepared = async (call: Given) => {
        const chosen = (await prepareCall?.(call)) ?? call;
        return CURRENT.getStore()?.around(chosen) ?? chosen;
      };
      super({ ...given, prepareCall: prepared } as never);
    }

    override generate(call: Given) {
      return new Watch(right, this.id ?? "").generated(call, (watched) => super.generate(watched as never));
    }

    override stream(call: Given) {
      return new Watch(right, this.id ?? "").streamed(call, (watched) => super.stream(watched as never));
    }
  }

  return { generateText, streamText, ToolLoopAgent } as unknown as Watched;
}

/** The agent's name where the SDK has one: that of a function, for telemetry. */
function named({ telemetry, experimental_telemetry }: Given): string {
  return (telemetry ?? experimental_telemetry)?.functionId ?? "";
}
