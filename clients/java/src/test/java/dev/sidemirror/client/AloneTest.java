package dev.sidemirror.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sidemirror.v1.GetServerInfoRequest;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.TurnStarted;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the client does where no sidecar is. What it does with one is in clients/scenario. */
@Timeout(60)
class AloneTest {
  @TempDir Path folder;

  private String nobody() {
    return "unix:" + folder.resolve("nobody.sock");
  }

  @Test
  void anAgentGoesOnWithoutASidecarAndIsToldOnce() throws InterruptedException {
    LinkedBlockingQueue<Throwable> told = new LinkedBlockingQueue<>();
    try (Sidemirror sidemirror = Sidemirror.builder().address(nobody()).onAway(told::add).connect()) {
      Turn turn = sidemirror.beginTurn(TurnStarted.getDefaultInstance());
      Turn other = sidemirror.beginTurn("mine", "", TurnStarted.getDefaultInstance());
      turn.report(Events.userMessage("hello"));
      turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
      assertEquals(Status.Code.UNAVAILABLE, Status.fromThrowable(told.poll(30, TimeUnit.SECONDS)).getCode());
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

  @Test
  void aClosedClientTakesEventsAndCountsThem() {
    Sidemirror sidemirror = Sidemirror.builder().address(nobody()).connect();
    sidemirror.close();
    Turn turn = sidemirror.beginTurn(TurnStarted.getDefaultInstance());
    turn.report(Events.userMessage("hello"));
    assertEquals(2, turn.dropped());
    assertTrue(turn.next(Duration.ofDays(1)).isEmpty());
    sidemirror.close();
  }

  @Test
  void whatTakesTooMuchRoomIsDroppedAndCounted() {
    try (Sidemirror sidemirror = Sidemirror.builder().address(nobody()).connect()) {
      Turn turn = sidemirror.beginTurn(TurnStarted.getDefaultInstance());
      for (int count = 0; count < 65; count++) {
        turn.report(Events.userMessage("x".repeat(1 << 20)));
      }
      assertEquals(2, turn.dropped(), "16 MiB wait, and each event is a little larger than its text, cut to 256 KiB");
      turn.finish(TaskOutcome.TASK_OUTCOME_FAILURE);
      assertEquals(2, turn.dropped(), "the end of the turn always has room");
    }
  }

  /** Seen to wait for ten seconds when no deadline is given: the socket below takes connections and never answers. */
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
        assertThrows(TimeoutException.class, () -> sidemirror.waitUntilReady(Duration.ofMillis(100)));
      }
    }
  }

  @Test
  void filesThatCannotBeReadAreNamed() {
    Sidemirror.Builder tls = Sidemirror.builder().address("localhost:1").caFile(folder.resolve("no.pem"));
    assertThrows(UncheckedIOException.class, tls::connect);
    Sidemirror.Builder token = Sidemirror.builder().address(nobody()).tokenFile(folder.resolve("no-token"));
    try (Sidemirror sidemirror = token.connect()) {
      StatusRuntimeException error =
          assertThrows(
              StatusRuntimeException.class,
              () -> sidemirror.sidecar().getServerInfo(GetServerInfoRequest.getDefaultInstance()));
      assertTrue(Problem.of(error).reason().isEmpty());
    }
  }

  @Test
  void everyUnaryMethodIsTriedAgainAndNoStreamIs() {
    String config = Calls.serviceConfig().toString();
    assertTrue(config.contains("StartTurn"));
    assertTrue(config.contains("GetServerInfo"));
    assertFalse(config.contains("RunTurn"));
    assertFalse(config.contains("WatchTurns"));
  }
}
