package dev.sidemirror.client;

import dev.sidemirror.client.Connections.Connection;
import dev.sidemirror.v1.GetServerInfoRequest;
import dev.sidemirror.v1.GetServerInfoResponse;
import dev.sidemirror.v1.SidecarServiceGrpc;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthGrpc;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * The state of the way to the sidecar, shared by all turns of a client: told once when the sidecar goes, and looked for
 * again until it is back. What agents use is marked; the rest is used on the client's own thread.
 */
final class Link {
  /** What is waited before the sidecar is looked for again: the first time, and at most. */
  static final long FIRST_PAUSE_MS = 100;

  static final long LONGEST_PAUSE_MS = 1_000;

  /** So long it is not told again that the sidecar is too busy for a call, or has no answer now. */
  private static final long BUSY_PAUSE_NS = TimeUnit.MINUTES.toNanos(1);

  /** While it is away, an answer that takes longer is none; and one that asks a silent one. */
  private static final long PROBE_MS = 2_000;

  private static final long ASKED_MS = 1_000;

  /** After so long the sidecar counts as back. */
  private static final long STEADY_NS = Duration.ofSeconds(5).toNanos();

  /** What the events of all turns of a client take while they wait. Beyond that they are dropped, and counted. */
  private static final long MOST_BYTES = 64 << 20;

  /** Reports at once, of the calls that {@link Asking} has room for: a call of an agent's seldom waits for one. */
  private static final int REPORTS = 60;

  private static final String NOT_LET_IN =
      "the sidecar refuses the token, or there is none: name a file with one that it knows in SIDEMIRROR_TOKEN_FILE";

  private static final System.Logger LOG = System.getLogger("dev.sidemirror.client");

  private final Connections connections;
  private final ScheduledExecutorService own;
  private final Executor telling;
  private final Consumer<Throwable> onAway;
  private final Consumer<String> onRefused;
  private final Pool pool;
  private final Silence silence;
  private final Losses losses = new Losses();
  private final Asking asking = new Asking(this);
  private final Set<Delivery> turns = ConcurrentHashMap.newKeySet();
  private final AtomicLong waitingBytes = new AtomicLong();
  private final Deque<Delivery> streamsWanted = new ArrayDeque<>();
  private final Deque<Delivery> reportsWanted = new ArrayDeque<>();
  private final Set<String> toldDeclined = ConcurrentHashMap.newKeySet();
  private final Map<String, Long> toldUnansweredNs = new ConcurrentHashMap<>();
  private final Set<Connection> probes = ConcurrentHashMap.newKeySet();
  private int reporting;
  private boolean told;
  private boolean toldDenied;
  private boolean probing;
  private long backNs = System.nanoTime() - STEADY_NS;
  private volatile Connection forCalls;
  private volatile int outages;
  private volatile boolean reachable = true;
  private volatile boolean tokenRefused;
  private volatile boolean closed;

  /**
   * {@code own}: a single thread; {@code telling}: another one, for callbacks. {@code onAway} and {@code onRefused} may be
   * null: then a warning is logged.
   */
  Link(
      Connections connections,
      ScheduledExecutorService own,
      Executor telling,
      Consumer<Throwable> onAway,
      Consumer<String> onRefused) {
    this.connections = connections;
    this.own = own;
    this.telling = telling;
    this.onAway = onAway == null ? this::warn : onAway;
    this.onRefused = onRefused == null ? why -> LOG.log(Level.WARNING, why) : onRefused;
    pool = new Pool(() -> connections.make(false));
    silence = new Silence(own, this::ask);
    forCalls = connections.make(false);
  }

  private void warn(Throwable why) {
    LOG.log(
        Level.WARNING,
        "Sidemirror at {0} is away, the agent goes on without it: {1}",
        connections.address(),
        Trouble.reason(why));
  }

  // --- for agents' threads -------------------------------------------------------------------------------------------

  String address() {
    return connections.address();
  }

  /** Nothing is known to answer there now. */
  boolean away() {
    return !reachable && !tokenRefused;
  }

  /** The sidecar is there, and takes the token. */
  boolean reachable() {
    return reachable && !closed;
  }

  boolean isClosed() {
    return closed;
  }

  Losses losses() {
    return losses;
  }

  Silence silence() {
    return silence;
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
  Set<Delivery> turns() {
    return turns;
  }

  void run(Runnable work) {
    own.execute(work);
  }

  /** Calls whose answers agents wait for. */
  Asking asking() {
    return asking;
  }

  /**
   * A call of an agent's, made at that time, has failed. Where the sidecar refuses it, that is told once of each call and
   * code; where it is too busy or has no answer now, once a minute of each call.
   */
  void declined(String what, long beganNs, Throwable why) {
    Status.Code code = Status.fromThrowable(why).getCode();
    if (Trouble.of(why).kind() == Trouble.Kind.FINAL) {
      if (toldDeclined.add(what + " " + code)) {
        say("the sidecar has refused " + what, why);
      }
    } else if (code == Status.Code.RESOURCE_EXHAUSTED) {
      busy(what, why.getMessage());
    } else if (Trouble.isUnable(why)) {
      sayUnanswered("has no answer now for " + what, why.getMessage());
    } else if (code == Status.Code.DEADLINE_EXCEEDED) {
      late(what, beganNs);
    }
  }

  /**
   * What an agent has asked for at that time has no answer in time. A sidecar of which nothing was heard since may be away,
   * which is told otherwise.
   */
  void late(String what, long beganNs) {
    if (silence.heardSince(beganNs)) {
      busy(what, "no answer within " + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beganNs) + " ms");
    }
  }

  private void busy(String what, String why) {
    sayUnanswered("is too busy for " + what, why);
  }

  private void sayUnanswered(String what, String why) {
    if (isNewlyUnanswered(what)) {
      LOG.log(Level.WARNING, "Sidemirror at {0} {1}: {2}", address(), what, why);
    }
  }

  /** Whether that was not told for a while. Of many who ask at once one is told so. */
  boolean isNewlyUnanswered(String what) {
    long now = System.nanoTime();
    Long told = toldUnansweredNs.putIfAbsent(what, now);
    return told == null || (now - told >= BUSY_PAUSE_NS && toldUnansweredNs.replace(what, told, now));
  }

  /** A call that was begun after so many outages has failed. One without an answer in time says nothing of the sidecar. */
  void failed(Throwable why, int before) {
    switch (Trouble.of(why).kind()) {
      case TOKEN -> lostForToken(why, before);
      case AWAY -> {
        if (Trouble.isUnable(why)) {
          silence.heard();
        } else if (Status.fromThrowable(why).getCode() == Status.Code.UNAVAILABLE) {
          lost(why, before);
        }
      }
      default -> silence.heard();
    }
  }

  // --- streams and reports -------------------------------------------------------------------------------------------

  ScheduledExecutorService own() {
    return own;
  }

  /** The connection for calls. */
  Connection forCalls() {
    return forCalls;
  }

  int outages() {
    return outages;
  }

  /** About then, and not before {@code leastMs} have passed: what broke together does not come back in one moment. */
  void later(Runnable work, long pauseMs, long leastMs) {
    double pause = pauseMs * ThreadLocalRandom.current().nextDouble(0.8, 1.2);
    own.schedule(work, Math.max((long) pause, leastMs), TimeUnit.MILLISECONDS);
  }

  /** The turn opens a stream as soon as the sidecar is there and one is free. */
  void wantStream(Delivery turn) {
    streamsWanted.add(turn);
    open();
  }

  /** The turn makes a report as soon as the sidecar is there and not too many are on their way. */
  void wantReport(Delivery turn) {
    reportsWanted.add(turn);
    open();
  }

  /** A stream has ended. */
  void released(Pool.Place place) {
    pool.release(place);
    open();
  }

  /** A report has. */
  void reported() {
    reporting--;
    asking.reported();
    open();
  }

  private void open() {
    while (reachable() && !streamsWanted.isEmpty()) {
      Pool.Place place = pool.take();
      if (place == null) {
        break;
      }
      streamsWanted.poll().open(place);
    }
    while (reachable() && reporting < REPORTS && !reportsWanted.isEmpty() && asking.hasRoomForReport()) {
      reporting++;
      reportsWanted.poll().report();
    }
  }

  // --- there, away, refused ------------------------------------------------------------------------------------------

  /**
   * The sidecar has spoken on a stream that was opened after so many outages: the next one is told again, unless it
   * follows so soon that it is the same one to whoever is told.
   */
  void answered(int outagesBefore) {
    silence.heard();
    toldDenied = false;
    if (outagesBefore == outages && System.nanoTime() - backNs > STEADY_NS) {
      told = false;
    }
  }

  /** A stream broke that was opened after so many outages. Of many that break in one, the first counts. */
  void lost(Throwable why, int outagesBefore) {
    if (!leave(outagesBefore) || told) {
      return;
    }
    told = true;
    tell(onAway, why);
  }

  /** The sidecar does not know the token, or there is none, at what was begun after so many outages. */
  void lostForToken(Throwable why, int outagesBefore) {
    if (leave(outagesBefore)) {
      tellOfToken(why);
    }
  }

  private void tellOfToken(Throwable why) {
    if (!tokenRefused) {
      tokenRefused = true;
      Status status = Status.fromThrowable(why);
      String said = status.getDescription();
      boolean isOurs = status.getCause() instanceof TokenUnusable;
      tell(onRefused, (isOurs ? said : NOT_LET_IN + ": " + said) + " (what is reported waits)");
    }
  }

  /** The token may not report a turn. Of many such turns the first is told, until one is taken. */
  void denied(String turnId, Throwable why) {
    if (toldDenied) {
      return;
    }
    toldDenied = true;
    tell(
        onRefused,
        "the sidecar does not permit turn "
            + turnId
            + ": name a file with a token that may in SIDEMIRROR_TOKEN_FILE: "
            + Status.fromThrowable(why).getDescription());
  }

  private <T> void tell(Consumer<T> callback, T what) {
    telling.execute(
        () -> {
          try {
            callback.accept(what);
          } catch (Throwable theirs) { // whatever it is
            LOG.log(Level.WARNING, "an agent's callback has failed", theirs);
          }
        });
  }

  private boolean leave(int outagesBefore) {
    if (outagesBefore != outages || closed || !reachable) {
      return false;
    }
    outages++;
    reachable = false;
    turns.forEach(Delivery::tell);
    // What is on its way ends, and what comes back begins on connections that do not wait to be tried again.
    Connection old = forCalls;
    forCalls = connections.make(false);
    old.close();
    pool.giveUp();
    lookForIt(FIRST_PAUSE_MS);
    return true;
  }

  /** Tells that a turn is not taken, though the sidecar is there. */
  void say(String what, Throwable why) {
    LOG.log(Level.WARNING, "{0}: {1}", what, why.getMessage());
  }

  /**
   * Asks a sidecar that is silent whether it is there. One that is heard meanwhile is busy; a client that was held up has
   * heard nothing of what may have come.
   */
  private void ask() {
    if (!reachable() || probing) {
      return;
    }
    probing = true;
    int before = outages;
    long beganNs = System.nanoTime();
    Connection connection = probe();
    Asked<HealthCheckRequest, HealthCheckResponse> asked = new Asked<>();
    asked.whenCompleteAsync(
        (answer, why) -> {
          probing = false;
          close(connection);
          Status.Code code = why == null ? Status.Code.OK : Status.fromThrowable(why).getCode();
          boolean isSilent = code == Status.Code.UNAVAILABLE || code == Status.Code.DEADLINE_EXCEEDED;
          boolean heldUp = System.nanoTime() - beganNs > TimeUnit.MILLISECONDS.toNanos(ASKED_MS) + Silence.LATE_NS;
          if (isSilent && !heldUp) {
            if (silence.heardSince(beganNs)) {
              return;
            }
            lost(new StatusRuntimeException(Status.UNAVAILABLE.withDescription("it does not answer")), before);
          } else {
            silence.heard();
          }
        },
        own);
    try {
      HealthGrpc.newStub(connection.channel())
          .withDeadlineAfter(ASKED_MS, TimeUnit.MILLISECONDS)
          .check(HealthCheckRequest.getDefaultInstance(), asked);
    } catch (RuntimeException | Error theirs) { // an interceptor's
      asked.completeExceptionally(theirs);
    }
  }

  private Connection probe() {
    Connection connection = connections.make(false);
    probes.add(connection);
    return connection;
  }

  private void close(Connection probe) {
    probe.close();
    probes.remove(probe);
  }

  private void lookForIt(long pauseMs) {
    later(() -> probe(Math.min(pauseMs * 2, LONGEST_PAUSE_MS)), pauseMs, 0);
  }

  private void probe(long nextPauseMs) {
    Connection connection = probe();
    Asked<GetServerInfoRequest, GetServerInfoResponse> asked = new Asked<>();
    asked.whenCompleteAsync(
        (answer, why) -> {
          close(connection);
          if (closed) {
            return;
          }
          if (why == null || Trouble.isThere(why)) {
            backNs = System.nanoTime();
            tokenRefused = false;
            silence.heard();
            reachable = true;
            open();
            return;
          }
          boolean token = Trouble.of(why).kind() == Trouble.Kind.TOKEN;
          if (token) {
            tellOfToken(why);
          }
          lookForIt(token ? LONGEST_PAUSE_MS : nextPauseMs);
        },
        own);
    try {
      SidecarServiceGrpc.newStub(connection.channel())
          .withDeadlineAfter(PROBE_MS, TimeUnit.MILLISECONDS)
          .getServerInfo(GetServerInfoRequest.getDefaultInstance(), asked);
    } catch (RuntimeException | Error theirs) { // an interceptor's
      asked.completeExceptionally(theirs);
    }
  }

  /** Ends every turn, with what it has not delivered. */
  void close() {
    closed = true;
    streamsWanted.clear();
    reportsWanted.clear();
    turns.forEach(Delivery::abandon);
    pool.giveUp();
    probes.forEach(Connection::close);
    forCalls.close();
  }
}
