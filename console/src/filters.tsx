/** What narrows a list. The address keeps it. On a narrow page it is folded: it would fill the first screen. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { Link } from "./parts.js";
import { hrefOf, scopeOf } from "./place.js";
import { headline } from "./words.js";

export type Query = Readonly<Record<string, string>>;

const NARROW = matchMedia("(max-width: 30rem)");

/** The filters of a screen. `names`: the fields that narrow it; `children`: these fields; `beside`: what else stands
 * there. */
export function Filters(props: {
  screen: string;
  query: Query;
  names: readonly string[];
  children: ComponentChildren;
  beside?: ComponentChildren;
}) {
  const { screen, query, names } = props;
  const form = useRef<HTMLFormElement>(null);
  const narrow = (event: Event) => {
    event.preventDefault();
    if (!form.current) return;
    const given = new FormData(form.current);
    const asked = Object.fromEntries(names.map((name) => [name, String(given.get(name) ?? "").trim()]));
    location.hash = hrefOf([screen], { ...scopeOf(query), ...asked });
  };
  // Of a time each part is a change of its own: it counts when the field is left, or by Enter.
  const changed = (event: Event) => {
    if (!isTime(event.target)) narrow(event);
  };
  const left = (event: FocusEvent) => {
    const { target } = event;
    if (isTime(target) && target.value !== (query[target.name] ?? "")) narrow(event);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key === "Enter" && isTime(event.target)) narrow(event);
  };
  const set = names.filter((name) => query[name]);
  const isNarrow = useNarrow();
  const fields = (
    <div class="filters">
      <form ref={form} onChange={changed} onFocusOut={left} onKeyDown={pressed} onSubmit={narrow}>
        {props.children}
        {set.length > 0 && (
          <Link to={[screen]} class="clear">
            Clear
          </Link>
        )}
      </form>
      {props.beside}
    </div>
  );
  if (!isNarrow) return fields;
  return (
    <details class="fold">
      <summary>Filter{set.length > 0 && `: ${set.join(", ")}`}</summary>
      {fields}
    </details>
  );
}

function isTime(field: EventTarget | null): field is HTMLInputElement {
  return field instanceof HTMLInputElement && field.type === "datetime-local";
}

/** One of several; `options`: their values with their names. */
export function Choice(props: {
  name: string;
  label: string;
  query: Query;
  options: readonly (readonly [string, string])[];
  none?: string;
}) {
  const given = (props.query[props.name] ?? "").toLowerCase();
  const isKnown = given === "" || props.options.some(([value]) => value === given);
  return (
    <label>
      {props.label}
      <select name={props.name} value={given}>
        <option value="">{props.none ?? "any"}</option>
        {!isKnown && <option value={given}>{`${headline(given, 40)}: unknown, counts as none`}</option>}
        {props.options.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The names of an enum's values but for the first, as options. */
export function optionsOf(names: { values: readonly { localName: string }[] }): (readonly [string, string])[] {
  return names.values.slice(1).map(({ localName }) => {
    const value = localName.toLowerCase();
    return [value, value.replaceAll("_", " ")] as const;
  });
}

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const changed = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", changed);
    return () => NARROW.removeEventListener("change", changed);
  }, []);
  return isNarrow;
}
