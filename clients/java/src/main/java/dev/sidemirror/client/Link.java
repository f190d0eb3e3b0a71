package dev.sidemirror.client;

import dev.sidemirror.v1.GetServerInfoRequest;
import dev.sidemirror.v1.GetServerInfoResponse;
import dev.sidemirror.v1.SidecarServiceGrpc;
import dev.sidemirror.v1.ThinkingServiceGrpc;
import dev.sidemirror.v1.ThinkingServiceGrpc.ThinkingServiceStub;
import io.grpc.Channel;
import io.grpc.stub.StreamObserver;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * The state of the way to the sidecar, shared by all turns of a client: told once when the sidecar goes, and looked for
 * again until it is back. All but {@link #away}, {@link #turns}, {@link #keep}, {@link #letGo} and {@link #isClosed} is used
 * on the client's own thread.
 */
final class Link {
  /** What is waited before the sidecar is looked for again: the first time, and at most. */
  static final long FIRST_PAUSE_MS = 100;

  static final long LONGEST_PAUSE_MS = 1_000;

  /** An answer that takes longer is none. */
  private static final long PROBE_MS = 2_000;

  /** After so long the sidecar counts as back. */
  private static final long STEADY_NS = Duration.ofSeconds(5).toNanos();

  /**
   * Streams of turns that are open at once; other turns wait. The sidecar takes 100 streams on a connection, and of a
   * client that comes back with more than that it refuses some.
   */
  private static final int STREAMS = 80;

  /** What the events of all turns of a client take while they wait. Beyond that they are dropped, and counted. */
  private static final long MOST_BYTES = 64 << 20;

  private static final System.Logger LOG = System.getLogger("dev.sidemirror.client");

  private final Channel channel;
  private final ScheduledExecutorService own;
  private final Consumer<Throwable> onAway;
  private final Set<Turn> turns = ConcurrentHashMap.newKeySet();
  private final AtomicLong waitingBytes = new AtomicLong();
  private final Deque<Turn> queue = new ArrayDeque<>();
  private int streams;
  private int outages;
  private boolean told;
  private long backNs = System.nanoTime() - STEADY_NS;
  private volatile boolean away;
  private volatile boolean closed;

  /** {@code own}: a single thread. {@code onAway} may be null: then a warning is logged. */
  Link(Channel channel, ScheduledExecutorService own, Consumer<Throwable> onAway) {
    this.channel = channel;
    this.own = own;
    this.onAway = onAway == null ? Link::warn : onAway;
  }

  private static void warn(Throwable why) {
    LOG.log(Level.WARNING, "the sidecar is away, the agent goes on without it: {0}", why.getMessage());
  }

  boolean away() {
    return away;
  }

  boolean isClosed() {
    return closed;
  }

  /** Makes room for what a turn keeps; false when there is none. */
  boolean keep(long bytes, boolean always) {
    if (waitingBytes.addAndGet(bytes) <= MOST_BYTES || always) {
      return true;
    }
    waitingBytes.addAndGet(-bytes);
    return false;
  }

  /** A turn keeps so much less. */
  void letGo(long bytes) {
    waitingBytes.addAndGet(-bytes);
  }

  /** Turns that have something to deliver, or a stream. */
  Set<Turn> turns() {
    return turns;
  }

  /** The stub of the streams, which answers on the client's own thread. */
  ThinkingServiceStub thinking() {
    return ThinkingServiceGrpc.newStub(channel).withExecutor(own);
  }

  void run(Runnable work) {
    own.execute(work);
  }

  /** About then, and not before {@code leastMs} have passed: what broke together does not come back in one moment. */
  void later(Runnable work, long pauseMs, long leastMs) {
    double pause = pauseMs * ThreadLocalRandom.current().nextDouble(0.8, 1.2);
    own.schedule(work, Math.max((long) pause, leastMs), TimeUnit.MILLISECONDS);
  }

  int outages() {
    return outages;
  }

  /** The turn opens a stream as soon as the sidecar is there and one is free. */
  void want(Turn turn) {
    queue.add(turn);
    open();
  }

  /** A stream has ended. */
  void released() {
    streams--;
    open();
  }

  private void open() {
    while (!away && !closed && streams < STREAMS && !queue.isEmpty()) {
      streams++;
      queue.poll().open();
    }
  }

  /**
   * The sidecar has spoken on a stream that was opened after so many outages: the next one is told again, unless it
   * follows so soon that it is the same one to whoever is told.
   */
  void answered(int outagesBefore) {
    if (outagesBefore == outages && System.nanoTime() - backNs > STEADY_NS) {
      told = false;
    }
  }

  /** A stream broke that was opened after so many outages. Of many that break in one, the first counts. */
  void lost(Throwable why, int outagesBefore) {
    if (outagesBefore != outages || closed) {
      return;
    }
    outages++;
    away = true;
    turns.forEach(Turn::tell);
    lookForIt(FIRST_PAUSE_MS);
    if (told) {
      return;
    }
    told = true;
    try {
      onAway.accept(why);
    } catch (Throwable theirs) { // whatever it is: thrown on from here it would end the turn's delivery
      LOG.log(Level.WARNING, "onAway has failed", theirs);
    }
  }

  /** Tells that a turn is not taken, though the sidecar is there. */
  void say(String what, Throwable why) {
    LOG.log(Level.WARNING, "{0}: {1}", what, why.getMessage());
  }

  private void lookForIt(long pauseMs) {
    long nextPauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    later(
        () -> {
          try {
            probe(nextPauseMs);
          } catch (RuntimeException | Error theirs) { // an interceptor's: it would never be looked for again
            lookForIt(nextPauseMs);
          }
        },
        pauseMs,
        0);
  }

  private void probe(long nextPauseMs) {
    SidecarServiceGrpc.newStub(channel)
        .withExecutor(own)
        .withDeadlineAfter(PROBE_MS, TimeUnit.MILLISECONDS)
        .getServerInfo(
            GetServerInfoRequest.getDefaultInstance(),
            new StreamObserver<>() {
              @Override
              public void onNext(GetServerInfoResponse response) {}

              @Override
              public void onError(Throwable why) {
                if (!closed) {
                  lookForIt(nextPauseMs);
                }
              }

              @Override
              public void onCompleted() {
                backNs = System.nanoTime();
                away = false;
                open();
              }
            });
  }

  /** Ends every turn, with what it has not delivered. */
  void close() {
    closed = true;
    queue.clear();
    turns.forEach(Turn::abandon);
  }
}
