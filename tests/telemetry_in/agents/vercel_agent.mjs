// An agent of the AI SDK, once for each conversation. Run by `test_frameworks.py`, in a project that npm has made.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { NodeSDK } from "@opentelemetry/sdk-node";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

const telemetry = new NodeSDK();
telemetry.start();

const tools = {
  run_sql: tool({
    description: "Run SQL.",
    inputSchema: z.object({ query: z.string() }),
    execute: async ({ query }) => {
      if (!query.includes("orders_2026")) throw new Error("Table 'shop.orders' doesn't exist");
      return "17";
    },
  }),
  list_tables: tool({ description: "The tables.", inputSchema: z.object({}), execute: async () => "orders_2026, customers" }),
};
const model = createOpenAICompatible({ name: "scripted", baseURL: process.env.OPENAI_BASE_URL })("stubborn");
for (const sessionId of ["c1", "c2", "c3", "c4", "c5"]) {
  const { text } = await generateText({
    model,
    tools,
    prompt: "How many orders are open?",
    stopWhen: stepCountIs(10),
    experimental_telemetry: { isEnabled: true, functionId: "orders", metadata: { sessionId } },
  });
  console.log(text);
}
await telemetry.shutdown();
