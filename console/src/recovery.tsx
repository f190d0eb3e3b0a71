/** What followed one kind of failure: every move with its tries, whether it is told, and why. */
import {
  ReflectiveMemoryService,
  type RecoveryMove,
  type RecoveryObservation,
  type SignatureRecoveries,
} from "@sidemirror/api/v1/reflective_memory";
import { AdviceKind } from "@sidemirror/api/v1/sidecar";
import { SilenceReason } from "@sidemirror/api/v1/thinking";
import { useState } from "preact/hooks";

import { useApi, useAsked } from "./api.js";
import { Changes } from "./changes.js";
import { Arms } from "./lesson.js";
import { Answered, Badge, Empty, Facts, Grpcurl, Heading, Id, Link, Text, Time } from "./parts.js";
import { Lift, Tries, type Try } from "./plots.js";
import { Receipts } from "./receipts.js";
import { counted, millisOf, moveName, percent, seen, whole } from "./words.js";

// Of one signature no more observations are kept.
export const MOST_KEPT = 1_000;
// How many moves are open at first, and how many failures are shown: a page is read from its top.
const FIRST_MOVES = 3;
const FAILURES = 25;

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
        <Id copied>{signature}</Id>
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

/** How many failures are counted; the last ones are, where there are more. */
export function seenCount(count: number): string {
  return count < MOST_KEPT ? whole(count) : `${whole(MOST_KEPT)} or more`;
}

function Seen(props: { of: SignatureRecoveries }) {
  const { observationCount, lastTime, moves, observations } = props.of;
  const isFull = observationCount >= MOST_KEPT;
  const names = new Map(moves.map((move) => [move.recoveryId, moveName(move)]));
  const open = Math.max(FIRST_MOVES, moves.filter((move) => move.isTold).length);
  return (
    <>
      <Facts
        of={[
          ["Seen", `${seenCount(observationCount)} ${observationCount === 1 ? "failure" : "failures"}`],
          ["Last", <Time at={lastTime} />],
        ]}
      />
      {isFull && (
        <p class="dim">
          Of one kind of failure the last {whole(MOST_KEPT)} are kept. The tries without and after advice are counted in
          these: what is older counts no more.
        </p>
      )}
      {moves.map((move, place) => (
        <Move
          key={move.recoveryId}
          move={move}
          observations={observations.filter((one) => one.recoveryId === move.recoveryId)}
          isFull={isFull}
          isFolded={place >= open}
        />
      ))}
      {observations.length > 0 && (
        <section>
          <h2>Failures</h2>
          <Failures observations={observations} names={names} />
        </section>
      )}
      <Changes lessonIds={moves.map((move) => move.recoveryId)} kind={AdviceKind.RECOVERIES} />
    </>
  );
}

interface MoveProps {
  readonly move: RecoveryMove;
  readonly observations: readonly RecoveryObservation[];
  readonly isFull: boolean;
}

function Move(props: MoveProps & { isFolded: boolean }) {
  const { move, isFolded } = props;
  const [isOpen, setOpen] = useState(false);
  const heading = (
    <>
      <bdi>{moveName(move)}</bdi> {move.isTold && <Badge tone="told">told</Badge>}
      {move.silence === SilenceReason.SHADOW && <Badge tone="warn">shadow: not told</Badge>}
      {move.isSuspended && <Badge tone="bad">suspended</Badge>}
      {move.isStarter && <Badge>starter pack</Badge>}
    </>
  );
  if (!isFolded) {
    return (
      <section class="move">
        <h2>{heading}</h2>
        <Counted {...props} />
      </section>
    );
  }
  return (
    <details class="move" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {heading} {move.tries > 0 && <span class="dim">{rate(move.worked, move.tries)}</span>}
      </summary>
      {isOpen && <Counted {...props} />}
    </details>
  );
}

function Counted(props: MoveProps) {
  const { move, observations, isFull } = props;
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
  const over = isFull ? `, of the last ${whole(MOST_KEPT)} failures` : "";
  return (
    <>
      {move.sentence && <Text plain>{move.sentence}</Text>}
      <p class="why">{seen(move.reason)}</p>
      <Facts
        of={[
          [`Without advice${over}`, move.tries > 0 && rate(move.worked, move.tries)],
          [`After advice${over}`, move.advisedTries > 0 && rate(move.advisedWorked, move.advisedTries)],
          ["Works at least, by the last 20 tries", move.tries > 0 && percent(move.lowestRate)],
          ["Shadow mode would have said it", shadow && counted(shadow.saidCount, "time")],
          ["and then the agent did it", shadow && `${shadow.followedCount} ×, worked ${shadow.followedWorkedCount} ×`],
          ["or did otherwise, which worked", shadow && `${shadow.otherwiseWorkedCount} ×`],
          ["for", shadow && counted(shadow.tokenCount, "token")],
          ["Id", <Id copied>{move.recoveryId}</Id>],
        ]}
      />
      {tries.length > 0 && <Tries of={tries} name={moveName(move)} />}
      {drawn > 0n && (
        <>
          <Arms
            heading="Next try"
            of={[
              ["told, after a draw", move.shown],
              ["held back", move.heldBack],
            ]}
          />
          <Facts stacked of={[["Lift, in points", <Lift of={move} large />]]} />
          <Meaning of={move} />
        </>
      )}
      {(move.isTold || drawn > 0n) && (
        <details>
          <summary>Where it was told</summary>
          <p class="dim">
            Counted is each block that has it, with a receipt. What a nudge or a reflection says in its own words is in no
            block.
          </p>
          <Receipts lessonId={move.recoveryId} />
        </details>
      )}
    </>
  );
}

/** What a lift says beside the gates, which do not look at it. */
function Meaning(props: { of: RecoveryMove }) {
  const { lift, interval, isTold } = props.of;
  if (lift === undefined || interval === undefined) return null;
  const found =
    interval.low > 0
      ? "Its interval lies above 0: telling it helps."
      : interval.high < 0
        ? "Its interval lies below 0: next attempts worked less often where it was told."
        : "Its interval contains 0: whether telling it helps is not known.";
  return (
    <p class="why">
      The lift compares the next attempts after it was told, whatever they were, with those after it was held back by a
      draw. {found} {isTold && "The gates look at tries of the move itself, and not at the lift."}
    </p>
  );
}

function rate(worked: number, tries: number): string {
  return `worked in ${worked} of ${tries}`;
}

function Failures(props: { observations: readonly RecoveryObservation[]; names: ReadonlyMap<string, string> }) {
  const { observations, names } = props;
  const [most, setMost] = useState(FAILURES);
  return (
    <>
      <table class="failures">
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Turn</th>
            <th scope="col" class="wide">
              Session
            </th>
            <th scope="col">What was done</th>
            <th scope="col">Next attempt</th>
          </tr>
        </thead>
        <tbody>
          {[...observations].reverse().slice(0, most).map((one) => (
            <tr key={`${one.turnId} ${one.failureEventId}`}>
              <td>
                <Time at={one.time} />
              </td>
              <td class="task">
                <Link to={["turns", one.turnId]} query={{ event: one.failureEventId }}>
                  <Id>{one.turnId}</Id>
                </Link>
              </td>
              <td class="session wide">
                {one.sessionId && (
                  <Link to={["turns"]} query={{ session: one.sessionId }} title="Only this session">
                    <Id>{one.sessionId}</Id>
                  </Link>
                )}
              </td>
              <td>
                <bdi>{names.get(one.recoveryId) ?? "something else"}</bdi>{" "}
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
      {observations.length > most && (
        <p>
          <button type="button" onClick={() => setMost(most + FAILURES)}>
            Earlier failures
          </button>
        </p>
      )}
    </>
  );
}
