/** Lessons, the newest first or by their text, each with whether it has helped. */
import {
  MemoryKind,
  MemoryKindSchema,
  MemoryState,
  MemoryStateSchema,
  ReflectiveMemoryService,
  type LessonStatistics,
  type Memory,
} from "@sidemirror/api/v1/reflective_memory";
import { OriginSchema } from "@sidemirror/api/v1/common";

import { useApi, useAsked } from "./api.js";
import { Choice, Filters, optionsOf, type Query } from "./filters.js";
import { joined, useKept, type Part } from "./kept.js";
import { Answered, Badge, Empty, Grpcurl, Heading, Id, Line, Link, Missing, More, Time } from "./parts.js";
import { Lift } from "./plots.js";
import { offBy, useTurnedOff, type Off } from "./turned_off.js";
import { counted, headline, timesLearned, whole, word } from "./words.js";

const PAGE = 50;
// How many that fit are looked through for a state: as many as one search has.
const MOST_SOUGHT = 1_000;
// GetLessonStatistics takes no more ids at once.
const MOST_IDS = 100;

/** The session that a lesson was learned in; empty for none. */
export function sessionOf(memory: Memory): string {
  const id = memory.metadata?.session_id;
  return typeof id === "string" ? id : "";
}

/** Whether a lesson is recalled, in a word. `isOff`: a policy turned it off. */
export function MemoryStanding(props: { memory: Memory; isOff?: boolean }) {
  const { state, quarantine } = props.memory;
  if (state === MemoryState.ACTIVE && props.isOff) {
    return (
      <Badge tone="warn" title="Active, but a policy turned it off, or what it rests on: no agent is told it">
        turned off
      </Badge>
    );
  }
  if (state === MemoryState.ACTIVE && props.memory.awaitsReview) {
    return (
      <Badge tone="warn" title="Active, but a rule made it, and it restates what calls came to or quotes a user: no agent is told it until a person reviews it">
        not told until reviewed
      </Badge>
    );
  }
  if (state === MemoryState.ACTIVE) return <Badge tone="good">active</Badge>;
  if (state === MemoryState.RETIRED) return <Badge>retired</Badge>;
  return (
    <>
      <Badge tone="warn">quarantined</Badge> <span class="dim wide">{headline(quarantine, 40)}</span>
    </>
  );
}

export function Lessons(props: { query: Query }) {
  const api = useApi();
  const { query } = props;
  const kind = MemoryKind[(query.kind ?? "").toUpperCase() as keyof typeof MemoryKind] ?? MemoryKind.UNSPECIFIED;
  const state = MemoryState[(query.state ?? "").toUpperCase() as keyof typeof MemoryState] ?? MemoryState.UNSPECIFIED;
  const text = query.text ?? "";
  const key = JSON.stringify([query]);
  const listed = { kind, state, pageSize: PAGE };
  // The search does not know of states: more of it is looked through.
  const k = state ? MOST_SOUGHT : PAGE;
  const sought = { queryText: text, kind, k, minImportance: 0, includeQuarantined: true, includeRetired: true };
  const first = useAsked(`lessons ${key}`, async (signal) => {
    if (text !== "") {
      const answer = await api.memory.queryReflections({ ...api.scope, ...sought }, { signal });
      const found = answer.hits.flatMap((hit) => hit.memory ?? []);
      return { rows: found.filter((one) => !state || one.state === state), next: "", isCut: found.length >= k };
    }
    const page = await api.memory.listReflections({ ...api.scope, ...listed }, { signal });
    return { rows: page.memories, next: page.nextPageToken, isCut: false };
  });
  // With the first page: what is new may push others out of it.
  const [older, setOlder] = useKept<Part<Memory>>("older lessons");
  const part = first.value && joined(first.value, older, (memory: Memory) => memory.id);
  const readOlder = async ({ rows, next }: Part<Memory>) => {
    const page = await api.memory.listReflections({ ...api.scope, ...listed, pageToken: next });
    setOlder({ rows: [...rows, ...page.memories], next: page.nextPageToken });
  };
  const memories = part?.rows ?? [];
  const ids = memories.map((memory) => memory.id);
  const turnedOff = useTurnedOff();
  const lifts = useAsked(`lifts ${ids.join(" ")}`, async (signal) => {
    const parts = Array.from({ length: Math.ceil(ids.length / MOST_IDS) }, (_, part) => ids.slice(part * MOST_IDS, (part + 1) * MOST_IDS));
    const answers = await Promise.all(
      parts.map((reflectionIds) => api.memory.getLessonStatistics({ ...api.scope, reflectionIds }, { signal })),
    );
    return new Map(answers.flatMap((answer) => answer.lessons).map((lesson) => [lesson.reflectionId, lesson]));
  });
  return (
    <>
      <div class="title">
        <Heading>Lessons</Heading>
      </div>
      <LessonFilters query={query} />
      <Answered asked={first}>
        {({ isCut }) => (
          <>
            {memories.length === 0 ? (
              <NoLessons query={query} />
            ) : (
              <Table memories={memories} lifts={lifts.value} hasSources={text !== ""} off={turnedOff.value} />
            )}
            {isCut && (
              <p class="dim">
                {state
                  ? `The ${whole(k)} that fit best were looked through for this state; others may have it too.`
                  : `The ${whole(k)} that fit best are shown; there may be others.`}
              </p>
            )}
            <Missing asked={lifts} what="Whether these lessons help" />
            <Missing asked={turnedOff} what="Which lessons a policy turned off" />
            {part && part.next !== "" && <More read={() => readOlder(part)}>Older lessons</More>}
          </>
        )}
      </Answered>
      {text === "" ? (
        <Grpcurl method={ReflectiveMemoryService.method.listReflections} request={listed} />
      ) : (
        <Grpcurl method={ReflectiveMemoryService.method.queryReflections} request={sought} />
      )}
    </>
  );
}

/** The turns or the session that a lesson was learned from. */
function Source(props: { memory: Memory }) {
  const { memory } = props;
  const session = sessionOf(memory);
  const [turn] = memory.sourceTurnIds;
  if (!turn && !session) return null;
  const more = memory.sourceTurnIds.length - 1;
  return (
    <p class="dim small">
      from{" "}
      {turn ? (
        <Link to={["turns", turn]}>
          <Id>{turn}</Id>
        </Link>
      ) : (
        <Link to={["turns"]} query={{ session }}>
          <Id>{session}</Id>
        </Link>
      )}
      {more > 0 && ` and ${counted(more, "turn")} more`}, learned {timesLearned(memory)}
    </p>
  );
}

/** How many tasks that were shown it succeeded, where nothing is compared; empty without an outcome. */
function succeeded(lesson: LessonStatistics): string {
  const arms = [lesson.shown, lesson.outside];
  const sum = (of: "successCount" | "failureCount") => arms.reduce((count, arm) => count + Number(arm?.[of] ?? 0n), 0);
  const [success, failure] = [sum("successCount"), sum("failureCount")];
  return success + failure > 0 ? `not compared; succeeded in ${success} of ${success + failure}` : "";
}

/** `hasSources`: whether each says where it comes from. */
function Table(props: {
  memories: readonly Memory[];
  lifts: ReadonlyMap<string, LessonStatistics> | undefined;
  hasSources: boolean;
  off: Off | undefined;
}) {
  return (
    <table class="lessons">
      <thead>
        <tr>
          <th scope="col" class="wide">
            Learned
          </th>
          <th scope="col">Lesson</th>
          <th scope="col" class="wide">
            Kind
          </th>
          <th scope="col">State</th>
          <th scope="col" class="wide" title="The least trusted source of its words">
            Trust
          </th>
          <th scope="col" class="wide" title="By how many percentage points more tasks succeeded with it, and the 95 % interval">
            Lift, in points
          </th>
        </tr>
      </thead>
      <tbody>
        {props.memories.map((memory) => {
          const lesson = props.lifts?.get(memory.id);
          return (
            <tr key={memory.id}>
              <td class="wide">
                <Time at={memory.createTime} />
              </td>
              <td class="task">
                <Link to={["lessons", memory.id]}>
                  <Line>{memory.content}</Line>
                </Link>
                {props.hasSources && <Source memory={memory} />}
                <p class="narrow dim small">
                  <Time at={memory.createTime} /> {word(MemoryKindSchema, memory.kind)}, trust {word(OriginSchema, memory.origin)}{" "}
                  {lesson?.lift !== undefined && <Lift of={lesson} />}
                </p>
              </td>
              <td class="wide">{word(MemoryKindSchema, memory.kind)}</td>
              <td>
                <MemoryStanding memory={memory} isOff={offBy(memory, props.off) !== undefined} />
              </td>
              <td class="wide">{word(OriginSchema, memory.origin)}</td>
              <td class="wide">
                {lesson && (lesson.lift !== undefined ? <Lift of={lesson} /> : <span class="dim">{succeeded(lesson)}</span>)}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

const NAMES = ["text", "kind", "state"];

function LessonFilters(props: { query: Query }) {
  const { query } = props;
  return (
    <Filters screen="lessons" query={query} names={NAMES}>
      <label>
        Search
        <input name="text" type="search" value={query.text ?? ""} maxLength={1000} placeholder="words of a lesson" size={28} />
      </label>
      <Choice name="kind" label="Kind" query={query} options={optionsOf(MemoryKindSchema)} />
      <Choice name="state" label="State" query={query} options={optionsOf(MemoryStateSchema)} />
    </Filters>
  );
}

function NoLessons(props: { query: Query }) {
  if (NAMES.some((name) => props.query[name])) {
    return (
      <Empty>
        <p>
          No lesson is like that. <Link to={["lessons"]}>Show all lessons</Link>
        </p>
      </Empty>
    );
  }
  return (
    <Empty>
      <p>
        <strong>Nothing is learned here yet.</strong> Lessons come of turns that ended, of goals that are reported, and of{" "}
        <code>sidemirror memory import FILE</code>.
      </p>
    </Empty>
  );
}
