/** What the page shows: the entries of turns, the newest first, as they are recorded. */
import { createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { ThinkingService, type TurnEntry } from "@sidemirror/api/v1/thinking";

import { token } from "./session.js";

// How many entries stay on the page.
const MOST = 500;
const rows = document.getElementById("entries") as HTMLTableSectionElement;
const state = document.getElementById("state") as HTMLElement;

/** What an entry is, in a word of the contract. */
function kindOf(entry: TurnEntry): string {
  const { case: kind, value } = entry.entry;
  if (kind === "event" || kind === "directive") return value.kind.case ?? kind;
  return kind ?? "";
}

/** Adds a row. Texts are of agents, tools and models: they become text, never HTML. */
function show(entry: TurnEntry): void {
  const row = rows.insertRow(0);
  for (const text of [entry.turnId, String(entry.sequence), kindOf(entry)]) row.insertCell().textContent = text;
  while (rows.rows.length > MOST) rows.deleteRow(-1);
}

async function watch(): Promise<void> {
  const bearer = `Bearer ${await token()}`;
  const bearing: Interceptor = (next) => (request) => {
    request.header.set("authorization", bearer);
    return next(request);
  };
  const transport = createConnectTransport({ baseUrl: location.origin, interceptors: [bearing] });
  state.textContent = "Watching";
  for await (const { entry } of createClient(ThinkingService, transport).watchTurns({ follow: true })) {
    // Notices about the stream belong to no turn.
    if (entry?.turnId) show(entry);
  }
  state.textContent = "The sidecar has ended the watch. Reload the page to go on.";
}

watch().catch((error: unknown) => {
  state.textContent = error instanceof Error ? error.message : String(error);
});
