/** Where a lesson or a recovery was shown or held back, and what followed. */
import { TaskOutcome, TaskOutcomeSchema } from "@sidemirror/api/v1/common";
import { HeldBackReason, ReceiptPlaceSchema, type Receipt, type ReceiptItem } from "@sidemirror/api/v1/reflective_memory";
import { useState } from "preact/hooks";

import { useApi, useAsked } from "./api.js";
import { Answered, Badge, Empty, Id, Link, More, Outcome, Time } from "./parts.js";
import { MEMORY_KINDS } from "./record.js";
import { word } from "./words.js";

const PAGE = 20;

export function Receipts(props: { lessonId: string }) {
  const api = useApi();
  const { lessonId } = props;
  const first = useAsked(`receipts ${lessonId}`, (signal) =>
    api.memory.listReceipts({ ...api.scope, lessonId, pageSize: PAGE }, { signal }),
  );
  const [older, setOlder] = useState<{ receipts: Receipt[]; next: string }>();
  const readOlder = async (pageToken: string) => {
    const page = await api.memory.listReceipts({ ...api.scope, lessonId, pageSize: PAGE, pageToken });
    setOlder({ receipts: [...(older?.receipts ?? []), ...page.receipts], next: page.nextPageToken });
  };
  return (
    <Answered asked={first}>
      {(page) => {
        const receipts = [...page.receipts, ...(older?.receipts ?? [])];
        const next = older ? older.next : page.nextPageToken;
        // Recoveries have one version, and reflections of goals too.
        const hasVersions = receipts.some((receipt) => MEMORY_KINDS.has(itemOf(receipt, lessonId)?.kind ?? ""));
        if (receipts.length === 0) {
          return (
            <Empty>
              <p>It was shown in no block of the last 30 days, which is how long receipts are kept.</p>
            </Empty>
          );
        }
        return (
          <>
            <table class="receipts">
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">Where</th>
                  <th scope="col">Turn</th>
                  <th scope="col" class="wide">
                    Session
                  </th>
                  <th scope="col">What followed</th>
                </tr>
              </thead>
              <tbody>
                {receipts.map((receipt) => (
                  <Shown key={receipt.receiptId} receipt={receipt} lessonId={lessonId} hasVersion={hasVersions} />
                ))}
              </tbody>
            </table>
            <WhyHeldBack of={receipts.flatMap((receipt) => itemOf(receipt, lessonId) ?? [])} />
            {next !== "" && <More read={() => readOlder(next)}>Earlier ones</More>}
          </>
        );
      }}
    </Answered>
  );
}

function Shown(props: { receipt: Receipt; lessonId: string; hasVersion: boolean }) {
  const { receipt } = props;
  const item = itemOf(receipt, props.lessonId);
  return (
    <tr>
      <td>
        <Time at={receipt.time} />
      </td>
      <td>
        {word(ReceiptPlaceSchema, receipt.place) || "not known"}
        {props.hasVersion && item?.version ? <span class="dim small"> version {item.version}</span> : ""} {item?.isHeldBack && <HeldBack reason={item.heldBackReason} />}
      </td>
      <td class="task">
        {receipt.turnId ? (
          <Link to={["turns", receipt.turnId]} query={{ receipt: receipt.receiptId }}>
            <Id>{receipt.turnId}</Id>
          </Link>
        ) : (
          <span class="dim">no turn</span>
        )}
      </td>
      <td class="session wide">
        {receipt.sessionId && (
          <Link to={["turns"]} query={{ session: receipt.sessionId }} title="Only this session">
            <Id>{receipt.sessionId}</Id>
          </Link>
        )}
      </td>
      <td>
        <Followed item={item} turn={receipt.turnOutcome} />
      </td>
    </tr>
  );
}

function itemOf(receipt: Receipt, id: string): ReceiptItem | undefined {
  return receipt.items.find((one) => one.id === id);
}

const HELD_BACK: Partial<Record<HeldBackReason, string>> = {
  [HeldBackReason.DRAW]: "held back by a draw",
  [HeldBackReason.SHADOW]: "kept in shadow mode",
};

/** The mark of what was found and not told. */
export function HeldBack(props: { reason: HeldBackReason }) {
  return <Badge tone="warn">{HELD_BACK[props.reason] ?? "held back"}</Badge>;
}

/** What the marks of these mean. */
export function WhyHeldBack(props: { of: readonly ReceiptItem[] }) {
  const reasons = new Set(props.of.filter((one) => one.isHeldBack).map((one) => one.heldBackReason));
  if (reasons.size === 0) return null;
  return (
    <p class="dim small">
      {reasons.has(HeldBackReason.DRAW) && "Held back by a draw: it was not told, to see what happens without it. "}
      {reasons.has(HeldBackReason.SHADOW) && (
        <>
          Kept in shadow mode: <code>advice__mode</code> was shadow, which tells nothing.{" "}
        </>
      )}
      {reasons.has(HeldBackReason.UNSPECIFIED) && "Held back without a reason: a draw or shadow mode, which of the two is not on record."}
    </p>
  );
}

/** What came of it: what is reported of the item itself, else how its turn ended. */
function Followed(props: { item: ReceiptItem | undefined; turn: TaskOutcome }) {
  const { item, turn } = props;
  return (
    <>
      {item?.succeeded === undefined ? (
        turn ? <Outcome of={turn} /> : <span class="dim">not reported</span>
      ) : (
        <Badge tone={item.succeeded ? "good" : "bad"}>{item.kind === "recovery" ? attempted(item.succeeded) : ended(item.succeeded, turn)}</Badge>
      )}
      {item?.errorReturned !== undefined && (
        <span class="dim"> its error {item.errorReturned ? "came back" : "did not come back"}</span>
      )}
    </>
  );
}

function attempted(worked: boolean): string {
  return worked ? "next attempt worked" : "next attempt failed";
}

function ended(succeeded: boolean, turn: TaskOutcome): string {
  if (succeeded) return "success";
  return turn && turn !== TaskOutcome.SUCCESS ? word(TaskOutcomeSchema, turn) : "no success";
}
