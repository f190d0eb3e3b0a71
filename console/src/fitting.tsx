/** Why a lesson fits a task. Scores by words are on no record: the task is asked anew, when the viewer wants to know. */
import { useState } from "preact/hooks";

import { useApi, useAsked } from "./api.js";
import { Answered, Facts } from "./parts.js";
import { seen } from "./words.js";

// Among how many memories the lesson is looked for.
const MOST_HITS = 100;

interface Asked {
  readonly lessonId: string;
  readonly task: string;
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
  const { lessonId, task } = props;
  const request = { queryText: task, k: MOST_HITS, minImportance: 0, explain: true, includeQuarantined: true };
  const asked = useAsked(`fitting ${lessonId} ${task}`, (signal) =>
    api.memory.queryReflections({ ...api.scope, ...request, explainIds: [lessonId] }, { signal }),
  );
  return (
    <Answered asked={asked}>
      {({ hits, misses }) => {
        const place = hits.findIndex((hit) => hit.memory?.id === lessonId);
        const { matchedTerms = [], parts = [] } = hits[place]?.explanation ?? {};
        if (place < 0) {
          const reason = misses.map((miss) => miss.reason).join(" ");
          return <p class="dim">Today the task does not find it: {seen(reason || "others fit better")}.</p>;
        }
        return (
          <Facts
            of={[
              ["Found by the task today", `at place ${place + 1} of ${hits.length}`],
              ["By the words", seen(matchedTerms.join(", ")) || "none"],
              ...parts.map((part) => [part.name.replaceAll("_", " "), part.value.toFixed(2)] as const),
            ]}
          />
        );
      }}
    </Answered>
  );
}
