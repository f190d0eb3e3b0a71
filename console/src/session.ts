/** The token of this page: from the code in the link, once, then from the tab's own storage. */
import type { Problem } from "./api.js";

const KEY = "sidemirror-token";
const ADDRESS = "sidemirror-address";
const CLOSED = "This page is closed.";

/** Why there is no token. */
export class NoToken extends Error {
  constructor(readonly problem: Problem) {
    super(problem.title);
  }
}

// The code of the link, until it was exchanged: the sidecar may be away just then.
let unused = "";

/** The page's token. Throws NoToken when the link is not good any more, when the page was opened without one, or when the
 * sidecar does not answer. */
export async function token(): Promise<string> {
  const [code, place] = opening(location.hash);
  if (code !== "") {
    // Out of the address and the history before anything else.
    history.replaceState(null, "", location.pathname + (place && `#${place}`));
    unused = code;
  }
  if (unused !== "") {
    const answer = await exchanged(unused);
    unused = "";
    if (!answer.ok) throw new NoToken({ title: CLOSED, todo: "This link is not good any more. `sidemirror console` makes a new one." });
    const opened = (await answer.json()) as { token: string; address?: string };
    sessionStorage.setItem(KEY, opened.token);
    if (opened.address) sessionStorage.setItem(ADDRESS, opened.address);
  }
  const kept = sessionStorage.getItem(KEY);
  if (kept === null) throw new NoToken({ title: CLOSED, todo: "`sidemirror console` makes a link to this page." });
  return kept;
}

/** Where the sidecar serves gRPC, as far as it has said so: for commands on its machine. */
export function grpcAddress(): string {
  const told = sessionStorage.getItem(ADDRESS) ?? "127.0.0.1:50051";
  return told.replace(/^(0\.0\.0\.0|\[::\]):/, "127.0.0.1:");
}

async function exchanged(code: string): Promise<Response> {
  try {
    return await fetch("open", { method: "POST", headers: { authorization: `Bearer ${code}` } });
  } catch {
    const todo = "Is `sidemirror serve --http` running? The link is good for a minute.";
    throw new NoToken({ title: "The sidecar does not answer.", todo, passes: true });
  }
}

/** What stands behind `#`: the code, if there is one, and the place on the page, which begins with a slash. */
export function opening(hash: string): [code: string, place: string] {
  const text = hash.slice(1);
  const slash = text.indexOf("/");
  return slash < 0 ? [text, ""] : [text.slice(0, slash), text.slice(slash)];
}
