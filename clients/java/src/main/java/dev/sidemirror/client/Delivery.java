package dev.sidemirror.client;

import com.google.protobuf.Message;
import dev.sidemirror.v1.GoalReflectionServiceGrpc;
import dev.sidemirror.v1.ReflectiveMemoryServiceGrpc;
import dev.sidemirror.v1.ReportGoalRequest;
import dev.sidemirror.v1.ReportGoalResponse;
import dev.sidemirror.v1.ReportOutcomeRequest;
import dev.sidemirror.v1.ReportOutcomeResponse;
import dev.sidemirror.v1.RunTurnRequest;
import dev.sidemirror.v1.RunTurnResponse;
import dev.sidemirror.v1.ThinkingServiceGrpc;
import dev.sidemirror.v1.TurnAck;
import dev.sidemirror.v1.TurnDirective;
import dev.sidemirror.v1.TurnEvent;
import io.grpc.Channel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * The way of one turn to the sidecar: nothing is lost while it is away, and nothing counts twice. When the stream breaks,
 * another one takes the turn up and sends again what is not known to be durable; the sidecar drops what it has. Outcomes
 * and goals follow once the turn is durable, each under a request_id that stays the same. On the client's own thread.
 */
final class Delivery {
  /**
   * A turn is lost when so many streams in a row have failed without a word that it passes, and nothing more of it was
   * durable after. A report is lost after as many calls.
   */
  private static final int MOST_TRIES = 10;

  /** The longest that a report may take. */
  private static final long REPORT_MS = 10_000;

  private static final System.Logger LOG = System.getLogger("dev.sidemirror.client");

  private final String id;
  private final Link link;
  private final TurnQueue queue;
  private int failures;
  private int tries;
  private boolean toldLater;
  private boolean waits;
  private volatile boolean begun;
  private Stream stream;

  Delivery(String id, Link link, TurnQueue queue) {
    this.id = id;
    this.link = link;
    this.queue = queue;
  }

  /** From now on what is put is delivered. */
  void begin() {
    begun = true;
  }

  TurnQueue queue() {
    return queue;
  }

  /** Wakes whoever waits for news. */
  void tell() {
    queue.tell();
  }

  /** Sends what there is, on the open stream or on one that it asks for. */
  void deliver() {
    boolean something = queue.bellHeard() && begun;
    if (stream != null) {
      stream.send();
    } else if (something) {
      wantStream();
    }
  }

  private void wantStream() {
    if (!waits && !queue.isOver()) {
      waits = true;
      link.wantStream(this);
    }
  }

  void open(Pool.Place place) {
    waits = false;
    if (queue.isOver()) {
      link.released(place);
      return;
    }
    queue.again();
    Stream opened = new Stream(place, link.outages());
    stream = opened;
    try {
      ThinkingServiceGrpc.newStub(place.connection().channel()).withExecutor(link.own()).runTurn(opened);
      opened.send();
    } catch (RuntimeException | Error theirs) { // an interceptor's
      ended(opened, theirs);
    }
  }

  /** {@code why}: null when the sidecar has closed the stream. */
  private void ended(Stream ended, Throwable why) {
    if (stream != ended) {
      return; // known already
    }
    stream = null;
    link.silence().settled(this);
    failures++;
    tries += Trouble.isCounted(why) ? 1 : 0;
    if (ended.durable > 0) {
      failures = 0;
      tries = 0;
    }
    if (why == null || queue.hasEnded()) { // whatever has become of the stream behind the summary
      closed();
    } else if (queue.isOver()) {
      end(null);
    } else if (tries >= MOST_TRIES) {
      link.say("turn " + id + " is lost, the sidecar has failed with it " + tries + " times", why);
      end((StatusRuntimeException) why);
    } else {
      troubled(Trouble.of(why), why, ended.outages);
    }
    link.released(ended.place);
  }

  private void troubled(Trouble trouble, Throwable why, int outages) {
    if (trouble.kind() != Trouble.Kind.FINAL) {
      notTaken(trouble, why, outages);
      wantLater(trouble.pause().toMillis());
      return;
    }
    if (Status.fromThrowable(why).getCode() == Status.Code.PERMISSION_DENIED) {
      link.denied(id, why);
    } else {
      link.say("the sidecar at " + link.address() + " has refused turn " + id, why);
    }
    end((StatusRuntimeException) why);
  }

  /** It is tried again. */
  private void notTaken(Trouble trouble, Throwable why, int outages) {
    switch (trouble.kind()) {
      case TOKEN -> link.lostForToken(why, outages);
      case AWAY -> link.lost(why, outages);
      default -> {
        link.silence().heard();
        if (!trouble.pause().isZero() && !toldLater) {
          toldLater = true;
          link.say("the sidecar refuses turn " + id + " for now", why);
        }
      }
    }
  }

  /** The sidecar has closed the stream. */
  private void closed() {
    if (queue.hasEvents()) {
      wantLater(0);
    } else if (queue.isOver()) {
      end(null);
    } else if (queue.isFinishing()) {
      failures = 0;
      tries = 0;
      nextReport();
    } else {
      // Closed because nothing was said for long: `deliver` opens another when there is something. Until then nothing
      // here holds a turn that its agent may have forgotten.
      synchronized (queue) {
        if (queue.isDelivered()) {
          link.turns().remove(this);
        }
      }
    }
  }

  private void wantLater(long atLeastMs) {
    waits = true;
    link.later(
        () -> {
          waits = false;
          wantStream();
        },
        pauseMs(),
        atLeastMs);
  }

  private long pauseMs() {
    return Math.min(failures * Link.FIRST_PAUSE_MS, Link.LONGEST_PAUSE_MS);
  }

  private void end(StatusRuntimeException refusal) {
    synchronized (queue) {
      link.turns().remove(this);
      queue.end(refusal);
    }
  }

  /** Takes what the agent says, on its thread; true when the client's own thread has to be told. */
  boolean put(Function<TurnQueue, TurnQueue.Put> said) {
    TurnQueue.Put put;
    synchronized (queue) {
      put = said.apply(queue);
      if (put == TurnQueue.Put.RINGS) {
        link.turns().add(this);
      }
    }
    if (put.warning != null) {
      LOG.log(Level.WARNING, put.warning, id);
    }
    return put == TurnQueue.Put.RINGS;
  }

  /** Drops what there is, on the agent's thread: nothing is delivered by a client that is closed. */
  void drop() {
    end(null);
  }

  /** Ends the reporting, with what it has not delivered. The sidecar abandons the turn after 30 idle minutes. */
  void abandon() {
    end(null);
    link.silence().settled(this);
    if (stream != null) {
      stream.call.cancel("the client was closed", null);
    }
  }

  // --- outcomes and goals --------------------------------------------------------------------------------------------

  private void nextReport() {
    if (queue.nextReport() == null) {
      end(null);
    } else {
      link.wantReport(this);
    }
  }

  void report() {
    Message report = queue.nextReport();
    if (report == null) { // dropped meanwhile
      link.run(link::reported);
      return;
    }
    int outages = link.outages();
    Channel channel = link.forCalls().channel();
    link.silence().sent(this);
    try {
      if (report instanceof ReportGoalRequest goal) {
        Asked<ReportGoalRequest, ReportGoalResponse> asked = new Asked<>();
        asked.whenCompleteAsync((answer, why) -> reported(why, outages), link.own());
        GoalReflectionServiceGrpc.newStub(channel)
            .withDeadlineAfter(REPORT_MS, TimeUnit.MILLISECONDS)
            .reportGoal(goal, asked);
      } else {
        Asked<ReportOutcomeRequest, ReportOutcomeResponse> asked = new Asked<>();
        asked.whenCompleteAsync((answer, why) -> reported(why, outages), link.own());
        ReflectiveMemoryServiceGrpc.newStub(channel)
            .withDeadlineAfter(REPORT_MS, TimeUnit.MILLISECONDS)
            .reportOutcome((ReportOutcomeRequest) report, asked);
      }
    } catch (RuntimeException | Error theirs) { // an interceptor's
      link.run(() -> reported(theirs, outages));
    }
  }

  /** {@code why}: null when the report is made. */
  private void reported(Throwable why, int outages) {
    link.silence().settled(this);
    tries += Trouble.isCounted(why) && !Trouble.isLate(why) ? 1 : 0;
    if (why == null) {
      link.answered(outages);
      queue.forgetReport(false);
      next();
    } else {
      Trouble trouble = Trouble.of(why);
      if (trouble.kind() == Trouble.Kind.FINAL || tries >= MOST_TRIES) {
        link.say("the sidecar has refused what follows turn " + id, why);
        queue.forgetReport(true);
        next();
      } else {
        failures++;
        Duration pause = trouble.pause();
        if (Trouble.isUnable(why)) { // a sidecar whose store is away takes the report later
          link.silence().heard();
          pause = Problem.of(why).retryAfter().orElse(Duration.ZERO);
        } else if (!Trouble.isLate(why)) {
          notTaken(trouble, why, outages);
        }
        link.later(this::nextReport, pauseMs(), pause.toMillis());
      }
    }
    link.reported();
  }

  private void next() {
    failures = 0;
    tries = 0;
    nextReport();
  }

  // --- the stream ----------------------------------------------------------------------------------------------------

  /** One stream, from its opening to its end. */
  private final class Stream implements ClientResponseObserver<RunTurnRequest, RunTurnResponse> {
    private final Pool.Place place;
    private final int outages;
    private ClientCallStreamObserver<RunTurnRequest> call;
    private boolean first = true;
    private boolean complete;
    private long sent;
    private long durable;

    Stream(Pool.Place place, int outages) {
      this.place = place;
      this.outages = outages;
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<RunTurnRequest> begun) {
      call = begun;
      call.setOnReadyHandler(this::send);
    }

    void send() {
      if (first) { // what waits for a connection waits for an answer, too
        link.silence().sent(Delivery.this);
      }
      while (stream == this && !complete && call.isReady()) {
        RunTurnRequest request = queue.next(first);
        if (request == null) {
          break;
        }
        first = false;
        link.silence().sent(Delivery.this);
        int events = request.getEventsCount();
        sent += events;
        try {
          call.onNext(request);
        } catch (RuntimeException | Error theirs) { // an interceptor's: what was not sent is sent on another stream
          call.cancel("an interceptor has failed", theirs);
          return;
        }
        if (events > 0 && request.getEvents(events - 1).hasTurnFinished()) {
          // Said, so that the stream just ends: one that is reset counts with the sidecar for a while, and of a client
          // that comes back with many turns it then refuses streams.
          complete = true;
          call.onCompleted();
        }
      }
    }

    @Override
    public void onNext(RunTurnResponse response) {
      if (stream != this) {
        return;
      }
      link.answered(outages);
      for (TurnDirective directive : response.getDirectivesList()) {
        queue.hear(directive);
        if (directive.hasAck()) {
          settle(directive.getAck());
        }
      }
    }

    private void settle(TurnAck ack) {
      queue.settle(
          ack.getDurable() - durable,
          ack.getReceived(),
          ack.getPendingIdsCount() > 0,
          ack.getWithdrawnIdsList());
      durable = Math.max(durable, ack.getDurable());
      if (ack.getReceived() >= sent) {
        link.silence().settled(Delivery.this);
      }
    }

    @Override
    public void onError(Throwable why) {
      ended(this, why);
    }

    @Override
    public void onCompleted() {
      ended(this, null);
    }
  }
}
