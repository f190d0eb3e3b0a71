// Leaves a stream after the first result of a tool. test_left.py looks at how it ends.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { sidemirror } from "@sidemirror/ai-sdk";
import { connect } from "@sidemirror/client";
import { stepCountIs, tool } from "ai";
import { z } from "zod";

const [way, url, model, address, projectId] = process.argv.slice(2);
const provider = createOpenAICompatible({ name: "scripted", baseURL: `${url}/v1`, apiKey: "x" });
const works = tool({ description: "Works.", inputSchema: z.object({ key: z.string() }), execute: ({ key }) => `${key} is there` });
const settings = { model: provider(model), tools: { works }, stopWhen: stepCountIs(5) };
const { streamText, ToolLoopAgent } = sidemirror({ client: connect({ address, projectId }) });
const prompt = "Look for k.";
const result = way === "streamText" ? streamText({ ...settings, prompt }) : await new ToolLoopAgent(settings).stream({ prompt });
for await (const part of result.fullStream) if (part.type === "tool-result") break;
console.log("left");
