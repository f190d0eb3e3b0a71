/** What an id may have meant of which nothing is known: ids that begin with it, or have it in them. */
import { useEffect } from "preact/hooks";

import { useApi, useAsked } from "./api.js";
import { Answered, Empty, Id, Link, Time } from "./parts.js";
import { hrefOf, scopeOf, usePlace } from "./place.js";
import { counted, headline } from "./words.js";

// How many are looked through, the newest: what one call returns. How many are shown.
const LOOKED_AT = 1_000;
const MOST = 20;

/** Sessions that have a text in their ids. */
export function NearSessions(props: { part: string }) {
  const api = useApi();
  const asked = useAsked(`near sessions ${props.part}`, (signal) =>
    api.thinking.listSessions({ ...api.scope, pageSize: LOOKED_AT }, { signal }),
  );
  const part = props.part.toLowerCase();
  return (
    <Answered asked={asked}>
      {({ sessions, nextPageToken }) => {
        const near = sessions.filter((one) => one.sessionId.toLowerCase().includes(part));
        const among = nextPageToken ? `the newest ${counted(LOOKED_AT, "session")}` : counted(sessions.length, "session");
        return (
          <Empty>
            <p>
              The filter takes a whole id. Of {among}, {near.length === 0 ? "none has it as a part." : "these have it as a part:"}
            </p>
            <ul>
              {near.slice(0, MOST).map((one) => (
                <li key={one.sessionId}>
                  <Link to={["turns"]} query={{ session: one.sessionId }}>
                    <Id>{one.sessionId}</Id>
                  </Link>{" "}
                  <span class="dim">{counted(one.turnCount, "turn")}</span>
                </li>
              ))}
            </ul>
            {near.length > MOST && <p class="dim">{`and ${near.length - MOST} more`}</p>}
          </Empty>
        );
      }}
    </Answered>
  );
}

/** Turns whose ids begin with a text, and the session that it names. `goesOn`: to the only one that there is. */
export function NearTurns(props: { id: string; goesOn: boolean }) {
  const api = useApi();
  const { id, goesOn } = props;
  const scope = scopeOf(usePlace().query);
  const asked = useAsked(`near turns ${id}`, (signal) =>
    api.thinking.listTurns({ ...api.scope, pageSize: LOOKED_AT }, { signal }),
  );
  const turns = asked.value?.turns ?? [];
  const near = turns.filter((one) => one.turnId.startsWith(id));
  const only = goesOn && near.length === 1 ? near[0]?.turnId : undefined;
  useEffect(() => {
    if (only !== undefined) location.replace(hrefOf(["turns", only], scope));
  }, [only]);
  const isSession = turns.some((one) => one.sessionId === id);
  return (
    <Answered asked={asked}>
      {() => (
          <Empty>
            {isSession && (
              <p>
                A session has this id. <Link to={["turns"]} query={{ session: id }}>Show its turns</Link>
              </p>
            )}
            <p>
              {near.length > 0
                ? "Turns whose ids begin so:"
                : `Of the newest ${counted(turns.length, "turn")}, none has an id that begins so.`}
            </p>
            <ul>
              {near.slice(0, MOST).map((one) => (
                <li key={one.turnId}>
                  <Link to={["turns", one.turnId]}>
                    <Id>{one.turnId}</Id>
                  </Link>{" "}
                  <Time at={one.startTime} /> <span class="dim">{headline(one.task, 100)}</span>
                </li>
              ))}
            </ul>
          </Empty>
      )}
    </Answered>
  );
}
