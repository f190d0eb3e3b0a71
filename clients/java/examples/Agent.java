import dev.sidemirror.client.Events;
import dev.sidemirror.client.Sidemirror;
import dev.sidemirror.client.Turn;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.ThinkLevel;
import dev.sidemirror.v1.ThinkingConfig;
import dev.sidemirror.v1.TurnDirective;
import dev.sidemirror.v1.TurnPlan;
import dev.sidemirror.v1.TurnStarted;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A whole agent, whose model is a list of steps: it asks a database, fails, listens to what the sidecar makes of it, and
 * answers. It does the same when no sidecar is there.
 */
public final class Agent {
  private static final String TASK = "How many orders are open?";

  public static void main(String[] arguments) {
    try (Sidemirror sidemirror = Sidemirror.connect()) {
      ThinkingConfig config = ThinkingConfig.newBuilder().setLevel(ThinkLevel.THINK_LEVEL_MEDIUM).build();
      Turn turn =
          sidemirror.beginTurn(
              TurnStarted.newBuilder().setTask(TASK).setBasePrompt("You are helpful.").setConfig(config).build());
      List<String> messages = new ArrayList<>();
      messages.add(turn.plan(Duration.ofSeconds(5)).map(TurnPlan::getSystemPrompt).orElse("You are helpful."));
      messages.add(TASK);
      for (String query : List.of("SELECT count(*) FROM orders WHERE status = 'open'", "SELECT count(*) FROM open_orders")) {
        turn.report(Events.toolCalled("run_sql", query));
        String result = runSql(query);
        turn.report(Events.toolReturned(result, result.startsWith("error")));
        messages.add(result);
        // A real agent takes what is there before it asks its model again; this one has nothing else to do meanwhile.
        turn.next(Duration.ofSeconds(1)).ifPresent(directive -> messages.addAll(heard(directive)));
        turn.take().forEach(directive -> messages.addAll(heard(directive)));
      }
      turn.report(Events.responseDrafted("12 orders are open."));
      turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS, 1.0);
      messages.forEach(System.out::println);
      turn.summary(Duration.ofSeconds(5))
          .ifPresent(summary -> System.out.println(summary.getToolErrorCount() + " of the tool calls failed"));
    }
  }

  /** What the agent's model should read of it. */
  private static List<String> heard(TurnDirective directive) {
    return switch (directive.getKindCase()) {
      case REFLECTION -> List.of("[reflection] " + directive.getReflection().getReflection());
      case NUDGE -> List.of("[nudge] " + directive.getNudge().getMessage());
      default -> List.of();
    };
  }

  private static String runSql(String query) {
    return query.contains("status") ? "error: no such column: status" : "12";
  }
}
