import com.google.gson.JsonObject;
import dev.sidemirror.client.AgentTurn;
import dev.sidemirror.client.Events;
import dev.sidemirror.client.Sidemirror;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.ThinkLevel;
import dev.sidemirror.v1.ThinkingConfig;
import dev.sidemirror.v1.TurnEvent;
import dev.sidemirror.v1.TurnStarted;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Many turns: at once, and one after the other while the sidecar is killed. */
final class Crowd {
  private final Scenario scenario;
  private final Sidemirror client;
  private final AtomicInteger told;

  Crowd(Scenario scenario, Sidemirror client, AtomicInteger told) {
    this.scenario = scenario;
    this.client = client;
    this.told = told;
  }

  void many(JsonObject given) throws Exception {
    int count = given.get("turns").getAsInt();
    Map<String, Integer> counts = new ConcurrentHashMap<>();
    List.of("plans", "recalls", "directives", "critiques", "summaries").forEach(each -> counts.put(each, 0));
    List<Thread> threads = new ArrayList<>();
    for (int number = 0; number < count; number++) {
      String name = Matching.text(given, "prefix") + "-" + number;
      threads.add(new Thread(() -> oneOfMany(name, Matching.text(given, "task"), counts)));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    JsonObject printed = new JsonObject();
    counts.forEach(printed::addProperty);
    printed.addProperty("told", told.get());
    System.out.println("many " + printed);
  }

  private void oneOfMany(String name, String task, Map<String, Integer> counts) {
    Duration patience = Scenario.PATIENCE.multipliedBy(2);
    TurnStarted started =
        TurnStarted.newBuilder()
            .setSessionId(name)
            .setTask(task)
            .setConfig(ThinkingConfig.newBuilder().setLevel(ThinkLevel.THINK_LEVEL_MEDIUM))
            .build();
    AgentTurn turn = client.beginTurn(name, "", started);
    boolean planned = turn.plan(patience).isPresent();
    boolean recalled = turn.recall(task, List.of(), 0, Scenario.PATIENCE).isPresent();
    turn.report(Events.toolCalled("run_sql", "SELECT 1"));
    turn.report(Events.toolReturned("no such column: status", true));
    boolean advised = !turn.advice(patience).isEmpty();
    boolean judged = turn.critique("There are 41.", "", Scenario.PATIENCE).isPresent();
    turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
    boolean summed = turn.summary(patience).isPresent();
    counts.merge("plans", planned ? 1 : 0, Integer::sum);
    counts.merge("recalls", recalled ? 1 : 0, Integer::sum);
    counts.merge("directives", advised ? 1 : 0, Integer::sum);
    counts.merge("critiques", judged ? 1 : 0, Integer::sum);
    counts.merge("summaries", summed ? 1 : 0, Integer::sum);
  }

  /**
   * What is there once everything is delivered, and what ends a moment after its turn has ended, after a full collection.
   * {@code tasks}: how many there may be, 0 where nobody knows.
   */
  int held(int tasks) throws Exception {
    if (!client.flush(Scenario.PATIENCE)) {
      throw new Unexpected("not everything was delivered");
    }
    long ends = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (tasks > 0 && Thread.activeCount() > tasks && System.nanoTime() < ends) {
      Thread.sleep(20);
    }
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    System.out.printf(
        Locale.ROOT,
        "held {\"memory\": %d, \"tasks\": %d}%n",
        runtime.totalMemory() - runtime.freeMemory(),
        Thread.activeCount());
    return tasks > 0 ? tasks : Thread.activeCount();
  }

  void away(JsonObject given) throws Exception {
    int count = given.get("turns").getAsInt();
    int events = given.get("events").getAsInt();
    String prefix = Matching.text(given, "prefix");
    Longest longest = new Longest();
    told.set(0);
    List<AgentTurn> begun = new ArrayList<>();
    for (int number = 0; number < count; number++) {
      String turnId = prefix + "-" + number;
      TurnStarted started = TurnStarted.newBuilder().setSessionId(prefix).setTask("away").build();
      AgentTurn turn = longest.of(() -> client.beginTurn(turnId, "", started));
      begun.add(turn);
      for (int place = 0; place < events; place++) {
        if (place == events / 2 && number == given.get("kill_at").getAsInt()) {
          scenario.control("kill");
        } else if (place == events / 2 && number == given.get("start_at").getAsInt()) {
          scenario.control("start");
        }
        TurnEvent event =
            Events.toolCalled("step", "{\"i\": " + place + "}").toBuilder().setEventId("e" + place).build();
        longest.of(() -> turn.report(event));
      }
      longest.of(turn::take);
      longest.of(
          () -> {
            turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
            return null;
          });
      Thread.sleep(1);
    }
    if (!client.flush(Scenario.PATIENCE.multipliedBy(3))) {
      throw new Unexpected("not everything was delivered");
    }
    int dropped = begun.stream().mapToInt(AgentTurn::dropped).sum();
    System.out.printf(
        Locale.ROOT,
        "away {\"longest_ms\": %f, \"plain_ms\": %f, \"told\": %d, \"dropped\": %d}%n",
        longest.heldNs() / 1e6,
        longest.plainNs / 1e6,
        told.get(),
        dropped);
  }
}
