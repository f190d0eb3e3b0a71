/** How the sidecar is now: what is wrong, its stores and models, what waits, and what a day may cost. */
import {
  SidecarService,
  SpendCapOwnerSchema,
  SpendLevelSchema,
  type GetServerInfoResponse,
  type SpendCap,
} from "@sidemirror/api/v1/sidecar";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { ThinkLevelSchema } from "@sidemirror/api/v1/thinking";
import { useEffect } from "preact/hooks";

import { useApi, useAsked } from "./api.js";
import { Lately } from "./lately.js";
import { ChangeList, isUntold } from "./changes.js";
import { useSeen } from "./live.js";
import { Answered, Badge, Facts, Grpcurl, Heading, Link, Time } from "./parts.js";
import { Share } from "./plots.js";
import { counted, durationMs, headline, lasting, millisOf, percent, spaced, usd, whole, word } from "./words.js";

const EVERY_MS = 5_000;
// From here on a difference of clocks is worth a look. Chosen here: times in one turn's record are apart by as much.
const CLOCK_MS = 1_000;
// How far the viewer's clock may differ, as for the command: `operations/running_check.py`.
const PAGE_CLOCK_MS = 5_000;

const UNKNOWN = "Not known: the store does not answer.";

// The built-in provider. What it cannot do is no finding: it takes a model.
const RULES = "rules";

interface Answer {
  readonly info: GetServerInfoResponse;
  /** How far the sidecar's clock is ahead of this page's. */
  readonly aheadMs: number;
}

const REQUEST = { withFindings: true, withAdviceChanges: true };

export function Now() {
  const api = useApi();
  const asked = useAsked("now", async (signal): Promise<Answer> => {
    const info = await api.sidecar.getServerInfo({ ...api.scope, ...REQUEST }, { signal });
    return { info, aheadMs: info.serverTime ? millisOf(info.serverTime) - Date.now() : 0 };
  });
  const isSeen = useSeen();
  useEffect(() => {
    if (!isSeen) return;
    const timer = setInterval(asked.again, EVERY_MS);
    return () => clearInterval(timer);
  }, [asked.again, isSeen]);
  return (
    <>
      <div class="title">
        <Heading>Now</Heading>
        <p class="dim">read every 5 s</p>
      </div>
      <Answered asked={asked}>{(answer) => <Info {...answer} />}</Answered>
      <Lately />
      <Grpcurl method={SidecarService.method.getServerInfo} request={REQUEST} />
    </>
  );
}

/** What somebody should look at, and what to do about it: what the sidecar finds, which `sidemirror doctor` says of it too,
 * and what else this screen has. */
function findings({ info, aheadMs }: Answer): Note[] {
  const found: Note[] = info.findings.map((one) => ({ ...one }));
  const add = (text: string, advice = "") => void found.push({ isOk: false, found: text, advice, lastTime: undefined });
  for (const model of info.models) {
    if (model.available || model.provider === RULES) continue;
    const purpose = headline(model.purpose).replaceAll("_", " ");
    add(`The model for ${purpose} is not asked (${headline(model.provider)} ${headline(model.model)}): it failed several times, cannot be loaded, or a cap is used up.`, "See the log.");
  }
  for (const cap of info.spendCaps) {
    if (usedOf(cap).some((used) => used >= 1)) add(`A day's cap is used up (${capName(cap)}): no model that costs is asked${cap.purpose ? " for it" : ""} until it resets.`);
  }
  if (info.spendUnknown) add("The store does not say what was spent: no model that costs is asked.");
  const ahead = info.storeClock?.ahead;
  if (ahead && Math.abs(durationMs(ahead)) > CLOCK_MS) {
    add(`The sidecar's clock is ${lasting(Math.abs(durationMs(ahead)))} off the store's.`, "Set it by NTP.");
  }
  if (Math.abs(aheadMs) > PAGE_CLOCK_MS) {
    add(`The sidecar's clock is ${lasting(Math.abs(aheadMs))} ${aheadMs > 0 ? "ahead of" : "behind"} this page's.`, "Set the clock that is wrong, and keep it in step.");
  }
  if (info.adviceIsShadow) add("Advice is kept and not told: advice__mode is shadow.");
  return found;
}

/** The subject of the finding about memories in quarantine. */
const OF_MEMORY = "memory";

interface Note {
  readonly subject?: string;
  readonly isOk: boolean;
  readonly found: string;
  readonly advice: string;
  readonly lastTime?: Timestamp;
}

function Findings(props: { of: readonly Note[] }) {
  return (
    <ul class="findings">
      {props.of.map((one) => (
        <li key={one.found} class={one.isOk ? "notice" : "notice warn"}>
          {headline(one.found, 2_000)}
          {one.lastTime && (
            <>
              , the last one at <Time at={one.lastTime} />
            </>
          )}
          {one.advice && <span class="dim"> {headline(one.advice, 2_000)}</span>}
          {one.subject === OF_MEMORY && (
            <>
              {" "}
              <Link to={["lessons"]} query={{ state: "quarantined" }}>
                Show them
              </Link>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function usedOf(cap: SpendCap): number[] {
  const tokens = cap.tokensPerDay === undefined ? [] : [shareOf(Number(cap.usedTokens), Number(cap.tokensPerDay))];
  const money = cap.usdPerDay === undefined ? [] : [shareOf(cap.usedUsd, cap.usdPerDay)];
  return [...tokens, ...money];
}

function shareOf(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole;
}

function capName(cap: SpendCap): string {
  return cap.purpose ? headline(cap.purpose.replaceAll("_", " ")) : `${word(SpendLevelSchema, cap.level)}, all purposes`;
}

function Info(props: Answer) {
  const { info } = props;
  const found = findings(props);
  return (
    <>
      <section>
        <h2>Findings</h2>
        {found.every((one) => one.isOk) && (
          <p>
            <Badge tone="good">all well</Badge> By what the sidecar tells of itself, nothing has to be changed.
          </p>
        )}
        <Findings of={found} />
        <p class="dim small">
          What only <code>sidemirror doctor</code> sees, on the sidecar's machine: its settings and files, addresses, the disk,
          the schema and roles of the store, Redis, and with <code>--ask-models</code> whether each model answers.
        </p>
      </section>
      <section>
        <h2>Stores</h2>
        <table>
          <thead>
            <tr>
              <th scope="col">Store</th>
              <th scope="col">Holds</th>
              <th scope="col" class="wide">
                A confirmed write survives
              </th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {info.stores.map((store) => (
              <tr key={store.kind + store.holds}>
                <td>{headline(store.kind)}</td>
                <td>{headline(store.holds)}</td>
                <td class="wide">{headline(store.durability)}</td>
                <td>
                  <Answers is={store.available} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <section>
        <h2>Models</h2>
        <table>
          <thead>
            <tr>
              <th scope="col">Model</th>
              <th scope="col">For</th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {modelsOf(info).map(([key, { name, purposes, available, isRules }]) => (
              <tr key={key}>
                <td>{name}</td>
                <td>{purposes.join(", ")}</td>
                <td>{isRules && !available ? <Badge>needs a model</Badge> : <Answers is={available} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <section>
        <h2>What waits</h2>
        {info.backlog.length === 0 ? (
          <p class="dim">{info.spendUnknown ? UNKNOWN : "No background work."}</p>
        ) : (
          <Facts of={info.backlog.map((one) => [headline(one.kind).replaceAll("_", " "), one.waitingCount] as const)} />
        )}
      </section>
      <section>
        <h2>What it costs</h2>
        <Spend info={info} />
      </section>
      {isUntold(info) && (
        <section>
          <h2>What was turned off and on</h2>
          <p class="dim">{UNKNOWN}</p>
        </section>
      )}
      <ChangeList of={info.adviceChanges} />
      <section>
        <h2>Settings</h2>
        <Facts
          of={[
            ["Version", headline(info.version)],
            ["Advice", info.adviceIsShadow ? "kept, not told" : "told"],
            ["Level of a new session", word(ThinkLevelSchema, info.defaultConfig?.level ?? 0) || "off"],
            ["Reflections of a turn", info.defaultBudget?.maxReflections],
            [
              "Embedding model",
              info.memoryEmbedding && `${headline(info.memoryEmbedding.model)}, weight ${info.memoryEmbedding.weight.toFixed(2)}`,
            ],
          ]}
        />
        <details>
          <summary>{counted(Object.keys(info.limits).length, "limit")}</summary>
          <Facts of={Object.entries(info.limits).map(([name, value]) => [headline(spaced(name)), whole(value)] as const)} />
        </details>
      </section>
    </>
  );
}

/** Each model with what it is asked for. */
function modelsOf(info: GetServerInfoResponse) {
  const models = new Map<string, { name: string; purposes: string[]; available: boolean; isRules: boolean }>();
  for (const { provider, model, purpose, available } of info.models) {
    const name = headline([provider, model].filter(Boolean).join(" "));
    const key = `${name} ${available}`;
    const known = models.get(key) ?? { name, purposes: [], available, isRules: provider === RULES };
    known.purposes.push(headline(purpose.replaceAll("_", " ")));
    models.set(key, known);
  }
  return [...models];
}

function Answers(props: { is: boolean }) {
  return <Badge tone={props.is ? "good" : "bad"}>{props.is ? "answers" : "does not answer"}</Badge>;
}

function Spend(props: { info: GetServerInfoResponse }) {
  const { spend, spendCaps, spendUnknown } = props.info;
  return (
    <>
      {spendCaps.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">Cap of a day</th>
              <th scope="col" class="wide">
                Set by the
              </th>
              <th scope="col">Used</th>
              <th scope="col" class="wide">
                Resets
              </th>
            </tr>
          </thead>
          <tbody>
            {spendCaps.map((cap) => (
              <tr key={`${cap.level} ${cap.owner} ${cap.purpose}`}>
                <td>{capName(cap)}</td>
                <td class="wide">{word(SpendCapOwnerSchema, cap.owner)}</td>
                <td>
                  {usedOf(cap).map((used, index) => (
                    <span key={index} class="used">
                      <Share part={used} of={1} name={capName(cap)} /> {percent(used)}{" "}
                    </span>
                  ))}
                </td>
                <td class="wide">
                  <Time at={cap.resetTime} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {spend.length === 0 ? (
        <p class="dim">{spendUnknown ? UNKNOWN : "No model was asked that costs anything in the last 7 days."}</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Day (UTC)</th>
              <th scope="col">For</th>
              <th scope="col" class="number">
                Calls
              </th>
              <th scope="col" class="number">
                Tokens
              </th>
              <th scope="col" class="number">
                USD
              </th>
            </tr>
          </thead>
          <tbody>
            {spend.map((one) => (
              <tr key={one.day + one.purpose}>
                <td>{headline(one.day)}</td>
                <td>{headline(one.purpose.replaceAll("_", " "))}</td>
                <td class="number">{String(one.calls)}</td>
                <td class="number">{whole(one.tokens)}</td>
                <td class="number">{usd(one.usd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
