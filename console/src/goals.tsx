/** What goals taught: a goal with its reflections, and one of these by its id. */
import { OriginSchema } from "@sidemirror/api/v1/common";
import {
  GoalReflectionService,
  GoalReportState,
  GoalStateSchema,
  type GoalReflection,
} from "@sidemirror/api/v1/goal_reflection";

import { useApi, useAsked, type Api } from "./api.js";
import { Answered, Empty, Facts, Grpcurl, Heading, Id, Link, Text, Time } from "./parts.js";
import { Receipts } from "./receipts.js";
import { word } from "./words.js";

// How many reports are looked through: more than most projects make in the 7 days for which a reflection is shown.
const PAGE = 200;
const MOST_PAGES = 5;

/** The reflection of this id; undefined if none of the recent ones has it. No call names a reflection by its id alone. */
export async function goalReflection(api: Api, id: string, signal: AbortSignal): Promise<GoalReflection | undefined> {
  // Those that other sidecars have put into a shared store are in no report here.
  const { goals } = await api.goals.listRecentGoals(api.scope, { signal });
  const recent = goals.flatMap((goal) => goal.reflections).find((one) => one.id === id);
  if (recent) return recent;
  let pageToken = "";
  for (let page = 0; page < MOST_PAGES; page++) {
    const request = { ...api.scope, reportState: GoalReportState.DONE, pageSize: PAGE, pageToken };
    const { reports, nextPageToken } = await api.goals.listGoalReports(request, { signal });
    const found = reports.find((report) => report.reflection?.id === id);
    if (found || nextPageToken === "") return found?.reflection;
    pageToken = nextPageToken;
  }
  return undefined;
}

/** A goal by its id. */
export function Goal(props: { id: string }) {
  const api = useApi();
  const request = { goalId: props.id };
  const asked = useAsked(`goal ${props.id}`, (signal) => api.goals.getGoalReflections({ ...api.scope, ...request }, { signal }));
  return (
    <>
      <div class="title">
        <Heading>Goal</Heading>
      </div>
      <p>
        <Id copied>{props.id}</Id>
      </p>
      <Answered asked={asked}>
        {({ reflections }) =>
          reflections.length === 0 ? (
            <Empty>
              <p>
                Nothing is known of this goal. What a goal taught is shown for 7 days after it is reported; what it taught
                about a failure stays among the <Link to={["lessons"]}>lessons</Link>.
              </p>
            </Empty>
          ) : (
            <>
              <Text plain>{reflections[0]?.objective ?? ""}</Text>
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
      <Grpcurl method={GoalReflectionService.method.getGoalReflections} request={request} />
    </>
  );
}

/** A goal's reflection on a screen of its own. */
export function GoalLesson(props: { of: GoalReflection }) {
  return (
    <>
      <div class="title">
        <Heading>Lesson of a goal</Heading>
      </div>
      <Taught of={props.of} />
    </>
  );
}

function Taught(props: { of: GoalReflection; isInGoal?: boolean }) {
  const { of, isInGoal } = props;
  return (
    <>
      <Text plain>{of.insight}</Text>
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
    </>
  );
}
