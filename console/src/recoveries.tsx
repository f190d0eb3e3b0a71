/** Failures that are recognised, and whether something is told when one comes again. All of them are read, so that they
 * can be searched and sorted: the sidecar lists them by name. */
import {
  ReflectiveMemoryService,
  type RecoveryMove,
  type SignatureRecoveries,
} from "@sidemirror/api/v1/reflective_memory";
import { SilenceReason } from "@sidemirror/api/v1/thinking";
import { useMemo, useState } from "preact/hooks";

import { useApi, useAsked, type Asked } from "./api.js";
import { Choice, Filters, type Query } from "./filters.js";
import { useKept } from "./kept.js";
import { Answered, Badge, Empty, Grpcurl, Heading, Line, Link, Time } from "./parts.js";
import { Lift } from "./plots.js";
import { seenCount } from "./recovery.js";
import { counted, headline, millisOf, moveName, seen } from "./words.js";

// A small page is there first. The sidecar reads up to 1,000 rows of each failure.
const PAGES = [50, 250] as const;
const MOST_READ = 1_000;
// How many rows are shown at once.
const ROWS = 50;

interface Read {
  readonly signatures: readonly SignatureRecoveries[];
  readonly isWhole: boolean;
}

/** All failures of the scope, as they come in; at most MOST_READ. */
function useRecoveries(): Asked<Read> {
  const api = useApi();
  const [sofar, setSofar] = useState<Read>();
  const asked = useAsked("recoveries", async (signal) => {
    const signatures: SignatureRecoveries[] = [];
    let [pageToken, pageSize]: [string, number] = ["", PAGES[0]];
    for (;;) {
      const page = await api.memory.listRecoveries({ ...api.scope, pageSize, pageToken }, { signal });
      [pageToken, pageSize] = [page.nextPageToken, PAGES[1]];
      signatures.push(...page.signatures);
      const read = { signatures: [...signatures], isWhole: pageToken === "" };
      if (read.isWhole || signatures.length >= MOST_READ) return read;
      setSofar(read);
    }
  });
  return { ...asked, value: asked.value ?? sofar };
}

function told(one: SignatureRecoveries): RecoveryMove | undefined {
  return one.moves.find((move) => move.isTold);
}

function lastMs(one: SignatureRecoveries): number {
  return one.lastTime ? millisOf(one.lastTime) : 0;
}

const BY_POLICY: ReadonlySet<SilenceReason> = new Set([SilenceReason.OFF_BY_POLICY, SilenceReason.SILENCED]);

/** Whether a draw has held a move back; what shadow mode kept is counted beside it. */
function isHeldBack(move: RecoveryMove): boolean {
  return Number(move.heldBack?.assignedCount ?? 0n) > (move.shadow?.saidCount ?? 0);
}

/** What the filter's values mean. */
const STANDINGS: readonly (readonly [string, string, (one: SignatureRecoveries) => boolean])[] = [
  ["told", "told", (one) => one.moves.some((move) => move.isTold && !move.isStarter)],
  ["starter", "starter pack", (one) => one.moves.some((move) => move.isTold && move.isStarter)],
  ["held", "held back by a draw", (one) => one.moves.some(isHeldBack)],
  ["shadow", "kept in shadow mode", (one) => one.moves.some((move) => move.silence === SilenceReason.SHADOW || move.shadow)],
  ["suspended", "suspended", (one) => one.moves.some((move) => move.isSuspended)],
  ["policy", "off by a policy", (one) => one.moves.some((move) => BY_POLICY.has(move.silence))],
  ["untold", "not told", (one) => !told(one)],
];

/** What comes first, by the choice's value. */
const ORDERS: readonly (readonly [string, string, (one: SignatureRecoveries) => number])[] = [
  ["last", "last seen", lastMs],
  ["seen", "failed most", (one) => one.observationCount],
  ["lift", "lift", (one) => told(one)?.lift ?? -2],
];

/** Told first, and then what was seen last. */
function usualOrder(one: SignatureRecoveries, other: SignatureRecoveries): number {
  return Number(!!told(other)) - Number(!!told(one)) || lastMs(other) - lastMs(one);
}

/** What a search looks at. */
function wordsOf(one: SignatureRecoveries): string {
  const moves = one.moves.flatMap((move) => [moveName(move), move.sentence, move.reason, move.recoveryId]);
  return [one.signature, one.signature.replaceAll(/[|_]/g, " "), ...moves].join("\n").toLowerCase();
}

interface Found {
  readonly signatures: readonly SignatureRecoveries[];
  /** Nothing has all words of the search; these have some, the most first. */
  readonly isPart: boolean;
}

/** Those that a query asks for, in its order. */
function foundBy(query: Query, all: readonly SignatureRecoveries[]): Found {
  const fits = STANDINGS.find(([value]) => value === query.state)?.[2];
  const rank = ORDERS.find(([value]) => value === query.order)?.[2];
  const of = (fits ? all.filter(fits) : [...all]).sort(rank ? (one, other) => rank(other) - rank(one) : usualOrder);
  const words = (query.text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return { signatures: of, isPart: false };
  const counts = new Map(
    of.map((one) => {
      const text = wordsOf(one);
      return [one, words.filter((word) => text.includes(word)).length] as const;
    }),
  );
  const countOf = (one: SignatureRecoveries) => counts.get(one) ?? 0;
  const whole = of.filter((one) => countOf(one) === words.length);
  if (whole.length > 0) return { signatures: whole, isPart: false };
  return { signatures: of.filter(countOf).sort((one, other) => countOf(other) - countOf(one)), isPart: true };
}

const NAMES = ["text", "state", "order"];

export function Recoveries(props: { query: Query }) {
  const { query } = props;
  const asked = useRecoveries();
  const [rows = ROWS, setRows] = useKept<number>("rows");
  const { value } = asked;
  const found = useMemo(() => value && foundBy(query, value.signatures), [query, value]);
  return (
    <>
      <div class="title">
        <Heading>Recoveries</Heading>
      </div>
      <Filters screen="recoveries" query={query} names={NAMES}>
        <label>
          Search
          <input name="text" type="search" value={query.text ?? ""} maxLength={1000} placeholder="tool, error, step or id" size={28} />
        </label>
        <Choice name="state" label="State" query={query} options={STANDINGS.map(([state, name]) => [state, name] as const)} />
        <Choice name="order" label="First" query={query} options={ORDERS.map(([order, name]) => [order, name] as const)} none="told, then last seen" />
      </Filters>
      <Answered asked={asked}>
        {({ signatures, isWhole }) =>
          signatures.length === 0 ? (
            <NoRecoveries />
          ) : (
            <>
              {!isWhole && (
                <p class="dim" role="status">
                  {signatures.length < MOST_READ
                    ? `${counted(signatures.length, "kind")} of failure so far.`
                    : `The first ${counted(signatures.length, "kind")} of failure by name are looked through; there are more.`}
                </p>
              )}
              {found && found.signatures.length > 0 && found.isPart && (
                <p class="dim">None has all of these words. These have some, the most first.</p>
              )}
              {found && found.signatures.length > 0 ? (
                <Table signatures={found.signatures.slice(0, rows)} />
              ) : (
                <Empty>
                  <p>
                    No failure that is counted is like that. One that nothing has followed yet is counted with the session's next
                    turn, or an hour after its own. Failures are recognised by tool, kind of error and what it is about, such as{" "}
                    <code>missing table</code>; an error's own text is in the turns. <Link to={["recoveries"]}>Show all failures</Link>
                  </p>
                </Empty>
              )}
              {found && found.signatures.length > rows && (
                <p>
                  <button type="button" onClick={() => setRows(rows + ROWS)}>
                    More
                  </button>
                </p>
              )}
            </>
          )
        }
      </Answered>
      <Grpcurl method={ReflectiveMemoryService.method.listRecoveries} request={{ pageSize: PAGES[1] }} />
    </>
  );
}

function NoRecoveries() {
  return (
    <Empty>
      <p>
        <strong>No failure is counted here yet.</strong> One that nothing has followed is counted with the session's next turn, or an
        hour after its own. They are learned from calls of turns: report{" "}
        <code>tool_called</code> with what came back, and what repaired a failure is counted.
      </p>
    </Empty>
  );
}

function Table(props: { signatures: readonly SignatureRecoveries[] }) {
  return (
    <table class="recoveries">
      <thead>
        <tr>
          <th scope="col">Failure</th>
          <th scope="col" class="number" title="How often a call failed in this way. Of these, the tries of a move are counted apart">
            Failed
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
          const move = told(one);
          return (
            <tr key={one.signature}>
              <td class="task">
                <Link to={["recoveries", one.signature]}>
                  <bdi>{headline(one.signature) || "no signature"}</bdi>
                </Link>
                <p class="dim small">
                  {move ? <Line>{move.sentence}</Line> : seen(one.moves[0]?.reason ?? "")}
                </p>
                <p class="narrow dim small">
                  <Time at={one.lastTime} /> {move?.lift !== undefined && <Lift of={move} />}
                </p>
              </td>
              <td class="number">{one.observationCount > 0 && seenCount(one.observationCount)}</td>
              <td>
                <Standing of={one} />
              </td>
              <td class="wide">
                <Time at={one.lastTime} />
              </td>
              <td class="wide">{move?.lift !== undefined && <Lift of={move} />}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Standing(props: { of: SignatureRecoveries }) {
  const move = told(props.of);
  if (move) return <Badge tone="told">{move.isStarter ? "starter pack" : "told"}</Badge>;
  if (props.of.moves.some((one) => one.silence === SilenceReason.SHADOW)) return <Badge tone="warn">shadow</Badge>;
  if (props.of.moves.some((one) => BY_POLICY.has(one.silence))) return <Badge tone="warn">off by a policy</Badge>;
  if (props.of.moves.some((one) => one.isSuspended)) return <Badge tone="bad">suspended</Badge>;
  return <span class="dim">no</span>;
}
