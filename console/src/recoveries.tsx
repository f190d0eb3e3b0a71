/** What followed failures: every move with its tries, whether it is told, and why. */
import {
  RecoveryMoveKindSchema,
  ReflectiveMemoryService,
  type RecoveryMove,
  type RecoveryObservation,
  type SignatureRecoveries,
} from "@sidemirror/api/v1/reflective_memory";
import { useState } from "preact/hooks";

import { useApi, useAsked } from "./api.js";
import { Arms } from "./lesson.js";
import { Answered, Badge, Empty, Facts, Grpcurl, Heading, Id, Link, Text, Time } from "./parts.js";
import { Lift, Tries, type Try } from "./plots.js";
import { Receipts } from "./receipts.js";
import { counted, headline, millisOf, percent, seen, word } from "./words.js";

const PAGE = 50;

export function Recoveries() {
  const api = useApi();
  const first = useAsked("recoveries", (signal) =>
    api.memory.listRecoveries({ ...api.scope, pageSize: PAGE }, { signal }),
  );
  const [more, setMore] = useState<{ signatures: SignatureRecoveries[]; next: string }>();
  const readMore = async (pageToken: string) => {
    const page = await api.memory.listRecoveries({ ...api.scope, pageSize: PAGE, pageToken });
    setMore({ signatures: [...(more?.signatures ?? []), ...page.signatures], next: page.nextPageToken });
  };
  return (
    <>
      <div class="title">
        <Heading>Recoveries</Heading>
      </div>
      <Answered asked={first}>
        {(page) => {
          const next = more ? more.next : page.nextPageToken;
          const signatures = [...page.signatures, ...(more?.signatures ?? [])];
          if (signatures.length === 0) {
            return (
              <Empty>
                <p>
                  <strong>No failure is recognised here yet.</strong> They are learned from calls of turns: report{" "}
                  <code>tool_called</code> with what came back, and what repaired a failure is counted.
                </p>
              </Empty>
            );
          }
          return (
            <>
              <Table signatures={signatures} />
              {next !== "" && (
                <p>
                  <button type="button" onClick={() => void readMore(next)}>
                    More
                  </button>
                </p>
              )}
            </>
          );
        }}
      </Answered>
      <Grpcurl method={ReflectiveMemoryService.method.listRecoveries} request={{ pageSize: PAGE }} />
    </>
  );
}

function Table(props: { signatures: readonly SignatureRecoveries[] }) {
  return (
    <table class="recoveries">
      <thead>
        <tr>
          <th scope="col">Failure</th>
          <th scope="col" class="number">
            Seen
          </th>
          <th scope="col">Told</th>
          <th scope="col" class="wide">
            Last
          </th>
          <th scope="col" class="wide" title="By how many percentage points more next attempts worked, and the 95 % interval">
            Lift, in points
          </th>
        </tr>
      </thead>
      <tbody>
        {props.signatures.map((one) => {
          const told = one.moves.find((move) => move.isTold);
          return (
            <tr key={one.signature}>
              <td class="task">
                <Link to={["recoveries", one.signature]}>
                  <bdi>{headline(one.signature) || "no signature"}</bdi>
                </Link>
              </td>
              <td class="number">{one.observationCount || ""}</td>
              <td>{told ? <Badge tone="told">{told.isStarter ? "starter pack" : "told"}</Badge> : <span class="dim">no</span>}</td>
              <td class="wide">
                <Time at={one.lastTime} />
              </td>
              <td class="wide">{told && told.lift !== undefined ? <Lift lift={told.lift} interval={told.interval} /> : ""}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

export function Recovery(props: { signature: string }) {
  const api = useApi();
  const { signature } = props;
  const request = { signature, includeObservations: true };
  const asked = useAsked(`recovery ${signature}`, (signal) =>
    api.memory.listRecoveries({ ...api.scope, ...request }, { signal }),
  );
  return (
    <>
      <div class="title">
        <Heading>Recovery</Heading>
      </div>
      <p>
        <Id>{signature}</Id>
      </p>
      <Answered asked={asked}>
        {({ signatures: [one] }) =>
          one ? (
            <Seen of={one} />
          ) : (
            <Empty>
              <p>
                Nothing is counted of this failure here. <Link to={["recoveries"]}>Show all that are</Link>
              </p>
            </Empty>
          )
        }
      </Answered>
      <Grpcurl method={ReflectiveMemoryService.method.listRecoveries} request={request} />
    </>
  );
}

function Seen(props: { of: SignatureRecoveries }) {
  const { observationCount, lastTime, moves, observations } = props.of;
  const names = new Map(moves.map((move) => [move.recoveryId, nameOf(move)]));
  return (
    <>
      <Facts
        of={[
          ["Seen", counted(observationCount, "failure")],
          ["Last", <Time at={lastTime} />],
        ]}
      />
      {moves.map((move) => (
        <Move key={move.recoveryId} move={move} observations={observations.filter((one) => one.recoveryId === move.recoveryId)} />
      ))}
      {observations.length > 0 && (
        <section>
          <h2>Failures</h2>
          <Failures observations={observations.slice(-MOST_FAILURES).reverse()} names={names} />
        </section>
      )}
    </>
  );
}

const MOST_FAILURES = 100;

/** What was done, in words. */
function nameOf(move: RecoveryMove): string {
  const steps = move.steps.map((step) => headline(step, 120)).join(", ");
  return [word(RecoveryMoveKindSchema, move.kind), steps].filter(Boolean).join(": ");
}

function Move(props: { move: RecoveryMove; observations: readonly RecoveryObservation[] }) {
  const { move, observations } = props;
  const tries: Try[] = observations.flatMap((one) =>
    one.time
      ? {
          atMs: millisOf(one.time),
          worked: one.worked,
          advised: one.followed,
          told: `${one.worked ? "worked" : "failed"}${one.followed ? " after advice" : ""}`,
        }
      : [],
  );
  const { shadow } = move;
  const drawn = (move.shown?.assignedCount ?? 0n) + (move.heldBack?.assignedCount ?? 0n);
  return (
    <section class="move">
      <h2>
        <bdi>{nameOf(move)}</bdi> {move.isTold && <Badge tone="told">told</Badge>}
        {move.isSuspended && <Badge tone="bad">suspended</Badge>}
        {move.isStarter && <Badge>starter pack</Badge>}
      </h2>
      {move.sentence && <Text plain>{move.sentence}</Text>}
      <p class="why">{seen(move.reason)}</p>
      <Facts
        of={[
          ["Without advice", move.tries > 0 && rate(move.worked, move.tries)],
          ["After advice", move.advisedTries > 0 && rate(move.advisedWorked, move.advisedTries)],
          ["At least", move.tries > 0 && percent(move.lowestRate)],
          ["Shadow mode would have said it", shadow && counted(shadow.saidCount, "time")],
          ["and then the agent did it", shadow && `${shadow.followedCount} ×, worked ${shadow.followedWorkedCount} ×`],
          ["or did otherwise, which worked", shadow && `${shadow.otherwiseWorkedCount} ×`],
          ["for", shadow && counted(shadow.tokenCount, "token")],
        ]}
      />
      {tries.length > 0 && <Tries of={tries} name={nameOf(move)} />}
      {drawn > 0n && (
        <>
          <Arms
            of={[
              ["told, after a draw", move.shown],
              ["held back", move.heldBack],
            ]}
          />
          <Facts stacked of={[["Lift, in points", <Lift lift={move.lift} interval={move.interval} large />]]} />
        </>
      )}
      {(move.isTold || drawn > 0n) && (
        <details>
          <summary>Where it was told</summary>
          <Receipts lessonId={move.recoveryId} />
        </details>
      )}
    </section>
  );
}

function rate(worked: number, tries: number): string {
  return `worked in ${worked} of ${tries}`;
}

function Failures(props: { observations: readonly RecoveryObservation[]; names: ReadonlyMap<string, string> }) {
  return (
    <table class="failures">
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Turn</th>
          <th scope="col">What was done</th>
          <th scope="col">Next attempt</th>
        </tr>
      </thead>
      <tbody>
        {props.observations.map((one) => (
          <tr key={`${one.turnId} ${one.failureEventId}`}>
            <td>
              <Time at={one.time} />
            </td>
            <td class="task">
              <Link to={["turns", one.turnId]} query={{ event: one.failureEventId }}>
                <Id>{one.turnId}</Id>
              </Link>
            </td>
            <td>
              <bdi>{props.names.get(one.recoveryId) ?? "something else"}</bdi>{" "}
              {one.followed && <Badge tone="told">as told</Badge>}
              {one.shadowRecoveryId && <Badge tone="warn">shadow</Badge>}
            </td>
            <td>
              <Badge tone={one.worked ? "good" : "bad"}>{one.worked ? "worked" : "failed"}</Badge>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
