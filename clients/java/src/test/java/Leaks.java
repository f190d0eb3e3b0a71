import dev.sidemirror.client.AgentTurn;
import dev.sidemirror.client.Events;
import dev.sidemirror.client.Sidemirror;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.TurnEvent;
import dev.sidemirror.v1.TurnStarted;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * What 2,000 turns leave behind, 100 at once, and how long {@code report} takes; against the sidecar of {@code
 * SIDEMIRROR_ADDRESS}. The floor is what it takes to make the same event and to do nothing with it.
 */
public final class Leaks {
  private static final int AT_ONCE = 100;
  private static final int REPORTS = 9_000;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  public static void main(String[] arguments) throws InterruptedException {
    try (Sidemirror sidemirror = Sidemirror.connect()) {
      turns(sidemirror, 400);
      long bytes = usedBytes();
      int threads = Thread.activeCount();
      int lost = turns(sidemirror, 2_000);
      System.out.printf(
          Locale.ROOT,
          "{\"lost\": %d, \"threads\": %d, \"bytes\": %d, ",
          lost,
          Thread.activeCount() - threads,
          usedBytes() - bytes);
      AgentTurn turn = sidemirror.beginTurn(TurnStarted.getDefaultInstance());
      long[] floorNs = new long[REPORTS];
      long[] reportNs = new long[REPORTS];
      int made = 0;
      for (int place = 0; place < REPORTS; place++) {
        long began = System.nanoTime();
        TurnEvent event = Events.toolCalled("look", "{\"i\": " + place + "}");
        long between = System.nanoTime();
        turn.report(event);
        reportNs[place] = System.nanoTime() - between;
        floorNs[place] = between - began;
        made += event.getSerializedSize();
        Thread.sleep(0, 100_000);
      }
      turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
      System.out.printf(
          Locale.ROOT,
          "\"report_p99_ms\": %.3f, \"floor_p99_ms\": %.3f, \"made\": %d}%n",
          p99Ms(reportNs),
          p99Ms(floorNs),
          made);
      sidemirror.flush(PATIENCE);
    }
  }

  private static double p99Ms(long[] ns) {
    Arrays.sort(ns);
    return ns[ns.length * 99 / 100] / 1e6;
  }

  private static long usedBytes() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  /** So many turns; how many of them have no summary. */
  private static int turns(Sidemirror sidemirror, int count) throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    int[] lost = new int[AT_ONCE];
    for (int place = 0; place < AT_ONCE; place++) {
      int mine = place;
      Thread thread =
          new Thread(
              () -> {
                for (int number = 0; number < count / AT_ONCE; number++) {
                  lost[mine] += turn(sidemirror) ? 0 : 1;
                }
              });
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    return Arrays.stream(lost).sum();
  }

  private static boolean turn(Sidemirror sidemirror) {
    AgentTurn turn = sidemirror.beginTurn(TurnStarted.newBuilder().setTask("count").build());
    turn.report(Events.toolCalled("look", ""));
    turn.recall("count", List.of(), 0, PATIENCE);
    turn.advice(PATIENCE);
    turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
    return turn.summary(PATIENCE).isPresent();
  }
}
