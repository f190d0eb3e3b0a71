package dev.sidemirror.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sidemirror.v1.ContextBlock;
import dev.sidemirror.v1.GetServerInfoRequest;
import dev.sidemirror.v1.ReportGoalRequest;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.TurnEvent;
import dev.sidemirror.v1.TurnStarted;
import dev.sidemirror.v1.UserMessage;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyPairGenerator;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Rules of the client that need no sidecar. What it does with one is in clients/scenario. */
@Timeout(60)
class WithinTest {
  @TempDir Path folder;

  private Sidemirror nobody() {
    return Sidemirror.builder().address("unix:" + folder.resolve("nobody.sock")).connect();
  }

  /** Seen to fail when every address that begins with 127 is loopback, and when IPv6 is cut at its first colon. */
  @Test
  void loopbackIsThisMachineAlone() {
    for (String here : List.of("localhost:1", "LOCALHOST:1", "127.0.0.1:1", "127.9.8.7:1", "[::1]:1")) {
      assertTrue(Address.isLoopback(here), here);
    }
    for (String there : List.of("127.0.0.1.example.com:1", "10.0.0.7:1", "localhost.example.com:1", "[::2]:1", "127.1:1")) {
      assertFalse(Address.isLoopback(there), there);
    }
    assertEquals(new Address("sidecar.example.com:443", true), Address.of("https://sidecar.example.com/", false, true, true));
    assertEquals(new Address("sidecar.example.com:443", true), Address.of("sidecar.example.com", true, true, true));
    assertEquals(new Address("[::1]:443", true), Address.of("https://[::1]", false, true, true));
    assertThrows(TokenInTheClearException.class, () -> Address.of("sidecar.example.com:1", false, true, true));
  }

  /** Seen to fail, with gRPC's words and after a connection was begun, when Java's own form of an address is not asked for. */
  @Test
  void anAddressIsOneThatJavaTakes() {
    for (String none : List.of("my_sidecar:1", "sidecär:1", "a%zz:1", "[::g]:1", "[12]:1", "[1.2.3.4]:1")) {
      Sidemirror.Builder builder = Sidemirror.builder().address(none);
      String said = assertThrows(IllegalArgumentException.class, builder::connect, none).getMessage();
      assertTrue(said.startsWith("the address \"" + none + "\" of Sidemirror (SIDEMIRROR_ADDRESS, or address()): "), said);
    }
    for (String taken : List.of("[fe80::1%eth0]:1", "[::ffff:10.0.0.7]:1", "side-car.example.com:1", "10.0.0.7:1")) {
      Sidemirror.builder().address(taken).connect().close();
    }
  }

  /** Seen to fail: null went unnoticed until a call, or left a connection open, and a year too many was an overflow. */
  @Test
  void aBuilderTakesNoNullAndAnyDuration() {
    Sidemirror.Builder builder = Sidemirror.builder();
    assertThrows(NullPointerException.class, () -> builder.address(null));
    assertThrows(NullPointerException.class, () -> builder.deadline(null));
    assertThrows(NullPointerException.class, () -> builder.intercept(null));
    builder.address("127.0.0.1:1").deadline(ChronoUnit.FOREVER.getDuration());
    try (Sidemirror patient = builder.connect()) {
      StatusRuntimeException error =
          assertThrows(
              StatusRuntimeException.class,
              () -> patient.sidecar().getServerInfo(GetServerInfoRequest.getDefaultInstance()));
      assertEquals(Status.Code.UNAVAILABLE, error.getStatus().getCode());
    }
  }

  /** Seen to fail when it counts as an event that was not delivered. */
  @Test
  void aSecondFinishChangesNothing() {
    try (Sidemirror nobody = nobody()) {
      AgentTurn turn = nobody.beginTurn(TurnStarted.getDefaultInstance());
      turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
      turn.finish(TaskOutcome.TASK_OUTCOME_FAILURE);
      assertEquals(0, turn.dropped());
      turn.report(Events.toolCalled("late", ""));
      assertEquals(1, turn.dropped());
    }
  }

  /** Seen to fail, with 2 events and with 2 goals, when only a turn that goes on is finished by its end. */
  @Test
  void aTurnThatIsOverIsFinishedOnce() {
    ReportGoalRequest goal = Sidemirror.goal("g", "o");
    Sidemirror closed = nobody();
    closed.close();
    AgentTurn left = closed.beginTurn(TurnStarted.getDefaultInstance(), goal);
    AgentTurn failed = closed.beginTurn(TurnStarted.getDefaultInstance(), goal);
    try (left) {
      left.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
    }
    AgentTurn.Work<Void, IllegalStateException> fails =
        turn -> {
          throw new IllegalStateException("an agent's own");
        };
    assertThrows(IllegalStateException.class, () -> failed.run(fails, TaskOutcome.TASK_OUTCOME_SUCCESS));
    for (AgentTurn each : List.of(left, failed)) {
      assertEquals(2, each.dropped(), "its beginning and its end");
    }
    assertEquals(2, closed.close(Duration.ZERO).goals());
  }

  /** Seen to fail, after ten seconds, when the log is told while the turn's monitor is held. */
  @Test
  void aLogMayWaitForAnotherThreadOfTheTurn() throws InterruptedException {
    LinkedBlockingQueue<Integer> dropped = new LinkedBlockingQueue<>();
    try (Sidemirror nobody = nobody()) {
      AgentTurn turn = nobody.beginTurn(TurnStarted.getDefaultInstance());
      turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
      Consumer<String> waits =
          told -> {
            if (told.contains("is finished")) {
              dropped.add(elsewhere(turn::dropped));
            }
          };
      Warnings log = new Warnings("dev.sidemirror.client", waits);
      try (log) {
        turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
        turn.report(Events.toolCalled("late", ""));
      }
    }
    assertEquals(List.of(0, 1), List.copyOf(dropped));
  }

  /**
   * The sidecar could not read it. Seen to fail when it is kept. What the sidecar takes of an event it says itself: one
   * that is larger is kept.
   */
  @Test
  void anEventThatFitsNoMessageIsDropped() {
    try (Sidemirror nobody = nobody();
        Warnings log = new Warnings()) {
      AgentTurn turn = nobody.beginTurn("t", "", TurnStarted.getDefaultInstance());
      turn.report(sized(1_200_000));
      assertEquals(0, turn.dropped());
      turn.report(sized(4_200_000));
      assertEquals(1, turn.dropped());
      String said = "turn t: an event that is too large for a message is not delivered";
      assertTrue(log.told.contains(said), log.told.toString());
    }
  }

  /** An event of so many bytes and some more, whose texts are short enough. */
  private static TurnEvent sized(int bytes) {
    TurnEvent.Builder event = TurnEvent.newBuilder().setUserMessage(UserMessage.getDefaultInstance());
    for (int count = 0; count < bytes / 200_000; count++) {
      event.addSubjectIds("x".repeat(200_000));
    }
    return event.build();
  }

  private static <T> T elsewhere(Supplier<T> what) {
    return CompletableFuture.supplyAsync(what).orTimeout(10, TimeUnit.SECONDS).join();
  }

  /** Seen to fail when an ended stream keeps its place. */
  @Test
  void turnsAreSpreadOverSixteenConnections() {
    try (Connections connections = new Connections(Sidemirror.builder(), List.of(), null)) {
      Pool pool = new Pool(() -> connections.make(false));
      List<Pool.Place> places = new ArrayList<>();
      for (int turn = 0; turn < 16 * 80; turn++) {
        places.add(pool.take());
      }
      assertSame(places.get(0), places.get(79));
      assertNotSame(places.get(79), places.get(80));
      assertNull(pool.take(), "all are full");
      pool.release(places.get(700));
      assertSame(places.get(700), pool.take());
      pool.giveUp();
    } catch (java.io.IOException unreadable) {
      throw new AssertionError(unreadable);
    }
  }

  /** Seen to fail, with some told twice, when two threads may both find that nobody was told yet. */
  @Test
  void ofManyCallsAtOnceOneIsToldThatTheSidecarIsBusy() throws Exception {
    List<String> calls = IntStream.range(0, 200_000).mapToObj(Integer::toString).toList();
    ExecutorService agents = Executors.newFixedThreadPool(2);
    try (Connections connections = new Connections(Sidemirror.builder(), List.of(), null)) {
      Link link = new Link(connections, null, null, null, null);
      // Whoever is behind finds more that was told, and so comes up to the other.
      Callable<Long> told = () -> calls.stream().filter(link::isNewlyUnanswered).count();
      List<Future<Long>> both = agents.invokeAll(List.of(told, told));
      link.close();
      assertEquals(calls.size(), both.get(0).get() + both.get(1).get());
    } finally {
      agents.shutdownNow();
    }
  }

  /**
   * Seen to fail when the goal of an outcome that teaches nothing is kept, and, on a busy machine, when only the client's own
   * thread counts.
   */
  @Test
  void closingSaysWhatWasNotDelivered() {
    ReportGoalRequest goal = ReportGoalRequest.newBuilder().setGoalId("g").setObjective("o").build();
    Sidemirror sidemirror = nobody();
    AgentTurn failed = sidemirror.beginTurn("failed", "", TurnStarted.getDefaultInstance());
    assertThrows(
        IllegalStateException.class,
        () ->
            failed.run(
                turn -> {
                  throw new IllegalStateException("an agent's own");
                }));
    try (AgentTurn left = sidemirror.beginTurn("left", "", TurnStarted.getDefaultInstance())) {
      left.report(Events.userMessage("hello"));
    }
    try (AgentTurn said = sidemirror.beginTurn("said", "", TurnStarted.getDefaultInstance())) {
      said.finish(TaskOutcome.TASK_OUTCOME_FAILURE, goal);
    }
    sidemirror.beginTurn("vague", "", TurnStarted.getDefaultInstance()).finish(TaskOutcome.TASK_OUTCOME_UNSPECIFIED, goal);
    assertFalse(sidemirror.flush(Duration.ofMillis(1)));
    Undelivered undelivered = sidemirror.close(Duration.ZERO);
    assertEquals(9, undelivered.events());
    assertEquals(1, undelivered.goals());
    assertEquals(4, undelivered.turns().size());
    assertEquals(undelivered, sidemirror.close(Duration.ZERO), "whoever closes twice is told the same");
  }

  /** Seen to fail when a call waits for its time though the sidecar is away. */
  @Test
  void nothingIsWaitedForWhileTheSidecarIsAway() {
    try (Sidemirror sidemirror = nobody(); AgentTurn turn = sidemirror.beginTurn(TurnStarted.getDefaultInstance())) {
      Duration day = Duration.ofDays(1);
      assertTrue(turn.plan(day).isEmpty());
      assertTrue(turn.recall("count", List.of(), 0, day).isEmpty());
      assertTrue(turn.advice(day).isEmpty());
      assertTrue(turn.critique("There are 41.", "", day).isEmpty());
      assertEquals("41", turn.revised("41", prompt -> "nobody asked for it", "", day));
    }
  }

  /** Seen to fail when an id is left out of one kind. */
  @Test
  void eventsOfACallCarryItsId() {
    TurnEvent failed = Events.toolReturned(new IllegalStateException("no such table"));
    assertEquals("java.lang.IllegalStateException: no such table", failed.getToolReturned().getContent());
    assertTrue(failed.getToolReturned().getIsError());
    assertEquals("c", Events.ofCall("c", Events.toolCalled("look", "{}")).getToolCalled().getCallId());
    assertEquals("c", Events.ofCall("c", failed).getToolReturned().getCallId());
    assertEquals("c", Events.ofCall("c", Events.toolFailed("gone")).getToolFailed().getCallId());
    assertEquals(Events.userMessage("hello"), Events.ofCall("c", Events.userMessage("hello")));
  }

  /** Tools give it. Seen to fail, with a NullPointerException, when it is handed on. */
  @Test
  void nullIsAnEmptyText() {
    assertEquals(Events.toolCalled("look", ""), Events.toolCalled("look", null));
    assertEquals(Events.toolCalled("", ""), Events.ofCall(null, Events.toolCalled(null, null)));
    assertEquals(Events.toolReturned("", false), Events.toolReturned(null, false));
    assertEquals(Events.toolReturned("", true), Events.toolReturned(null));
    assertEquals(Events.toolWorked(""), Events.toolWorked(null));
    assertEquals(Events.toolFailed(""), Events.toolFailed(null));
    assertEquals(Events.userMessage(""), Events.userMessage(null));
    assertEquals(Events.responseDrafted(""), Events.responseDrafted(null));
  }

  /**
   * The sidecar would refuse the whole turn. Seen to fail when a name goes as it is, and when its UTF-16 units count.
   */
  @Test
  void aCallHasANameThatTheSidecarTakes() {
    String longest = "𝄞".repeat(256);
    assertEquals("unnamed", nameOfCall(""));
    assertEquals("look", nameOfCall("look"));
    assertEquals(longest, nameOfCall(longest));
    assertEquals(longest, nameOfCall("𝄞".repeat(300)));
    assertFalse(Filled.event(Events.userMessage("hello"), "").hasToolCalled());
  }

  private static String nameOfCall(String tool) {
    return Filled.event(Events.toolCalled(tool, "{}"), "").getToolCalled().getName();
  }

  @Test
  void lessonsAreATextForAModel() {
    assertEquals("", Sidemirror.lessonsText(Optional.empty()));
    assertEquals("look", Sidemirror.lessonsText(Optional.of(ContextBlock.newBuilder().setText("look").build())));
  }

  /** Of curves that is in untrusted.json. */
  @Test
  void aKeyOfRsaIsReadInEitherForm() throws GeneralSecurityException {
    KeyPairGenerator keys = KeyPairGenerator.getInstance("RSA");
    keys.initialize(2048);
    byte[] made = keys.generateKeyPair().getPrivate().getEncoded();
    // Behind the version, the algorithm, and the tag and length of the octets.
    byte[] inner = Arrays.copyOfRange(made, 26, made.length);
    byte[] read = Keys.pkcs8(pem("RSA PRIVATE KEY", inner));
    assertArrayEquals(pem("PRIVATE KEY", made), read);
    assertArrayEquals(read, Keys.pkcs8(read));
    byte[] nameless = pem("EC PRIVATE KEY", new byte[] {0x30, 6, 2, 1, 1, 4, 1, 7});
    assertThrows(InvalidKeyException.class, () -> Keys.pkcs8(nameless));
  }

  private static byte[] pem(String kind, byte[] der) {
    String text = Base64.getMimeEncoder().encodeToString(der);
    return ("-----BEGIN " + kind + "-----\n" + text + "\n-----END " + kind + "-----\n").getBytes(StandardCharsets.US_ASCII);
  }
}
