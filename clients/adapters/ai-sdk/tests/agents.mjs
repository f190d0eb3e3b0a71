// Runs agents as the tests ask: a line of JSON on stdin for each run, one on stdout with its end. Runs go on side by side.
import { createInterface } from "node:readline";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { connect } from "@sidemirror/client";
import { sidemirror } from "@sidemirror/ai-sdk";
import * as ai from "ai";
import * as mocks from "ai/test";
import { z } from "zod";

const clients = new Map();
const FUNCTIONS = {
  session: (answer) => (["There are 17 orders.", "You spent 62.75 altogether."].includes(answer) ? 1 : 2),
  name: () => "SUCCESS",
  isRight: (answer) => answer === "There are 17 orders.",
  hide: (text) => text.replaceAll("orders", "█"),
  throws: () => {
    throw new Error("a function of the user's");
  },
};

function clientOf({ address, project }) {
  const key = `${address} ${project}`;
  if (!clients.has(key)) clients.set(key, connect({ address, projectId: project, onAway: () => {} }));
  return clients.get(key);
}

function settingsOf(asked) {
  const { redact, outcome, ...plain } = asked.settings ?? {};
  return { ...plain, client: clientOf(asked), redact: FUNCTIONS[redact], outcome: FUNCTIONS[outcome] };
}

const key = z.object({ key: z.string() });
const TOOLS = {
  run_sql: [z.object({ query: z.string() }), ({ query }) => {
    if (query === "SHOW TABLES") return "orders_2026, customers";
    if (query.includes("orders_2026")) return "17";
    throw new Error("Table 'shop.orders' doesn't exist");
  }],
  search_payments: [z.object({ text: z.string() }), () => "03/02 CITYCAB 18.40\n03/05 HOPPA 11.75\n03/13 CITYCAB 32.60"],
  look_up: [key, ({ key }) => `The value of ${key} is “${[...key].reverse().join("")}”.`],
  add: [z.object({ a: z.number(), b: z.number() }), ({ a, b }) => a + b],
  record_of: [key, async ({ key }) => ({ key, parts: [1, 2.5, null], ok: true })],
  flaky: [key, async ({ key }) => {
    throw new Error(`no entry for ${key}`);
  }],
  works: [key, ({ key }) => `${key} is there`],
  fails: [key, ({ key }) => {
    throw new Error(`no entry for ${key}`);
  }],
  pay_invoice: [z.object({ invoice: z.number() }), ({ invoice }) => `invoice ${invoice} is paid`],
  by_hand: [z.object({ query: z.string() }), undefined],
  piecewise: [key, async function* ({ key }) {
    yield `${key} …`;
    yield `${key} is whole`;
  }],
  hang: [key, (_, { abortSignal }) => new Promise((_, reject) => abortSignal.addEventListener("abort", () => reject(abortSignal.reason)))],
};

/** The tool, whose failures are texts. */
const unmarked = (execute) => async (...given) => {
  try {
    return await execute(...given);
  } catch (error) {
    return String(error);
  }
};

function toolsOf(asked, sdk, provider) {
  const tools = {};
  for (const name of asked.tools ?? []) {
    const [inputSchema, marked] = TOOLS[name];
    const execute = asked.unmarked === name ? unmarked(marked) : marked;
    tools[name] = ai.tool({ description: name, inputSchema, execute, needsApproval: asked.approval === name });
  }
  if (asked.helper) {
    tools.delegate = ai.tool({
      description: "Asks the helper.",
      inputSchema: z.object({ question: z.string() }),
      execute: async ({ question }, { abortSignal }) => {
        const given = { model: provider(asked.helper), prompt: question, tools: toolsOf({ tools: asked.tools }, sdk, provider), maxRetries: 2, abortSignal };
        if (asked.way.endsWith("generateText")) {
          return (await sdk.generateText({ ...given, stopWhen: ai.stepCountIs(20), experimental_telemetry: { functionId: "helper" } })).text;
        }
        const { prompt, abortSignal: signal, ...settings } = given;
        const agent = new sdk.ToolLoopAgent({ id: "helper", ...settings });
        return drained(await agent.stream({ prompt, abortSignal: signal }));
      },
    });
  }
  return tools;
}

async function drained(result) {
  let text = "";
  let error;
  for await (const part of result.fullStream) {
    if (part.type === "start-step") text = "";
    if (part.type === "text-delta") text += part.text;
    if (part.type === "error") error = part.error;
  }
  if (error) throw error;
  return text;
}

const PREPARES = {
  // Forgets all but the last four messages, as one that saves tokens does.
  prunes: ({ messages }) => ({ messages: messages.slice(-4) }),
  // Another model for each step.
  swaps: (provider, names) => ({ stepNumber }) => ({ model: provider(names[stepNumber]) }),
};

async function ran(asked) {
  const sdk = asked.plain ? ai : sidemirror(settingsOf(asked));
  const provider = createOpenAICompatible({ name: "scripted", baseURL: `${asked.url}/v1`, apiKey: "x", includeUsage: true });
  const steering = asked.abortMs ? { abortSignal: AbortSignal.timeout(asked.abortMs) } : {};
  if (asked.cancelMs) {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("the user has left")), asked.cancelMs);
    steering.abortSignal = controller.signal;
  }
  const asks = asked.messages ? { messages: asked.messages } : { prompt: asked.prompt };
  const settings = {
    model: provider(asked.model),
    tools: toolsOf(asked, sdk, provider),
    stopWhen: ai.stepCountIs(asked.steps ?? 20),
    maxRetries: 2,
    ...(asked.object && { output: ai.Output.object({ schema: z.object({ orders: z.number() }) }) }),
    ...(asked.prunes && { prepareStep: PREPARES.prunes }),
    ...(asked.swaps && { prepareStep: PREPARES.swaps(provider, asked.swaps) }),
  };
  const mock = mocks.MockLanguageModelV4 ?? mocks.MockLanguageModelV3;
  if (asked.mock) settings.model = new mock({ modelId: "mock", doGenerate: async () => mocked, doStream: slowly });
  const read = [];
  if (asked.guarded) settings.model = ai.wrapLanguageModel({ model: settings.model, middleware: guard(read) });
  if (asked.revision) settings.model = ai.wrapLanguageModel({ model: settings.model, middleware: revising(asked.revision) });
  const name = asked.agent ?? "clerk";
  let result;
  if (asked.way.startsWith("agent.")) {
    const agent = new sdk.ToolLoopAgent({ id: name, instructions: "You are a clerk.", ...settings });
    result = await agent[asked.way.slice(6)]({ ...asks, ...steering });
  } else {
    const given = { ...settings, ...asks, ...steering, system: "You are a clerk.", experimental_telemetry: { functionId: name }, onError: () => {} };
    result = await sdk[asked.way](given);
  }
  if (result.fullStream) return { text: await drained(result), messages: (await result.response).messages };
  const { steps, totalUsage } = result;
  return {
    text: result.text,
    tokens: totalUsage.inputTokens,
    messages: steps.flatMap((step) => step.response.messages.slice(-2)),
    content: result.content,
    read,
  };
}

// Reads what the user said last, as a guardrail does.
function guard(read) {
  const transformParams = async ({ params }) => {
    read.push(params.prompt.findLast(({ role }) => role === "user").content[0].text);
    return params;
  };
  return { specificationVersion: mocks.MockLanguageModelV4 ? "v4" : "v3", transformParams };
}

// Changes what the model answers to the reason why its answer is wrong.
function revising(changes) {
  const wrapGenerate = async ({ doGenerate, params: { prompt } }) => {
    const answer = await doGenerate();
    const isSecond = prompt.at(-1).role === "user" && prompt.at(-2).role === "assistant";
    return isSecond ? { ...answer, ...changes } : answer;
  };
  return { specificationVersion: mocks.MockLanguageModelV4 ? "v4" : "v3", wrapGenerate };
}

const mocked = {
  content: [{ type: "text", text: "Fine." }],
  finishReason: { unified: "stop", raw: "stop" },
  usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
  warnings: [],
};

// A model that calls a tool twice, and goes on for longer than the tool takes; once it has the results it answers.
async function slowly({ prompt }) {
  const isFirst = prompt.every(({ role }) => role !== "tool");
  const { finishReason, usage } = mocked;
  const calls = ["c", "d"].map((toolCallId) => ({ type: "tool-call", toolCallId, toolName: "flaky", input: '{"key": "k"}' }));
  const text = [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: "Fine." }, { type: "text-end", id: "t" }];
  const reason = isFirst ? { unified: "tool-calls", raw: "tool_calls" } : finishReason;
  const parts = [...(isFirst ? calls : text), { type: "finish", finishReason: reason, usage }];
  return { stream: ai.simulateReadableStream({ chunks: parts, chunkDelayInMs: 300 }) };
}

process.on("warning", (warning) => process.stderr.write(`${warning}\n`));
globalThis.AI_SDK_LOG_WARNINGS = false;
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  ran(asked)
    .catch((error) => ({ error: error?.name ?? "", message: String(error?.message ?? error) }))
    .then((said) => process.stdout.write(`${JSON.stringify({ id: asked.id, ...said })}\n`));
}
await Promise.all([...clients.values()].map((client) => client.close(0)));
