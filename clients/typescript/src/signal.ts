/** Something that happens again and again, and whoever wants to know of it. */
export class Signal {
  private readonly listeners = new Set<() => void>();

  /** Calls `listener` each time until the function that is returned is called. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Resolves the next time. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.listen(() => {
        stop();
        resolve();
      });
    });
  }

  fire(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
