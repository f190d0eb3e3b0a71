package dev.sidemirror.client;

import com.google.protobuf.Timestamp;
import dev.sidemirror.v1.GoalState;
import dev.sidemirror.v1.ReportGoalRequest;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.TurnEvent;
import java.time.Instant;

/** What agents say, with what they left out. */
final class Filled {
  private Filled() {}

  /** The event with an id, its agent and its time; of a text that the sidecar would refuse, the beginning. */
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
    TurnEvent event = builder.build();
    if (event.getSerializedSize() > Texts.LONGEST_BYTES) {
      Texts.cut(builder);
      event = builder.build();
    }
    return event;
  }

  /** The goal with a request_id, and a state that follows from the turn's outcome. */
  static ReportGoalRequest goal(ReportGoalRequest given, TaskOutcome outcome) {
    ReportGoalRequest.Builder goal = given.toBuilder();
    if (given.getRequestId().isEmpty()) {
      goal.setRequestId(Calls.newId());
    }
    if (given.getState() == GoalState.GOAL_STATE_UNSPECIFIED) {
      boolean done = outcome == TaskOutcome.TASK_OUTCOME_SUCCESS;
      goal.setState(done ? GoalState.GOAL_STATE_COMPLETED : GoalState.GOAL_STATE_FAILED);
    }
    return goal.build();
  }
}
