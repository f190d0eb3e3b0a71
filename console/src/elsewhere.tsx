/** Where the turns may be that somebody looks for in vain: the server's `operations/elsewhere.py`. */
import { useApi, useAsked } from "./api.js";
import { Empty, Link, Missing, Time } from "./parts.js";
import { counted, durationMs, headline, lasting } from "./words.js";

const MOST = 5;

/** Which project was looked in, which others have sent of late, and which calls were refused. */
export function Elsewhere() {
  const api = useApi();
  const asked = useAsked("elsewhere", (signal) => api.sidecar.getServerInfo(api.scope, { signal }));
  const info = asked.value;
  if (!info) return <Missing asked={asked} what="Where else there may be turns" />;
  const [tenant, project] = [api.scope.tenantId || info.tenantId, api.scope.projectId || info.projectId];
  // Who only read there, as this page does, has sent nothing.
  const senders = (info.traffic?.callers ?? []).filter((one) => one.sentCount > one.readCount);
  const others = new Map(senders.map((one) => [`${one.tenantId} / ${one.projectId}`, one]));
  others.delete(`${tenant} / ${project}`);
  return (
    <Empty>
      <p>
        Looked in {headline(tenant, 128)} / {headline(project, 128)}. What agents report to another project is there: it is chosen
        above, at the right.
      </p>
      {others.size > 0 && info.traffic?.period && (
        <p>
          In the last {lasting(durationMs(info.traffic.period))} calls came for{" "}
          {[...others].slice(0, MOST).map(([name, one], index) => (
            <span key={name}>
              {index > 0 && ", "}
              <Link to={["turns"]} query={{ tenant: one.tenantId, project: one.projectId }}>
                {headline(name, 256)}
              </Link>
            </span>
          ))}
        </p>
      )}
      {info.refusedCallers.slice(0, MOST).map((one) => (
        <p key={`${one.peer} ${one.reason} ${one.token} ${one.fingerprint}`}>
          Refused: {counted(one.callCount, "call")} from {headline(one.peer, 128)} ({headline(one.reason, 80)}), the last one{" "}
          <Time at={one.lastTime} />. <code>sidemirror doctor</code> says what to do.
        </p>
      ))}
    </Empty>
  );
}
