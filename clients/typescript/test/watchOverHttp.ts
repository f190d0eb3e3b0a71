/** Begins a turn and watches it over HTTP/1.1 with connect-es, first in JSON, then in protobuf: a line of JSON for each
 * entry. Arguments: the server's URL, a token, how many entries to wait for. Run by tests/clients/test_typescript_connect.py. */
import { create, toJson } from "@bufbuild/protobuf";
import { createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { StartTurnRequestSchema, ThinkingService, TurnEntrySchema } from "@sidemirror/api/v1/thinking";
import { WatchTurnsRequestSchema } from "@sidemirror/api/v1/thinking";

const [baseUrl, token, wanted] = process.argv.slice(2) as [string, string, string];

const bearing: Interceptor = (next) => (request) => {
  request.header.set("authorization", `Bearer ${token}`);
  return next(request);
};

for (const useBinaryFormat of [false, true]) {
  const transport = createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat, interceptors: [bearing] });
  const client = createClient(ThinkingService, transport);
  const leave = new AbortController();
  let seen = 0;
  const watch = client.watchTurns(create(WatchTurnsRequestSchema, { follow: true }), { signal: leave.signal });
  await client.startTurn(create(StartTurnRequestSchema, { turnId: useBinaryFormat ? "in protobuf" : "in json" }));
  try {
    for await (const { entry } of watch) {
      if (entry === undefined) continue;
      console.log(JSON.stringify(toJson(TurnEntrySchema, entry)));
      if (++seen === Number(wanted)) leave.abort();
    }
  } catch (error) {
    if (!leave.signal.aborted) throw error;
  }
}
