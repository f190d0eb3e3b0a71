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
import { Arms, heldApart } from "./lesson.js";
import { Answered, Badge, Empty, Facts, Grpcurl, Heading, Id, Link, Text, Time } from "./parts.js";
import { Lift, Tries, type Try } from "./plots.js";
import { Receipts } from "./receipts.js";
import { counted, millisOf, moveName, percent, seen, whole } from "./words.js";

// Of one signature no more observations are kept.
export const MOST_KEPT = 1_000;
// Of one session or token so many tries of a move count in a day.
const MOST_A_DAY = 2;
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
        <Heading of={signature}>Recovery</Heading>
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
                Nothing is counted of this failure here. One that nothing has followed yet is counted with the session's next turn, or
                an hour after its own; the turns in which it came up have it. <Link to={["recoveries"]}>Show all that are</Link>
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
          ["Failed", `${seenCount(observationCount)} ${observationCount === 1 ? "time" : "times"}`],
          ["Last", <Time at={lastTime} />],
        ]}
      />
      {isFull && (
        <p class="dim">
          Of one kind of failure the last {whole(MOST_KEPT)} are kept. The tries without and after advice are counted in
          these: what is older counts no more.
        </p>
      )}
      {moves.length > 0 && (
        <p class="dim">
          Below is what was done after that. A try is one time that it was done after such a failure. After some nothing
          was tried again, and of one session or token the first {MOST_A_DAY} a day count: tries may be fewer than failures.
        </p>
      )}
      {moves.map((move, place) => (
        <Move
          key={`${move.recoveryId} ${moves.indexOf(moves.find(({ recoveryId }) => recoveryId === move.recoveryId) ?? move) === place}`}
          move={move}
          observations={observations.filter((one) => isTryOf(one, move))}
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

/** Whether a failure was followed by a try of the move: made by itself, or after it was told, perhaps with more steps. */
function isTryOf(one: RecoveryObservation, move: RecoveryMove): boolean {
  return one.advisedRecoveryId === move.recoveryId ? one.followed : one.recoveryId === move.recoveryId;
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
  const tries: Try[] = observations.flatMap((one) => (one.time ? tryOf(one, millisOf(one.time), move) : []));
  const { shadow } = move;
  const drawn = (move.shown?.assignedCount ?? 0n) + (move.heldBack?.assignedCount ?? 0n);
  const over = isFull ? `, of the last ${whole(MOST_KEPT)} failures` : "";
  return (
    <>
      {move.sentence && <Text said>{move.sentence}</Text>}
      <p class="why">{seen(move.reason)}</p>
      <Facts
        of={[
          [`Without advice${over}`, move.tries > 0 && rate(move.worked, move.tries) + uncounted(observations, false)],
          [`After advice${over}`, move.advisedTries > 0 && rate(move.advisedWorked, move.advisedTries) + uncounted(observations, true)],
          [`After other advice${over}`, otherwise(observations, move)],
          ["Works at least, by the last 20 tries", move.tries > 0 && percent(move.lowestRate)],
          ["Shadow mode would have said it", shadow && counted(shadow.saidCount, "time")],
          ["and then the agent did it", shadow && `${shadow.followedCount} ×, worked ${shadow.followedWorkedCount} ×`],
          ["or did otherwise, which worked", shadow && `${shadow.otherwiseWorkedCount} ×`],
          ["for", shadow && counted(shadow.tokenCount, "token")],
          ["Id", <Id copied>{move.recoveryId}</Id>],
        ]}
      />
      {tries.length > 0 && (
        <>
          <Tries of={tries} name={moveName(move)} />
          <p class="dim small">
            Filled: after it was told.
            {tries.some((one) => !one.counts) &&
              " Faint: does not count. Of one token, or of one session where there are none, the first 2 a day count and what failed after advice; a try after other advice counts for no move."}
          </p>
        </>
      )}
      {drawn > 0n && (
        <>
          <Arms
            heading="Next try"
            of={[
              ["told, after a draw", move.shown],
              ...heldApart(move, "held back by a draw"),
            ]}
          />
          <Facts
            stacked
            of={[
              ["Lift at one look, in points", <Lift of={move} large />],
              [
                "At any look",
                move.intervalAtAnyLook && <Lift of={move} interval={move.intervalAtAnyLook} name="At any look" large />,
              ],
            ]}
          />
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
  const { lift, interval, intervalAtAnyLook: sure, isTold } = props.of;
  if (lift === undefined || interval === undefined) return null;
  const found =
    sure && sure.low > 0
      ? "At any look its interval lies above 0: telling it helps."
      : sure && sure.high < 0
        ? "At any look its interval lies below 0: next attempts worked less often where it was told."
        : "At any look its interval contains 0: whether telling it helps is not known yet. Who looks again and again finds one without 0 at some look, also by chance.";
  return (
    <p class="why">
      The lift compares the next attempts after it was told, whatever they were, with those after it was held back by a
      draw. {found} {isTold && "The gates look at tries of the move itself, and not at the lift."}
    </p>
  );
}

function tryOf(one: RecoveryObservation, atMs: number, move: RecoveryMove): Try {
  const isOthers = one.advisedRecoveryId !== "" && one.advisedRecoveryId !== move.recoveryId;
  const counts = !one.isUncounted && !isOthers;
  const when = one.followed && !isOthers ? " after advice" : isOthers ? " after other advice" : "";
  const told = `${outcomeOf(one)}${when}${counts ? "" : ", does not count"}`;
  return { atMs, worked: one.worked, advised: one.followed && !isOthers, counts, told };
}

/** How a failure's next attempt ended. */
function outcomeOf(one: RecoveryObservation): string {
  if (one.worked) return "worked";
  if (one.turnFailed) return "worked, and its turn failed";
  return one.pause ? "failed" : "not tried again";
}

// `MOST_A_DAY` and `MOST_AN_HOUR` of the server's `memory/recoveries/moves.py`.
const TOO_MANY = "beyond 2 a day of one token or session";
const TOO_MANY_SPANS = `${TOO_MANY}, or 2 an hour of telemetry without tokens`;

/** Why a row is in no count of its move; empty if it is. */
function leftOut(one: RecoveryObservation): string {
  if (one.isUncounted) return one.isFromTelemetry ? TOO_MANY_SPANS : TOO_MANY;
  return one.advisedRecoveryId !== "" && !one.followed ? "not what was told" : "";
}

/** How many of the tries do not count, and why. */
function uncounted(observations: readonly RecoveryObservation[], advised: boolean): string {
  const out = observations.filter((one) => one.isUncounted && (advised ? one.followed : one.advisedRecoveryId === ""));
  const count = out.length;
  return count > 0 ? `; ${count} more ${count === 1 ? "does" : "do"} not count: ${out.some((one) => one.isFromTelemetry) ? TOO_MANY_SPANS : TOO_MANY}` : "";
}

/** How many tries count for no move, since another one was told. */
function otherwise(observations: readonly RecoveryObservation[], move: RecoveryMove): string {
  const count = observations.filter((one) => one.advisedRecoveryId !== "" && one.advisedRecoveryId !== move.recoveryId).length;
  return count > 0 ? `${counted(count, "try").replace("trys", "tries")}, which ${count === 1 ? "counts" : "count"} for no move` : "";
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
                <Badge tone={one.worked ? "good" : one.turnFailed ? "warn" : "bad"}>{one.turnFailed ? "worked" : outcomeOf(one)}</Badge>{" "}
                {one.turnFailed && <span class="dim small">its turn failed</span>} {leftOut(one) && <span class="dim small">does not count: {leftOut(one)}</span>}
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
