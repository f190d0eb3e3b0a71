/** How long what a scenario times has taken. */

const times = new Map<string, number[]>();

/** What `use` gives, as it is; where there is a name, the time until then is kept under it. */
export function timed<T>(name: string | undefined, use: () => T): T {
  if (name === undefined) return use();
  const began = performance.now();
  const keep = (): void => void times.set(name, [...(times.get(name) ?? []), performance.now() - began]);
  const answer = use();
  if (!(answer instanceof Promise)) keep();
  return answer instanceof Promise ? (answer.finally(keep) as T) : answer;
}

/** Prints the figures, in milliseconds, where anything was timed. */
export function printTimes(): void {
  if (times.size === 0) return;
  const figures = [...times].map(([name, taken]) => {
    const sorted = taken.toSorted((one, other) => one - other);
    const [p50_ms, p99_ms, most_ms] = [0.5, 0.99, 1].map((share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]);
    return [name, { count: sorted.length, p50_ms, p99_ms, most_ms }];
  });
  console.log(`timed ${JSON.stringify(Object.fromEntries(figures))}`);
}
