package dev.sidemirror.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.Message;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import dev.sidemirror.v1.GetServerInfoRequest;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.ThinkLevel;
import dev.sidemirror.v1.TurnStarted;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.NameResolver;
import io.grpc.NameResolverProvider;
import io.grpc.NameResolverRegistry;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.URI;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the client does where no sidecar is. What it does with one is in clients/scenario. */
@Timeout(180)
class AloneTest {
  @TempDir Path folder;

  private String nobody() {
    return "unix:" + folder.resolve("nobody.sock");
  }

  /** Seen to fail when each stream that breaks is told, when a plan is waited for, and when events count after the end. */
  @Test
  void anAgentGoesOnWithoutASidecarAndIsToldOnce() throws InterruptedException {
    LinkedBlockingQueue<Throwable> told = new LinkedBlockingQueue<>();
    try (Sidemirror sidemirror = Sidemirror.builder().address(nobody()).onAway(told::add).connect()) {
      AgentTurn turn = sidemirror.beginTurn(TurnStarted.getDefaultInstance());
      AgentTurn other = sidemirror.beginTurn("mine", "", TurnStarted.getDefaultInstance());
      turn.report(Events.userMessage("hello"));
      turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
      assertEquals(Status.Code.UNAVAILABLE, Status.fromThrowable(told.poll(60, TimeUnit.SECONDS)).getCode());
      assertTrue(sidemirror.away());
      assertTrue(turn.plan(Duration.ofDays(1)).isEmpty(), "a plan is not waited for while the sidecar is away");
      assertTrue(turn.summary(Duration.ofDays(1)).isEmpty());
      assertFalse(sidemirror.flush(Duration.ofMillis(1)));
      assertEquals("mine", other.id());
      assertEquals(0, turn.dropped());
      turn.report(Events.userMessage("after the end"));
      assertEquals(1, turn.dropped());
    }
    assertEquals(0, told.size());
  }

  /** Seen to fail, with "io exception" and no address, when gRPC's own description is told. */
  @Test
  void theWarningSaysWhereAndWhy() throws InterruptedException {
    try (Warnings warnings = new Warnings();
        Sidemirror sidemirror = Sidemirror.builder().address("127.0.0.1:1").connect()) {
      sidemirror.beginTurn("count", ThinkLevel.THINK_LEVEL_MEDIUM).finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
      String said = warnings.told.poll(60, TimeUnit.SECONDS);
      assertTrue(said.startsWith("Sidemirror at 127.0.0.1:1 is away, the agent goes on without it: UNAVAILABLE: "), said);
      assertTrue(said.endsWith("Connection refused: /127.0.0.1:1"), said);
    }
  }

  /** Seen to fail when a closed client keeps what it is given. */
  @Test
  void aClosedClientTakesEventsAndCountsThem() {
    Sidemirror sidemirror = Sidemirror.builder().address(nobody()).connect();
    sidemirror.close();
    AgentTurn turn = sidemirror.beginTurn(TurnStarted.getDefaultInstance());
    turn.report(Events.userMessage("hello"));
    assertEquals(2, turn.dropped());
    assertTrue(turn.next(Duration.ofDays(1)).isEmpty());
    sidemirror.close();
  }

  /** Seen to fail without the bound of a turn, and when the end of a turn counts like any event. */
  @Test
  void whatTakesTooMuchRoomIsDroppedAndCounted() {
    try (Sidemirror sidemirror = Sidemirror.builder().address(nobody()).connect()) {
      AgentTurn turn = sidemirror.beginTurn(TurnStarted.getDefaultInstance());
      for (int count = 0; count < 65; count++) {
        turn.report(Events.userMessage("x".repeat(1 << 20)));
      }
      assertEquals(2, turn.dropped(), "16 MiB wait, and each event is a little larger than its text, cut to 256 KiB");
      while (turn.dropped() == 2) {
        turn.report(Events.userMessage("x"));
      }
      turn.finish(TaskOutcome.TASK_OUTCOME_FAILURE);
      assertEquals(3, turn.dropped(), "the end of the turn always has room");
    }
  }

  /**
   * Each of these turns keeps less than the 16 MiB that one may. Seen to fail without the bound of all, and when a turn
   * goes on whose beginning was dropped.
   */
  @Test
  void allTurnsOfAClientShareWhatMayWait() {
    try (Sidemirror sidemirror = Sidemirror.builder().address(nobody()).connect()) {
      String text = "x".repeat(200 << 10);
      List<AgentTurn> turns = new ArrayList<>();
      for (int count = 0; count < 5; count++) {
        AgentTurn turn = sidemirror.beginTurn(TurnStarted.getDefaultInstance());
        turns.add(turn);
        for (int each = 0; each < 80; each++) {
          turn.report(Events.userMessage(text));
        }
      }
      int kept = 400 - turns.stream().mapToInt(AgentTurn::dropped).sum();
      assertTrue(310 <= kept && kept <= 327, "64 MiB wait: " + kept + " events");
      while (turns.get(0).dropped() == 0) {
        turns.get(0).report(Events.userMessage("x"));
      }
      AgentTurn none = sidemirror.beginTurn(TurnStarted.newBuilder().setTask(text).build());
      none.report(Events.userMessage("hello"));
      none.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
      assertEquals(3, none.dropped(), "a turn whose beginning has no room is not reported");
    }
  }

  /** Neither the delivery of a turn, nor the search for the sidecar. Seen to fail when the error ends either. */
  @Test
  void anInterceptorThatFailsHoldsUpNothingElse() throws InterruptedException {
    LinkedBlockingQueue<Throwable> told = new LinkedBlockingQueue<>();
    LinkedBlockingQueue<String> calls = new LinkedBlockingQueue<>();
    ClientInterceptor fails =
        new ClientInterceptor() {
          @Override
          public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions with, Channel next) {
            calls.add(method.getBareMethodName());
            throw new IllegalStateException("an agent's own interceptor");
          }
        };
    Sidemirror.Builder builder = Sidemirror.builder().address(nobody()).onAway(told::add).intercept(fails);
    try (Sidemirror sidemirror = builder.connect()) {
      AgentTurn turn = sidemirror.beginTurn(TurnStarted.getDefaultInstance());
      assertEquals("an agent's own interceptor", told.poll(60, TimeUnit.SECONDS).getMessage());
      assertEquals("RunTurn", calls.poll(60, TimeUnit.SECONDS));
      for (int count = 0; count < 2; count++) {
        assertEquals("GetServerInfo", calls.poll(60, TimeUnit.SECONDS), "it is looked for again and again");
      }
      turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
      assertEquals(0, turn.dropped());
    }
  }

  /**
   * A name that nobody resolves: the sidecar is away, and the connection given up, while a call begins on it. Seen to fail,
   * with a warning and the stack trace of "call was cancelled", when that counts as the failure of an interceptor.
   */
  @Test
  void aCallWhoseConnectionIsGivenUpMeanwhileIsNoFailure() {
    Names names = new Names();
    CountDownLatch sending = new CountDownLatch(1);
    LinkedBlockingQueue<Throwable> told = new LinkedBlockingQueue<>();
    LinkedBlockingQueue<Runnable> held = new LinkedBlockingQueue<>();
    List<String> thrown = new ArrayList<>();
    ClientInterceptor inBetween =
        new ClientInterceptor() {
          @Override
          public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions with, Channel next) {
            if (method.getBareMethodName().equals("RunTurn")) {
              awaited(() -> sending.await(60, TimeUnit.SECONDS));
              throw Status.UNAVAILABLE.withDescription("Unable to resolve host").asRuntimeException();
            }
            if (!method.getBareMethodName().equals("BuildMemoryContext")) {
              return next.newCall(method, with);
            }
            return new SimpleForwardingClientCall<>(next.newCall(method, with.withExecutor(held::add))) {
              @Override
              public void sendMessage(Q request) {
                // The name's answer lets the call begin, which it does only when its connection is given up already.
                names.asked.onError(Status.UNAVAILABLE);
                sending.countDown();
                assertNotNull(awaited(() -> told.poll(60, TimeUnit.SECONDS)));
                held.remove().run();
                try {
                  super.sendMessage(request);
                } catch (IllegalStateException cancelled) {
                  thrown.add(cancelled.getMessage());
                  throw cancelled;
                }
              }
            };
          }
        };
    NameResolverRegistry.getDefaultRegistry().register(names);
    Sidemirror.Builder builder = Sidemirror.builder().address("nosuchhost.invalid:7573").onAway(told::add);
    try (Warnings warnings = new Warnings();
        Sidemirror sidemirror = builder.intercept(inBetween).connect()) {
      AgentTurn turn = sidemirror.beginTurn("count", ThinkLevel.THINK_LEVEL_MEDIUM);
      assertTrue(turn.recall(Duration.ofSeconds(60)).isEmpty());
      assertEquals(List.of("call was cancelled"), thrown);
      assertEquals(List.of(), List.copyOf(warnings.told));
    } finally {
      NameResolverRegistry.getDefaultRegistry().deregister(names);
    }
  }

  private static <T> T awaited(Callable<T> what) {
    try {
      return what.call();
    } catch (Exception interrupted) {
      throw new AssertionError(interrupted);
    }
  }

  /** In the place of DNS: no name gets an answer but by the test. */
  private static final class Names extends NameResolverProvider {
    private volatile NameResolver.Listener2 asked;

    @Override
    protected boolean isAvailable() {
      return true;
    }

    @Override
    protected int priority() {
      return 10;
    }

    @Override
    public String getDefaultScheme() {
      return "dns";
    }

    @Override
    public NameResolver newNameResolver(URI target, NameResolver.Args with) {
      return new NameResolver() {
        @Override
        public String getServiceAuthority() {
          return "nosuchhost.invalid";
        }

        @Override
        public void start(Listener2 listener) {
          asked = listener;
        }

        @Override
        public void shutdown() {}
      };
    }
  }

  /** The thread of callbacks ends with the process. Seen to fail when closing does not wait for callbacks. */
  @Test
  void whoClosesHasBeenTold() throws InterruptedException {
    CountDownLatch begun = new CountDownLatch(1);
    AtomicBoolean told = new AtomicBoolean();
    Sidemirror.Builder builder = Sidemirror.builder().address(nobody());
    builder.onAway(
        why -> {
          begun.countDown();
          try {
            Thread.sleep(50);
          } catch (InterruptedException interrupted) {
            return;
          }
          told.set(true);
        });
    try (Sidemirror sidemirror = builder.connect()) {
      sidemirror.beginTurn(TurnStarted.getDefaultInstance());
      assertTrue(begun.await(60, TimeUnit.SECONDS));
      sidemirror.close(Duration.ZERO);
      assertTrue(told.get());
    }
  }

  /** Seen to fail, and to close only after a second, when callbacks run on the thread that looks for the sidecar. */
  @Test
  void aCallbackMayWaitAndMayCloseTheClient() throws InterruptedException {
    CountDownLatch lookedFor = new CountDownLatch(1);
    LinkedBlockingQueue<Boolean> told = new LinkedBlockingQueue<>();
    ClientInterceptor looks =
        new ClientInterceptor() {
          @Override
          public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions with, Channel next) {
            if (method.getBareMethodName().equals("GetServerInfo")) {
              lookedFor.countDown();
            }
            return next.newCall(method, with);
          }
        };
    AtomicReference<Sidemirror> client = new AtomicReference<>();
    Sidemirror.Builder builder = Sidemirror.builder().address(nobody()).intercept(looks);
    builder.onAway(
        why -> {
          try {
            told.add(lookedFor.await(10, TimeUnit.SECONDS));
          } catch (InterruptedException interrupted) {
            told.add(false);
          }
          long began = System.nanoTime();
          client.get().close(Duration.ZERO);
          told.add(System.nanoTime() - began < TimeUnit.SECONDS.toNanos(1));
        });
    client.set(builder.connect());
    client.get().beginTurn(TurnStarted.getDefaultInstance());
    assertEquals(true, told.poll(60, TimeUnit.SECONDS), "the client goes on while its callback waits");
    assertEquals(true, told.poll(60, TimeUnit.SECONDS), "it is closed at once");
  }

  /** Seen to fail when closing leaves the thread running. */
  @Test
  void noThreadSurvivesTheClient() throws InterruptedException {
    Sidemirror sidemirror = Sidemirror.builder().address(nobody()).connect();
    sidemirror.beginTurn(TurnStarted.getDefaultInstance());
    List<Thread> own = threads();
    assertFalse(own.isEmpty());
    sidemirror.close();
    for (Thread thread : own) {
      thread.join(60_000);
      assertFalse(thread.isAlive(), thread.getName());
    }
  }

  private static List<Thread> threads() {
    return Thread.getAllStackTraces().keySet().stream().filter(each -> each.getName().startsWith("sidemirror")).toList();
  }

  /**
   * A limit that passes is not the sidecar's absence, of which the agent would be told, and neither is its failure. Seen
   * to fail when one of them is, and when a stream that was refused is.
   */
  @Test
  void whatTheEndOfAStreamMeans() {
    ErrorInfo limit = ErrorInfo.newBuilder().setReason("LIMIT_REACHED").setDomain("sidemirror.dev").build();
    RetryInfo soon =
        RetryInfo.newBuilder().setRetryDelay(com.google.protobuf.Duration.newBuilder().setSeconds(2)).build();
    assertEquals(Trouble.Kind.FINAL, Trouble.of(exhausted(limit)).kind());
    assertEquals(new Trouble(Trouble.Kind.LATER, Duration.ofSeconds(2)), Trouble.of(exhausted(limit, soon)));
    assertEquals(Trouble.Kind.AWAY, Trouble.of(exhausted()).kind());
    assertEquals(Trouble.Kind.FINAL, Trouble.of(Status.NOT_FOUND.asRuntimeException()).kind());
    assertEquals(Trouble.Kind.AWAY, Trouble.of(Status.UNAVAILABLE.asRuntimeException()).kind());
    assertEquals(Trouble.Kind.TOKEN, Trouble.of(Status.UNAUTHENTICATED.asRuntimeException()).kind());
    Trouble later = new Trouble(Trouble.Kind.LATER, Duration.ZERO);
    assertEquals(later, Trouble.of(failed(Status.Code.INTERNAL, ErrorInfo.newBuilder().setReason("INTERNAL").build())));
    assertEquals(later, Trouble.of(Status.CANCELLED.asRuntimeException()), "the sidecar gives the stream up");
    assertEquals(Trouble.Kind.AWAY, Trouble.of(Status.INTERNAL.asRuntimeException()).kind(), "something between");
    Status refused = Status.UNAVAILABLE.withDescription("Rst Stream with error code: REFUSED_STREAM");
    assertEquals(Trouble.Kind.LATER, Trouble.of(refused.asRuntimeException()).kind());
  }

  /** Something between an agent and its sidecar may make them. Seen to fail when they throw. */
  @Test
  void detailsThatCannotBeReadAreNone() {
    Metadata trailers = new Metadata();
    trailers.put(
        Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER), new byte[] {(byte) 0xff, (byte) 0xff});
    StatusRuntimeException error = Status.UNAVAILABLE.asRuntimeException(trailers);
    assertEquals("", Problem.of(error).reason());
    assertFalse(Trouble.isUnable(error));
  }

  private static StatusRuntimeException exhausted(Message... details) {
    return failed(Status.Code.RESOURCE_EXHAUSTED, details);
  }

  private static StatusRuntimeException failed(Status.Code code, Message... details) {
    com.google.rpc.Status.Builder status = com.google.rpc.Status.newBuilder().setCode(code.value());
    for (Message detail : details) {
      status.addDetails(Any.pack(detail));
    }
    return StatusProto.toStatusRuntimeException(status.build());
  }

  /** Seen to hang when calls get none: the socket below takes connections and never answers. */
  @Test
  void callsHaveADeadline() throws IOException {
    Path socket = folder.resolve("silent.sock");
    try (ServerSocketChannel silent = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      silent.bind(UnixDomainSocketAddress.of(socket));
      Sidemirror.Builder builder = Sidemirror.builder().address("unix://" + socket).deadline(Duration.ofMillis(200));
      try (Sidemirror sidemirror = builder.connect()) {
        StatusRuntimeException error =
            assertThrows(
                StatusRuntimeException.class,
                () -> sidemirror.sidecar().getServerInfo(GetServerInfoRequest.getDefaultInstance()));
        assertEquals(Status.Code.DEADLINE_EXCEEDED, error.getStatus().getCode());
        TimeoutException late =
            assertThrows(TimeoutException.class, () -> sidemirror.waitUntilReady(Duration.ofMillis(100)));
        assertEquals(Status.Code.DEADLINE_EXCEEDED, Status.fromThrowable(late).getCode(), "its cause says why");
      }
    }
  }

  /** Seen to fail when a certificate is taken without its key. */
  @Test
  void filesThatCannotBeReadAreNamed() {
    Sidemirror.Builder tls = Sidemirror.builder().address("localhost:1").caFile(folder.resolve("no.pem"));
    String said = assertThrows(UncheckedIOException.class, tls::connect).getMessage();
    assertTrue(said.contains("no.pem (SIDEMIRROR_CA_FILE, or caFile()) cannot be read: "), said);
    Sidemirror.Builder half = Sidemirror.builder().address("localhost:1").caFile(folder).clientCertificate(folder, null);
    assertThrows(IllegalArgumentException.class, half::connect);
    Sidemirror.Builder token = Sidemirror.builder().address(nobody()).tokenFile(folder.resolve("no-token"));
    try (Sidemirror sidemirror = token.connect()) {
      StatusRuntimeException error =
          assertThrows(
              StatusRuntimeException.class,
              () -> sidemirror.sidecar().getServerInfo(GetServerInfoRequest.getDefaultInstance()));
      assertTrue(Problem.of(error).reason().isEmpty());
    }
  }

  /** Seen to fail when streams are in the list. */
  @Test
  void everyUnaryMethodIsTriedAgainAndNoStreamIs() {
    String config = Calls.serviceConfig().toString();
    assertTrue(config.contains("StartTurn"));
    assertTrue(config.contains("GetServerInfo"));
    assertFalse(config.contains("RunTurn"));
    assertFalse(config.contains("WatchTurns"));
  }
}
