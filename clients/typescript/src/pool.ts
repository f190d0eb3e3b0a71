import type { Connection } from "./connection.js";

/** Turns on one connection. The sidecar takes 100 streams, and counts one that has ended for a moment longer. */
const STREAMS = 80;
/** Connections of a client. Chosen here: room for a thousand turns at once, and a few more. */
const MOST_CONNECTIONS = 16;
/** Streams at once of turns that the agent finished during an outage: what these wait for must not hold up its loop. */
const LATE_STREAMS = 8;

/** Lets so many in at once; others wait, in their order. */
export class Gate {
  private readonly queue: (() => void)[] = [];

  constructor(private free: number) {}

  /** Resolves to false when it takes longer than `timeoutMs`. */
  async enter(timeoutMs?: number): Promise<boolean> {
    if (this.free > 0) {
      this.free--;
      return true;
    }
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const enter = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      this.queue.push(enter);
      if (timeoutMs === undefined) return;
      timer = setTimeout(() => {
        this.queue.splice(this.queue.indexOf(enter), 1);
        resolve(false);
      }, timeoutMs);
    });
  }

  leave(): void {
    const next = this.queue.shift();
    if (next) next();
    else this.free++;
  }
}

interface Place {
  readonly connection: Connection;
  taken: number;
}

/** The connections that carry the turns of a client, as many as they need. */
export class Pool {
  private readonly places: Place[] = [];
  private readonly room = new Gate(STREAMS * MOST_CONNECTIONS);
  private readonly late = new Gate(LATE_STREAMS);
  private opening: Promise<void> = Promise.resolve();

  constructor(private readonly make: () => Connection) {}

  /**
   * Runs `use` when a connection has room for a stream, for a turn that is `late`, or not. Streams open one after the
   * other, so that the agent has its turn between.
   */
  async withStream(late: boolean, use: (connection: Connection) => Promise<void>): Promise<void> {
    if (late) await this.late.enter();
    await this.room.enter();
    const place = this.free();
    place.taken++;
    try {
      this.opening = this.opening.then(() => new Promise((resolve) => setImmediate(resolve)));
      await this.opening;
      await use(place.connection);
    } finally {
      place.taken--;
      this.room.leave();
      if (late) this.late.leave();
    }
  }

  /** Streams that are opened from now on are on new connections. */
  renew(): void {
    for (const { connection } of this.places) connection.renew();
  }

  close(): void {
    for (const { connection } of this.places) connection.close();
  }

  private free(): Place {
    const found = this.places.find(({ taken }) => taken < STREAMS);
    if (found) return found;
    const added = { connection: this.make(), taken: 0 };
    this.places.push(added);
    return added;
  }
}
