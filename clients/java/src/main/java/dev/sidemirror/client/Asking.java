package dev.sidemirror.client;

import dev.sidemirror.client.Connections.Connection;
import java.lang.System.Logger.Level;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Calls whose answers agents wait for, on threads of theirs. They share a connection, and wait for room on it. One that is
 * refused all the same is tried again for as long as it may take: the sidecar counts a stream for a moment after its end,
 * and grpc-java itself tries only once more.
 */
final class Asking {
  /** Calls at once, with those of reports. */
  private static final int CALLS = Places.AT_ONCE;

  /** Of them those that agents wait for, so that reports go on beside many of these. */
  private static final int AWAITED = 80;

  private static final System.Logger LOG = System.getLogger("dev.sidemirror.client");

  private final Link link;
  private final Semaphore awaited = new Semaphore(AWAITED);
  private final Semaphore room = new Semaphore(CALLS);

  Asking(Link link) {
    this.link = link;
  }

  /** Begins a call on the connection for calls. */
  interface Begin<Q, A> {
    void begin(Connection connection, Asked<Q, A> asked, long timeoutNs);
  }

  /**
   * The answer to a call; empty at once while the sidecar is away, and without one in time. Never throws. A warning names the
   * call where the sidecar refuses it, is too busy for it, or has no answer now.
   *
   * @param beganNs when the agent has asked
   */
  <Q, A> Optional<A> ask(String what, Begin<Q, A> begin, long beganNs, long timeoutNs) {
    long end = beganNs + timeoutNs;
    Optional<A> answer = once(what, begin, beganNs, end);
    if (answer.isEmpty() && link.reachable() && System.nanoTime() - end >= 0) {
      link.late(what, beganNs);
    }
    return answer;
  }

  private <Q, A> Optional<A> once(String what, Begin<Q, A> begin, long beganNs, long end) {
    if (!link.reachable() || !enters(awaited, end)) {
      return Optional.empty();
    }
    try {
      if (!enters(room, end)) {
        return Optional.empty();
      }
      try {
        return untilTaken(what, begin, beganNs, end);
      } finally {
        room.release();
      }
    } finally {
      awaited.release();
    }
  }

  private static boolean enters(Semaphore places, long end) {
    try {
      return places.tryAcquire(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private <Q, A> Optional<A> untilTaken(String what, Begin<Q, A> begin, long beganNs, long end) {
    while (true) {
      Asked<Q, A> asked = new Asked<>();
      Optional<A> answer = attempt(what, begin, asked, beganNs, end);
      if (answer.isPresent() || !asked.isRefusedByHttp() || !pause(end)) {
        return answer;
      }
    }
  }

  /** Makes room for a report; false when there is none. */
  boolean hasRoomForReport() {
    return room.tryAcquire();
  }

  /** A report has ended. */
  void reported() {
    room.release();
  }

  private <Q, A> Optional<A> attempt(String what, Begin<Q, A> begin, Asked<Q, A> asked, long beganNs, long end) {
    long left = end - System.nanoTime();
    if (!link.reachable() || left <= 0) {
      return Optional.empty();
    }
    int before = link.outages();
    Connection connection = link.forCalls();
    try {
      link.silence().sent(asked);
      begin.begin(connection, asked, left);
      A answer = asked.get(left, TimeUnit.NANOSECONDS);
      link.silence().heard();
      return Optional.of(answer);
    } catch (ExecutionException failed) {
      link.run(() -> link.failed(failed.getCause(), before));
      link.declined(what, beganNs, failed.getCause());
    } catch (TimeoutException late) {
      asked.giveUp();
    } catch (InterruptedException interrupted) {
      asked.giveUp();
      Thread.currentThread().interrupt();
    } catch (RuntimeException | Error theirs) { // an interceptor's, or gRPC's when the connection is given up meanwhile
      if (!connection.managed().isShutdown()) {
        LOG.log(Level.WARNING, "a call cannot be made", theirs);
      }
    } finally {
      link.silence().settled(asked);
    }
    return Optional.empty();
  }

  /** Waits before a call that HTTP/2 has refused is tried again; false when there is no time for that. */
  private static boolean pause(long end) {
    long pauseMs = ThreadLocalRandom.current().nextLong(Link.FIRST_PAUSE_MS * 4 / 5, Link.FIRST_PAUSE_MS * 6 / 5);
    if (end - System.nanoTime() <= TimeUnit.MILLISECONDS.toNanos(pauseMs)) {
      return false;
    }
    try {
      TimeUnit.MILLISECONDS.sleep(pauseMs);
      return true;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
