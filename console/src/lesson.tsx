/** One lesson: its text, where it comes from, whether it helped, where it was shown, and how it came to its state. */
import {
  ErrorCategorySchema,
  LessonVerdictSchema,
  MemoryKindSchema,
  MemoryState,
  ReflectiveMemoryService,
  type LessonArm,
  type LessonStatistics,
  type Memory,
} from "@sidemirror/api/v1/reflective_memory";
import { Origin, OriginSchema } from "@sidemirror/api/v1/common";
import { AdviceKind } from "@sidemirror/api/v1/sidecar";
import { Code, ConnectError } from "@connectrpc/connect";
import { useState } from "preact/hooks";

import { useApi, useAsked } from "./api.js";
import { Changes } from "./changes.js";
import { GoalLesson, goalReflection, OF_GOAL, reflectionSaying } from "./goals.js";
import { MemoryStanding, sessionOf } from "./lessons.js";
import { Answered, Empty, Facts, Grpcurl, Heading, Id, Link, Missing, More, Text, Time, Unread } from "./parts.js";
import { usePlace } from "./place.js";
import { Lift } from "./plots.js";
import { Receipts } from "./receipts.js";
import { offBy, restsOn, useTurnedOff } from "./turned_off.js";
import { counted, headline, isCorrection, percent, reviewCommand, seen, timesLearned, word } from "./words.js";

/** A memory by its id, or a goal's reflection: receipts name both as lessons. */
export function Lesson(props: { id: string }) {
  const api = useApi();
  const reflectionId = props.id;
  const isOfGoal = usePlace().query.of === OF_GOAL.of;
  const asked = useAsked(`lesson ${reflectionId}`, async (signal) => {
    const known = isOfGoal ? await goalReflection(api, reflectionId, signal) : undefined;
    if (known) return { goal: known };
    try {
      const { memory } = await api.memory.getReflection({ ...api.scope, reflectionId }, { signal });
      return { memory };
    } catch (error) {
      const goal = ConnectError.from(error).code === Code.NotFound && (await goalReflection(api, reflectionId, signal));
      if (!goal) throw error;
      return { goal };
    }
  });
  return (
    <>
      {!asked.value && <Unread name="Lesson" />}
      <Answered asked={asked}>
        {({ memory, goal }) => (goal ? <GoalLesson of={goal} /> : memory && <Known memory={memory} />)}
      </Answered>
      {!asked.value?.goal && <Grpcurl method={ReflectiveMemoryService.method.getReflection} request={{ reflectionId }} />}
    </>
  );
}

function Known(props: { memory: Memory }) {
  const { memory } = props;
  const api = useApi();
  const evidence = useAsked(`evidence ${memory.id}`, (signal) =>
    api.memory.getLessonStatistics({ ...api.scope, reflectionIds: [memory.id] }, { signal }),
  );
  const versions = useAsked(`versions ${memory.id}`, (signal) =>
    api.memory.listReflectionVersions({ ...api.scope, reflectionId: memory.id }, { signal }),
  );
  const [others, setOthers] = useState<{ versions: Memory[]; next: string }>();
  const readOthers = async (pageToken: string) => {
    const page = await api.memory.listReflectionVersions({ ...api.scope, reflectionId: memory.id, pageToken });
    setOthers({ versions: [...(others?.versions ?? []), ...page.versions], next: page.nextPageToken });
  };
  const applies = memory.appliesWhen;
  const turnedOff = useTurnedOff();
  const off = offBy(memory, turnedOff.value);
  return (
    <>
      <div class="title">
        <Heading of={memory.content}>Lesson</Heading>
        <MemoryStanding memory={memory} isOff={off !== undefined} />
      </div>
      <Text said>{memory.content}</Text>
      {memory.reason && <p class="why">{seen(memory.reason)}</p>}
      <Missing asked={turnedOff} what="Whether a policy turned it off" />
      {off && (
        <p class="why">
          {off.it}: no agent is told it. To turn it on again: <code>{headline(off.on, 300)}</code>
        </p>
      )}
      {memory.state !== MemoryState.ACTIVE && memory.state !== MemoryState.UNSPECIFIED && (
        <p class="why">
          {memory.state === MemoryState.RETIRED ? "To bring it back" : "No agent is shown it. To release it"}:{" "}
          <code>{reviewCommand(memory)}</code>
        </p>
      )}
      <Facts
        of={[
          ["Kind", word(MemoryKindSchema, memory.kind)],
          [
            "Trust",
            memory.origin === Origin.TOOL && isCorrection(memory)
              ? "tool: its user said it; what it was learned from has texts of tools too"
              : word(OriginSchema, memory.origin),
          ],
          ["Importance", memory.importance.toFixed(2)],
          ["Learned", timesLearned(memory)],
          ["First", <Time at={memory.createTime} />],
          ["Changed", <Time at={memory.updateTime} />],
          ["Error", word(ErrorCategorySchema, memory.errorCategory)],
          [
            "Failure",
            memory.errorSignature && (
              <Link to={["recoveries", memory.errorSignature]}>
                <Id>{memory.errorSignature}</Id>
              </Link>
            ),
          ],
          ["For tools", applies && applies.tools.map((tool) => seen(tool)).join(", ")],
          ["Not when", applies && seen(applies.notWhen)],
          ["Tags", memory.tags.map((tag) => seen(tag)).join(", ")],
          ["Id", <Id copied>{memory.id}</Id>],
        ]}
      />
      <section>
        <h2>Where it comes from</h2>
        <Sources memory={memory} />
      </section>
      <section>
        <h2>Whether it helps</h2>
        <Answered asked={evidence}>{({ lessons }) => <Evidence lesson={lessons[0]} />}</Answered>
      </section>
      <section>
        <h2>Where it was shown</h2>
        {goalIdOf(memory) && <AsOfGoal memory={memory} goalId={goalIdOf(memory)} />}
        <Receipts lessonId={memory.id} />
      </section>
      <Changes lessonIds={[memory.id]} restsOn={restsOn(memory)} kind={AdviceKind.LESSONS} />
      <section>
        <h2>Versions</h2>
        <Answered asked={versions}>
          {(page) => {
            const next = others ? others.next : page.nextPageToken;
            return (
              <>
                <ol class="versions">
                  {[...page.versions, ...(others?.versions ?? [])].map((version) => (
                    <Version key={version.version} of={version} now={memory} />
                  ))}
                </ol>
                {page.versions.some((version) => authorOf(version) === NAMELESS) && (
                  <p class="dim small">
                    Names are those of the tokens in the access file; without one (<code>SIDEMIRROR_ACCESS_FILE</code>) callers
                    have none.
                  </p>
                )}
                {next !== "" && <More read={() => readOthers(next)}>Other versions</More>}
              </>
            );
          }}
        </Answered>
      </section>
    </>
  );
}

/** The goal that a lesson was learned of; empty for none. */
function goalIdOf(memory: Memory): string {
  const id = memory.metadata?.goal_id;
  return typeof id === "string" ? id : "";
}

// How many showings of the goal's own lesson are counted.
const MOST_SHOWN = 100;

/** That the same words are shown under another id: as the reflection of the goal. */
function AsOfGoal(props: { memory: Memory; goalId: string }) {
  const api = useApi();
  const { memory, goalId } = props;
  const asked = useAsked(`as of goal ${memory.id} ${memory.version}`, async (signal) => {
    const reflection = await reflectionSaying(api, goalId, memory.content, signal);
    if (!reflection) return undefined;
    const { receipts } = await api.memory.listReceipts({ ...api.scope, lessonId: reflection.id, pageSize: MOST_SHOWN }, { signal });
    return { id: reflection.id, count: receipts.filter((one) => one.items.some((item) => item.id === reflection.id && !item.isHeldBack)).length };
  });
  const found = asked.value;
  return (
    <>
      <Missing asked={asked} what="Where it was shown as the goal's lesson" />
      {found && (
        <p>
          As the{" "}
          <Link to={["lessons", found.id]} query={OF_GOAL}>
            lesson of its goal
          </Link>{" "}
          the same words were shown {found.count < MOST_SHOWN ? counted(found.count, "time") : `${MOST_SHOWN} times or more`}.
        </p>
      )}
    </>
  );
}

/** A version: when, how and by whom it was made, and why. `now`: the lesson as it is. */
function Version(props: { of: Memory; now: Memory }) {
  const { of: version, now } = props;
  return (
    <li>
      <span class="number">{version.version}</span> <Time at={version.updateTime} /> {headline(version.change, 40)}
      {" by "}
      {authorOf(version)} <MemoryStanding memory={version} />
      {version.reason && <span class="dim"> {seen(version.reason)}</span>}
      {version.content !== now.content && <Text said>{version.content}</Text>}
    </li>
  );
}

const NAMELESS = "a caller whose name is not known";

/** Who made a version, as `sidemirror memory show` says it: the server's `operations/lesson_sources.py`. */
function authorOf(version: Memory): string {
  const isLearned = version.change === "learned" && (version.metadata?.learned_from !== undefined || version.derivedFrom.length > 0);
  return headline(version.changedBy, 80) || (version.change === "judged" || isLearned ? "the sidecar" : NAMELESS);
}

function Sources(props: { memory: Memory }) {
  const { memory } = props;
  const turns = memory.sourceTurnIds;
  const session = sessionOf(memory);
  const goal = goalIdOf(memory);
  const related = [...new Set([memory.strategyOf, ...memory.derivedFrom, ...memory.relatedMemoryIds])].filter(Boolean);
  if (turns.length + related.length === 0 && !session && !goal) {
    return (
      <Empty>
        <p>No source is on record: it was stored or imported as it is.</p>
      </Empty>
    );
  }
  return (
    <Facts
      of={[
        ["Turns", turns.length > 0 && <Links to="turns" ids={turns} />],
        [
          // A lesson keeps one; its turns lead to the others.
          turns.length > 1 ? "One of its sessions" : "Session",
          session && (
            <Link to={["turns"]} query={{ session }}>
              <Id>{session}</Id>
            </Link>
          ),
        ],
        ["Goal", goal && <Links to="goals" ids={[goal]} />],
        ["Lessons", related.length > 0 && <Links to="lessons" ids={related} />],
        ["Events", memory.sourceEventIds.length || ""],
      ]}
    />
  );
}

function Links(props: { to: string; ids: readonly string[] }) {
  return (
    <ul class="inline">
      {props.ids.map((id) => (
        <li key={id}>
          <Link to={[props.to, id]}>
            <Id>{id}</Id>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Evidence(props: { lesson: LessonStatistics | undefined }) {
  const { lesson } = props;
  const hasArms = lesson && (lesson.shown || lesson.heldBack || lesson.outside || earlierArms(lesson).length > 0);
  const isKnown = lesson && (lesson.lift !== undefined || hasArms);
  if (!lesson || !isKnown) {
    return (
      <Empty>
        <p>
          No outcome is reported of a task that was shown it. Report them (<code>ReportOutcome</code>, or a turn's outcome),
          and hold it back in a fraction of tasks to compare.
        </p>
      </Empty>
    );
  }
  return (
    <>
      <p>
        <strong>{word(LessonVerdictSchema, lesson.verdict)}</strong> <span class="dim">{seen(lesson.detail)}</span>
      </p>
      <Arms
        of={[
          ["shown", lesson.shown],
          ...heldApart(lesson, "held back"),
          ["shown without a draw", lesson.outside],
          ...earlierArms(lesson),
        ]}
      />
      <p class="dim small">
        A partial outcome is among those that did not. A turn is one task, with however many blocks. Counted are blocks
        whose outcome was reported; what advice told at a failing call mostly is not.{" "}
        {lesson.outside !== undefined && "Shown without a draw is not compared."}{" "}
        {lesson.keptInShadow !== undefined && "What shadow mode kept is not compared either."}
      </p>
      {lesson.lift === undefined ? (
        <p>
          <Lift of={lesson} />
        </p>
      ) : (
        <Facts
          stacked
          of={[
            ["Lift at one look, in points", <Lift of={lesson} large />],
            ["At any look", <Lift of={lesson} interval={lesson.intervalAtAnyLook} name="At any look" large />],
          ]}
        />
      )}
    </>
  );
}

/** What was held back: by a draw, and apart from it in shadow mode, which nothing is compared with. */
export function heldApart(of: { heldBack?: LessonArm; keptInShadow?: LessonArm }, name: string): (readonly [string, LessonArm | undefined])[] {
  const { heldBack, keptInShadow } = of;
  if (!heldBack || !keptInShadow) return [[name, heldBack]];
  const drawn = {
    ...heldBack,
    assignedCount: heldBack.assignedCount - keptInShadow.assignedCount,
    successCount: heldBack.successCount - keptInShadow.successCount,
    failureCount: heldBack.failureCount - keptInShadow.failureCount,
    missingCount: heldBack.missingCount - keptInShadow.missingCount,
  };
  return [
    [name, drawn],
    ["kept in shadow mode", keptInShadow],
  ];
}

/** What was counted before a new text, or before the lesson was brought back. */
function earlierArms(lesson: LessonStatistics): (readonly [string, LessonArm])[] {
  const since = `before version ${lesson.fromVersion}, counts no more:`;
  const arms = [
    [`${since} shown`, lesson.earlierShown],
    [`${since} held back`, lesson.earlierHeldBack],
    [`${since} shown without a draw`, lesson.earlierOutside],
  ] as const;
  return arms.flatMap(([name, arm]) => (arm ? [[name, arm] as const] : []));
}

/** What tasks came to, by what they were shown. */
export function Arms(props: { of: readonly (readonly [string, LessonArm | undefined])[]; heading?: string }) {
  return (
    <table class="arms">
      <thead>
        <tr>
          <th scope="col">{props.heading ?? "Tasks"}</th>
          <th scope="col" class="number">
            all
          </th>
          <th scope="col" class="number">
            succeeded
          </th>
          <th scope="col" class="number">
            did not
          </th>
          <th scope="col" class="number">
            not known
          </th>
          <th scope="col" class="number">
            rate
          </th>
        </tr>
      </thead>
      <tbody>
        {props.of.map(([name, arm]) => {
          const [success, failure] = [Number(arm?.successCount ?? 0n), Number(arm?.failureCount ?? 0n)];
          return (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="number">{String(arm?.assignedCount ?? 0n)}</td>
              <td class="number">{success}</td>
              <td class="number">{failure}</td>
              <td class="number">{String(arm?.missingCount ?? 0n)}</td>
              <td class="number">{success + failure > 0 ? percent(success / (success + failure)) : "–"}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
