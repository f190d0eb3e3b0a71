package dev.sidemirror.client;

import java.time.Duration;

/** How long something waits. */
final class Waiting {
  private static final Duration LONGEST = Duration.ofDays(365);

  private Waiting() {}

  /** In nanoseconds, which hold 292 years: nobody waits for longer than one. */
  static long nanos(Duration atMost) {
    return (atMost.compareTo(LONGEST) > 0 ? LONGEST : atMost).toNanos();
  }
}
