/** The reports of goals, the newest first. */
import { GoalReflectionService, GoalState, GoalStateSchema, type GoalReport } from "@sidemirror/api/v1/goal_reflection";

import { useApi, useAsked } from "./api.js";
import { joined, useKept, type Part } from "./kept.js";
import { Answered, Badge, Empty, Grpcurl, Heading, Id, Link, More, Time } from "./parts.js";
import { headline, word } from "./words.js";

const PAGE = 50;

export function Goals() {
  const api = useApi();
  const read = async (pageToken: string, signal?: AbortSignal): Promise<Part<GoalReport>> => {
    const page = await api.goals.listGoalReports({ ...api.scope, pageSize: PAGE, pageToken }, { signal });
    return { rows: page.reports, next: page.nextPageToken };
  };
  const first = useAsked("goals", (signal) => read("", signal));
  const [older, setOlder] = useKept<Part<GoalReport>>("older goals");
  const part = first.value && joined(first.value, older, (report: GoalReport) => report.reportId);
  const readOlder = async ({ rows, next }: Part<GoalReport>) => {
    const page = await read(next);
    setOlder({ rows: [...rows, ...page.rows], next: page.next });
  };
  return (
    <>
      <div class="title">
        <Heading>Goals</Heading>
      </div>
      <Answered asked={first}>
        {() =>
          part && (
            <>
              {part.rows.length === 0 ? (
                <Empty>
                  <p>
                    <strong>No goal is reported here yet.</strong> A client's <code>finish</code> with a goal reports one, and{" "}
                    <code>ReportGoal</code>.
                  </p>
                </Empty>
              ) : (
                <Table reports={part.rows} />
              )}
              {part.next !== "" && <More read={() => readOlder(part)}>Older goals</More>}
            </>
          )
        }
      </Answered>
      <Grpcurl method={GoalReflectionService.method.listGoalReports} request={{ pageSize: PAGE }} />
    </>
  );
}

function Table(props: { reports: readonly GoalReport[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Reported</th>
          <th scope="col">Goal</th>
          <th scope="col">Outcome</th>
        </tr>
      </thead>
      <tbody>
        {props.reports.map((one) => (
          <tr key={one.reportId}>
            <td>
              <Time at={one.createTime} />
            </td>
            <td class="task">
              <Link to={["goals", one.goalId]}>
                <bdi>{headline(one.objective) || <Id>{one.goalId}</Id>}</bdi>
              </Link>
            </td>
            <td>
              <Badge tone={one.state === GoalState.COMPLETED ? "good" : "bad"}>{word(GoalStateSchema, one.state) || "not known"}</Badge>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
