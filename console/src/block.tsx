/** A block of lessons as it was shown: each with where it comes from, how well it fitted, and what was left out. */
import { OriginSchema, type ContextBlock, type ContextItem } from "@sidemirror/api/v1/common";

import { Fitting } from "./fitting.js";
import { Id, Link, Text } from "./parts.js";
import { Lift } from "./plots.js";
import { MEMORY_KINDS, type Told } from "./record.js";
import { counted, seen, word } from "./words.js";

/** `signature`: of the failure that the block is about, if it is about one. */
export function Block(props: { block: ContextBlock; told: Told; signature?: string }) {
  const { block, told, signature = "" } = props;
  return (
    <div class="block">
      {block.items.map((item) => (
        <Card key={item.id} item={item} told={told} signature={signature} />
      ))}
      {block.omitted.length > 0 && (
        <details>
          <summary>{counted(block.omitted.length, "lesson")} left out</summary>
          <ul class="omitted">
            {block.omitted.map((left) => (
              <li key={left.id}>
                <ItemLink id={left.id} kind="" signature={signature} /> {seen(left.reason)}
              </li>
            ))}
          </ul>
        </details>
      )}
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

function Card(props: { item: ContextItem; told: Told; signature: string }) {
  const { item, told } = props;
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
      <Text plain>{item.text}</Text>
      {lesson && (lesson.lift !== undefined || lesson.shown) && (
        <p class="evidence">
          <Lift lift={lesson.lift} interval={lesson.interval} />
        </p>
      )}
      {MEMORY_KINDS.has(item.kind) && item.score > 0 && told.task && <Fitting lessonId={item.id} task={told.task} />}
    </div>
  );
}

// Of what was left out only the id is on record. A recovery's has no dashes.
const RECOVERY_ID = /^[0-9a-f]{32}$/;

function ItemLink(props: { id: string; kind: string; signature: string }) {
  const { id, kind, signature } = props;
  const isRecovery = kind === "recovery" || (kind === "" && RECOVERY_ID.test(id));
  const name = kind.replaceAll("_", " ") || (isRecovery ? "recovery" : "lesson");
  if (isRecovery && signature === "") return <span>{name}</span>;
  return (
    <Link to={isRecovery ? ["recoveries", signature] : ["lessons", id]} title={seen(id)}>
      {name}
    </Link>
  );
}
