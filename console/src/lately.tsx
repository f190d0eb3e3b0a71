/** What was decided lately: which lessons were retired and by whom, and how goals ended. */
import { GoalState, GoalStateSchema } from "@sidemirror/api/v1/goal_reflection";
import { MemoryState } from "@sidemirror/api/v1/reflective_memory";

import { useApi, useAsked } from "./api.js";
import { Badge, Id, Line, Link, Missing, Time } from "./parts.js";
import { headline, millisOf, seen, word } from "./words.js";

// How many of each stand here, and among how many of the newest retired lessons those are looked for.
const MOST = 5;
const MOST_RETIRED = 200;

export function Lately() {
  return (
    <>
      <Retired />
      <Goals />
    </>
  );
}

function Retired() {
  const api = useApi();
  const asked = useAsked("retired lately", async (signal) => {
    const request = { ...api.scope, state: MemoryState.RETIRED, pageSize: MOST_RETIRED };
    const { memories } = await api.memory.listReflections(request, { signal });
    const at = (one: (typeof memories)[number]) => (one.updateTime ? millisOf(one.updateTime) : 0);
    return [...memories].sort((one, other) => at(other) - at(one)).slice(0, MOST);
  });
  return (
    <>
      <Missing asked={asked} what="Which lessons were retired" />
      {asked.value && asked.value.length > 0 && (
        <section>
          <h2>Lessons retired last</h2>
          <ol class="versions">
            {asked.value.map((one) => (
              <li key={one.id}>
                <Time at={one.updateTime} />{" "}
                <Link to={["lessons", one.id]}>
                  <Line chars={120}>{one.content}</Line>
                </Link>{" "}
                <span class="dim">
                  {headline(one.change, 40)}
                  {` by ${headline(one.changedBy, 80) || (one.change === "judged" ? "the sidecar" : "a caller whose name is not known")}`}
                  {one.reason && `: ${seen(headline(one.reason, 300))}`}
                </span>
              </li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

function Goals() {
  const api = useApi();
  const asked = useAsked("goals lately", (signal) => api.goals.listGoalReports({ ...api.scope, pageSize: MOST }, { signal }));
  const reports = asked.value?.reports ?? [];
  return (
    <>
      <Missing asked={asked} what="How goals ended" />
      {reports.length > 0 && (
        <section>
          <h2>Goals reported last</h2>
          <ol class="versions">
            {reports.map((one) => (
              <li key={one.reportId}>
                <Time at={one.createTime} /> <Badge tone={one.state === GoalState.COMPLETED ? "good" : "bad"}>{word(GoalStateSchema, one.state)}</Badge>{" "}
                <Link to={["goals", one.goalId]}>
                  <bdi>{headline(one.objective, 120) || <Id>{one.goalId}</Id>}</bdi>
                </Link>
              </li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}
