/** Lessons that a turn taught, and those in quarantine that are about it: the server's `operations/turn_lessons.py`. */
import { MemoryState, type Memory } from "@sidemirror/api/v1/reflective_memory";
import type { Turn, TurnDirective } from "@sidemirror/api/v1/thinking";

import { useApi, useAsked, type Asked } from "./api.js";
import { MemoryStanding } from "./lessons.js";
import { callAbout } from "./next_call.js";
import { Badge, Line, Link } from "./parts.js";
import type { Told } from "./record.js";
import { heldBecause, isCorrection, millisOf, reviewCommand } from "./words.js";

// How many of the newest lessons are looked through, in quarantine and in any state; how many are told at a call.
const MOST = 200;
const MOST_TOLD = 3;
// The contract cuts Turn.task to 1,000 characters.
const TASK_CHARS = 1_000;

export interface NewestLessons {
  readonly held: readonly Memory[];
  readonly all: readonly Memory[];
}

/** The newest lessons of the project. `state`: of the turn: its end teaches. */
export function useNewestLessons({ turnId, state }: Turn): Asked<NewestLessons> {
  const api = useApi();
  return useAsked(`newest lessons ${turnId} ${state}`, async (signal) => {
    const list = (more: { state?: MemoryState }) => api.memory.listReflections({ ...api.scope, pageSize: MOST, ...more }, { signal });
    const [held, all] = await Promise.all([list({ state: MemoryState.QUARANTINED }), list({})]);
    return { held: held.memories, all: all.memories };
  });
}

/** What a turn taught, and the corrections of its task that waited for a person when it began. */
export function Taught(props: { turn: Turn; lessons: NewestLessons }) {
  const { turn, lessons } = props;
  const known = new Map([...lessons.held, ...lessons.all].map((one) => [one.id, one]));
  const taught = [...known.values()].filter((one) => one.sourceTurnIds.includes(turn.turnId));
  const waits = lessons.held.filter((one) => one.quarantine === "correction" && hasWaited(one, turn));
  return (
    <>
      {waits.length > 0 && (
        <section>
          <h2>A user's correction of this task waits for a person, and was not told</h2>
          <ul class="versions">
            {waits.map((one) => (
              <Row key={one.id} of={one} />
            ))}
          </ul>
        </section>
      )}
      {taught.length > 0 && (
        <section>
          <h2>Learned from it</h2>
          <ul class="versions">
            {taught.map((one) => (
              <Row key={one.id} of={one} says={isCorrection(one) ? "a user's correction" : ""} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Row(props: { of: Memory; says?: string }) {
  const { of: memory, says } = props;
  return (
    <li>
      {says && `${says}: `}
      <Link to={["lessons", memory.id]}>
        <Line chars={120}>{memory.content}</Line>
      </Link>{" "}
      {memory.state === MemoryState.QUARANTINED ? (
        <>
          <Badge tone="warn">quarantined</Badge>{" "}
          <span class="dim">
            {heldBecause(memory) && `(${heldBecause(memory)}); `}to release it: <code>{reviewCommand(memory)}</code>
          </span>
        </>
      ) : (
        <MemoryStanding memory={memory} />
      )}
    </li>
  );
}

function hasWaited(memory: Memory, turn: Turn): boolean {
  const task = memory.metadata?.task_description;
  const isEarlier = timeOf(memory.createTime) < timeOf(turn.startTime);
  return isEarlier && turn.task.trim() !== "" && typeof task === "string" && task.slice(0, TASK_CHARS) === turn.task;
}

/** The lessons in quarantine that were there when a call failed, and are about its tool or such a failure. */
export function HeldAbout(props: { directive: TurnDirective; signature: string; told: Told }) {
  const { directive, signature, told } = props;
  const tool = callAbout(directive, told)?.name;
  const fits = told.held.filter(
    (one) =>
      timeOf(one.createTime) < timeOf(directive.time) &&
      ((signature !== "" && one.errorSignature === signature) || (tool !== undefined && (one.appliesWhen?.tools ?? []).includes(tool))),
  );
  if (fits.length === 0) return null;
  return (
    <p class="why">
      in quarantine, for this tool or failure:{" "}
      {fits.slice(0, MOST_TOLD).map((one, index) => (
        <span key={one.id}>
          {index > 0 && ", "}
          <Link to={["lessons", one.id]}>
            <Line chars={120}>{one.content}</Line>
          </Link>{" "}
          ({heldBecause(one)})
        </span>
      ))}
      {fits.length > MOST_TOLD && (
        <>
          {" "}
          and{" "}
          <Link to={["lessons"]} query={{ state: "quarantined" }}>
            {fits.length - MOST_TOLD} more
          </Link>
        </>
      )}
    </p>
  );
}

function timeOf(time: Memory["createTime"]): number {
  return time ? millisOf(time) : 0;
}
