package dev.sidemirror.client;

import dev.sidemirror.v1.ContextBlock;
import dev.sidemirror.v1.ReportGoalRequest;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.ThinkLevel;
import dev.sidemirror.v1.ThinkingConfig;
import dev.sidemirror.v1.TurnDirective;
import dev.sidemirror.v1.TurnStarted;
import io.grpc.Channel;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * The services of one sidecar, and the turns that are reported to it, on connections of their own. Safe for many
 * threads. Null is an empty text, wherever a turn is given one.
 */
public final class Sidemirror extends Services implements AutoCloseable {
  /** Where a sidecar listens when nobody says otherwise. */
  public static final String DEFAULT_ADDRESS = "127.0.0.1:50051";

  /** How long {@link #close} waits for events that are still on their way. */
  private static final Duration DEFAULT_FLUSH = Duration.ofSeconds(2);

  /** How long {@link #close} waits for callbacks that still run: their thread would not keep the process alive. */
  private static final Duration CALLBACK_PATIENCE = Duration.ofMillis(500);

  private static final System.Logger LOG = System.getLogger("dev.sidemirror.client");

  private final ScheduledThreadPoolExecutor own;

  /** Where the agent's callbacks run, one after the other: they may wait, and may close the client. */
  private final ThreadPoolExecutor telling;

  /** The thread of {@code telling}. A callback that closes the client does not wait for itself. */
  private volatile Thread teller;

  private final Connections connections;
  private final Connections.Connection connection;
  private final Channel channel;
  private final Link link;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Thread atExit = new Thread(this::flushAtExit, "sidemirror-exit");

  private Sidemirror(Builder given) throws IOException {
    own = new ScheduledThreadPoolExecutor(1, Sidemirror::thread, new ThreadPoolExecutor.DiscardPolicy());
    own.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    telling =
        new ThreadPoolExecutor(
            0, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), this::tellerFor, new ThreadPoolExecutor.DiscardPolicy());
    List<ClientInterceptor> chain = new ArrayList<>();
    chain.add(new Calls(given.deadline, given.tokenFile, given.tenantId, given.projectId));
    chain.addAll(given.interceptors);
    try {
      connections = new Connections(given, chain, own);
    } catch (IOException | RuntimeException unusable) {
      own.shutdown();
      throw unusable;
    }
    connection = connections.make(true);
    own.execute(new Revival(connection.managed(), own)::watch);
    link = new Link(connections, own, telling, given.onAway, given.onRefused);
    channel = ClientInterceptors.intercept(connection.channel(), link.silence());
    warmUp();
    if (given.flushesAtExit) {
      hook(() -> Runtime.getRuntime().addShutdownHook(atExit));
    }
  }

  /** In a process that ends already nothing changes. */
  private static void hook(Runnable change) {
    try {
      change.run();
    } catch (IllegalStateException ending) {
      // as said
    }
  }

  /** Waits, and does not close: other hooks may have something to report yet. Of a sidecar that is away nothing is hoped. */
  private void flushAtExit() {
    Undelivered told = link.losses().soFar();
    if (!flush(away() ? Duration.ZERO : DEFAULT_FLUSH) || !link.losses().soFar().equals(told)) {
      // Loggers may have ended by then, by hooks of their own, and with them what they say of a turn that is refused.
      System.err.println("dev.sidemirror.client: the process ends before everything was delivered to the sidecar");
    }
  }

  private static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "sidemirror");
    thread.setDaemon(true);
    return thread;
  }

  private static void end(ExecutorService executor, Duration patience) {
    executor.shutdown();
    Waiting.throughInterrupts(patience, left -> ends(executor, left));
  }

  private static boolean ends(ExecutorService executor, Duration atMost) {
    try {
      return executor.awaitTermination(atMost.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private Thread tellerFor(Runnable work) {
    teller = thread(work);
    return teller;
  }

  /** Loads here what would otherwise be loaded while the agent reports its first turn. */
  private void warmUp() {
    AgentTurn none = new AgentTurn(link, new Losses(), Calls.newId(), "", "");
    none.report(AgentTurn.beginning(none.id(), TurnStarted.newBuilder().setSessionId("").setTask("").build()));
    none.report(Events.toolCalled("", ""));
    none.take();
    none.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
    none.abandon();
  }

  /**
   * A client as the environment says: see {@link #builder}.
   *
   * @return the client, which connects when it is first used
   * @throws UncheckedIOException when a file that the environment names cannot be read
   */
  public static Sidemirror connect() {
    return builder().connect();
  }

  /**
   * How to connect. What is not said is read from the environment.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  @Override
  public Channel channel() {
    return channel;
  }

  /**
   * Begins a turn of the agent, reported beside it: nothing waits for the sidecar, and nothing fails because it is away.
   *
   * @param started the task, the session, the prompt and how to think about it
   * @return the turn
   */
  public AgentTurn beginTurn(TurnStarted started) {
    return beginTurn("", "", started);
  }

  /**
   * Begins a turn of the agent, as {@link #beginTurn(TurnStarted)} does, of which no more is said than this.
   *
   * @param task what the turn is to do
   * @param level how deep to think
   * @return the turn
   */
  public AgentTurn beginTurn(String task, ThinkLevel level) {
    return beginTurn(task, level, null);
  }

  /**
   * Begins a turn of the agent, as {@link #beginTurn(String, ThinkLevel)} does, and reports its goal with its outcome, unless
   * that is UNSPECIFIED.
   *
   * @param task what the turn is to do
   * @param level how deep to think
   * @param goal what the turn works towards, as {@link AgentTurn#finish(TaskOutcome, ReportGoalRequest)} takes it; null for
   *     nothing
   * @return the turn
   */
  public AgentTurn beginTurn(String task, ThinkLevel level, ReportGoalRequest goal) {
    ThinkingConfig.Builder config = ThinkingConfig.newBuilder().setLevel(level);
    return begin("", "", TurnStarted.newBuilder().setTask(Texts.orEmpty(task)).setConfig(config).build(), goal);
  }

  /**
   * Begins a turn of the agent, as {@link #beginTurn(TurnStarted)} does, and reports its goal, as {@link #beginTurn(String,
   * ThinkLevel, ReportGoalRequest)} does.
   *
   * @param started the task, the session, the prompt and how to think about it
   * @param goal what the turn works towards; null for nothing
   * @return the turn
   */
  public AgentTurn beginTurn(TurnStarted started, ReportGoalRequest goal) {
    return begin("", "", started, goal);
  }

  /**
   * Begins a turn of the agent, as {@link #beginTurn(TurnStarted)} does.
   *
   * @param turnId the turn's id; chosen here when it is empty
   * @param agent which of several agents acts; may be empty
   * @param started the task, the session, the prompt and how to think about it
   * @return the turn
   */
  public AgentTurn beginTurn(String turnId, String agent, TurnStarted started) {
    return begin(turnId, agent, started, null);
  }

  /**
   * Begins a turn of the agent, as {@link #beginTurn(String, String, TurnStarted)} does, and reports its goal, as {@link
   * #beginTurn(String, ThinkLevel, ReportGoalRequest)} does.
   *
   * @param turnId the turn's id; chosen here when it is empty
   * @param agent which of several agents acts; may be empty
   * @param started the task, the session, the prompt and how to think about it
   * @param goal what the turn works towards; null for nothing
   * @return the turn
   */
  public AgentTurn beginTurn(String turnId, String agent, TurnStarted started, ReportGoalRequest goal) {
    return begin(turnId, agent, started, goal);
  }

  private AgentTurn begin(String turnId, String agent, TurnStarted started, ReportGoalRequest goal) {
    String given = Texts.mended(Texts.orEmpty(turnId));
    String id = given.isEmpty() ? Calls.newId() : given;
    AgentTurn turn = new AgentTurn(link, link.losses(), id, Texts.orEmpty(agent), started.getTask());
    turn.begin(started, goal);
    return turn;
  }

  /**
   * Whether the sidecar is known not to answer now.
   *
   * @return true while it is away
   */
  public boolean away() {
    return link.away();
  }

  /**
   * Returns once the sidecar says that it serves and does not count as away.
   *
   * @param atMost how long to wait
   * @throws TimeoutException when it does not in time; its cause is what went wrong last
   * @throws InterruptedException when the thread is interrupted
   */
  public void waitUntilReady(Duration atMost) throws TimeoutException, InterruptedException {
    long end = System.nanoTime() + Waiting.nanos(atMost);
    StatusRuntimeException last = null;
    while (true) {
      long left = end - System.nanoTime();
      try {
        if (left > 0 && serves(left) && !link.away()) {
          return;
        }
      } catch (StatusRuntimeException notYet) {
        if (Thread.interrupted()) {
          throw new InterruptedException();
        }
        last = notYet;
      }
      if (end - System.nanoTime() <= 0) {
        TimeoutException late = new TimeoutException(away() ? "the sidecar counts as away" : "the sidecar does not serve");
        late.initCause(last);
        throw late;
      }
      TimeUnit.MILLISECONDS.sleep(50);
    }
  }

  private boolean serves(long withinNs) {
    HealthCheckResponse state =
        HealthGrpc.newBlockingStub(channel)
            .withWaitForReady()
            .withDeadlineAfter(withinNs, TimeUnit.NANOSECONDS)
            .check(HealthCheckRequest.getDefaultInstance());
    return state.getStatus() == ServingStatus.SERVING;
  }

  /**
   * What a turn works towards, as {@link #beginTurn(String, ThinkLevel, ReportGoalRequest)} takes it.
   *
   * @param id the goal's id, the same whenever it is worked towards
   * @param objective what is to be reached
   * @return the goal, of which no more is said than this
   */
  public static ReportGoalRequest goal(String id, String objective) {
    return ReportGoalRequest.newBuilder().setGoalId(Texts.orEmpty(id)).setObjective(Texts.orEmpty(objective)).build();
  }

  /**
   * The one text that a model is shown: a paragraph for each nudge, recovery, reflection, block of lessons and
   * request to revise.
   *
   * @param directives what {@link AgentTurn#advice()} or {@link AgentTurn#take} gave
   * @return the text; empty without a paragraph
   */
  public static String adviceText(Iterable<TurnDirective> directives) {
    return Advice.text(directives);
  }

  /**
   * The text for a model of what {@link AgentTurn#recall()} gave.
   *
   * @param lessons the lessons
   * @return the text; empty without lessons
   */
  public static String lessonsText(Optional<ContextBlock> lessons) {
    return lessons.map(ContextBlock::getText).orElse("");
  }

  /**
   * Waits until everything reported so far is durable with the sidecar.
   *
   * @param atMost how long to wait
   * @return false when it is not in time, or the thread was interrupted; what was dropped {@link #close(Duration)} says
   */
  public boolean flush(Duration atMost) {
    long end = System.nanoTime() + Waiting.nanos(atMost);
    boolean all = true;
    for (Delivery turn : link.turns()) {
      Duration left = Duration.ofNanos(Math.max(0, end - System.nanoTime()));
      all &= turn.queue().await(left, TurnQueue::isDelivered);
    }
    return all;
  }

  /** Waits up to two seconds for what is on its way, then ends every connection and every call. No interrupt cuts it short. */
  @Override
  public void close() {
    close(DEFAULT_FLUSH);
  }

  /**
   * Waits for what is on its way, then ends every connection and every call. If something was not delivered, one warning
   * says how much. A thread that is interrupted waits as long, and is interrupted again afterwards.
   *
   * @param atMost how long to wait
   * @return what was not delivered
   */
  public Undelivered close(Duration atMost) {
    hook(() -> Runtime.getRuntime().removeShutdownHook(atExit));
    Waiting.throughInterrupts(atMost, this::flush);
    // Counted here: the client's own thread may be late on a busy machine.
    link.turns().forEach(Delivery::drop);
    own.execute(link::close);
    end(own, Duration.ofSeconds(1));
    end(telling, Thread.currentThread() == teller ? Duration.ZERO : CALLBACK_PATIENCE);
    connection.close();
    connections.close();
    Undelivered left = link.losses().soFar();
    if (!left.isEmpty() && !closed.getAndSet(true)) {
      LOG.log(
          Level.WARNING,
          "not delivered to the sidecar: {0} events, {1} outcomes and {2} goals, of {3} turns",
          left.events(),
          left.outcomes(),
          left.goals(),
          left.turns().size());
    }
    return left;
  }

  /** How to connect. What is not said is read from the environment when it is made. */
  public static final class Builder {
    String address = environment("SIDEMIRROR_ADDRESS", DEFAULT_ADDRESS);
    Path tokenFile = file("SIDEMIRROR_TOKEN_FILE");
    Path caFile = file("SIDEMIRROR_CA_FILE");
    Path certificateFile = file("SIDEMIRROR_CLIENT_CERTIFICATE_FILE");
    Path keyFile = file("SIDEMIRROR_CLIENT_KEY_FILE");
    String tenantId = "";
    String projectId = "";
    Duration deadline = Calls.DEFAULT_DEADLINE;
    boolean tls;
    boolean flushesAtExit = true;
    Consumer<Throwable> onAway;
    Consumer<String> onRefused;
    final List<ClientInterceptor> interceptors = new ArrayList<>();

    private Builder() {}

    private static String environment(String name, String otherwise) {
      String value = System.getenv(name);
      return value == null || value.isEmpty() ? otherwise : value;
    }

    private static Path file(String name) {
      String path = environment(name, "");
      return path.isEmpty() ? null : Path.of(path);
    }

    /**
     * Where the sidecar is; else {@code SIDEMIRROR_ADDRESS}, else {@link #DEFAULT_ADDRESS}.
     *
     * @param hostAndPort {@code host:port}, {@code https://host:port}, or {@code unix:/path}
     * @return this
     */
    public Builder address(String hostAndPort) {
      address = Objects.requireNonNull(hostAndPort, "hostAndPort");
      return this;
    }

    /**
     * The file that holds the token; else {@code SIDEMIRROR_TOKEN_FILE}. It is read again for each call.
     *
     * @param path the file
     * @return this
     */
    public Builder tokenFile(Path path) {
      tokenFile = path;
      return this;
    }

    /**
     * The authorities whose certificates are taken, in PEM; else {@code SIDEMIRROR_CA_FILE}. With it the connection is TLS.
     *
     * @param path the file
     * @return this
     */
    public Builder caFile(Path path) {
      caFile = path;
      return this;
    }

    /**
     * Whether the connection is TLS, as it is with {@code https://} and with {@link #caFile}. Without such a file the
     * authorities are those of the Java runtime.
     *
     * @param on true for TLS
     * @return this
     */
    public Builder tls(boolean on) {
      tls = on;
      return this;
    }

    /**
     * The client's own certificate and key, in PEM; else {@code SIDEMIRROR_CLIENT_CERTIFICATE_FILE} and {@code
     * SIDEMIRROR_CLIENT_KEY_FILE}.
     *
     * @param certificate the file of the certificate
     * @param key the file of its key
     * @return this
     */
    public Builder clientCertificate(Path certificate, Path key) {
      certificateFile = certificate;
      keyFile = key;
      return this;
    }

    /**
     * Fills in the tenant and the project of requests that name none.
     *
     * @param tenant the tenant's id
     * @param project the project's id
     * @return this
     */
    public Builder scope(String tenant, String project) {
      tenantId = Texts.mended(Texts.orEmpty(tenant));
      projectId = Texts.mended(Texts.orEmpty(project));
      return this;
    }

    /**
     * For unary calls that say nothing else; 10 seconds by default, and at least 60 for calls that ask a model.
     *
     * @param within how long a call may take
     * @return this
     */
    public Builder deadline(Duration within) {
      deadline = Objects.requireNonNull(within, "within");
      return this;
    }

    /**
     * Whether a process that ends without {@link Sidemirror#close} waits for what is on its way, two seconds at most, and not
     * while the sidecar is away; on unless it is turned off. It does so in a shutdown hook, beside those of others.
     *
     * @param on false for no hook
     * @return this
     */
    public Builder flushesAtExit(boolean on) {
      flushesAtExit = on;
      return this;
    }

    /**
     * Told the reason when the sidecar goes away, and again only after it was back; else a warning is logged with {@link
     * System.Logger}.
     *
     * @param told called on a thread for this alone, one call after the other; it may wait, and may close the client
     * @return this
     */
    public Builder onAway(Consumer<Throwable> told) {
      onAway = told;
      return this;
    }

    /**
     * Told in words when the sidecar refuses the token, or there is none; else a warning is logged. What is reported waits,
     * and the token's file is read again.
     *
     * @param told called on a thread for this alone, one call after the other; it may wait, and may close the client
     * @return this
     */
    public Builder onRefused(Consumer<String> told) {
      onRefused = told;
      return this;
    }

    /**
     * Adds to what happens on each call, for instance a span of OpenTelemetry. Those added last are asked first.
     *
     * @param interceptor sees every call, those of turns too
     * @return this
     */
    public Builder intercept(ClientInterceptor interceptor) {
      interceptors.add(Objects.requireNonNull(interceptor, "interceptor"));
      return this;
    }

    /**
     * Makes the client, which connects when it is first used.
     *
     * @return the client
     * @throws UncheckedIOException when a certificate or key cannot be read
     * @throws TokenInTheClearException when a token would go to another machine in the clear
     * @throws IllegalArgumentException when the address is none, or of a client's certificate and its key only one is there, or
     *     the key is none
     * @throws UnsupportedOperationException for a Unix socket on another system than Linux and macOS
     */
    public Sidemirror connect() {
      try {
        return new Sidemirror(this);
      } catch (IOException unreadable) {
        throw new UncheckedIOException(unreadable.getMessage(), unreadable);
      }
    }
  }
}
