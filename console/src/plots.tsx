/** The two pictures: a lift with its interval, and the tries of a recovery over time. Both are drawn as SVG, so that they
 * have the page's colours and a screen reader reads them out. */
import type { LessonArm, LiftInterval } from "@sidemirror/api/v1/reflective_memory";
import { useEffect, useRef, useState } from "preact/hooks";

import { percent, points } from "./words.js";

const WIDE = 220;
const HIGH = 22;
// What stands below the axis of a large one.
const TICKS_HIGH = 12;

/** Where a lift stands on the axis from -1 to 1, in units of the drawing. */
function across(lift: number): number {
  return ((Math.max(-1, Math.min(1, lift)) + 1) / 2) * (WIDE - 8) + 4;
}

const ANCHORS = ["start", "middle", "end"];

/** What was told at random, what was held back, and by how much they differ. */
export interface Compared {
  readonly shown?: LessonArm;
  readonly heldBack?: LessonArm;
  /** Those of them that shadow mode kept: no draw. */
  readonly keptInShadow?: LessonArm;
  readonly lift?: number;
  readonly interval?: LiftInterval;
  /** The one that holds however often it is looked at. */
  readonly intervalAtAnyLook?: LiftInterval;
}

/** Why there is no lift. */
function uncompared({ shown, heldBack, keptInShadow }: Compared): string {
  const outcomes = (arm: LessonArm | undefined) => (arm?.successCount ?? 0n) + (arm?.failureCount ?? 0n);
  const known = [outcomes(shown) > 0n, outcomes(heldBack) - outcomes(keptInShadow) > 0n];
  if (known[0] && known[1]) {
    return "No lift: they were told and held back by different draws, which are not compared. Shadow mode holds all of them back.";
  }
  const arm = known[0] ? "held back" : known[1] ? "told" : "";
  return arm ? `No lift yet: no outcome is known of those that were ${arm}.` : "No lift yet: nothing was compared.";
}

/** A lift as a point and its interval as a line, around zero. A large one has numbers on its axis. It has a colour once it
 * is known at any look: a page is looked at again and again. */
export function Lift(props: { of: Compared; interval?: LiftInterval; name?: string; large?: boolean }) {
  const { lift } = props.of;
  const interval = props.interval ?? props.of.interval;
  if (lift === undefined || interval === undefined) return <span class="dim">{uncompared(props.of)}</span>;
  const sure = props.of.intervalAtAnyLook;
  const tone = sure && sure.low > 0 ? "good" : sure && sure.high < 0 ? "bad" : "open";
  const told = `${props.name ?? "Lift"} ${points(lift)} points, 95 % interval ${points(interval.low)} to ${points(interval.high)}`;
  const [low, high, at, zero, middle] = [across(interval.low), across(interval.high), across(lift), across(0), HIGH / 2];
  return (
    <span class={props.large ? "lift large" : "lift"}>
      <svg viewBox={`0 0 ${WIDE} ${props.large ? HIGH + TICKS_HIGH : HIGH}`} role="img" aria-label={told} class={tone}>
        <title>{told}</title>
        <line class="axis" x1={4} x2={WIDE - 4} y1={middle} y2={middle} />
        {[-1, -0.5, 0.5, 1].map((tick) => (
          <line class="axis" x1={across(tick)} x2={across(tick)} y1={middle - 3} y2={middle + 3} />
        ))}
        <line class="zero" x1={zero} x2={zero} y1={2} y2={HIGH - 2} />
        <line class="interval" x1={low} x2={high} y1={middle} y2={middle} />
        <circle cx={at} cy={middle} r={4} />
        {props.large &&
          [-1, 0, 1].map((tick) => (
            <text x={across(tick)} y={HIGH + 8} text-anchor={ANCHORS[tick + 1]}>
              {tick === 0 ? "0" : points(tick)}
            </text>
          ))}
      </svg>
      <span class="number" aria-hidden="true">
        {points(lift)}
        <span class="dim">
          {" "}
          [{points(interval.low)}, {points(interval.high)}]
        </span>
      </span>
    </span>
  );
}

/** A part of a whole as a bar. */
export function Share(props: { part: number; of: number; name: string }) {
  const share = props.of > 0 ? Math.min(1, props.part / props.of) : 0;
  return (
    <svg viewBox="0 0 100 6" preserveAspectRatio="none" class={`share ${share >= 1 ? "bad" : share >= 0.8 ? "warn" : ""}`} role="img"
      aria-label={`${props.name}: ${percent(share)}`}>
      <rect class="rest" width={100} height={6} />
      <rect class="part" width={100 * share} height={6} />
    </svg>
  );
}

export interface Try {
  readonly atMs: number;
  readonly worked: boolean;
  readonly advised: boolean;
  /** Whether it is among the counts. */
  readonly counts: boolean;
  readonly told: string;
}

// In CSS pixels; a narrow page draws fewer.
const MOST_WIDE = 960;
const LEFT = 60;
const DOT = 7;
const BELOW = 18;
// What the tries of one moment may take: so much above and below the axis, and so many dots side by side. Where there
// are more, they lie closer.
const MOST_HIGH = 84;
const MOST_BESIDE = 4;
const LEAST_HIGH = 14;

/** Tries over time. Those of one moment stand on each other: what worked above the axis, what failed below it; after
 * advice they are filled; those that do not count are faint. */
export function Tries(props: { of: readonly Try[]; name: string }) {
  const tries = props.of;
  const picture = useRef<SVGSVGElement>(null);
  const wide = useWidth(picture);
  const [first, last] = [tries[0]?.atMs ?? 0, tries.at(-1)?.atMs ?? 0];
  const stacked = (beside: number) => {
    const columns = Math.max(1, Math.floor((wide - LEFT - DOT) / (DOT * beside)));
    const heights = new Map<string, number>();
    const dots = tries.map((one) => {
      const column = Math.min(columns - 1, Math.floor(((one.atMs - first) / Math.max(1, last - first)) * columns));
      const stack = `${one.worked} ${column}`;
      const place = heights.get(stack) ?? 0;
      heights.set(stack, place + 1);
      return { ...one, x: LEFT + DOT * (1 + column * beside + (place % beside)), level: Math.floor(place / beside) };
    });
    const levels = (worked: boolean) => Math.max(0, ...dots.map((dot) => (dot.worked === worked ? dot.level + 1 : 0)));
    return { dots, up: levels(true), down: levels(false) };
  };
  const alone = stacked(1);
  const most = Math.max(alone.up, alone.down);
  const { dots, up, down } = most * DOT <= MOST_HIGH ? alone : stacked(Math.min(MOST_BESIDE, Math.ceil((most * DOT) / MOST_HIGH)));
  const apart = Math.min(DOT, MOST_HIGH / Math.max(1, up, down));
  const axis = Math.max(LEAST_HIGH, up * apart + DOT);
  const high = axis + Math.max(LEAST_HIGH, down * apart + DOT) + BELOW;
  const worked = tries.filter((one) => one.worked).length;
  return (
    <svg ref={picture} viewBox={`0 0 ${wide} ${high}`} height={high} class="tries" role="img"
      aria-label={`${props.name}: ${worked} of ${tries.length} tries worked`}>
      <text x={0} y={axis - 4}>worked</text>
      <text x={0} y={axis + 12}>failed</text>
      <line class="axis" x1={LEFT} x2={wide} y1={axis} y2={axis} />
      {dots.map((one) => (
        <circle
          class={`${one.worked ? "good" : "bad"} ${one.advised ? "advised" : ""} ${one.counts ? "" : "uncounted"}`}
          cx={one.x}
          cy={axis + (one.worked ? -1 : 1) * (DOT / 2 + 1 + one.level * apart)}
          r={DOT / 2 - 0.75}
        >
          <title>{one.told}</title>
        </circle>
      ))}
      <text x={LEFT} y={high - 4}>{dayTime(first, last - first)}</text>
      {last > first && <text x={wide} y={high - 4} text-anchor="end">{dayTime(last, last - first)}</text>}
    </svg>
  );
}

/** How wide a picture may be drawn, in CSS pixels, so that its letters have their size. */
function useWidth(picture: { readonly current: Element | null }): number {
  const [wide, setWide] = useState(MOST_WIDE);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => entry && setWide(Math.max(1, Math.round(entry.contentRect.width))));
    if (picture.current) watch.observe(picture.current);
    return () => watch.disconnect();
  }, [picture]);
  return wide;
}

const HOUR_MS = 3_600_000;

/** A moment in the viewer's zone, as exact as an axis of this length needs it. */
function dayTime(atMs: number, lengthMs: number): string {
  const moment = new Date(atMs);
  const [date = "", clock = ""] = new Date(atMs - moment.getTimezoneOffset() * 60_000).toISOString().split("T");
  return `${date} ${clock.slice(0, lengthMs < HOUR_MS ? 8 : 5)}`;
}
