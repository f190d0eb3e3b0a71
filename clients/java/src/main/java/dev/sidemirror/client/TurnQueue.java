package dev.sidemirror.client;

import com.google.protobuf.Message;
import dev.sidemirror.v1.ReportGoalRequest;
import dev.sidemirror.v1.ReportOutcomeRequest;
import dev.sidemirror.v1.RunTurnRequest;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.TurnDirective;
import dev.sidemirror.v1.TurnEvent;
import dev.sidemirror.v1.TurnPlan;
import dev.sidemirror.v1.TurnResume;
import dev.sidemirror.v1.TurnSummary;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/**
 * What a turn has reported and the sidecar does not have yet, and what the sidecar has said. Safe for many threads: its
 * monitor is held for moments only, since the agent's thread takes it too.
 */
final class TurnQueue {
  /** What the sidecar takes in a turn. */
  private static final int MOST_EVENTS = 10_000;

  /** A larger event would not fit the sidecar's 4 MiB a message. What it takes of one, texts cut, it says itself. */
  private static final int MOST_EVENT_BYTES = (4 << 20) - (64 << 10);

  /** A request is kept well below the sidecar's 4 MiB a message. */
  private static final int BATCH_EVENTS = 500;

  private static final int BATCH_BYTES = 1 << 20;

  /** What waits for a sidecar that is away. What is beyond that is dropped, and counted. */
  private static final int MOST_BYTES = 16 << 20;

  /** What an event takes here beside its bytes, about. */
  private static final int BESIDE_BYTES = 512;

  /** Directives that nobody takes: the oldest go. */
  private static final int MOST_DIRECTIVES = 1_000;

  /** What has become of an event. {@code warning}: what is to be said of it, once the monitor is left; else null. */
  enum Put {
    KEPT(null),

    /** Kept, and the client's own thread has to be told. */
    RINGS(null),
    DROPPED(null),
    TOO_LARGE("turn {0}: an event that is too large for a message is not delivered"),
    LATE("turn {0} is finished: what is reported after that is not delivered"),
    AGAIN("turn {0} is finished: another finish changes nothing");

    final String warning;

    Put(String warning) {
      this.warning = warning;
    }
  }

  private final String turnId;
  private final Link link;
  private final Losses losses;
  private final Deque<TurnEvent> unsent = new ArrayDeque<>();
  private final Deque<TurnEvent> underWay = new ArrayDeque<>();
  private final Deque<Message> reports = new ArrayDeque<>();
  private final Deque<TurnDirective> directives = new ArrayDeque<>();
  private final Set<String> told = new HashSet<>();
  private final Set<String> receipts = new LinkedHashSet<>();

  /** Who waits for news. Not in the monitor: a virtual thread that waits in one keeps its carrier, before Java 24. */
  private final Set<Thread> waiting = ConcurrentHashMap.newKeySet();

  private TaskOutcome outcome = TaskOutcome.TASK_OUTCOME_UNSPECIFIED;
  private Double score;
  private int waitingBytes;

  /** Events that were taken; of them those that the sidecar has received, and those that it had before this stream. */
  private int events;
  private long received;
  private long receivedBefore;

  private int dropped;
  private boolean finishing;
  private boolean late;
  private boolean over;
  private boolean rung;
  private boolean pending;
  private long lastSequence;
  private TurnPlan plan;
  private TurnSummary summary;
  private StatusRuntimeException error;

  TurnQueue(String turnId, Link link, Losses losses) {
    this.turnId = turnId;
    this.link = link;
    this.losses = losses;
  }

  // --- for agents ----------------------------------------------------------------------------------------------------

  /** Takes an event. */
  synchronized Put put(TurnEvent event) {
    int size = event.getSerializedSize();
    boolean ends = event.hasTurnFinished(); // which always has room
    if (ends && finishing) {
      return Put.AGAIN;
    }
    boolean full = events >= MOST_EVENTS || waitingBytes + size > MOST_BYTES || size > MOST_EVENT_BYTES;
    if (finishing || over || (full && !ends) || !link.keep(size + BESIDE_BYTES, ends)) {
      drop(1);
      over |= events == 0; // without its beginning a turn is not reported at all
      boolean isLate = finishing && !late;
      late |= finishing;
      finishing |= ends;
      if (isLate) {
        return Put.LATE;
      }
      return size > MOST_EVENT_BYTES ? Put.TOO_LARGE : Put.DROPPED;
    }
    finishing = ends;
    events++;
    waitingBytes += size;
    unsent.add(event);
    Put put = rung ? Put.KEPT : Put.RINGS;
    rung = true;
    return put;
  }

  /** Takes the turn's end, and what follows: its outcome, for each receipt that it has then, and its goal or null. */
  synchronized Put finish(TurnEvent finished, TaskOutcome given, Double itsScore, ReportGoalRequest goal) {
    follow(given, itsScore, goal);
    return put(finished);
  }

  private void follow(TaskOutcome given, Double itsScore, ReportGoalRequest goal) {
    if (finishing) {
      return;
    }
    int size = goal == null ? 0 : goal.getSerializedSize();
    if (goal != null && (over || waitingBytes + size > MOST_BYTES || !link.keep(size + BESIDE_BYTES, false))) {
      losses.add(turnId, 0, 0, 1);
    } else if (goal != null) {
      waitingBytes += size;
      reports.add(goal);
    }
    outcome = given;
    score = itsScore;
  }

  /** The turn was given a block with this receipt. */
  synchronized void shown(String receiptId) {
    if (!receiptId.isEmpty() && !over) {
      receipts.add(receiptId);
    }
  }

  synchronized List<TurnDirective> take(Predicate<TurnDirective> which) {
    List<TurnDirective> taken = new ArrayList<>();
    directives.removeIf(each -> which.test(each) && taken.add(each));
    return taken;
  }

  synchronized TurnDirective takeOne() {
    return directives.poll();
  }

  /** Waits; false when it is not there in time, or the thread was interrupted. */
  boolean await(Duration atMost, Predicate<TurnQueue> there) {
    long end = System.nanoTime() + Waiting.nanos(atMost);
    Thread self = Thread.currentThread();
    waiting.add(self);
    try {
      while (!there.test(this)) {
        long left = end - System.nanoTime();
        if (left <= 0 || self.isInterrupted()) {
          return false;
        }
        LockSupport.parkNanos(this, left);
      }
      return true;
    } finally {
      waiting.remove(self);
    }
  }

  synchronized boolean hasDirective() {
    return !directives.isEmpty();
  }

  synchronized TurnPlan plan() {
    return plan;
  }

  synchronized TurnSummary summary() {
    return summary;
  }

  synchronized StatusRuntimeException error() {
    return error;
  }

  synchronized int dropped() {
    return dropped;
  }

  synchronized boolean isOver() {
    return over;
  }

  synchronized boolean isFinishing() {
    return finishing;
  }

  /** The summary has come, which is the last that is said of a turn, and everything is durable. */
  synchronized boolean hasEnded() {
    return summary != null && !hasEvents();
  }

  /** How many events were reported so far. */
  synchronized int reported() {
    return events;
  }

  /** So many events were received. */
  synchronized boolean isReceived(int count) {
    return received >= count;
  }

  /** The same, and nothing that the sidecar says is in progress. */
  synchronized boolean isQuiet(int count) {
    return isReceived(count) && !pending;
  }

  /** Nothing waits: neither an event nor, after the end, the end of the reports. */
  synchronized boolean isDelivered() {
    return over || (unsent.isEmpty() && underWay.isEmpty() && !finishing);
  }

  /** Wakes whoever waits for news. */
  void tell() {
    waiting.forEach(LockSupport::unpark);
  }

  // --- for the client's own thread -----------------------------------------------------------------------------------

  /** The client's own thread has heard the bell, and looks now; true when there is something to send. */
  synchronized boolean bellHeard() {
    rung = false;
    return !over && !unsent.isEmpty();
  }

  /** All that is not durable is sent again. */
  synchronized void again() {
    while (!underWay.isEmpty()) {
      unsent.addFirst(underWay.pollLast());
    }
    receivedBefore = events - unsent.size();
    received = receivedBefore;
  }

  /** What is to be sent next; null when there is nothing. */
  synchronized RunTurnRequest next(boolean first) {
    RunTurnRequest.Builder request = RunTurnRequest.newBuilder();
    if (first && (unsent.isEmpty() || !unsent.peek().hasTurnStarted())) {
      request.setResume(TurnResume.newBuilder().setTurnId(turnId).setAfterSequence(lastSequence));
    } else if (unsent.isEmpty()) {
      return null;
    }
    int size = 0;
    for (int count = 0; count < BATCH_EVENTS && !unsent.isEmpty(); count++) {
      size += unsent.peek().getSerializedSize();
      if (count > 0 && size > BATCH_BYTES) {
        break;
      }
      TurnEvent event = unsent.poll();
      underWay.add(event);
      request.addEvents(event);
    }
    return request.build();
  }

  /**
   * So many more events are durable, and so many of this stream's received. {@code withdrawn}: the ids of what nobody
   * needs to be told any more; whoever waits for advice sees it only without them.
   */
  synchronized void settle(long durable, long receivedHere, boolean inProgress, List<String> withdrawn) {
    for (long each = 0; each < durable && !underWay.isEmpty(); each++) {
      forget(underWay.poll());
    }
    received = receivedBefore + receivedHere;
    pending = inProgress;
    withdraw(withdrawn); // in this method, or whoever is told could see them before they are gone
    tell();
  }

  /** What was not taken was not shown. */
  private void withdraw(List<String> ids) {
    for (TurnDirective each : directives) {
      if (ids.contains(each.getDirectiveId())) {
        receipts.remove(each.getReflection().getLessons().getReceiptId());
      }
    }
    directives.removeIf(each -> ids.contains(each.getDirectiveId()));
  }

  synchronized void hear(TurnDirective directive) {
    lastSequence = Math.max(lastSequence, directive.getSequence());
    switch (directive.getKindCase()) {
      case ACK, HEARTBEAT, CLOSING:
        return;
      default:
        break;
    }
    if (directive.hasTurnPlan()) {
      if (plan != null) {
        return; // begun again, because the first beginning was lost in a crash
      }
      plan = directive.getTurnPlan();
      shown(plan.getContext().getReceiptId());
    } else if (directive.hasTurnSummary()) {
      summary = directive.getTurnSummary();
    } else if (directive.hasReflection()) {
      shown(directive.getReflection().getLessons().getReceiptId());
    }
    if (directive.getDirectiveId().isEmpty() || told.add(directive.getDirectiveId())) {
      directives.add(directive);
      if (directives.size() > MOST_DIRECTIVES) {
        directives.poll();
      }
    }
    tell();
  }

  synchronized boolean hasEvents() {
    return !unsent.isEmpty() || !underWay.isEmpty();
  }

  /** What is to be reported next, once the turn is durable with its end; null when there is nothing. */
  synchronized Message nextReport() {
    if (outcome != TaskOutcome.TASK_OUTCOME_UNSPECIFIED) {
      List<String> shown = new ArrayList<>(receipts);
      for (int place = shown.size() - 1; place >= 0; place--) {
        reports.addFirst(outcome(shown.get(place)));
      }
    }
    receipts.clear();
    return reports.peek();
  }

  private Message outcome(String receiptId) {
    ReportOutcomeRequest.Builder report =
        ReportOutcomeRequest.newBuilder().setRequestId(Calls.newId()).setReceiptId(receiptId).setOutcome(outcome);
    if (score != null) {
      report.setScore(score);
    }
    ReportOutcomeRequest request = report.build();
    waitingBytes += request.getSerializedSize();
    link.keep(request.getSerializedSize() + BESIDE_BYTES, true);
    return request;
  }

  /** The first report is made, or not taken. */
  synchronized void forgetReport(boolean isLost) {
    if (reports.isEmpty()) {
      return; // dropped with the rest meanwhile
    }
    Message report = reports.poll();
    if (isLost) {
      lose(report);
    }
    forget(report);
    tell();
  }

  /** Nothing more is delivered; what is there is dropped. */
  synchronized void end(StatusRuntimeException refusal) {
    if (over) {
      return;
    }
    over = true;
    error = refusal;
    drop(unsent.size() + underWay.size());
    reports.forEach(this::lose);
    if (outcome != TaskOutcome.TASK_OUTCOME_UNSPECIFIED) {
      losses.add(turnId, 0, receipts.size(), 0);
    }
    unsent.forEach(this::forget);
    underWay.forEach(this::forget);
    reports.forEach(this::forget);
    unsent.clear();
    underWay.clear();
    reports.clear();
    receipts.clear();
    tell();
  }

  private void lose(Message report) {
    boolean isGoal = report instanceof ReportGoalRequest;
    losses.add(turnId, 0, isGoal ? 0 : 1, isGoal ? 1 : 0);
  }

  private void drop(int count) {
    dropped += count;
    losses.add(turnId, count, 0, 0);
  }

  private void forget(Message what) {
    waitingBytes -= what.getSerializedSize();
    link.letGo(what.getSerializedSize() + BESIDE_BYTES);
  }
}
