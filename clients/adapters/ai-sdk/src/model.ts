import { parsePartialJson, type LanguageModelMiddleware } from "ai";

/** A model as the newest version of the SDK has it. What older ones have else is said where it is read. */
export type Model = Parameters<NonNullable<LanguageModelMiddleware["wrapGenerate"]>>[0]["model"];
export type Request = Parameters<Model["doGenerate"]>[0];
export type Message = Request["prompt"][number];
export type Answer = Awaited<ReturnType<Model["doGenerate"]>>;
type Stream = Awaited<ReturnType<Model["doStream"]>>["stream"];
export type StreamPart = Stream extends ReadableStream<infer Part> ? Part : never;
type Part = { type: string; text?: string };
type Call = Part & { toolCallId: string; toolName: string; input: unknown; providerExecuted?: boolean };

/** The provider's name, without the kind of its models, and the model's. */
export function namesOf(model: Model | undefined): [string, string] {
  return [model?.provider.split(".")[0] ?? "", model?.modelId ?? ""];
}

export function textOf(content: string | readonly Part[]): string {
  if (typeof content === "string") return content;
  return content.map(({ type, text }) => (type === "text" ? text : "")).join("");
}

/** Whether a part is a call of a tool that the provider does not run. */
export function isCall(part: Part | string): part is Call {
  return typeof part === "object" && part.type === "tool-call" && !(part as Call).providerExecuted;
}

/** The results in a request, beside which there may be approvals of what the provider runs. */
export function resultsOf(prompt: readonly Message[]) {
  const parts = prompt.flatMap(({ role, content }) => (role === "tool" ? content : []));
  return parts.filter((part) => part.type === "tool-result");
}

/** In version 2 of the models it is a number. */
export function tokensOf(count: number | { total: number | undefined } | undefined): number {
  return (typeof count === "object" ? count.total : count) ?? 0;
}

/** The numbers in both, such as tokens, are added up. */
export function summed(one: any, other: any): any {
  if (typeof one === "number" && typeof other === "number") return one + other;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return other ?? one;
  return Object.fromEntries(Object.keys({ ...one, ...other }).map((key) => [key, summed(one[key], other[key])]));
}

/** The message with texts behind it; in a user's as its last parts: middleware that guards a model reads the first. */
export function followed(message: Message, texts: readonly string[]): Message[] {
  const parts = texts.map((text) => ({ type: "text" as const, text }));
  if (message.role === "user") return [{ ...message, content: [...message.content, ...parts] }];
  return [message, { role: "user", content: parts }];
}

/** The answer as a message, and behind it why it is wrong. */
export function refused({ content }: Answer, why: string): Message[] {
  const said = content.filter((part) => part.type === "text" || part.type === "reasoning");
  const parts = said.map(({ providerMetadata, ...part }) => ({ ...part, providerOptions: providerMetadata }));
  return followed({ role: "assistant", content: parts }, [why]);
}

/** Why an answer ends too early. */
const CUT = ["length", "content-filter", "error", "interrupted"];

/** Whether an answer is neither cut nor refused, and calls tools or is one: a text, and JSON where that was asked for. */
export async function isWhole(answer: Answer, { responseFormat }: Request): Promise<boolean> {
  const { content, finishReason, structuredOutputText } = answer;
  // In version 2 of the models it is a text.
  if (CUT.includes(String(finishReason?.unified ?? finishReason))) return false;
  if (content.some(isCall)) return true;
  const text = textOf(content);
  if (responseFormat?.type !== "json") return text.trim() !== "";
  return (await parsePartialJson(structuredOutputText ?? text)).state === "successful-parse";
}
