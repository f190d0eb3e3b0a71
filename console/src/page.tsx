/** The console: what happened in turns, what was told and why, and whether it helped. It reads, and changes nothing. */
import { render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { ApiContext, problemOf, servicesOf, useApi, useAsked, type Api, type Problem } from "./api.js";
import { Goals } from "./goal_list.js";
import { Goal } from "./goals.js";
import { useScrolled } from "./kept.js";
import { Lesson } from "./lesson.js";
import { Lessons } from "./lessons.js";
import { Now } from "./now.js";
import { Failed, Link, Unread } from "./parts.js";
import { hrefOf, PlaceContext, useAddress, type Place } from "./place.js";
import { Recoveries } from "./recoveries.js";
import { Recovery } from "./recovery.js";
import { NoToken, opening, token } from "./session.js";
import { Turn } from "./turn.js";
import { Turns } from "./turns.js";
import { headline } from "./words.js";

const SCREENS = [
  ["turns", "Turns"],
  ["lessons", "Lessons"],
  ["recoveries", "Recoveries"],
  ["goals", "Goals"],
  ["now", "Now"],
] as const;

function Screen(props: { place: Place }) {
  const [screen = "turns", id] = props.place.path;
  if (screen === "turns") return id === undefined ? <Turns query={props.place.query} /> : <Turn id={id} key={id} />;
  if (screen === "lessons") return id === undefined ? <Lessons query={props.place.query} /> : <Lesson id={id} key={id} />;
  if (screen === "recoveries") return id === undefined ? <Recoveries query={props.place.query} /> : <Recovery signature={id} key={id} />;
  if (screen === "goals") return id === undefined ? <Goals /> : <Goal id={id} key={id} />;
  if (screen === "now") return <Now />;
  return (
    <>
      <Unread name="Nowhere" />
      <Failed problem={{ title: "There is no such screen.", todo: "The links above lead to those that there are." }} />
    </>
  );
}

/** Whose data is shown, and a way to show another scope's. */
function ScopeForm(props: { place: Place }) {
  const api = useApi();
  const { tenantId, projectId } = api.scope;
  // After what the screen itself asks for.
  const [asks, setAsks] = useState(false);
  useEffect(() => setAsks(true), []);
  const { value: own } = useAsked(`scope ${tenantId} ${projectId} ${asks}`, async () => (asks ? api.sidecar.getServerInfo(api.scope) : undefined));
  const named = [tenantId || own?.tenantId, projectId || own?.projectId].filter(Boolean).join(" / ");
  const change = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const asked = { tenant: String(form.get("tenant")), project: String(form.get("project")) };
    location.hash = hrefOf(props.place.path.slice(0, 1), asked);
    (event.currentTarget as HTMLFormElement).closest("details")?.removeAttribute("open");
  };
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const isInside = event.target instanceof Node && menu.current?.contains(event.target);
      const isMeant = event instanceof KeyboardEvent ? event.key === "Escape" : !isInside;
      if (isMeant) menu.current?.removeAttribute("open");
    };
    const told: readonly (readonly [EventTarget, string])[] = [[document, "keydown"], [document, "pointerdown"], [window, "hashchange"]];
    for (const [where, what] of told) where.addEventListener(what, close);
    return () => {
      for (const [where, what] of told) where.removeEventListener(what, close);
    };
  }, []);
  return (
    <details class="scope" ref={menu}>
      <summary title="Tenant / project">
        <span class="line">{headline(named, 300) || "Scope"}</span>
      </summary>
      <form onSubmit={change}>
        <label>
          Tenant <input name="tenant" value={tenantId} maxLength={128} placeholder={own?.tenantId} />
        </label>
        <label>
          Project <input name="project" value={projectId} maxLength={128} placeholder={own?.projectId} />
        </label>
        <button>Show</button>
      </form>
    </details>
  );
}

function Console(props: { services: Omit<Api, "scope"> }) {
  const place = useAddress();
  const { tenant = "", project = "" } = place.query;
  const api = useMemo(
    () => ({ ...props.services, scope: { tenantId: tenant, projectId: project } }),
    [props.services, tenant, project],
  );
  const [screen = "turns"] = place.path;
  const shown = `${tenant}/${project}/${place.path.join("/")}`;
  useScrolled(place.entry, shown);
  return (
    <ApiContext.Provider value={api}>
      <PlaceContext.Provider value={place}>
        <a class="skip" href="#main" onClick={skip}>
          Skip to the content
        </a>
        <header>
          <Link to={["turns"]} class="brand">
            Sidemirror
          </Link>
          <nav aria-label="Screens">
            {SCREENS.map(([path, name]) => (
              <Link key={path} to={[path]} current={screen === path}>
                {name}
              </Link>
            ))}
          </nav>
          <ScopeForm place={place} />
        </header>
        <main id="main" tabIndex={-1}>
          <Screen place={place} key={shown} />
        </main>
      </PlaceContext.Provider>
    </ApiContext.Provider>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

// Between two tries to open the page with a sidecar that does not answer.
const AGAIN_MS = 2_000;

function Page() {
  const [services, setServices] = useState<Omit<Api, "scope">>();
  const [problem, setProblem] = useState<Problem>();
  const [round, setRound] = useState(0);
  const again = () => setRound((before) => before + 1);
  useLayoutEffect(() => {
    token().then(
      (held) => setServices(servicesOf(held)),
      (error: unknown) => setProblem(error instanceof NoToken ? error.problem : problemOf(error)),
    );
  }, [round]);
  useEffect(() => {
    if (!problem?.passes || services) return;
    const waiting = setTimeout(again, AGAIN_MS);
    return () => clearTimeout(waiting);
  }, [problem, services]);
  if (services) return <Console services={services} />;
  return (
    <main class="closed">
      <h1>Sidemirror</h1>
      {problem && <Failed problem={problem} again={problem.passes ? again : undefined} asksAgain />}
    </main>
  );
}

// Another link in the same tab: its code has to leave the address too.
addEventListener("hashchange", () => {
  if (opening(location.hash)[0] !== "") location.reload();
});
// The page finds the way back itself: what was read has to be there first.
history.scrollRestoration = "manual";
render(<Page />, document.body);
