/** A server in the place of the sidecar, which serves turns in this process. */
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { ConnectRouter } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus } from "@sidemirror/api/health";
import { type TurnDirectiveSchema, type TurnEvent, ThinkingService } from "@sidemirror/api/v1/thinking";

type Directive = MessageInitShape<typeof TurnDirectiveSchema>;

/** What it does beside acknowledging events. */
export interface Manner {
  /** What it says to an event. A summary ends the turn. */
  says?: (event: TurnEvent) => Directive[];
  /** What it says a second after it was told of the turn. */
  saysLater?: Directive;
  /** How much later a turn's end is told than that it is received. */
  endsAfterMs?: number;
  /** Turns are heard, and nothing is said to them. */
  isMute?: boolean;
  /** Called when it is asked whether it is there. */
  asked?: () => void;
  more?: (router: ConnectRouter) => void;
}

export interface StandIn {
  readonly address: string;
  /** The events that came, in their order. */
  readonly events: TurnEvent[];
  stop(): void;
}

export async function standIn(manner: Manner = {}): Promise<StandIn> {
  const { says = () => [], saysLater, endsAfterMs = 0, isMute = false, asked = () => {}, more } = manner;
  const events: TurnEvent[] = [];
  const handler = connectNodeAdapter({
    routes: (router) => {
      router.service(Health, {
        check: () => {
          asked();
          return { status: HealthCheckResponse_ServingStatus.SERVING };
        },
      });
      router.service(ThinkingService, {
        async *runTurn(requests) {
          let count = 0n;
          for await (const request of requests) {
            for (const event of request.events) {
              events.push(event);
              if (isMute) continue;
              count++;
              const said = says(event);
              yield { directives: [{ kind: { case: "ack", value: { received: count, durable: count } } }, ...said] };
              if (saysLater) {
                await pause(1_000);
                yield { directives: [saysLater] };
              }
              if (said.some(({ kind }) => kind?.case === "turnSummary")) return;
              if (event.kind.case !== "turnFinished") continue;
              await pause(endsAfterMs);
              yield { directives: [{ directiveId: "end", kind: { case: "turnSummary", value: {} } }] };
              return;
            }
          }
        },
      });
      more?.(router);
    },
  });
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, events, stop: () => server.close() };
}
