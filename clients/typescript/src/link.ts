/** After so long the sidecar counts as back. */
const STEADY_MS = 5_000;
/** How long is waited before the sidecar is looked for again. */
export const FIRST_PAUSE_MS = 100;
export const LONGEST_PAUSE_MS = 1_000;
/** An answer that takes longer is none. */
const PROBE_MS = 2_000;
/**
 * Turns that are on a stream at once; others wait. The sidecar takes 100 streams on a connection, and of a client that
 * comes back with more than that it refuses some.
 */
const STREAMS = 72;
/** The same for turns that the agent has finished already: what they wait for must not hold up its loop. */
const LATE_STREAMS = 8;

class Pool {
  private readonly queue: (() => void)[] = [];

  constructor(private free: number) {}

  async take(): Promise<void> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.queue.push(resolve));
  }

  give(): void {
    const next = this.queue.shift();
    if (next) next();
    else this.free++;
  }
}

/** Something that is waited for, and may come again. */
export class Bell {
  private wake: () => void = () => {};
  private ringing = this.make();

  /** Resolves the next time that it rings. */
  get rings(): Promise<void> {
    return this.ringing;
  }

  ring(): void {
    const wake = this.wake;
    this.ringing = this.make();
    wake();
  }

  private make(): Promise<void> {
    return new Promise((resolve) => (this.wake = resolve));
  }
}

/**
 * The state of the way to the sidecar, shared by all turns of a client: told once when the sidecar goes, and looked for
 * again until it is back.
 */
export class Link {
  /** How often the sidecar went away. */
  outages = 0;
  away = false;
  closed = false;
  /** Bytes of events that wait, of all turns. */
  waitingBytes = 0;
  /** Rung when the sidecar comes or goes, and when the client is closed. Whoever is here takes itself out again. */
  readonly listeners = new Set<Bell>();
  private told = false;
  private backMs = Number.NEGATIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined;
  private readonly streams = new Pool(STREAMS);
  private readonly lateStreams = new Pool(LATE_STREAMS);
  private opening: Promise<void> = Promise.resolve();

  constructor(
    private readonly probe: (timeoutMs: number) => Promise<unknown>,
    private readonly onAway: (why: Error) => void,
  ) {}

  /**
   * The sidecar has spoken on a stream that was opened after so many outages. The next one is told again, unless it
   * follows so soon that it is the same one to whoever is told.
   */
  answered(outages: number): void {
    if (outages === this.outages && performance.now() - this.backMs > STEADY_MS) this.told = false;
  }

  /** A stream broke that was opened after so many outages. Of many that break in one, the first counts. */
  lost(why: Error, outages: number): void {
    if (outages !== this.outages || this.closed) return;
    this.outages++;
    this.away = true;
    this.ring();
    this.lookForIt(FIRST_PAUSE_MS);
    if (this.told) return;
    this.told = true;
    try {
      this.onAway(why);
    } catch (thrown) {
      // Thrown on from here it would end the delivery, and by default the process.
      process.emitWarning(`onAway has thrown: ${thrown}`, "SidemirrorWarning");
    }
  }

  /** Returns once the sidecar is there, or the client is closed. */
  async there(): Promise<void> {
    const bell = new Bell();
    this.listeners.add(bell);
    while (this.away && !this.closed) await bell.rings;
    this.listeners.delete(bell);
  }

  /**
   * Runs `use` when a stream may be open, for a turn that is `late`, or not. Streams open one after the other, so that the
   * agent has its turn between.
   */
  async withStream(late: boolean, use: () => Promise<void>): Promise<void> {
    const pool = late ? this.lateStreams : this.streams;
    await pool.take();
    try {
      this.opening = this.opening.then(() => new Promise((resolve) => setImmediate(resolve)));
      await this.opening;
      await use();
    } finally {
      pool.give();
    }
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.ring();
  }

  private ring(): void {
    for (const bell of this.listeners) bell.ring();
  }

  private lookForIt(pauseMs: number): void {
    const look = async (): Promise<void> => {
      try {
        await this.probe(PROBE_MS);
      } catch {
        if (!this.closed) this.lookForIt(Math.min(pauseMs * 2, LONGEST_PAUSE_MS));
        return;
      }
      this.backMs = performance.now();
      this.away = false;
      this.ring();
    };
    this.timer = setTimeout(() => void look(), pauseMs * (0.8 + 0.4 * Math.random()));
  }
}
