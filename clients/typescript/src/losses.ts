/** What a client had not delivered when it was closed. */
export interface Undelivered {
  readonly events: number;
  readonly outcomes: number;
  readonly goals: number;
  /** The ids of the turns that they belong to, of 10,000 turns at most. */
  readonly turns: readonly string[];
}

type Kind = "events" | "outcomes" | "goals";

/** Turns that are named. Chosen here: as many as may be open; of more the counts are enough. */
const MOST_NAMED = 10_000;

/** Counts what is dropped, of all turns of a client. */
export class Losses {
  private readonly counts = { events: 0, outcomes: 0, goals: 0 };
  private readonly turns = new Set<string>();

  /** So much of a turn is not delivered, and will not be. */
  add(turnId: string, kind: Kind, count: number): void {
    if (count === 0) return;
    this.counts[kind] += count;
    if (this.turns.size < MOST_NAMED) this.turns.add(turnId);
  }

  /** What was lost by now. */
  get soFar(): Undelivered {
    return { ...this.counts, turns: [...this.turns] };
  }
}
