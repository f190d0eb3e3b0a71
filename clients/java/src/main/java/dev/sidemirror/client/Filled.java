package dev.sidemirror.client;

import com.google.protobuf.Timestamp;
import dev.sidemirror.v1.GoalState;
import dev.sidemirror.v1.ReportGoalRequest;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.TurnEvent;
import java.time.Instant;

/** What agents say, with what they left out. */
final class Filled {
  /** The longest name of a tool that the sidecar takes, in code points. */
  private static final int LONGEST_NAME = 256;

  private Filled() {}

  /** The event with an id, its agent, its time and a tool's name; of a text that the sidecar would refuse, the beginning. */
  static TurnEvent event(TurnEvent given, String agent) {
    TurnEvent.Builder builder = given.toBuilder();
    if (given.getEventId().isEmpty()) {
      builder.setEventId(Calls.newId());
    }
    if (given.getAgent().isEmpty()) {
      builder.setAgent(agent);
    }
    if (!given.hasTime()) {
      Instant now = Instant.now();
      builder.setTime(Timestamp.newBuilder().setSeconds(now.getEpochSecond()).setNanos(now.getNano()));
    }
    if (given.hasToolCalled()) {
      builder.getToolCalledBuilder().setName(toolName(given.getToolCalled().getName()));
    }
    return Texts.fitting(builder.build());
  }

  private static String toolName(String given) {
    if (given.codePointCount(0, given.length()) > LONGEST_NAME) {
      return given.substring(0, given.offsetByCodePoints(0, LONGEST_NAME));
    }
    return given.isEmpty() ? "unnamed" : given;
  }

  /** The goal with its turn, a request_id, a state that follows from the outcome, and texts that the sidecar takes. */
  static ReportGoalRequest goal(ReportGoalRequest given, TaskOutcome outcome, String turnId) {
    ReportGoalRequest.Builder goal = given.toBuilder().setTurnId(turnId);
    if (given.getRequestId().isEmpty()) {
      goal.setRequestId(Calls.newId());
    }
    if (given.getState() == GoalState.GOAL_STATE_UNSPECIFIED) {
      boolean done = outcome == TaskOutcome.TASK_OUTCOME_SUCCESS;
      goal.setState(done ? GoalState.GOAL_STATE_COMPLETED : GoalState.GOAL_STATE_FAILED);
    }
    return Texts.fitting(goal.build());
  }
}
