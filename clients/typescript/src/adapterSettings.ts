import { types } from "node:util";
import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import type { TaskOutcome } from "@sidemirror/api/v1/common";
import { ThinkLevel, TurnBudgetSchema } from "@sidemirror/api/v1/thinking";
import { connect, type Sidemirror } from "./client.js";

type LevelName = Exclude<keyof typeof ThinkLevel, "UNSPECIFIED">;

/** A level, or its name: `"high"`, `"HIGH"`, `"THINK_LEVEL_HIGH"`. */
export type Level = ThinkLevel | LevelName | Lowercase<LevelName> | `THINK_LEVEL_${LevelName}`;

/** What an adapter does, the same for every framework. Times are in milliseconds, and are waited at most. */
export interface Settings {
  /** How deep the sidecar thinks about a run; `"medium"` by default, `"off"`: no reflections. */
  level?: Level | undefined;
  /** What reflections on a run may spend; the sidecar's own defaults without one. */
  budget?: MessageInitShape<typeof TurnBudgetSchema> | undefined;
  /** Lessons for the task are shown at the start; true by default. */
  lessons?: boolean | undefined;
  /** 2 seconds by default. */
  lessonsMs?: number | undefined;
  /** The agent can run commands: it is told fixed sentences and lessons that a person reviewed, and nothing else. */
  hasShell?: boolean | undefined;
  /** What the sidecar says to what was reported is shown with the next request; true by default. Off, it says nothing. */
  advice?: boolean | undefined;
  /** 1 second by default. */
  adviceMs?: number | undefined;
  /** How often a final answer may be sent back, at most; 1 by default, 0: no answer is judged. */
  revisions?: number | undefined;
  /** 10 seconds by default. */
  critiqueMs?: number | undefined;
  /** Of each text that is reported, what may be: task, arguments, results, errors, what the model said. */
  redact?: ((text: string) => string) | undefined;
  /**
   * How a run went that ended with this answer. Without it such a run is UNSPECIFIED, from which nothing is learned: that
   * it ended does not say that its task was done. `true` is SUCCESS, `false` is FAILURE.
   */
  outcome?: ((answer: string) => TaskOutcome | boolean) | undefined;
  /** The goal that runs work towards, reported with the outcome; its objective is the task. */
  goalId?: string | undefined;
  /** The session of all runs. */
  sessionId?: string | undefined;
  /** Else one that connects as the environment says, shared by all that have none. */
  client?: Sidemirror | undefined;
}

/** Settings that are right, with what is there in any case. */
export type Checked = Readonly<Omit<Settings, "level" | "client">> & { readonly level: ThinkLevel; readonly client: Sidemirror };

/** What a value should be, if it is not. */
type Check = (value: unknown) => string | undefined;

function check(is: (value: any) => boolean, what: string): Check {
  return (value) => (is(value) ? undefined : what);
}

const LEVELS = Object.values(ThinkLevel).filter((name): name is LevelName => typeof name === "string" && name !== "UNSPECIFIED");
const NO_LEVEL = `one of ${LEVELS.map((name) => `"${name.toLowerCase()}"`).join(", ")}, or a ThinkLevel`;
/** The longest that a timer of Node.js can be. */
const MOST_MS = 2 ** 31 - 1;

const isSwitch = check((value) => typeof value === "boolean", "true or false");
const isTime = check((value) => typeof value === "number" && value >= 0 && value <= MOST_MS, `milliseconds, 0 to ${MOST_MS}`);
const isText = check((value) => typeof value === "string" && value !== "", "a text that is not empty");
const isFunction = check(
  (value) => typeof value === "function" && !types.isAsyncFunction(value),
  "a function that is not async",
);

const CHECKS: Required<{ [name in keyof Settings]: Check }> = {
  level: check((value) => levelOf(value) !== undefined, NO_LEVEL),
  budget: isBudget,
  lessons: isSwitch,
  lessonsMs: isTime,
  hasShell: isSwitch,
  advice: isSwitch,
  adviceMs: isTime,
  revisions: check((value) => Number.isSafeInteger(value) && value >= 0, "a whole number, 0 or more"),
  critiqueMs: isTime,
  redact: isFunction,
  outcome: isFunction,
  goalId: isText,
  sessionId: isText,
  client: check((value) => typeof value?.beginTurn === "function", "a client, as connect() of @sidemirror/client gives it"),
};

/** The client of all settings that have none. */
let common: Sidemirror | undefined;

/**
 * The settings that a function of this name is given, if they are right. Throws TypeError for a name or a value that is
 * wrong, and what `connect` throws.
 */
export function checked(by: string, settings: Settings): Checked {
  if (typeof settings !== "object" || settings === null) throw new TypeError(`${by} takes an object with its settings`);
  for (const [name, value] of Object.entries(settings)) {
    if (!Object.hasOwn(CHECKS, name)) throw new TypeError(`${by} has no setting "${name}"${meant(name)}`);
    const expected = value === undefined ? undefined : CHECKS[name as keyof Settings](value);
    if (expected) throw new TypeError(`${by}: the setting "${name}" is ${expected}; it was given ${shown(value)}`);
  }
  const client = settings.client ?? (common ??= connect());
  return { ...settings, level: levelOf(settings.level) ?? ThinkLevel.MEDIUM, client };
}

function levelOf(given: unknown): ThinkLevel | undefined {
  if (typeof given === "number") return ThinkLevel[given] === undefined ? undefined : given;
  if (typeof given !== "string") return undefined;
  const name = given.toUpperCase().replace(/^THINK_LEVEL_/, "");
  return LEVELS.includes(name as LevelName) ? ThinkLevel[name as LevelName] : undefined;
}

function isBudget(value: unknown): string | undefined {
  const fields = TurnBudgetSchema.fields.map(({ localName }) => localName);
  if (typeof value !== "object" || value === null) return `a TurnBudget, with ${fields.join(", ")}`;
  const unknown = Object.keys(value).find((name) => !name.startsWith("$") && !fields.includes(name));
  if (unknown !== undefined) return `a TurnBudget, with ${fields.join(", ")} and not "${unknown}"`;
  try {
    toBinary(TurnBudgetSchema, create(TurnBudgetSchema, value));
    return undefined;
  } catch (error) {
    return `a TurnBudget (${(error as Error).message})`;
  }
}

/** The name that was meant, also as an adapter for Python has it; else all of them. */
function meant(name: string): string {
  const folded = (one: string): string => one.replace(/_s$/, "_ms").replaceAll("_", "").toLowerCase();
  const found = Object.keys(CHECKS).find((known) => folded(known) === folded(name));
  if (found === undefined) return `; there are ${Object.keys(CHECKS).join(", ")}`;
  return `: it is "${found}"${found.endsWith("Ms") ? ", in milliseconds" : ""}`;
}

function shown(value: unknown): string {
  if (typeof value === "function") return types.isAsyncFunction(value) ? "an async function" : "a function";
  return typeof value === "string" ? JSON.stringify(value) : typeof value === "object" && value ? "an object" : String(value);
}
