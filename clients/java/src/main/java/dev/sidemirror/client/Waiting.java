package dev.sidemirror.client;

import java.time.Duration;
import java.util.function.Predicate;

/** How long something waits. */
final class Waiting {
  private static final Duration LONGEST = Duration.ofDays(365);

  private Waiting() {}

  /** In nanoseconds, which hold 292 years: nobody waits for longer than one. */
  static long nanos(Duration atMost) {
    return (atMost.compareTo(LONGEST) > 0 ? LONGEST : atMost).toNanos();
  }

  /**
   * Waits as long as it may take, whatever interrupts the thread, which is interrupted again afterwards.
   *
   * @param wait waits so long at most; false when that was not enough, or the thread was interrupted, which it still is then
   * @return what {@code wait} gave last
   */
  static boolean throughInterrupts(Duration atMost, Predicate<Duration> wait) {
    long end = System.nanoTime() + nanos(atMost);
    boolean interrupted = Thread.interrupted();
    try {
      while (true) {
        boolean there = wait.test(Duration.ofNanos(Math.max(0, end - System.nanoTime())));
        if (there || !Thread.interrupted()) {
          return there;
        }
        interrupted = true;
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
