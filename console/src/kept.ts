/** What is there again when the viewer goes back: rows that were read, and how far the page was scrolled. It is in the
 * page's memory, by the entry of the browser's history. */
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";

import { usePlace } from "./place.js";

// A person goes back a few steps.
const MOST_ENTRIES = 30;
const SCROLLED = "scrolled";
// By these the viewer says where the page should be.
const MOVES = ["wheel", "keydown", "pointerdown"];

const all = new Map<string, Map<string, unknown>>();

function keptOf(entry: string): Map<string, unknown> {
  const held = all.get(entry);
  if (held) return held;
  const made = new Map<string, unknown>();
  all.set(entry, made);
  const [oldest] = all.keys();
  if (all.size > MOST_ENTRIES && oldest !== undefined) all.delete(oldest);
  return made;
}

/** A state of the present entry of the history: undefined at first, and there again when the viewer comes back. */
export function useKept<T>(name: string): [value: T | undefined, set: (value: T) => void] {
  const { entry } = usePlace();
  const [, draw] = useState(0);
  const set = useCallback(
    (value: T) => {
      keptOf(entry).set(name, value);
      draw((count) => count + 1);
    },
    [entry, name],
  );
  return [keptOf(entry).get(name) as T | undefined, set];
}

/** A part of a list. `next`: the token of what is older. */
export interface Part<T> {
  readonly rows: readonly T[];
  readonly next: string;
}

/** The newest part of a list, and the older ones that were read before, each row once. If so much is new that there are
 * rows between them, the older ones are left out. */
export function joined<T, P extends Part<T>>(newest: P, older: P | undefined, keyOf: (row: T) => string): P {
  if (!older) return newest;
  const known = new Set(newest.rows.map(keyOf));
  if (newest.next !== "" && known.size > 0 && !older.rows.some((row) => known.has(keyOf(row)))) return newest;
  return { ...older, rows: [...newest.rows, ...older.rows.filter((row) => !known.has(keyOf(row)))] };
}

/** Going back or forward comes to where the viewer was, once the page is that long again. Another screen begins at its
 * top. */
export function useScrolled(entry: string, screen: string): void {
  const last = useRef(screen);
  useLayoutEffect(() => {
    const kept = keptOf(entry);
    const wanted = kept.get(SCROLLED) as number | undefined;
    if (wanted === undefined && last.current !== screen) scrollTo(0, 0);
    last.current = screen;
    let isSought = wanted !== undefined;
    const note = () => void (isSought || kept.set(SCROLLED, scrollY));
    const found = () => {
      isSought = false;
      grown.disconnect();
      note();
    };
    const grown = new ResizeObserver(() => {
      if (wanted === undefined || document.documentElement.scrollHeight < wanted + innerHeight) return;
      scrollTo(0, wanted);
      found();
    });
    if (isSought) grown.observe(document.body);
    addEventListener("scroll", note, { passive: true });
    for (const move of MOVES) addEventListener(move, found, { passive: true });
    return () => {
      grown.disconnect();
      removeEventListener("scroll", note);
      for (const move of MOVES) removeEventListener(move, found);
    };
  }, [entry, screen]);
}
