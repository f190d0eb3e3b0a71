/** Where the viewer is on the page: what stands behind `#` in the address, as path and query. */
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

export interface Place {
  /** The parts of the path, such as `["turns", "t1"]`. */
  readonly path: readonly string[];
  /** What narrows a list, and the scope (`tenant`, `project`). */
  readonly query: Readonly<Record<string, string>>;
  /** The entry of the browser's history, by a name that it keeps. */
  readonly entry: string;
}

/** The place that an address names. */
function placeOf(hash: string, entry: string): Place {
  const [path = "", query = ""] = split(hash.slice(1));
  return {
    path: path.split("/").filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
    entry,
  };
}

/** The name of the present entry of the history, which gets one if it has none. */
function entryName(): string {
  const held = (history.state as { entry?: string } | null)?.entry;
  if (held !== undefined) return held;
  const entry = String(performance.timeOrigin + performance.now());
  history.replaceState({ entry }, "");
  return entry;
}

/** The address of a place. Empty values of the query are left out. */
export function hrefOf(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  const asked = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${asked && `?${asked}`}`;
}

/** The part of a query that names whose data is shown. */
export function scopeOf(query: Readonly<Record<string, string>>): Record<string, string> {
  return { tenant: query.tenant ?? "", project: query.project ?? "" };
}

export const PlaceContext = createContext<Place>({ path: [], query: {}, entry: "" });

/** The present place. */
export function usePlace(): Place {
  return useContext(PlaceContext);
}

/** The place that the address names, also when it changes. */
export function useAddress(): Place {
  const [place, setPlace] = useState(() => placeOf(location.hash, entryName()));
  useEffect(() => {
    const changed = () => setPlace(placeOf(location.hash, entryName()));
    // It may have changed since the first look.
    changed();
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return place;
}

function split(text: string): [string, string] {
  const mark = text.indexOf("?");
  return mark < 0 ? [text, ""] : [text.slice(0, mark), text.slice(mark + 1)];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
