/** What belongs to a turn and is none of its entries: critiques that were asked for, and lessons that were recalled. */
import { IssueKindSchema } from "@sidemirror/api/v1/common";
import { LessonFitSchema, ReceiptPlace, ReceiptPlaceSchema, type Receipt } from "@sidemirror/api/v1/reflective_memory";
import { SilenceReason, type Turn, type TurnCritique, type TurnEntry } from "@sidemirror/api/v1/thinking";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

import { useApi, useAsked, type Asked } from "./api.js";
import { LeftOut } from "./block.js";
import { changeTold, Drafts } from "./drafts.js";
import { OF_GOAL } from "./goals.js";
import { useSeen } from "./live.js";
import { Badge, Id, Link, Missing, Text, Time } from "./parts.js";
import { HeldBack, WhyHeldBack } from "./receipts.js";
import { GOAL_KIND, MEMORY_KINDS, nameOf, timeOf, type Told } from "./record.js";
import { whyNothing } from "./silences.js";
import { headline, lasting, millisOf, seen, stems, word } from "./words.js";

const MOST_RECEIPTS = 1_000;
/** Where a block is shown that an agent asks for. */
const ANSWERS: ReadonlySet<ReceiptPlace> = new Set([
  ReceiptPlace.MEMORY_CONTEXT,
  ReceiptPlace.GOAL_CONTEXT,
  ReceiptPlace.RECOVERIES,
]);

export interface Aside {
  readonly key: string;
  readonly time: Timestamp | undefined;
  readonly critique?: TurnCritique;
  readonly receipt?: Receipt;
}

// How often they are read while the turn goes on: the watch does not tell of them.
const EVERY_MS = 5_000;

/** The turn's asides, oldest first. `isOpen`: more may come. */
export function useAsides(turn: Turn, isOpen: boolean): Asked<readonly Aside[]> {
  const api = useApi();
  const { turnId } = turn;
  const isSeen = useSeen();
  const asked = useAsked(`asides ${turnId} ${isOpen}`, async (signal) => {
    const [record, shown] = await Promise.all([
      api.thinking.getTurn({ ...api.scope, turnId, pageSize: 1 }, { signal }),
      api.memory.listReceipts({ ...api.scope, turnId, pageSize: MOST_RECEIPTS }, { signal }),
    ]);
    const critiques = record.critiques.map((critique) => ({ key: critique.critique?.critiqueId ?? "", time: critique.time, critique }));
    const receipts = shown.receipts.filter((receipt) => ANSWERS.has(receipt.place));
    const all: Aside[] = [...critiques, ...receipts.map((receipt) => ({ key: receipt.receiptId, time: receipt.time, receipt }))];
    return all.sort((one, other) => at(one.time) - at(other.time));
  });
  const { again } = asked;
  useEffect(() => {
    if (!isOpen || !isSeen) return;
    const timer = setInterval(again, EVERY_MS);
    return () => clearInterval(timer);
  }, [isOpen, isSeen, again]);
  return asked;
}

/** Those of the asides that belong beside the entries which are there. `isFirst`, `isLast`: these begin or end with the
 * turn's. A critique of a draft is no aside: an entry has it. */
export function asidesAt(all: readonly Aside[], entries: readonly TurnEntry[], isFirst: boolean, isLast: boolean): readonly Aside[] {
  const drafted = new Set(entries.map(({ entry }) => (entry.case === "directive" ? entry.value.directiveId : "")));
  const times = entries.flatMap((entry) => timeOf(entry) ?? []).map(millisOf);
  const [from, until] = [isFirst ? -Infinity : Math.min(...times), isLast ? Infinity : Math.max(...times)];
  return all.filter((one) => at(one.time) >= from && at(one.time) <= until && !(one.critique && drafted.has(one.key)));
}

export function AsideRow(props: { aside: Aside; begun: Timestamp | undefined; told: Told }) {
  const { aside, begun, told } = props;
  const since = at(aside.time) - at(begun);
  return (
    <li class="entry told">
      <div class="when">
        <Time at={aside.time} exact />
        <span class="dim since">{since >= 1 ? `+${lasting(since)}` : ""}</span>
      </div>
      <span class="number" />
      <div class="what">
        {aside.critique && <Criticised critique={aside.critique} told={told} />}
        {aside.receipt && <Recalled receipt={aside.receipt} />}
      </div>
    </li>
  );
}

function Criticised(props: { critique: TurnCritique; told: Told }) {
  const { critique: verdict, madeBy } = props.critique;
  if (!verdict) return null;
  const { usage } = verdict;
  return (
    <>
      <p class="kind">
        <strong>asked for a {headline(madeBy, 40)}</strong>{" "}
        <Badge tone={verdict.shouldRevise ? "bad" : "good"}>{verdict.shouldRevise ? "revise" : "let through"}</Badge>{" "}
        <span class="dim">{seen([usage?.provider, usage?.model, changeTold(props.critique, props.told)].filter(Boolean).join(", "))}</span>
      </p>
      <Drafts of={props.critique} told={props.told} />
      {verdict.issueDetails.map((issue, index) => (
        <div key={index} class="card">
          <p class="kind">{word(IssueKindSchema, issue.kind)}</p>
          {issue.quote && <Text>{issue.quote}</Text>}
          <Text said>{issue.reason}</Text>
          <Grounds ids={issue.eventIds} told={props.told} />
        </div>
      ))}
    </>
  );
}

/** Links to the events that an issue rests on. */
export function Grounds(props: { ids: readonly string[]; told: Told }) {
  const links: ComponentChildren[] = props.ids.map((id) => {
    const entry = props.told.events.get(id);
    if (entry?.entry.case !== "event") return <Id key={id}>{id}</Id>;
    return (
      <Link key={id} to={["turns", entry.turnId]} query={{ at: String(entry.sequence) }}>
        {`${entry.sequence} ${nameOf(entry.entry.value, props.told.tools)} `}
      </Link>
    );
  });
  return links.length > 0 ? <p class="why">rests on {links}</p> : null;
}

function Recalled(props: { receipt: Receipt }) {
  const { receipt } = props;
  return (
    <>
      <p class="kind">
        <strong>{receipt.silence ? "asked, and given nothing" : "recalled"}</strong>{" "}
        <span class="dim">{word(ReceiptPlaceSchema, receipt.place)}</span>
      </p>
      {receipt.silence !== SilenceReason.UNSPECIFIED && <p class="why">{whyNothing(receipt.silence)}</p>}
      {receipt.items.map((item) => (
        <div key={item.id} class="card">
          <p class="kind">
            {item.kind === "recovery" ? (
              // A receipt does not name the failure; the list finds it by the recovery.
              <Link to={["recoveries"]} query={{ text: item.id }}>
                <Id>{item.id}</Id>
              </Link>
            ) : (
              <Link to={["lessons", item.id]} query={item.kind === GOAL_KIND ? OF_GOAL : {}}>
                {headline(item.kind, 40) || "lesson"}
              </Link>
            )}
            <span class="dim">version {item.version}</span>
            {item.score !== undefined && <span>fits {item.score.toFixed(2)}</span>}
            {item.isHeldBack && <HeldBack reason={item.heldBackReason} />}
          </p>
          {MEMORY_KINDS.has(item.kind) && <AsShown id={item.id} version={item.version} />}
          <p class="why">{seen([word(LessonFitSchema, item.fit), stems(item.matchedWords)].filter(Boolean).join(": "))}</p>
        </div>
      ))}
      <WhyHeldBack of={receipt.items} />
      {receipt.omitted.length > 0 && <LeftOut of={receipt.omitted} signature="" />}
      <p class="dim small">
        receipt <Id>{receipt.receiptId}</Id>
      </p>
    </>
  );
}

// How many versions of a lesson are looked through.
const MOST_VERSIONS = 1_000;

/** The text of the version that was shown: a receipt has its number alone. */
function AsShown(props: { id: string; version: number }) {
  const api = useApi();
  const { id, version } = props;
  const asked = useAsked(`versions of ${id}`, async (signal) => {
    try {
      const { versions } = await api.memory.listReflectionVersions({ ...api.scope, reflectionId: id, pageSize: MOST_VERSIONS }, { signal });
      return versions;
    } catch (error) {
      if (ConnectError.from(error).code === Code.NotFound) return [];
      throw error;
    }
  });
  if (!asked.value) return <Missing asked={asked} what="What was recalled" />;
  const text = asked.value.find((one) => one.version === version)?.content;
  return <Text said>{text ?? "(its text was removed since)"}</Text>;
}

function at(time: Timestamp | undefined): number {
  return time ? millisOf(time) : 0;
}
