/** Why a lesson fits a task: by what it was found, which its receipt has, and how the task finds it today. */
import { LessonFitSchema } from "@sidemirror/api/v1/reflective_memory";
import { useState } from "preact/hooks";

import { useApi, useAsked } from "./api.js";
import { Answered, Facts } from "./parts.js";
import { seen, stems, word } from "./words.js";

// Among how many memories the lesson is looked for, and its receipt among those of the turn.
const MOST_HITS = 100;
const MOST_RECEIPTS = 1_000;

interface Asked {
  readonly lessonId: string;
  readonly task: string;
  readonly turnId: string;
  readonly receiptId: string;
}

export function Fitting(props: Asked) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Why it fits</summary>
      {isOpen && <Explained {...props} />}
    </details>
  );
}

function Explained(props: Asked) {
  const api = useApi();
  const { lessonId, task, turnId, receiptId } = props;
  const request = { queryText: task, k: MOST_HITS, minImportance: 0, explain: true, includeQuarantined: true };
  const asked = useAsked(`fitting ${receiptId} ${lessonId} ${task}`, async (signal) => {
    const [today, { receipts }] = await Promise.all([
      api.memory.queryReflections({ ...api.scope, ...request, explainIds: [lessonId] }, { signal }),
      api.memory.listReceipts({ ...api.scope, turnId, pageSize: MOST_RECEIPTS }, { signal }),
    ]);
    const item = receipts.find((one) => one.receiptId === receiptId)?.items.find((one) => one.id === lessonId);
    const by = item && [word(LessonFitSchema, item.fit), stems(item.matchedWords)].filter(Boolean).join(": ");
    return { ...today, then: by ? seen(by) : "not on record" };
  });
  return (
    <Answered asked={asked}>
      {({ hits, misses, then }) => {
        const place = hits.findIndex((hit) => hit.memory?.id === lessonId);
        const { matchedTerms = [], parts = [] } = hits[place]?.explanation ?? {};
        if (place < 0) {
          const reason = misses.map((miss) => miss.reason).join(" ");
          return (
            <>
              <Facts of={[["Found then by", then]]} />
              <p class="dim">Today the task does not find it: {seen(reason || "others fit better")}.</p>
            </>
          );
        }
        return (
          <Facts
            of={[
              ["Found then by", then],
              ["Found by the task today", `at place ${place + 1} of ${hits.length}`],
              ["By word stems", seen(matchedTerms.join(", ")) || "none"],
              ...parts.map((part) => [part.name.replaceAll("_", " "), part.value.toFixed(2)] as const),
            ]}
          />
        );
      }}
    </Answered>
  );
}
