/** A block of lessons as it was shown: each with where it comes from, how well it fitted, and what was left out. */
import { OriginSchema, type ContextBlock, type ContextItem, type OmittedItem } from "@sidemirror/api/v1/common";
import { MemoryState, type Memory } from "@sidemirror/api/v1/reflective_memory";
import { useState } from "preact/hooks";

import { useApi, useAsked } from "./api.js";
import { Fitting } from "./fitting.js";
import { Id, Link, Text } from "./parts.js";
import { Lift } from "./plots.js";
import { OF_GOAL } from "./goals.js";
import { GOAL_KIND, isRecovery, MEMORY_KINDS, type Told } from "./record.js";
import { counted, headline, heldBecause, moveName, reviewCommand, seen, word } from "./words.js";

/** `signature`: of the failure that the block is about, if it is about one. */
export function Block(props: { block: ContextBlock; told: Told; signature?: string }) {
  const { block, told, signature = "" } = props;
  return (
    <div class="block">
      {block.items.map((item) => (
        <Card key={item.id} item={item} told={told} signature={signature} receiptId={block.receiptId} />
      ))}
      {block.omitted.length > 0 && <LeftOut of={block.omitted} signature={signature} />}
      <p class="dim small">
        {block.receiptId && (
          <>
            receipt <Id>{block.receiptId}</Id>,{" "}
          </>
        )}
        {counted(block.tokenCount, "token")}
      </p>
    </div>
  );
}

function Card(props: { item: ContextItem; told: Told; signature: string; receiptId: string }) {
  const { item, told, receiptId } = props;
  const lesson = told.lessons.get(item.id);
  return (
    <div class="card">
      <p class="kind">
        <ItemLink id={item.id} kind={item.kind} signature={props.signature} />
        <span class="dim">version {item.version}</span>
        {item.score > 0 ? (
          <span title="How well it fits, 0 to 1">fits {item.score.toFixed(2)}</span>
        ) : (
          <span title="Not found by words: it names this failure, tool or kind of error">fits by its conditions</span>
        )}
        <span title="The least trusted source of its words">trust {word(OriginSchema, item.origin) || "not known"}</span>
      </p>
      <Text said>{item.text}</Text>
      {lesson && (lesson.lift !== undefined || lesson.shown) && (
        <p class="evidence">
          <Lift of={lesson} />
        </p>
      )}
      {MEMORY_KINDS.has(item.kind) && item.score > 0 && told.task && (
        <Fitting lessonId={item.id} task={told.task} turnId={told.turnId} receiptId={receiptId} />
      )}
    </div>
  );
}

// A sidecar takes 100 requests a second by default, and a viewer does not wait for more texts than this.
const AT_ONCE = 5;
const MOST_TEXTS = 50;

/** What fitted and was not shown. The texts, as they are today, are read when the viewer looks. */
export function LeftOut(props: { of: readonly OmittedItem[]; signature: string }) {
  const api = useApi();
  const { of, signature } = props;
  const [isOpen, setOpen] = useState(false);
  const ids = isOpen ? of.map((one) => one.id) : [];
  const { value: texts } = useAsked(`left out ${signature} ${ids.join(" ")}`, async (signal) => {
    const [found, held] = [new Map<string, string>(), new Map<string, Memory>()];
    if (signature && ids.some(isRecovery)) {
      const { signatures } = await api.memory.listRecoveries({ ...api.scope, signature }, { signal });
      for (const move of signatures.flatMap((one) => one.moves)) found.set(move.recoveryId, moveName(move));
    }
    const lessons = ids.filter((id) => !isRecovery(id)).slice(0, MOST_TEXTS);
    for (let at = 0; at < lessons.length; at += AT_ONCE) {
      const asked = lessons.slice(at, at + AT_ONCE).map((reflectionId) =>
        api.memory.getReflection({ ...api.scope, reflectionId }, { signal }).then(
          ({ memory }) => {
            if (!memory) return;
            found.set(reflectionId, memory.content);
            if (memory.state === MemoryState.QUARANTINED) held.set(reflectionId, memory);
          },
          // A goal's, or one that was removed since: its id is shown.
          () => undefined,
        ),
      );
      await Promise.all(asked);
    }
    return { found, held };
  });
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{counted(of.length, "lesson")} left out</summary>
      <ul class="omitted">
        {of.map(({ id, reason }) => (
          <li key={id}>
            <ItemLink id={id} kind="" signature={signature} />{" "}
            <bdi>{headline(texts?.found.get(id) ?? "", 120) || <Id>{id}</Id>}</bdi> <span class="dim">{seen(reason)}</span>
            <ToRelease memory={texts?.held.get(id)} />
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Why a lesson that was left out is in quarantine today, and what releases it. */
function ToRelease(props: { memory: Memory | undefined }) {
  const { memory } = props;
  if (!memory) return null;
  return (
    <span class="dim">
      ; today it is in quarantine ({heldBecause(memory)}), to release it: <code>{reviewCommand(memory)}</code>
    </span>
  );
}

function ItemLink(props: { id: string; kind: string; signature: string }) {
  const { id, kind, signature } = props;
  const isOne = kind === "recovery" || (kind === "" && isRecovery(id));
  const name = headline(kind, 40).replaceAll("_", " ") || (isOne ? "recovery" : "lesson");
  // Where the failure is not known, the list finds it by the recovery.
  const isSought = isOne && signature === "";
  const to = isSought ? ["recoveries"] : isOne ? ["recoveries", signature] : ["lessons", id];
  return (
    <Link to={to} query={isSought ? { text: id } : kind === GOAL_KIND ? OF_GOAL : {}} title={seen(id)}>
      {name}
    </Link>
  );
}
