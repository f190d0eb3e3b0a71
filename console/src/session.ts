/** The token of this page: from the code in the link, once, then from the tab's own storage. */

const KEY = "sidemirror-token";

/** The page's token. Throws when the link is not good any more, or when the page was opened without one. */
export async function token(): Promise<string> {
  const [code, place] = opening(location.hash);
  if (code !== "") {
    // Out of the address and the history before anything else.
    history.replaceState(null, "", location.pathname + (place && `#${place}`));
    const answer = await fetch("open", { method: "POST", headers: { authorization: `Bearer ${code}` } });
    if (!answer.ok) throw new Error("This link is not good any more. `sidemirror console` makes a new one.");
    const opened = (await answer.json()) as { token: string };
    sessionStorage.setItem(KEY, opened.token);
  }
  const kept = sessionStorage.getItem(KEY);
  if (kept === null) throw new Error("`sidemirror console` makes a link to this page.");
  return kept;
}

/** What stands behind `#`: the code, if there is one, and the place on the page, which begins with a slash. */
export function opening(hash: string): [code: string, place: string] {
  const text = hash.slice(1);
  const slash = text.indexOf("/");
  return slash < 0 ? [text, ""] : [text.slice(0, slash), text.slice(slash)];
}
