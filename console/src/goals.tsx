/** What goals came to: a goal with its reports, turns and reflections, and one of these by its id. */
import { OriginSchema } from "@sidemirror/api/v1/common";
import {
  GoalReflectionService,
  GoalReportState,
  GoalReportStateSchema,
  GoalState,
  GoalStateSchema,
  type GoalReflection,
  type GoalReport,
} from "@sidemirror/api/v1/goal_reflection";
import type { Memory } from "@sidemirror/api/v1/reflective_memory";
import { AdviceKind } from "@sidemirror/api/v1/sidecar";

import { useApi, useAsked, type Api } from "./api.js";
import { Changes } from "./changes.js";
import { MemoryStanding } from "./lessons.js";
import { Answered, Badge, Empty, Facts, Grpcurl, Heading, Id, Line, Link, Text, Time } from "./parts.js";
import { Receipts } from "./receipts.js";
import { headline, whole, word } from "./words.js";

// How many reports are looked through: more than most projects make in the 7 days for which a reflection is shown.
const PAGE = 200;
const MOST_PAGES = 5;
// Among how many memories with the words of a reflection, and of the objective, those are looked for that it left; and
// among how many of the newest ones.
const MOST_ALIKE = 50;
const MOST_NEWEST = 1_000;

/** The query of a link to the reflection of a goal: among the memories it is not looked for first. */
export const OF_GOAL = { of: "goal" };

/** The reflection of this id; undefined if none of the recent ones has it. No call names a reflection by its id alone. */
export async function goalReflection(api: Api, id: string, signal: AbortSignal): Promise<GoalReflection | undefined> {
  // Those that other sidecars have put into a shared store are in no report here.
  const { goals } = await api.goals.listRecentGoals(api.scope, { signal });
  const recent = goals.flatMap((goal) => goal.reflections).find((one) => one.id === id);
  if (recent) return recent;
  const found = await reportsOf(api, { reportState: GoalReportState.DONE }, signal, (one) => one.reflection?.id === id);
  return found.at(-1)?.reflection;
}

/** The goal's reflection that says this; undefined if none does. */
export async function reflectionSaying(api: Api, goalId: string, insight: string, signal: AbortSignal): Promise<GoalReflection | undefined> {
  const says = (one: GoalReflection | undefined) => one?.insight === insight;
  const { reflections } = await api.goals.getGoalReflections({ ...api.scope, goalId }, { signal });
  const recent = reflections.find(says);
  if (recent) return recent;
  return (await reportsOf(api, { goalId }, signal, (one) => says(one.reflection))).find((one) => says(one.reflection))?.reflection;
}

/** The goal that a turn was reported for, among the newest reports; empty if none of these names the turn. */
export async function goalOfTurn(api: Api, turnId: string, signal: AbortSignal): Promise<string> {
  const { reports } = await api.goals.listGoalReports({ ...api.scope, pageSize: PAGE }, { signal });
  return reports.find((one) => one.turnId === turnId)?.goalId ?? "";
}

/** The reports, the newest first, until one is the `last`. */
async function reportsOf(
  api: Api,
  narrowed: { goalId?: string; reportState?: GoalReportState },
  signal: AbortSignal,
  last?: (report: GoalReport) => boolean,
): Promise<GoalReport[]> {
  const found: GoalReport[] = [];
  let pageToken = "";
  for (let page = 0; page < MOST_PAGES; page++) {
    const request = { ...api.scope, ...narrowed, pageSize: PAGE, pageToken };
    const { reports, nextPageToken } = await api.goals.listGoalReports(request, { signal });
    const at = last ? reports.findIndex(last) : -1;
    if (at >= 0) return [...found, ...reports.slice(0, at + 1)];
    if (!last) found.push(...reports);
    if (nextPageToken === "") break;
    pageToken = nextPageToken;
  }
  return found;
}

/** A goal by its id. */
export function Goal(props: { id: string }) {
  const api = useApi();
  const request = { goalId: props.id };
  const asked = useAsked(`goal ${props.id}`, async (signal) => {
    const [{ reflections }, reports] = await Promise.all([
      api.goals.getGoalReflections({ ...api.scope, ...request }, { signal }),
      reportsOf(api, request, signal),
    ]);
    return { reflections, reports };
  });
  const last = asked.value?.reports[0]?.state ?? asked.value?.reflections[0]?.goalState;
  return (
    <>
      <div class="title">
        <Heading of={props.id}>Goal</Heading>
        {last !== undefined && <Ended state={last} />}
      </div>
      <p>
        <Id copied>{props.id}</Id>
      </p>
      <Answered asked={asked}>
        {({ reflections, reports }) =>
          reflections.length + reports.length === 0 ? (
            <Empty>
              <p>
                Nothing is known of this goal. What a goal taught is shown for 7 days after it is reported; what it taught
                about a failure stays among the <Link to={["lessons"]}>lessons</Link>.
              </p>
            </Empty>
          ) : (
            <>
              <Text plain>{reports[0]?.objective || reflections[0]?.objective || ""}</Text>
              {reports.length > 0 && (
                <section>
                  <h2>How it ended</h2>
                  <Reports of={reports} />
                </section>
              )}
              <section>
                <h2>Lessons that it left</h2>
                <Left reports={reports} reflections={reflections} />
              </section>
              {reflections.map((one) => (
                <section key={one.id}>
                  <h2>What it taught</h2>
                  <Taught of={one} isInGoal />
                </section>
              ))}
            </>
          )
        }
      </Answered>
      <Grpcurl method={GoalReflectionService.method.listGoalReports} request={request} />
    </>
  );
}

function Ended(props: { state: GoalState }) {
  return <Badge tone={props.state === GoalState.COMPLETED ? "good" : "bad"}>{word(GoalStateSchema, props.state)}</Badge>;
}

/** Each report of a goal: how it ended, the turn that worked towards it, and what became of the report. */
function Reports(props: { of: readonly GoalReport[] }) {
  return (
    <table class="reports">
      <thead>
        <tr>
          <th scope="col">Reported</th>
          <th scope="col">Outcome</th>
          <th scope="col">Turn</th>
          <th scope="col">Reflection</th>
        </tr>
      </thead>
      <tbody>
        {props.of.map((one) => (
          <tr key={one.reportId}>
            <td>
              <Time at={one.createTime} />
            </td>
            <td>
              <Ended state={one.state} />
            </td>
            <td class="task">
              {one.turnId ? (
                <Link to={["turns", one.turnId]}>
                  <Id>{one.turnId}</Id>
                </Link>
              ) : (
                <span class="dim">none named</span>
              )}
            </td>
            <td>
              {one.reportState !== GoalReportState.DONE ? (
                <>
                  <Badge tone={one.reportState === GoalReportState.DEAD ? "bad" : "warn"}>
                    {word(GoalReportStateSchema, one.reportState)}
                  </Badge>{" "}
                  <span class="dim">{headline(one.lastError)}</span>
                </>
              ) : one.reflection ? (
                <Link to={["lessons", one.reflection.id]} query={OF_GOAL}>
                  made
                </Link>
              ) : (
                <span class="dim">none: it would say no more than how it ended, or what a retired lesson says</span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A goal's reflection on a screen of its own. */
export function GoalLesson(props: { of: GoalReflection }) {
  return (
    <>
      <div class="title">
        <Heading of={props.of.insight}>Lesson of a goal</Heading>
      </div>
      <Taught of={props.of} />
    </>
  );
}

function Taught(props: { of: GoalReflection; isInGoal?: boolean }) {
  const { of, isInGoal } = props;
  return (
    <>
      <Text said>{of.insight}</Text>
      <Facts
        of={[
          [
            "Goal",
            !isInGoal && (
              <Link to={["goals", of.goalId]}>
                <Id>{of.goalId}</Id>
              </Link>
            ),
          ],
          ["Objective", !isInGoal && of.objective && <Text plain>{of.objective}</Text>],
          ["Ended", word(GoalStateSchema, of.goalState)],
          ["Trust", word(OriginSchema, of.origin)],
          ["Importance", of.importance.toFixed(2)],
          ["Made", <Time at={of.createTime} />],
          ["Id", of.id && <Id>{of.id}</Id>],
        ]}
      />
      {of.id && (
        <section>
          <h2>Where it was shown</h2>
          <Receipts lessonId={of.id} />
        </section>
      )}
      {of.id && !isInGoal && <Changes lessonIds={[of.id]} kind={AdviceKind.LESSONS} />}
    </>
  );
}

/** The memories that the goal's reports and turns taught, or that have the words of its reflections. No call lists them
 * by their source: they are looked for by their words, and among the newest. */
function Left(props: { reports: readonly GoalReport[]; reflections: readonly GoalReflection[] }) {
  const api = useApi();
  const { reports, reflections } = props;
  const texts = new Set(reflections.map((one) => one.insight));
  const asks = [...texts, ...reports.slice(0, 1).map((one) => one.objective)];
  const [made, worked] = [new Set(reports.map((one) => one.reportId)), new Set(reports.map((one) => one.turnId).filter(Boolean))];
  const asked = useAsked(`left ${asks.join(" ")} ${[...made].join(" ")}`, async (signal) => {
    const found = new Map<string, Memory>();
    for (const queryText of asks) {
      const sought = { queryText, k: MOST_ALIKE, minImportance: 0, includeQuarantined: true, includeRetired: true };
      const { hits } = await api.memory.queryReflections({ ...api.scope, ...sought }, { signal });
      for (const { memory } of hits) if (memory) found.set(memory.id, memory);
    }
    const newest = await newestMemories(api, signal);
    for (const memory of newest.memories) found.set(memory.id, memory);
    const isLeft = (one: Memory) =>
      texts.has(one.content) ||
      one.sourceReportIds.some((id) => made.has(id)) ||
      one.sourceTurnIds.some((id) => worked.has(id));
    return { memories: [...found.values()].filter(isLeft), isWhole: newest.isWhole };
  });
  return (
    <Answered asked={asked}>
      {({ memories, isWhole }) =>
        memories.length === 0 ? (
          <p class="dim">
            {isWhole ? "None." : `None that is found by words, or among the newest ${whole(MOST_NEWEST)}; there are older ones.`} What
            only went well leaves a reflection, and no lesson.
          </p>
        ) : (
          <ul>
            {memories.map((memory) => (
              <li key={memory.id}>
                <Link to={["lessons", memory.id]}>
                  <Line>{memory.content}</Line>
                </Link>{" "}
                <MemoryStanding memory={memory} />
              </li>
            ))}
          </ul>
        )
      }
    </Answered>
  );
}

/** The newest memories, and whether there are no others. */
async function newestMemories(api: Api, signal: AbortSignal): Promise<{ memories: Memory[]; isWhole: boolean }> {
  const memories: Memory[] = [];
  let pageToken = "";
  do {
    const asked = { ...api.scope, pageSize: MOST_NEWEST - memories.length, pageToken };
    const page = await api.memory.listReflections(asked, { signal });
    memories.push(...page.memories);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && memories.length < MOST_NEWEST);
  return { memories, isWhole: pageToken === "" };
}
