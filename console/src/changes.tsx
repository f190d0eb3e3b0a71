/** When what agents are told was changed, and by whom: the server's `operations/advice_history.py`. */
import {
  AdviceKind,
  AdviceKindSchema,
  PolicyLevelSchema,
  type AdviceChange,
  type AdvicePolicy,
  type GetServerInfoResponse,
} from "@sidemirror/api/v1/sidecar";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ComponentChildren } from "preact";

import { StoreAway, useApi, useAsked, type Asked } from "./api.js";
import { Id, Link, Missing, Time } from "./parts.js";
import { isRecovery } from "./record.js";
import { headline, millisOf, word } from "./words.js";

const SHADOW = "shadow";
// How many stand on a screen; the sidecar has the last 200.
const MOST = 20;

const WHAT = "When what agents are told was changed";

/** The changes on record, the newest first. */
function useChanges(): Asked<readonly AdviceChange[]> {
  const api = useApi();
  return useAsked("advice changes", async (signal) => {
    const info = await api.sidecar.getServerInfo({ ...api.scope, withAdviceChanges: true }, { signal });
    if (isUntold(info)) throw new StoreAway();
    return info.adviceChanges;
  });
}

/** Whether an answer has no changes because the store did not tell them. */
export function isUntold(info: GetServerInfoResponse): boolean {
  return info.spendUnknown && info.adviceChanges.length === 0;
}

/** From when to when the shadow mode held in which a turn began. */
export function ShadowSpan(props: { at: Timestamp | undefined }) {
  const asked = useChanges();
  const changes = asked.value;
  if (changes === undefined || props.at === undefined) {
    return (
      <>
        not told what was found
        <Missing asked={asked} what="Since when" />
      </>
    );
  }
  const at = millisOf(props.at);
  const modes = changes.filter((one) => one.mode !== "");
  const since = modes.find((one) => one.mode === SHADOW && timeOf(one) <= at);
  const until = modes.findLast((one) => one.mode !== SHADOW && timeOf(one) > at);
  if (!since) return <>not told what was found; since when is not on record</>;
  return (
    <>
      not told what was found. A sidecar with advice__mode shadow started <Time at={since.time} />,{" "}
      {until ? (
        <>
          one without it <Time at={until.time} />
        </>
      ) : (
        "and it still is so"
      )}
    </>
  );
}

/** What was changed of what agents are told about lessons or recoveries. `lessonIds`: only of these, and of their
 * `kind`. `restsOn`: what silences these too. */
export function Changes(props: { lessonIds: readonly string[]; restsOn?: readonly string[]; kind: AdviceKind }) {
  const asked = useChanges();
  return (
    <>
      <Missing asked={asked} what={WHAT} />
      {asked.value && <ChangeList of={asked.value} {...props} />}
    </>
  );
}

interface Wanted {
  lessonIds?: readonly string[];
  restsOn?: readonly string[];
  kind?: AdviceKind;
}

/** Changes, the newest first. `lessonIds`: only of these, and of their `kind`; without them all. */
export function ChangeList(props: Wanted & { of: readonly AdviceChange[] }) {
  const { lessonIds, restsOn = [], kind = AdviceKind.ALL } = props;
  const names = useNames(lessonIds ? [] : props.of.slice(0, MOST));
  const told = props.of.flatMap((change) => {
    const what = change.mode !== "" ? mode(change) : lessonIds ? about(change, lessonIds, kind) || ofBase(change, restsOn) : all(change, names);
    return what === "" ? [] : [{ change, what }];
  });
  if (told.length === 0) return null;
  return (
    <section>
      <h2>What was turned off and on</h2>
      <ol class="versions">
        {told.slice(0, MOST).map(({ change, what }, index) => (
          <li key={index}>
            <Time at={change.time} /> {what}
          </li>
        ))}
      </ol>
    </section>
  );
}

function mode(change: AdviceChange): string {
  return `the mode is ${headline(change.mode, 40)} from here on, by the sidecar's setting`;
}

function all(change: AdviceChange, named: ReadonlyMap<string, string>): ComponentChildren {
  const { off = [], silencedIds = [] } = change.after ?? {};
  const what: ComponentChildren[] = [
    ...off.map((one) => word(AdviceKindSchema, one)),
    ...silencedIds.map((id) => (
      <Link to={isRecovery(id) ? ["recoveries"] : ["lessons", id]} query={isRecovery(id) ? { text: id } : {}} title={headline(id, 128)}>
        <bdi>{named.get(id) ?? headline(id, 128)}</bdi>
      </Link>
    )),
  ];
  return (
    <>
      turned off{whose(change)}: {what.length === 0 ? "nothing" : what.flatMap((one, index) => (index > 0 ? [", ", one] : [one]))}
    </>
  );
}

// How many lessons that were turned off are named by their words.
const MOST_NAMED = 20;

/** The words of lessons that changes turned off, by id. Of recoveries, and of what is gone, there are none. */
function useNames(changes: readonly AdviceChange[]): ReadonlyMap<string, string> {
  const api = useApi();
  const ids = [...new Set(changes.flatMap((one) => one.after?.silencedIds ?? []))].filter((id) => !isRecovery(id)).slice(0, MOST_NAMED);
  const asked = useAsked(`names ${ids.join(" ")}`, async (signal) => {
    if (ids.length === 0) return new Map<string, string>();
    const { memories } = await api.memory.listReflections({ ...api.scope, reflectionIds: ids }, { signal });
    return new Map(memories.map((one) => [one.id, headline(one.content, 80)] as const).filter(([, words]) => words !== ""));
  });
  return asked.value ?? new Map();
}

function about(change: AdviceChange, ids: readonly string[], kind: AdviceKind): string {
  const silenced = (policy: AdvicePolicy | undefined) => ids.filter((id) => policy?.silencedIds.includes(id));
  const [was, is] = [silenced(change.before), silenced(change.after)];
  const named = (found: readonly string[]) => (ids.length > 1 ? `${found.map((id) => headline(id, 128)).join(", ")} ` : "");
  const newly = is.filter((id) => !was.includes(id));
  if (newly.length > 0) return `${named(newly)}silenced${whose(change)}`;
  const again = was.filter((id) => !is.includes(id));
  if (again.length > 0) return `${named(again)}no longer silenced${whose(change)}`;
  const isOff = (policy: AdvicePolicy | undefined) => policy?.off.some((one) => one === kind || one === AdviceKind.ALL) ?? false;
  if (isOff(change.before) === isOff(change.after)) return "";
  return `all ${word(AdviceKindSchema, kind)} turned ${isOff(change.after) ? "off" : "on"}${whose(change)}`;
}

/** What was done to what a lesson rests on. */
function ofBase(change: AdviceChange, ids: readonly string[]): ComponentChildren {
  const has = (policy: AdvicePolicy | undefined, id: string) => policy?.silencedIds.includes(id) ?? false;
  const id = ids.find((one) => has(change.before, one) !== has(change.after, one));
  if (id === undefined) return "";
  return (
    <>
      what it rests on,{" "}
      <Link to={["lessons", id]}>
        <Id>{id}</Id>
      </Link>
      , {has(change.after, id) ? "silenced" : "no longer silenced"}
      {whose(change)}
    </>
  );
}

function whose(change: AdviceChange): string {
  const by = headline(change.changedBy, 80) || "a caller without a name";
  const why = change.reason ? ` (${headline(change.reason, 300)})` : "";
  return ` by ${by} in the policy of the ${word(PolicyLevelSchema, change.level)}${why}`;
}

function timeOf(change: AdviceChange): number {
  return change.time ? millisOf(change.time) : 0;
}
