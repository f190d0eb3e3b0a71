import dev.sidemirror.client.AgentTurn;
import dev.sidemirror.client.Events;
import dev.sidemirror.client.Sidemirror;
import dev.sidemirror.v1.ReportGoalRequest;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.ThinkLevel;
import dev.sidemirror.v1.ThinkingConfig;
import dev.sidemirror.v1.TurnPlan;
import dev.sidemirror.v1.TurnStarted;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A whole agent, whose model is a list of steps: it reads what was learned before, asks a database, fails, listens to what
 * the sidecar makes of it, has its answer judged, and says how it ended. It does the same when no sidecar is there.
 */
public final class Agent {
  private static final String TASK = "How many orders are open?";

  public static void main(String[] arguments) {
    ThinkingConfig config = ThinkingConfig.newBuilder().setLevel(ThinkLevel.THINK_LEVEL_MEDIUM).build();
    TurnStarted started =
        TurnStarted.newBuilder().setTask(TASK).setBasePrompt("You are helpful.").setConfig(config).build();
    try (Sidemirror sidemirror = Sidemirror.connect()) {
      ReportGoalRequest goal = Sidemirror.goal("open-orders", "Know how many orders are open");
      sidemirror.beginTurn(started, goal).run(Agent::answer).forEach(System.out::println);
    }
  }

  /** What the agent's model reads, in the end. */
  private static List<String> answer(AgentTurn turn) {
    List<String> messages = new ArrayList<>();
    messages.add(turn.plan(Duration.ofSeconds(5)).map(TurnPlan::getSystemPrompt).orElse("You are helpful."));
    messages.add(Sidemirror.lessonsText(turn.recall()));
    messages.add(TASK);
    for (String query : List.of("SELECT count(*) FROM orders WHERE status = 'open'", "SELECT count(*) FROM open_orders")) {
      turn.report(Events.toolCalled("run_sql", query));
      String result = runSql(query);
      turn.report(Events.toolReturned(result, result.startsWith("error")));
      messages.add(result);
      messages.add(Sidemirror.adviceText(turn.advice(Duration.ofSeconds(5))));
    }
    String draft = "12 orders are open.";
    String answer =
        turn.revised(
            draft,
            prompt -> {
              // A real agent asks its model again with this.
              messages.add(prompt);
              return draft;
            });
    turn.report(Events.responseDrafted(answer));
    turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS, 1.0);
    turn.summary(Duration.ofSeconds(5))
        .ifPresent(summary -> messages.add(summary.getToolErrorCount() + " of the tool calls failed"));
    return messages;
  }

  private static String runSql(String query) {
    return query.contains("status") ? "error: no such column: status" : "12";
  }
}
