/** How the sidecar is now: what is wrong, its stores and models, what waits, and what a day may cost. */
import {
  SidecarService,
  SpendCapOwnerSchema,
  SpendLevelSchema,
  type GetServerInfoResponse,
  type SpendCap,
} from "@sidemirror/api/v1/sidecar";
import { ThinkLevelSchema } from "@sidemirror/api/v1/thinking";
import { useEffect } from "preact/hooks";

import { useApi, useAsked } from "./api.js";
import { Changes } from "./changes.js";
import { Answered, Badge, Facts, Grpcurl, Heading, Time } from "./parts.js";
import { Share } from "./plots.js";
import { counted, durationMs, lasting, millisOf, percent, seen, spaced, usd, whole, word } from "./words.js";

const EVERY_MS = 5_000;
// From here on a difference of clocks is worth a look. Chosen here: times in one turn's record are apart by as much.
const CLOCK_MS = 1_000;

// The built-in provider. What it cannot do is no finding: it takes a model.
const RULES = "rules";

export function Now() {
  const api = useApi();
  const asked = useAsked("now", (signal) => api.sidecar.getServerInfo(api.scope, { signal }));
  useEffect(() => {
    const timer = setInterval(asked.again, EVERY_MS);
    return () => clearInterval(timer);
  }, [asked.again]);
  return (
    <>
      <div class="title">
        <Heading>Now</Heading>
        <p class="dim">read every 5 s</p>
      </div>
      <Answered asked={asked}>{(info) => <Info info={info} />}</Answered>
      <Grpcurl method={SidecarService.method.getServerInfo} request={{}} />
    </>
  );
}

/** What somebody should look at, and what to do about it. */
function findings(info: GetServerInfoResponse): string[] {
  const found: string[] = [];
  for (const store of info.stores) {
    if (!store.available) found.push(`The ${store.kind} store does not answer: ${store.holds} are not recorded. See its log.`);
  }
  for (const model of info.models) {
    if (model.available || model.provider === RULES) continue;
    const purpose = model.purpose.replaceAll("_", " ");
    found.push(`The model for ${purpose} is not asked (${model.provider} ${model.model}): it failed several times, cannot be loaded, or a cap is used up. See the log.`);
  }
  for (const cap of info.spendCaps) {
    if (usedOf(cap).some((used) => used >= 1)) found.push(`A day's cap is used up (${capName(cap)}): no model is asked until it resets.`);
  }
  if (info.spendUnknown) found.push("The store does not say what was spent: no model that costs is asked.");
  const ahead = info.storeClock?.ahead;
  if (ahead && Math.abs(durationMs(ahead)) > CLOCK_MS) {
    found.push(`This machine's clock is ${lasting(Math.abs(durationMs(ahead)))} off the store's. Set it by NTP.`);
  }
  if (info.storeClock?.doubt) found.push(`Old records are not removed: ${info.storeClock.doubt}`);
  for (const one of info.refusedCallers) {
    const token = one.token || one.fingerprint;
    const last = one.lastTime ? `, the last one ${new Date(millisOf(one.lastTime)).toLocaleString()}` : "";
    found.push(`Refused: ${counted(one.callCount, "call")} from ${one.peer} (${one.reason}${token && `, ${token}`})${last}. Give the agent a good token.`);
  }
  if (info.adviceIsShadow) found.push("Advice is kept and not told: advice__mode is shadow.");
  return found;
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
  return cap.purpose ? seen(cap.purpose.replaceAll("_", " ")) : `${word(SpendLevelSchema, cap.level)}, all purposes`;
}

function Info(props: { info: GetServerInfoResponse }) {
  const { info } = props;
  const found = findings(info);
  return (
    <>
      <section>
        <h2>Findings</h2>
        {found.length === 0 ? (
          <p>
            <Badge tone="good">all well</Badge> Stores and models answer, and no cap is used up.{" "}
            <code>sidemirror doctor</code> looks at the settings too.
          </p>
        ) : (
          <ul class="findings">
            {found.map((one) => (
              <li key={one} class="notice warn">
                {seen(one)}
              </li>
            ))}
          </ul>
        )}
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
                <td>{seen(store.kind)}</td>
                <td>{seen(store.holds)}</td>
                <td class="wide">{seen(store.durability)}</td>
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
          <p class="dim">No background work.</p>
        ) : (
          <Facts of={info.backlog.map((one) => [one.kind.replaceAll("_", " "), one.waitingCount] as const)} />
        )}
      </section>
      <section>
        <h2>What it costs</h2>
        <Spend info={info} />
      </section>
      <Changes />
      <section>
        <h2>Settings</h2>
        <Facts
          of={[
            ["Version", seen(info.version)],
            ["Advice", info.adviceIsShadow ? "kept, not told" : "told"],
            ["Level of a new session", word(ThinkLevelSchema, info.defaultConfig?.level ?? 0) || "off"],
            ["Reflections of a turn", info.defaultBudget?.maxReflections],
            [
              "Embedding model",
              info.memoryEmbedding && `${seen(info.memoryEmbedding.model)}, weight ${info.memoryEmbedding.weight.toFixed(2)}`,
            ],
          ]}
        />
        <details>
          <summary>{counted(Object.keys(info.limits).length, "limit")}</summary>
          <Facts of={Object.entries(info.limits).map(([name, value]) => [spaced(name), whole(value)] as const)} />
        </details>
      </section>
    </>
  );
}

/** Each model with what it is asked for. */
function modelsOf(info: GetServerInfoResponse) {
  const models = new Map<string, { name: string; purposes: string[]; available: boolean; isRules: boolean }>();
  for (const { provider, model, purpose, available } of info.models) {
    const name = seen([provider, model].filter(Boolean).join(" "));
    const key = `${name} ${available}`;
    const known = models.get(key) ?? { name, purposes: [], available, isRules: provider === RULES };
    known.purposes.push(seen(purpose.replaceAll("_", " ")));
    models.set(key, known);
  }
  return [...models];
}

function Answers(props: { is: boolean }) {
  return <Badge tone={props.is ? "good" : "bad"}>{props.is ? "answers" : "does not answer"}</Badge>;
}

function Spend(props: { info: GetServerInfoResponse }) {
  const { spend, spendCaps } = props.info;
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
        <p class="dim">No model was asked that costs anything in the last 7 days.</p>
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
                <td>{one.day}</td>
                <td>{seen(one.purpose.replaceAll("_", " "))}</td>
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
