package dev.sidemirror.client;

import dev.sidemirror.v1.BuildMemoryContextRequest;
import dev.sidemirror.v1.BuildMemoryContextResponse;
import dev.sidemirror.v1.ContextBlock;
import dev.sidemirror.v1.CritiqueRequest;
import dev.sidemirror.v1.CritiqueResponse;
import dev.sidemirror.v1.CritiqueResult;
import dev.sidemirror.v1.CritiqueServiceGrpc;
import dev.sidemirror.v1.ReflectiveMemoryServiceGrpc;
import dev.sidemirror.v1.ReportGoalRequest;
import dev.sidemirror.v1.ResultStatus;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.TurnDirective;
import dev.sidemirror.v1.TurnEvent;
import dev.sidemirror.v1.TurnFinished;
import dev.sidemirror.v1.TurnPlan;
import dev.sidemirror.v1.TurnStarted;
import dev.sidemirror.v1.TurnSummary;
import io.grpc.StatusRuntimeException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * One turn of an agent, reported beside it: nothing fails because of the sidecar, nothing waits longer than it is told to,
 * and nothing is lost or counts twice while the sidecar is away. A thread that is interrupted waits for nothing, and stays
 * interrupted. Null is an empty text: models give it.
 *
 * <p>Made by {@link Sidemirror#beginTurn}. Safe for use by many threads. A resource of a {@code try}: one that is left
 * without {@link #finish(TaskOutcome)} ends without an outcome, which teaches nothing. {@link #run} also sees an exception.
 */
public final class AgentTurn implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("dev.sidemirror.client");
  private static final Duration PLAN = Duration.ofSeconds(1);
  private static final Duration RECALL = Duration.ofSeconds(2);
  private static final Duration ADVICE = Duration.ofSeconds(1);
  private static final Duration CRITIQUE = Duration.ofSeconds(10);
  private static final Duration SUMMARY = Duration.ofSeconds(1);

  /** The most lessons that the sidecar gives at once. */
  private static final int MOST_ITEMS = 20;

  /** Turns of a client that may be open. One that begins beyond that is not reported. */
  private static final int MOST_TURNS = 10_000;

  private final String id;
  private final String agent;
  private final String task;
  private final Link link;
  private final TurnQueue queue;
  private final Delivery delivery;
  private final Runnable deliver;
  private volatile ReportGoalRequest goal;

  AgentTurn(Link link, Losses losses, String id, String agent, String task) {
    this.link = link;
    this.id = id;
    this.agent = agent;
    this.task = task;
    queue = new TurnQueue(id, link, losses);
    delivery = new Delivery(id, link, queue);
    deliver = delivery::deliver;
  }

  void begin(TurnStarted started, ReportGoalRequest towards) {
    goal = towards;
    boolean room = link.turns().size() < MOST_TURNS;
    if (!room) {
      delivery.drop();
    }
    delivery.begin();
    report(beginning(id, started));
  }

  static TurnEvent beginning(String id, TurnStarted started) {
    return TurnEvent.newBuilder().setTurnId(id).setTurnStarted(started).build();
  }

  /**
   * The turn's id.
   *
   * @return the id, chosen here when the agent chose none
   */
  public String id() {
    return id;
  }

  // --- what the agent says: never waits, never throws because of the sidecar -----------------------------------------

  /**
   * Takes an event. Never waits. Of a text of more than 256 KiB, which is what the sidecar takes, the beginning is kept, and
   * so it is of a tool's name of more than 256 characters; half a surrogate pair is replaced. A call whose tool has no name
   * is one of {@code unnamed}. An event that is too large for a message all the same is dropped, as a warning says.
   *
   * @param given the event; its id, its time and the agent are filled in where it has none
   * @return the event's id
   */
  public String report(TurnEvent given) {
    TurnEvent event = Filled.event(given, agent);
    put(queue -> queue.put(event));
    return event.getEventId();
  }

  private void put(Function<TurnQueue, TurnQueue.Put> said) {
    if (delivery.put(said)) {
      link.run(deliver);
      if (link.isClosed()) {
        delivery.drop();
      }
    }
  }

  /**
   * Ends the turn. What is on its way is still delivered, also after the sidecar was away. Unless the outcome is
   * UNSPECIFIED, which teaches nothing, it is then reported for every block of lessons that the turn was given.
   *
   * @param outcome what became of it; null is UNSPECIFIED, here and wherever a turn is given its outcome
   */
  public void finish(TaskOutcome outcome) {
    finish(outcome, null, null);
  }

  /**
   * Ends the turn, as {@link #finish(TaskOutcome)} does.
   *
   * @param outcome what became of it
   * @param score how well it went, 0 to 1
   */
  public void finish(TaskOutcome outcome, double score) {
    finish(outcome, Double.valueOf(score), null);
  }

  /**
   * Ends the turn, as {@link #finish(TaskOutcome)} does, and reports its goal unless the outcome is UNSPECIFIED.
   *
   * @param outcome what became of it
   * @param goal what it worked towards: an id and an objective, and an error where there is one. Its tasks are the turn's
   *     own calls unless it has some; its state is COMPLETED for SUCCESS and FAILED for every other outcome, unless it says
   *     its own.
   */
  public void finish(TaskOutcome outcome, ReportGoalRequest goal) {
    finish(outcome, null, goal);
  }

  /**
   * Ends the turn with a score and a goal, as {@link #finish(TaskOutcome, ReportGoalRequest)} does.
   *
   * @param outcome what became of it
   * @param score how well it went, 0 to 1; null when nobody says. Any other is left out, as a warning says
   * @param goal what it worked towards; null for what it began or was run with, if there is that
   */
  public void finish(TaskOutcome outcome, Double score, ReportGoalRequest goal) {
    Double known = score != null && score >= 0 && score <= 1 ? score : null;
    if (score != null && known == null) {
      LOG.log(Level.WARNING, "turn {0} ends without its score: a number from 0 to 1, not {1}", id, score);
    }
    ReportGoalRequest towards = goal == null ? this.goal : goal;
    TaskOutcome became = outcome == null ? TaskOutcome.TASK_OUTCOME_UNSPECIFIED : outcome;
    TurnFinished.Builder finished = TurnFinished.newBuilder().setOutcome(became);
    if (known != null) {
      finished.setScore(known);
    }
    boolean teaches = became != TaskOutcome.TASK_OUTCOME_UNSPECIFIED;
    ReportGoalRequest reported = towards == null || !teaches ? null : Filled.goal(towards, became, id);
    TurnEvent event = Filled.event(TurnEvent.newBuilder().setTurnFinished(finished).build(), agent);
    put(queue -> queue.finish(event, became, known, reported));
  }

  /** Ends the turn without an outcome if it is not finished. */
  @Override
  public void close() {
    leave(TaskOutcome.TASK_OUTCOME_UNSPECIFIED);
  }

  private void leave(TaskOutcome outcome) {
    if (!queue.isFinishing()) {
      finish(outcome);
    }
  }

  /**
   * What an agent does in a turn.
   *
   * @param <T> what comes of it
   * @param <E> what it may throw
   */
  @FunctionalInterface
  public interface Work<T, E extends Exception> {
    /**
     * Does it.
     *
     * @param turn the turn
     * @return what comes of it
     * @throws E as it likes
     */
    T in(AgentTurn turn) throws E;
  }

  /**
   * Does something in the turn, which it ends if it is not finished by then: as ERROR when an exception is thrown, else
   * without an outcome. A {@code try} with the turn as its resource cannot tell one from the other. {@link
   * CancellationException} and {@link InterruptedException} say that nobody wants the work any more, and nothing of the work:
   * then there is no outcome. The goal that the turn began with is reported with its outcome, also when that is ERROR.
   *
   * @param <T> what comes of it
   * @param <E> what it may throw
   * @param work what the agent does
   * @return what comes of it
   * @throws E what the work throws
   */
  public <T, E extends Exception> T run(Work<T, E> work) throws E {
    return run(work, TaskOutcome.TASK_OUTCOME_UNSPECIFIED);
  }

  /**
   * Does something in the turn, as {@link #run(Work)} does, and ends it with an outcome if it is not finished by then and no
   * exception is thrown.
   *
   * @param <T> what comes of it
   * @param <E> what it may throw
   * @param work what the agent does
   * @param outcome what becomes of the turn when the work returns
   * @return what comes of it
   * @throws E what the work throws
   */
  public <T, E extends Exception> T run(Work<T, E> work, TaskOutcome outcome) throws E {
    T done;
    try {
      done = work.in(this);
    } catch (Throwable thrown) {
      ReportGoalRequest towards = goal;
      if (towards != null && towards.getError().isEmpty()) {
        goal = towards.toBuilder().setError(Texts.of(thrown)).build();
      }
      boolean isCancelled = thrown instanceof CancellationException || thrown instanceof InterruptedException;
      leave(isCancelled ? TaskOutcome.TASK_OUTCOME_UNSPECIFIED : TaskOutcome.TASK_OUTCOME_ERROR);
      throw thrown;
    }
    leave(outcome);
    return done;
  }

  /**
   * Does something in the turn, as {@link #run(Work)} does, and reports what it worked towards with its outcome, also when
   * that is ERROR. {@link #finish(TaskOutcome)} needs no goal then; one that it is given counts instead.
   *
   * @param <T> what comes of it
   * @param <E> what it may throw
   * @param goal what the turn works towards, as {@link #finish(TaskOutcome, ReportGoalRequest)} takes it; the exception is
   *     its error when it has none; null for what the turn began with
   * @param work what the agent does
   * @return what comes of it
   * @throws E what the work throws
   */
  public <T, E extends Exception> T run(ReportGoalRequest goal, Work<T, E> work) throws E {
    return run(goal, work, TaskOutcome.TASK_OUTCOME_UNSPECIFIED);
  }

  /**
   * Does something in the turn, as {@link #run(ReportGoalRequest, Work)} does, and ends it with an outcome, as {@link #run(Work,
   * TaskOutcome)} does.
   *
   * @param <T> what comes of it
   * @param <E> what it may throw
   * @param goal what the turn works towards; null for what the turn began with
   * @param work what the agent does
   * @param outcome what becomes of the turn when the work returns
   * @return what comes of it
   * @throws E what the work throws
   */
  public <T, E extends Exception> T run(ReportGoalRequest goal, Work<T, E> work, TaskOutcome outcome) throws E {
    if (goal != null) {
      this.goal = goal;
    }
    return run(work, outcome);
  }

  // --- what the sidecar says -----------------------------------------------------------------------------------------

  /**
   * The directives that have come since the last time, without waiting.
   *
   * @return the directives, in their order
   */
  public List<TurnDirective> take() {
    return queue.take(each -> true);
  }

  /**
   * The next directive, waiting for it.
   *
   * @param atMost how long to wait
   * @return the directive; empty when none has come in time, the turn is over or the thread was interrupted
   */
  public Optional<TurnDirective> next(Duration atMost) {
    queue.await(atMost, it -> it.hasDirective() || it.isOver());
    return Optional.ofNullable(queue.takeOne());
  }

  /**
   * The plan of the turn, waiting for it for a second.
   *
   * @return the plan, as {@link #plan(Duration)} gives it
   */
  public Optional<TurnPlan> plan() {
    return plan(PLAN);
  }

  /**
   * The plan of the turn, waiting for it.
   *
   * @param atMost how long to wait
   * @return the plan; empty when it has not come in time or the thread was interrupted, and at once while the sidecar is
   *     away
   */
  public Optional<TurnPlan> plan(Duration atMost) {
    queue.await(atMost, it -> it.plan() != null || it.isOver() || !link.reachable());
    return Optional.ofNullable(queue.plan());
  }

  /**
   * The lessons for the turn's task: five at most, within two seconds.
   *
   * @return the lessons, as {@link #recall(String, List, int, Duration)} gives them
   */
  public Optional<ContextBlock> recall() {
    return recall(null, List.of(), 0, RECALL);
  }

  /**
   * The lessons for the turn's task: five at most.
   *
   * @param atMost how long to wait
   * @return the lessons, as {@link #recall(String, List, int, Duration)} gives them
   */
  public Optional<ContextBlock> recall(Duration atMost) {
    return recall(null, List.of(), 0, atMost);
  }

  /**
   * The lessons for a task, from memory.
   *
   * @param forTask the task that lessons should fit; null for the turn's own
   * @param tools the tools that the agent has: lessons that are only for others are left out; empty for all
   * @param maxItems the most lessons, 1 to 20; 0 means 5. A number beyond is brought to 0 or 20
   * @param atMost how long to wait
   * @return a block with its text; empty when no lesson fits, without an answer in time, and at once while the sidecar is
   *     away
   */
  public Optional<ContextBlock> recall(String forTask, List<String> tools, int maxItems, Duration atMost) {
    BuildMemoryContextRequest request =
        Texts.fitting(
            BuildMemoryContextRequest.newBuilder()
                .setTurnId(id)
                .setTask(forTask == null ? task : forTask)
                .addAllTools(tools.stream().map(Texts::orEmpty).toList())
                .setMaxItems(Math.max(0, Math.min(maxItems, MOST_ITEMS)))
                .build());
    Asking.Begin<BuildMemoryContextRequest, BuildMemoryContextResponse> begin =
        (connection, asked, timeoutNs) ->
            ReflectiveMemoryServiceGrpc.newStub(connection.channel())
                .withDeadlineAfter(timeoutNs, TimeUnit.NANOSECONDS)
                .buildMemoryContext(request, asked);
    Optional<ContextBlock> block =
        link.asking().ask("a recall", begin, System.nanoTime(), Waiting.nanos(atMost)).map(BuildMemoryContextResponse::getBlock);
    block.ifPresent(it -> queue.shown(it.getReceiptId()));
    return block.filter(it -> !it.getText().isEmpty());
  }

  /**
   * What the sidecar says to what was reported, within a second.
   *
   * @return the directives, as {@link #advice(Duration)} gives them
   */
  public List<TurnDirective> advice() {
    return advice(ADVICE);
  }

  /**
   * What the sidecar says to what was reported: nudges, recoveries, reflections and critiques, as far as they have a
   * text for a model. Each is given once; {@link Sidemirror#adviceText} makes a text of them. The rest is left to
   * {@link #take}.
   *
   * @param atMost how long to wait while something is in progress
   * @return the directives, in their order; empty when there is nothing to say
   */
  public List<TurnDirective> advice(Duration atMost) {
    int reported = queue.reported();
    queue.await(atMost, it -> it.isQuiet(reported) || it.isOver() || !link.reachable());
    return queue.take(Advice::is);
  }

  /**
   * The verdict on a response that was not sent yet, within ten seconds.
   *
   * @param text the response
   * @return the verdict, as {@link #critique(String, String, Duration)} gives it
   */
  public Optional<CritiqueResult> critique(String text) {
    return critique(text, "", CRITIQUE);
  }

  /**
   * The verdict on a response that was not sent yet, beside what the turn's tools returned.
   *
   * @param text the response
   * @param userMessage the question; the turn's own when it is empty
   * @param atMost how long to wait
   * @return the verdict; empty without one in time, and at once while the sidecar is away
   */
  public Optional<CritiqueResult> critique(String text, String userMessage, Duration atMost) {
    long began = System.nanoTime();
    int reported = queue.reported();
    queue.await(atMost, it -> it.isReceived(reported) || it.isOver() || !link.reachable());
    CritiqueRequest request =
        Texts.fitting(
            CritiqueRequest.newBuilder()
                .setTurnId(id)
                .setResponse(Texts.orEmpty(text))
                .setUserMessage(Texts.orEmpty(userMessage))
                .build());
    Asking.Begin<CritiqueRequest, CritiqueResponse> begin =
        (connection, asked, timeoutNs) ->
            CritiqueServiceGrpc.newStub(connection.channel())
                .withDeadlineAfter(timeoutNs, TimeUnit.NANOSECONDS)
                .critique(request, asked);
    return link.asking().ask("a critique", begin, began, Waiting.nanos(atMost))
        .map(CritiqueResponse::getCritique)
        .filter(it -> it.getStatus() == ResultStatus.RESULT_STATUS_OK);
  }

  /**
   * What an agent does when it is asked to revise an answer.
   *
   * @param <E> what it may throw
   */
  @FunctionalInterface
  public interface Again<E extends Exception> {
    /**
     * Answers again.
     *
     * @param prompt what the model is asked
     * @return the new answer
     * @throws E as it likes
     */
    String answer(String prompt) throws E;
  }

  /**
   * An answer that was not sent yet, revised once where its critique asks for that. The verdict is waited for as {@link
   * #critique(String)} waits for it.
   *
   * @param <E> what the agent may throw
   * @param answer the answer
   * @param again answers again, once at most; nobody judges what it gives
   * @return what {@code again} gave; the answer itself, also null, when no revision is asked for, or there is no verdict
   * @throws E what {@code again} throws
   */
  public <E extends Exception> String revised(String answer, Again<E> again) throws E {
    return revised(answer, again, "", CRITIQUE);
  }

  /**
   * An answer that was not sent yet, revised once where its critique asks for that, as {@link #revised(String, Again)} does.
   *
   * @param <E> what the agent may throw
   * @param answer the answer
   * @param again answers again, once at most; nobody judges what it gives
   * @param userMessage the question; the turn's own when it is empty
   * @param atMost how long to wait for the verdict
   * @return what {@code again} gave; the answer itself when no revision is asked for, or there is no verdict in time
   * @throws E what {@code again} throws
   */
  public <E extends Exception> String revised(String answer, Again<E> again, String userMessage, Duration atMost)
      throws E {
    Optional<CritiqueResult> verdict = critique(answer, userMessage, atMost).filter(CritiqueResult::getShouldRevise);
    return verdict.isPresent() ? again.answer(verdict.get().getRevisionPrompt()) : answer;
  }

  /**
   * The summary of the turn after {@link #finish(TaskOutcome)}, waiting for it for a second.
   *
   * @return the summary, as {@link #summary(Duration)} gives it
   */
  public Optional<TurnSummary> summary() {
    return summary(SUMMARY);
  }

  /**
   * The summary of the turn after {@link #finish(TaskOutcome)}, waiting for it.
   *
   * @param atMost how long to wait
   * @return the summary; empty when it has not come in time or the thread was interrupted, and at once while the sidecar
   *     is away
   */
  public Optional<TurnSummary> summary(Duration atMost) {
    queue.await(atMost, it -> it.summary() != null || it.isOver() || !link.reachable());
    return Optional.ofNullable(queue.summary());
  }

  /**
   * Why nothing more of this turn is reported: the sidecar has refused it, or it is lost, because the sidecar has failed
   * with it ten times in a row.
   *
   * @return the error; empty unless that is so
   */
  public Optional<StatusRuntimeException> error() {
    return Optional.ofNullable(queue.error());
  }

  /**
   * Events that were not kept: there were too many, one was too large, or the turn is over.
   *
   * @return how many; 0 unless the sidecar was away for long
   */
  public int dropped() {
    return queue.dropped();
  }

  /** Ends the reporting, with what it has not delivered. */
  void abandon() {
    delivery.drop();
  }
}
