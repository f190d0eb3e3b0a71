package dev.sidemirror.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.Message;
import com.google.rpc.ErrorInfo;
import dev.sidemirror.v1.BuildMemoryContextRequest;
import dev.sidemirror.v1.BuildMemoryContextResponse;
import dev.sidemirror.v1.CritiqueRequest;
import dev.sidemirror.v1.CritiqueResponse;
import dev.sidemirror.v1.CritiqueResult;
import dev.sidemirror.v1.CritiqueServiceGrpc;
import dev.sidemirror.v1.GetServerInfoRequest;
import dev.sidemirror.v1.GetServerInfoResponse;
import dev.sidemirror.v1.GoalReflectionServiceGrpc;
import dev.sidemirror.v1.GoalTask;
import dev.sidemirror.v1.ReflectiveMemoryServiceGrpc;
import dev.sidemirror.v1.ReportGoalRequest;
import dev.sidemirror.v1.ReportGoalResponse;
import dev.sidemirror.v1.ResultStatus;
import dev.sidemirror.v1.RunTurnRequest;
import dev.sidemirror.v1.RunTurnResponse;
import dev.sidemirror.v1.SidecarServiceGrpc;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.ThinkLevel;
import dev.sidemirror.v1.ThinkingServiceGrpc;
import dev.sidemirror.v1.TurnAck;
import dev.sidemirror.v1.TurnDirective;
import dev.sidemirror.v1.TurnEvent;
import dev.sidemirror.v1.TurnStarted;
import dev.sidemirror.v1.TurnSummary;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What turns send, to a server in the place of the sidecar. */
@Timeout(60)
class StandInTest {
  private final ConcurrentSkipListSet<String> goals = new ConcurrentSkipListSet<>();
  private final LinkedBlockingQueue<Integer> textBytes = new LinkedBlockingQueue<>();
  private final LinkedBlockingQueue<Integer> lessonsAsked = new LinkedBlockingQueue<>();
  private final LinkedBlockingQueue<TaskOutcome> outcomes = new LinkedBlockingQueue<>();

  /** All that was sent: events, and what calls ask for. */
  private final LinkedBlockingQueue<Message> sent = new LinkedBlockingQueue<>();

  /** Calls of GetServerInfo that wait for an answer. */
  private final LinkedBlockingQueue<StreamObserver<GetServerInfoResponse>> askers = new LinkedBlockingQueue<>();

  /** Streams of turns, of which none is answered while they are held. */
  private final LinkedBlockingQueue<StreamObserver<RunTurnResponse>> streams = new LinkedBlockingQueue<>();

  private volatile boolean holdsStreams;

  /** While it is so, no health check is answered. */
  private volatile boolean isUnwell;

  private Server server;
  private Sidemirror sidemirror;

  @BeforeEach
  void start() throws IOException {
    server = serves(0);
    sidemirror = Sidemirror.builder().address("127.0.0.1:" + server.getPort()).connect();
  }

  private Server serves(int port) throws IOException {
    return NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", port))
        .addService(new Thinking())
        .addService(new Goals())
        .addService(new Memory())
        .addService(new Critic())
        .addService(new Info())
        .addService(new Health())
        .build()
        .start();
  }

  @AfterEach
  void stop() {
    sidemirror.close();
    server.shutdownNow();
  }

  private AgentTurn turn() {
    return sidemirror.beginTurn("count", ThinkLevel.THINK_LEVEL_MEDIUM);
  }

  private AgentTurn turn(String id) {
    return sidemirror.beginTurn(id, "", TurnStarted.getDefaultInstance());
  }

  private AgentTurn began(String goalId) {
    return sidemirror.beginTurn("count", ThinkLevel.THINK_LEVEL_MEDIUM, goal(goalId, ""));
  }

  private static ReportGoalRequest goal(String id, String error) {
    return ReportGoalRequest.newBuilder().setGoalId(id).setObjective("count").setError(error).build();
  }

  /**
   * Seen to fail, without a report, when a goal is that of {@code finish} alone, and when what throws ends with the run's
   * outcome.
   */
  @Test
  void theGoalOfATurnOrItsRunIsReportedWithItsOutcomeAndWithWhatWasThrown() {
    AgentTurn.Work<Void, IllegalStateException> fails =
        turn -> {
          throw new IllegalStateException("no such table");
        };
    AgentTurn.Work<Void, RuntimeException> succeeds =
        turn -> {
          turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
          return null;
        };
    turn("1").run(goal("reached", ""), succeeds);
    assertThrows(IllegalStateException.class, () -> turn("2").run(goal("thrown", ""), fails));
    assertThrows(IllegalStateException.class, () -> turn("3").run(goal("said", "mine"), fails));
    assertEquals("answer", turn("4").run(goal("left", ""), turn -> "answer"));
    TaskOutcome ends = TaskOutcome.TASK_OUTCOME_SUCCESS;
    assertEquals("answer", began("returned").run(turn -> "answer", ends));
    began("finished").run(succeeds, TaskOutcome.TASK_OUTCOME_FAILURE);
    assertThrows(IllegalStateException.class, () -> began("failed").run(fails, ends));
    began("said instead").run(goal("run with", ""), succeeds);
    TurnStarted started = TurnStarted.newBuilder().setTask("count").setSessionId("s").build();
    assertEquals("answer", sidemirror.beginTurn(started, goal("with a session", "")).run(turn -> "answer", ends));
    assertEquals("answer", sidemirror.beginTurn("5", "a", started, goal("named", "")).run(turn -> "answer", ends));
    assertEquals("answer", sidemirror.beginTurn(started).run(goal("with both", ""), turn -> "answer", ends));
    began("finished with null").finish(ends, null, null);
    began("closed").close();
    assertTrue(sidemirror.flush(Duration.ofSeconds(30)));
    assertEquals(
        List.of(
            "failed GOAL_STATE_FAILED java.lang.IllegalStateException: no such table",
            "finished GOAL_STATE_COMPLETED ",
            "finished with null GOAL_STATE_COMPLETED ",
            "named GOAL_STATE_COMPLETED 5 ",
            "reached GOAL_STATE_COMPLETED 1 ",
            "returned GOAL_STATE_COMPLETED ",
            "run with GOAL_STATE_COMPLETED ",
            "said GOAL_STATE_FAILED 3 mine",
            "thrown GOAL_STATE_FAILED 2 java.lang.IllegalStateException: no such table",
            "with a session GOAL_STATE_COMPLETED ",
            "with both GOAL_STATE_COMPLETED "),
        List.copyOf(goals));
  }

  /** Seen to fail, with SUCCESS and the other exception, when it is asked for its words without care. */
  @Test
  void whatIsThrownMayHaveNoWords() {
    AgentTurn.Work<Void, IllegalStateException> fails =
        turn -> {
          throw new Wordless();
        };
    assertThrows(Wordless.class, () -> began("wordless").run(fails, TaskOutcome.TASK_OUTCOME_SUCCESS));
    assertEquals(Wordless.class.getName(), Events.toolReturned(new Wordless()).getToolReturned().getContent());
    assertTrue(sidemirror.flush(Duration.ofSeconds(30)));
    assertEquals(List.of(TaskOutcome.TASK_OUTCOME_ERROR), List.copyOf(outcomes));
    assertEquals(List.of("wordless GOAL_STATE_FAILED " + Wordless.class.getName()), List.copyOf(goals));
  }

  /** An exception whose message cannot be made. */
  private static final class Wordless extends IllegalStateException {
    private static final long serialVersionUID = 1;

    @Override
    public String getMessage() {
      throw new AssertionError("a message of its own");
    }
  }

  /** Seen to fail, with ERROR and a goal that failed, when what cancels counts as the agent's error. */
  @Test
  void aTurnThatIsCancelledHasNoOutcomeAndNoGoal() {
    TaskOutcome ends = TaskOutcome.TASK_OUTCOME_SUCCESS;
    AgentTurn.Work<Void, RuntimeException> cancelled =
        turn -> {
          throw new CancellationException();
        };
    AgentTurn.Work<Void, InterruptedException> interrupted =
        turn -> {
          throw new InterruptedException();
        };
    AgentTurn one = began("cancelled");
    AgentTurn other = began("interrupted");
    assertThrows(CancellationException.class, () -> one.run(cancelled, ends));
    assertThrows(InterruptedException.class, () -> other.run(interrupted, ends));
    assertTrue(sidemirror.flush(Duration.ofSeconds(30)));
    assertEquals(List.of(TaskOutcome.TASK_OUTCOME_UNSPECIFIED, TaskOutcome.TASK_OUTCOME_UNSPECIFIED), List.copyOf(outcomes));
    assertEquals(List.of(), List.copyOf(goals));
  }

  /** Seen to fail, with 120 at once, when only calls whose answers a turn waits for wait for a place. */
  @Test
  void ninetyCallsOfStubsAreOnTheirWayAtOnce() throws Exception {
    SidecarServiceGrpc.SidecarServiceFutureStub stub = SidecarServiceGrpc.newFutureStub(sidemirror.channel());
    GetServerInfoRequest request = GetServerInfoRequest.getDefaultInstance();
    List<Future<GetServerInfoResponse>> asked = new ArrayList<>();
    for (int call = 0; call < 120; call++) {
      asked.add(stub.withDeadlineAfter(60, TimeUnit.SECONDS).getServerInfo(request));
    }
    List<StreamObserver<GetServerInfoResponse>> held = new ArrayList<>();
    while (held.size() < 90) {
      held.add(askers.poll(30, TimeUnit.SECONDS));
    }
    StatusRuntimeException late =
        assertThrows(
            StatusRuntimeException.class,
            () -> sidemirror.sidecar().withDeadlineAfter(300, TimeUnit.MILLISECONDS).getServerInfo(request));
    assertEquals(Status.Code.DEADLINE_EXCEEDED, late.getStatus().getCode(), "the wait counts");
    assertEquals(0, askers.size(), "of the others none has come meanwhile");
    assertTrue(asked.remove(119).cancel(true), "one that waits is given up");
    for (int call = 0; call < 119; call++) {
      answer(call < 90 ? held.get(call) : askers.poll(30, TimeUnit.SECONDS), GetServerInfoResponse.getDefaultInstance());
    }
    for (Future<GetServerInfoResponse> each : asked) {
      each.get(30, TimeUnit.SECONDS);
    }
    assertEquals(0, askers.size(), "and is never sent");
  }

  /** Seen to fail when a verdict that did not come to be counts, and when what comes of {@code again} is judged as well. */
  @Test
  void anAnswerIsRevisedOnceWhenItsCritiqueAsksForIt() {
    AgentTurn turn = turn();
    List<String> asked = new ArrayList<>();
    AgentTurn.Again<RuntimeException> again =
        prompt -> {
          asked.add(prompt);
          return "right now";
        };
    assertEquals("right now", turn.revised("wrong", again));
    assertEquals("right now", turn.revised("wrong", again, "How many?", Duration.ofSeconds(30)));
    assertEquals("right", turn.revised("right", again));
    assertEquals("wrong, and not said", turn.revised("wrong, and not said", again));
    assertEquals(List.of("Not wrong.", "Not How many? wrong."), asked);
    assertEquals(4, textBytes.size(), "each answer is judged once");
    AgentTurn.Again<IOException> fails =
        prompt -> {
          throw new IOException("mine");
        };
    assertThrows(IOException.class, () -> turn.revised("wrong", fails));
  }

  /** The sidecar refuses a longer one. Seen to fail, with two million bytes, when only events are cut. */
  @Test
  void ofALongTextTheBeginningIsSent() throws InterruptedException {
    String text = "x".repeat(2 << 20);
    AgentTurn turn = turn();
    assertTrue(turn.critique(text).isPresent());
    turn.recall(text, List.of(), 0, Duration.ofSeconds(30));
    turn.finish(TaskOutcome.TASK_OUTCOME_FAILURE, goal("long", text));
    assertTrue(sidemirror.flush(Duration.ofSeconds(30)));
    assertEquals(List.of(256 << 10, 256 << 10, 256 << 10), List.of(textBytes.take(), textBytes.take(), textBytes.take()));
  }

  /** Models give it. Seen to fail, with a NullPointerException, at each of these when it is handed on. */
  @Test
  void nullIsAnEmptyTextToATurnToo() throws InterruptedException {
    Duration atMost = Duration.ofSeconds(30);
    AgentTurn turn = sidemirror.beginTurn(null, ThinkLevel.THINK_LEVEL_MEDIUM, Sidemirror.goal("null", null));
    assertTrue(turn.critique(null).isPresent());
    assertTrue(turn.critique(null, null, atMost).isPresent());
    assertNull(turn.revised(null, prompt -> "nobody asked for it"));
    assertNull(turn.revised(null, prompt -> "nobody asked for it", null, atMost));
    assertNull(turn.revised("wrong", prompt -> null), "what comes of it goes through as it is");
    turn.recall(null, Arrays.asList("look", null), 0, atMost);
    AgentTurn.Work<Void, IllegalStateException> fails =
        it -> {
          throw new IllegalStateException() {
            @Override
            public String toString() {
              return null;
            }
          };
        };
    assertThrows(IllegalStateException.class, () -> turn.run(fails));
    AgentTurn named = sidemirror.beginTurn(null, null, TurnStarted.getDefaultInstance(), Sidemirror.goal(null, "count"));
    assertFalse(named.id().isEmpty(), "it is chosen");
    named.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
    assertTrue(sidemirror.flush(atMost));
    assertEquals(List.of(0, 0, 0, 0, 5, 0), List.copyOf(textBytes));
    assertEquals(List.of(" GOAL_STATE_COMPLETED ", "null GOAL_STATE_FAILED "), List.copyOf(goals));
    Sidemirror.builder().address("127.0.0.1:" + server.getPort()).scope(null, null).connect().close();
  }

  /**
   * Texts that were cut within a pair have it, and UTF-8 has none. Seen to fail, with a stack trace of protobuf's for each
   * event and call, when it is handed on.
   */
  @Test
  void halfASurrogatePairIsReplaced() {
    String half = "hi \ud83d";
    Duration atMost = Duration.ofSeconds(30);
    TurnStarted started = TurnStarted.newBuilder().setTask(half).setSessionId(half).build();
    try (Warnings protobuf = new Warnings("com.google.protobuf");
        Sidemirror scoped =
            Sidemirror.builder().address("127.0.0.1:" + server.getPort()).scope("t \ude00", half).connect()) {
      GoalTask.Builder task = GoalTask.newBuilder().setName(half).setError(half);
      AgentTurn turn =
          scoped.beginTurn(half, half, started, goal(half, half).toBuilder().setObjective(half).addTasks(task).build());
      assertEquals("hi \ufffd", turn.id());
      String id = turn.report(Events.toolCalled(half, half).toBuilder().setEventId(half).build());
      assertEquals("hi \ufffd", id);
      turn.report(Events.ofCall(half, Events.toolReturned("\ude00\ud83d\ude00\ud83d and the rest 😀", false)));
      turn.report(Events.toolFailed(half));
      turn.report(Events.userMessage(half));
      turn.report(Events.responseDrafted(half.repeat(100_000)));
      turn.report(Events.userMessage("well formed 😀 ".repeat(10)));
      assertTrue(turn.critique(half, half, atMost).isPresent());
      assertEquals(half, turn.revised(half, prompt -> "nobody asked for it"));
      turn.recall(half, List.of("look", half), 0, atMost);
      turn.finish(TaskOutcome.TASK_OUTCOME_FAILURE);
      assertTrue(scoped.flush(atMost));
      assertEquals(List.of(), List.copyOf(protobuf.told));
    }
    List<String> texts = new ArrayList<>();
    sent.forEach(each -> texts(each, texts));
    assertEquals(List.of(), texts.stream().filter(each -> each.contains("?")).toList(), "nothing is left to protobuf");
    assertTrue(texts.contains("\ufffd😀\ufffd and the rest 😀"));
    assertTrue(texts.contains("well formed 😀 ".repeat(10)));
    assertTrue(texts.contains("t \ufffd"), "the scope");
    String longest = texts.stream().max(Comparator.comparing(String::length)).orElseThrow();
    assertTrue(longest.startsWith("hi \ufffdhi \ufffd") && longest.endsWith(" … [cut]"));
    assertTrue(longest.getBytes(StandardCharsets.UTF_8).length <= 256 << 10);
    // Of events 17 with the agent of each, of two critiques 7, of the recall 4 and of the goal 7 with the project of each.
    assertEquals(35, texts.stream().filter("hi \ufffd"::equals).count());
  }

  /** Every text in it. */
  private static void texts(Object value, List<String> found) {
    if (value instanceof Message message) {
      message.getAllFields().values().forEach(each -> texts(each, found));
    } else if (value instanceof List<?> list) {
      list.forEach(each -> texts(each, found));
    } else if (value instanceof String text) {
      found.add(text);
    }
  }

  /** Seen to fail, with events and the goal lost, when closing gives up at once. */
  @Test
  void anInterruptedThreadClosesAsAnyOther() {
    AgentTurn turn = began("interrupted");
    turn.report(Events.toolCalled("look", "{}"));
    Thread.currentThread().interrupt();
    turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
    Undelivered left = sidemirror.close(Duration.ofSeconds(30));
    assertTrue(Thread.interrupted(), "it is interrupted again afterwards");
    assertTrue(left.isEmpty(), left.toString());
    assertEquals(1, goals.size());
  }

  /** Seen to fail when a turn waits through an interrupt, and when it forgets it. */
  @Test
  void anInterruptedThreadWaitsForNoAnswer() {
    holdsStreams = true;
    Duration atMost = Duration.ofSeconds(10);
    AgentTurn turn = turn();
    Thread.currentThread().interrupt();
    long began = System.nanoTime();
    assertTrue(turn.plan(atMost).isEmpty());
    assertTrue(turn.recall(atMost).isEmpty());
    assertEquals(List.of(), turn.advice(atMost));
    assertTrue(turn.next(atMost).isEmpty());
    assertTrue(turn.critique("right", "", atMost).isEmpty());
    assertEquals("wrong", turn.revised("wrong", prompt -> "nobody asked for it", "", atMost));
    assertTrue(turn.summary(atMost).isEmpty());
    assertFalse(sidemirror.flush(atMost));
    assertTrue(System.nanoTime() - began < atMost.toNanos());
    assertTrue(Thread.interrupted(), "it stays so");
    sidemirror.close(Duration.ZERO);
  }

  /** Seen to fail when only an interrupt from before is waited through. */
  @Test
  void aThreadThatIsInterruptedWhileItWaitsWaitsOn() {
    List<Duration> left = new ArrayList<>();
    boolean there =
        Waiting.throughInterrupts(
            Duration.ofDays(1),
            atMost -> {
              assertFalse(Thread.currentThread().isInterrupted());
              left.add(atMost);
              if (left.size() < 3) {
                Thread.currentThread().interrupt();
              }
              return left.size() == 3;
            });
    assertTrue(there && Thread.interrupted(), "it is interrupted again afterwards");
    assertFalse(Waiting.throughInterrupts(Duration.ZERO, atMost -> false), "its time is over");
    assertFalse(Thread.interrupted());
  }

  /** Seen to fail, with an exception behind the work, when null is handed on. */
  @Test
  void anOutcomeThatIsNullIsUnspecified() {
    assertEquals("answer", began("run").run(turn -> "answer", null));
    began("finished").finish(null);
    assertTrue(sidemirror.flush(Duration.ofSeconds(30)));
    assertEquals(List.of(TaskOutcome.TASK_OUTCOME_UNSPECIFIED, TaskOutcome.TASK_OUTCOME_UNSPECIFIED), List.copyOf(outcomes));
    assertEquals(List.of(), List.copyOf(goals));
  }

  /** Seen to fail, with nothing said, when a call that is refused ends like one without an answer. */
  @Test
  void ofEachKindOfCallThatIsRefusedTheLogTellsOnce() {
    try (Warnings warnings = new Warnings()) {
      for (AgentTurn turn : List.of(turn(), turn())) {
        assertTrue(turn.recall("INVALID_ARGUMENT", List.of(), 0, Duration.ofSeconds(30)).isEmpty());
        assertEquals("INVALID_ARGUMENT", turn.revised("INVALID_ARGUMENT", prompt -> "nobody asked for it"));
      }
      assertTrue(turn().recall("DEADLINE_EXCEEDED", List.of(), 0, Duration.ofSeconds(30)).isEmpty());
      assertTrue(turn().recall("PERMISSION_DENIED", List.of(), 0, Duration.ofSeconds(30)).isEmpty());
      assertEquals(
          List.of(
              "the sidecar has refused a recall: INVALID_ARGUMENT: as it was asked to",
              "the sidecar has refused a critique: INVALID_ARGUMENT: as it was asked to",
              "the sidecar has refused a recall: PERMISSION_DENIED: as it was asked to"),
          warnings.told.stream().filter(each -> !each.contains("is too busy for a recall")).toList());
    }
  }

  /** Seen to fail, with an empty text, when null is one here too. */
  @Test
  void aRecallWithToolsMayBeForTheTurnsOwnTask() {
    turn().recall(null, List.of("look"), 3, Duration.ofSeconds(30));
    turn().recall("", List.of("look"), 3, Duration.ofSeconds(30));
    assertEquals(List.of("count".length(), 0), List.copyOf(textBytes));
  }

  /** The sidecar refuses any other. Seen to fail when the number goes as it is. */
  @Test
  void noMoreLessonsAreAskedForThanTheSidecarGives() {
    for (int maxItems : List.of(Integer.MIN_VALUE, -1, 0, 1, 20, 21)) {
      turn().recall("count", List.of(), maxItems, Duration.ofSeconds(30));
    }
    assertEquals(List.of(0, 0, 0, 1, 20, 20), List.copyOf(lessonsAsked));
  }

  /** Seen to fail, with each of the three, when only streams and calls that fail are heard. */
  @Test
  void aSidecarThatAnswersCallsIsNotSilent() throws InterruptedException {
    holdsStreams = true;
    isUnwell = true;
    BuildMemoryContextRequest refused = BuildMemoryContextRequest.newBuilder().setTask("INVALID_ARGUMENT").build();
    ConcurrentSkipListSet<String> away = new ConcurrentSkipListSet<>();
    try (Sidemirror recalls = told(away, "recalls");
        Sidemirror calls = told(away, "calls");
        Sidemirror isRefused = told(away, "is refused")) {
      AgentTurn turn = recalls.beginTurn("count", ThinkLevel.THINK_LEVEL_MEDIUM);
      List.of(calls, isRefused).forEach(each -> each.beginTurn("count", ThinkLevel.THINK_LEVEL_MEDIUM));
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(3_500);
      while (System.nanoTime() < end) {
        turn.recall();
        calls.memory().buildMemoryContext(BuildMemoryContextRequest.getDefaultInstance());
        assertThrows(StatusRuntimeException.class, () -> isRefused.memory().buildMemoryContext(refused));
        Thread.sleep(50);
      }
      assertEquals(Set.of(), away);
      List.of(recalls, calls, isRefused).forEach(each -> each.close(Duration.ZERO));
    }
  }

  /** Seen to fail, away for ever, when only GetServerInfo's own answer counts. */
  @Test
  void aSidecarThatAnswersWithAnErrorOfItsOwnIsBack() throws Exception {
    int port = server.getPort();
    server.shutdownNow().awaitTermination();
    AgentTurn turn = turn();
    until(sidemirror::away);
    server = serves(port);
    for (Status.Code code : List.of(Status.Code.UNAVAILABLE, Status.Code.UNAUTHENTICATED)) {
      askers.poll(30, TimeUnit.SECONDS).onError(refusal(code));
    }
    askers.poll(30, TimeUnit.SECONDS).onError(Status.PERMISSION_DENIED.asRuntimeException());
    StreamObserver<GetServerInfoResponse> last = askers.poll(30, TimeUnit.SECONDS);
    assertTrue(turn.plan(Duration.ofDays(1)).isEmpty(), "it is not back by any of these");
    last.onError(refusal(Status.Code.PERMISSION_DENIED));
    assertTrue(sidemirror.flush(Duration.ofSeconds(30)));
    assertFalse(sidemirror.away());
  }

  private static void until(BooleanSupplier there) throws InterruptedException {
    while (!there.getAsBoolean()) {
      Thread.sleep(10);
    }
  }

  /** Seen to fail, in their whole time, when they wait for what another thread reports meanwhile. */
  @Test
  void adviceAndCritiqueWaitForWhatWasReportedBefore() throws Exception {
    holdsStreams = true;
    AgentTurn turn = turn();
    turn.report(Events.toolCalled("look", "{}"));
    FutureTask<List<TurnDirective>> advice = new FutureTask<>(() -> turn.advice(Duration.ofSeconds(30)));
    FutureTask<Optional<CritiqueResult>> critique =
        new FutureTask<>(() -> turn.critique("right", "", Duration.ofSeconds(30)));
    for (FutureTask<?> each : List.of(advice, critique)) {
      Thread thread = new Thread(each);
      thread.start();
      until(() -> thread.getState() == Thread.State.TIMED_WAITING);
    }
    turn.report(Events.toolReturned("41", false));
    until(() -> sent.size() == 3);
    StreamObserver<RunTurnResponse> stream = streams.take();
    stream.onNext(acknowledged(1));
    assertThrows(TimeoutException.class, () -> advice.get(200, TimeUnit.MILLISECONDS));
    assertFalse(critique.isDone());
    stream.onNext(acknowledged(2));
    assertEquals(List.of(), advice.get(10, TimeUnit.SECONDS));
    assertTrue(critique.get(10, TimeUnit.SECONDS).isPresent());
    sidemirror.close(Duration.ZERO);
  }

  private static RunTurnResponse acknowledged(long count) {
    TurnAck ack = TurnAck.newBuilder().setReceived(count).setDurable(count).build();
    return RunTurnResponse.newBuilder().addDirectives(TurnDirective.newBuilder().setAck(ack)).build();
  }

  private Sidemirror told(Set<String> away, String name) {
    return Sidemirror.builder().address("127.0.0.1:" + server.getPort()).onAway(why -> away.add(name)).connect();
  }

  /** Whether the text is the name of a code, with which the call is refused then. */
  private static boolean refuses(StreamObserver<?> answers, String text) {
    for (Status.Code code : Status.Code.values()) {
      if (code.name().equals(text)) {
        answers.onError(refusal(code));
        return true;
      }
    }
    return false;
  }

  /** An error of the sidecar's own. */
  private static StatusRuntimeException refusal(Status.Code code) {
    ErrorInfo reason = ErrorInfo.newBuilder().setReason("AS_ASKED").setDomain("sidemirror.dev").build();
    return StatusProto.toStatusRuntimeException(
        com.google.rpc.Status.newBuilder()
            .setCode(code.value())
            .setMessage("as it was asked to")
            .addDetails(Any.pack(reason))
            .build());
  }

  private static <A> void answer(StreamObserver<A> answers, A answer) {
    answers.onNext(answer);
    answers.onCompleted();
  }

  /** Takes every event, and ends each turn with a summary. */
  private final class Thinking extends ThinkingServiceGrpc.ThinkingServiceImplBase {
    @Override
    public StreamObserver<RunTurnRequest> runTurn(StreamObserver<RunTurnResponse> answers) {
      return new StreamObserver<>() {
        private long count;

        @Override
        public void onNext(RunTurnRequest request) {
          count += request.getEventsCount();
          sent.addAll(request.getEventsList());
          if (holdsStreams) {
            streams.add(answers);
            return;
          }
          request.getEventsList().stream()
              .filter(TurnEvent::hasTurnFinished)
              .forEach(event -> outcomes.add(event.getTurnFinished().getOutcome()));
          RunTurnResponse.Builder said = acknowledged(count).toBuilder();
          boolean ends = request.getEventsList().stream().anyMatch(event -> event.hasTurnFinished());
          if (ends) {
            said.addDirectives(TurnDirective.newBuilder().setTurnSummary(TurnSummary.getDefaultInstance()));
          }
          answers.onNext(said.build());
          if (ends) {
            answers.onCompleted();
          }
        }

        @Override
        public void onError(Throwable gone) {}

        @Override
        public void onCompleted() {}
      };
    }
  }

  private final class Goals extends GoalReflectionServiceGrpc.GoalReflectionServiceImplBase {
    @Override
    public void reportGoal(ReportGoalRequest request, StreamObserver<ReportGoalResponse> answers) {
      sent.add(request);
      if (request.getGoalId().equals("long")) {
        textBytes.add(request.getErrorBytes().size());
      }
      // An id that the client chose is different each time.
      String turnId = request.getTurnId().length() > 1 ? "" : request.getTurnId() + " ";
      goals.add(request.getGoalId() + " " + request.getState().name() + " " + turnId + request.getError());
      answer(answers, ReportGoalResponse.getDefaultInstance());
    }
  }

  private final class Memory extends ReflectiveMemoryServiceGrpc.ReflectiveMemoryServiceImplBase {
    @Override
    public void buildMemoryContext(
        BuildMemoryContextRequest request, StreamObserver<BuildMemoryContextResponse> answers) {
      sent.add(request);
      textBytes.add(request.getTaskBytes().size());
      lessonsAsked.add(request.getMaxItems());
      if (refuses(answers, request.getTask())) {
        return;
      }
      answer(answers, BuildMemoryContextResponse.getDefaultInstance());
    }
  }

  private final class Info extends SidecarServiceGrpc.SidecarServiceImplBase {
    @Override
    public void getServerInfo(GetServerInfoRequest request, StreamObserver<GetServerInfoResponse> answers) {
      askers.add(answers);
    }
  }

  private final class Health extends HealthGrpc.HealthImplBase {
    @Override
    public void check(HealthCheckRequest request, StreamObserver<HealthCheckResponse> answers) {
      if (!isUnwell) {
        answer(answers, HealthCheckResponse.getDefaultInstance());
      }
    }
  }

  private final class Critic extends CritiqueServiceGrpc.CritiqueServiceImplBase {
    @Override
    public void critique(CritiqueRequest request, StreamObserver<CritiqueResponse> answers) {
      sent.add(request);
      textBytes.add(request.getResponseBytes().size());
      String response = request.getResponse();
      if (refuses(answers, response)) {
        return;
      }
      ResultStatus status =
          response.endsWith("not said") ? ResultStatus.RESULT_STATUS_FAILED_MODEL : ResultStatus.RESULT_STATUS_OK;
      CritiqueResult verdict =
          CritiqueResult.newBuilder()
              .setStatus(status)
              .setShouldRevise(response.startsWith("wrong"))
              .setRevisionPrompt("Not " + (request.getUserMessage() + " " + response).strip() + ".")
              .build();
      answer(answers, CritiqueResponse.newBuilder().setCritique(verdict).build());
    }
  }
}
