import dev.sidemirror.client.Events;
import dev.sidemirror.client.Sidemirror;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.TurnStarted;
import java.time.Duration;
import java.util.List;

/**
 * An agent that ends without closing its client. With the argument `plain` it has no hook; `away`: nobody is there;
 * `refused`: the sidecar refuses its turn.
 */
public final class Exits {
  private Exits() {}

  /** Reports a turn of 1,000 events, and ends. */
  public static void main(String[] arguments) {
    boolean hooked = !List.of(arguments).contains("plain");
    boolean away = List.of(arguments).contains("away");
    boolean refused = List.of(arguments).contains("refused");
    Sidemirror sidemirror = Sidemirror.builder().flushesAtExit(hooked).onAway(why -> {}).connect();
    var turn = sidemirror.beginTurn(refused ? "no\nid" : "exits", "", TurnStarted.newBuilder().setTask("count the orders").build());
    // The stream is there: a process that has just begun may take longer than the hook waits.
    turn.plan(Duration.ofSeconds(away || refused ? 0 : 60));
    for (int call = 0; call < 499; call++) {
      turn.report(Events.toolCalled("run_sql", "SELECT " + call));
      turn.report(Events.toolReturned(Integer.toString(call), false));
    }
    turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
  }
}
