package dev.sidemirror.client;

import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import com.google.protobuf.Message;
import com.google.protobuf.Timestamp;
import dev.sidemirror.v1.RunTurnRequest;
import dev.sidemirror.v1.RunTurnResponse;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.TurnDirective;
import dev.sidemirror.v1.TurnEvent;
import dev.sidemirror.v1.TurnFinished;
import dev.sidemirror.v1.TurnPlan;
import dev.sidemirror.v1.TurnResume;
import dev.sidemirror.v1.TurnStarted;
import dev.sidemirror.v1.TurnSummary;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * One turn of an agent, reported beside it: nothing waits, nothing is lost while the sidecar is away, nothing counts
 * twice. Every event has an id, and stays here until the sidecar has said that it is durable. When the stream breaks,
 * another one takes the turn up and sends again what is not known to be durable; the sidecar drops what it has.
 *
 * <p>Made by {@link Sidemirror#beginTurn}. Safe for use by many threads.
 */
public final class Turn {
  /** What the sidecar takes in a turn; a request is kept well below its 4 MiB a message. */
  private static final int MOST_EVENTS = 10_000;

  private static final int BATCH_EVENTS = 500;
  private static final int BATCH_BYTES = 1 << 20;

  /** What waits for a sidecar that is away. Events beyond that are dropped, and counted. */
  private static final int MOST_BYTES = 16 << 20;

  /** What an event takes here beside its bytes, about. */
  private static final int BESIDE_BYTES = 512;

  /** The longest text that the sidecar takes; of a longer one the beginning is reported. */
  private static final int LONGEST_TEXT_BYTES = 256 << 10;

  private static final String CUT = " … [cut]";

  /** An event that would not fit the sidecar's 4 MiB a message, texts cut. */
  private static final int MOST_EVENT_BYTES = (4 << 20) - (64 << 10);

  /** Directives that nobody takes: the oldest go. */
  private static final int MOST_DIRECTIVES = 1_000;

  /** A turn is lost when so many streams in a row have ended with INTERNAL, and nothing more of it was durable after. */
  private static final int MOST_TRIES = 10;

  private final String id;
  private final String agent;
  private final Link link;
  private final Runnable deliver = this::deliver;

  // Guarded by `lock`, which is held for moments only: the agent's thread takes it too.
  private final Object lock = new Object();
  private final Deque<TurnEvent> unsent = new ArrayDeque<>();
  private final Deque<TurnEvent> underWay = new ArrayDeque<>();
  private final Deque<TurnDirective> directives = new ArrayDeque<>();
  private int waitingBytes;
  private int events;
  private int dropped;
  private boolean finishing;
  private boolean over;
  private boolean rung;
  private boolean begun;
  private TurnPlan plan;
  private TurnSummary summary;
  private StatusRuntimeException error;

  // Used on the client's own thread only.
  private final Set<String> told = new HashSet<>();
  private long lastSequence;
  private int failures;
  private int tries;
  private boolean toldLater;
  private boolean waitsForStream;
  private Stream stream;

  Turn(Link link, String id, String agent) {
    this.link = link;
    this.id = id;
    this.agent = agent;
  }

  void begin(TurnStarted started) {
    synchronized (lock) {
      begun = true;
    }
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
   * Takes an event. Never waits. Of a text of more than 256 KiB, which is what the sidecar takes, the beginning is kept.
   *
   * @param given the event; its id, its time and the agent are filled in where it has none
   * @return the event's id
   */
  public String report(TurnEvent given) {
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
    TurnEvent whole = builder.build();
    if (whole.getSerializedSize() > LONGEST_TEXT_BYTES) {
      cut(builder);
    }
    TurnEvent event = builder.build();
    int size = event.getSerializedSize();
    boolean ring;
    synchronized (lock) {
      boolean full = events >= MOST_EVENTS || waitingBytes + size > MOST_BYTES || size > MOST_EVENT_BYTES;
      boolean ends = event.hasTurnFinished(); // which always has room
      if (finishing || over || (full && !ends) || !link.keep(size + BESIDE_BYTES, ends)) {
        dropped++;
        over |= events == 0; // without its beginning a turn is not reported at all
        return event.getEventId();
      }
      finishing = ends;
      events++;
      waitingBytes += size;
      unsent.add(event);
      ring = !rung;
      rung = true;
      if (ring) {
        link.turns().add(this);
      }
    }
    if (ring) {
      link.run(deliver);
      if (link.isClosed()) {
        end(null);
      }
    }
    return event.getEventId();
  }

  /**
   * Ends the turn. What is on its way is still delivered, also after the sidecar was away.
   *
   * @param outcome what became of it
   */
  public void finish(TaskOutcome outcome) {
    report(TurnEvent.newBuilder().setTurnFinished(TurnFinished.newBuilder().setOutcome(outcome)).build());
  }

  /**
   * Ends the turn. What is on its way is still delivered, also after the sidecar was away.
   *
   * @param outcome what became of it
   * @param score how well it went, 0 to 1
   */
  public void finish(TaskOutcome outcome, double score) {
    report(
        TurnEvent.newBuilder().setTurnFinished(TurnFinished.newBuilder().setOutcome(outcome).setScore(score)).build());
  }

  // --- what the sidecar says -----------------------------------------------------------------------------------------

  /**
   * The directives that have come since the last time, without waiting.
   *
   * @return the directives, in their order
   */
  public List<TurnDirective> take() {
    synchronized (lock) {
      List<TurnDirective> taken = new ArrayList<>(directives);
      directives.clear();
      return taken;
    }
  }

  /**
   * The next directive, waiting for it.
   *
   * @param atMost how long to wait
   * @return the directive; empty when none has come in time, the turn is over or the thread was interrupted
   */
  public Optional<TurnDirective> next(Duration atMost) {
    synchronized (lock) {
      await(atMost, () -> !directives.isEmpty() || over);
      return Optional.ofNullable(directives.poll());
    }
  }

  /**
   * The plan of the turn, waiting for it.
   *
   * @param atMost how long to wait
   * @return the plan; empty when it has not come in time or the thread was interrupted, and at once while the sidecar is
   *     away
   */
  public Optional<TurnPlan> plan(Duration atMost) {
    synchronized (lock) {
      await(atMost, () -> plan != null || over || link.away());
      return Optional.ofNullable(plan);
    }
  }

  /**
   * The summary of the turn after {@link #finish(TaskOutcome)}, waiting for it.
   *
   * @param atMost how long to wait
   * @return the summary; empty when it has not come in time or the thread was interrupted, and at once while the sidecar
   *     is away
   */
  public Optional<TurnSummary> summary(Duration atMost) {
    synchronized (lock) {
      await(atMost, () -> summary != null || over || link.away());
      return Optional.ofNullable(summary);
    }
  }

  /**
   * Why nothing more of this turn is reported: the sidecar has refused it, or it is lost, because the sidecar has failed
   * with it ten times in a row.
   *
   * @return the error; empty unless that is so
   */
  public Optional<StatusRuntimeException> error() {
    synchronized (lock) {
      return Optional.ofNullable(error);
    }
  }

  /**
   * Events that were not kept: there were too many, one was too large, or the turn is over.
   *
   * @return how many; 0 unless the sidecar was away for long
   */
  public int dropped() {
    synchronized (lock) {
      return dropped;
    }
  }

  /** Waits until everything reported is durable with the sidecar, or it has refused the turn; false when it is not. */
  boolean delivered(Duration atMost) {
    synchronized (lock) {
      return await(atMost, () -> over || (unsent.isEmpty() && underWay.isEmpty() && !finishing));
    }
  }

  private boolean await(Duration atMost, BooleanSupplier there) {
    long end = System.nanoTime() + Waiting.nanos(atMost);
    try {
      while (!there.getAsBoolean()) {
        long left = end - System.nanoTime();
        if (left <= 0) {
          return false;
        }
        TimeUnit.NANOSECONDS.timedWait(lock, left);
      }
      return true;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  // --- the way between: on the client's own thread -------------------------------------------------------------------

  /** Sends what there is, on the open stream or on one that it asks for. */
  private void deliver() {
    boolean something;
    synchronized (lock) {
      rung = false;
      something = begun && !over && !unsent.isEmpty();
    }
    if (stream != null) {
      stream.send();
    } else if (something) {
      wantStream();
    }
  }

  private void wantStream() {
    if (!waitsForStream && !isOver()) {
      waitsForStream = true;
      link.want(this);
    }
  }

  void open() {
    waitsForStream = false;
    synchronized (lock) {
      while (!underWay.isEmpty()) {
        unsent.addFirst(underWay.pollLast());
      }
    }
    Stream opened = new Stream(link.outages());
    stream = opened;
    try {
      link.thinking().runTurn(opened);
      opened.send();
    } catch (RuntimeException | Error theirs) { // an interceptor's
      ended(opened, theirs);
    }
  }

  /** Null when there is nothing to send. */
  private RunTurnRequest request(boolean first) {
    RunTurnRequest.Builder request = RunTurnRequest.newBuilder();
    synchronized (lock) {
      if (first && (unsent.isEmpty() || !unsent.peek().hasTurnStarted())) {
        request.setResume(TurnResume.newBuilder().setTurnId(id).setAfterSequence(lastSequence));
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
    }
    return request.build();
  }

  /** So many more of the events that this stream has sent are safe. */
  private void settle(long durable) {
    synchronized (lock) {
      for (long each = 0; each < durable && !underWay.isEmpty(); each++) {
        forget(underWay.poll());
      }
      lock.notifyAll();
    }
  }

  private void forget(TurnEvent event) {
    int size = event.getSerializedSize();
    waitingBytes -= size;
    link.letGo(size + BESIDE_BYTES);
  }

  private void hear(TurnDirective directive) {
    lastSequence = Math.max(lastSequence, directive.getSequence());
    switch (directive.getKindCase()) {
      case ACK, HEARTBEAT, CLOSING:
        return;
      default:
        break;
    }
    synchronized (lock) {
      if (directive.hasTurnPlan()) {
        if (plan != null) {
          return; // begun again, because the first beginning was lost in a crash
        }
        plan = directive.getTurnPlan();
      }
      if (directive.hasTurnSummary()) {
        summary = directive.getTurnSummary();
      }
      if (directive.getDirectiveId().isEmpty() || told.add(directive.getDirectiveId())) {
        directives.add(directive);
        if (directives.size() > MOST_DIRECTIVES) {
          directives.poll();
        }
      }
      lock.notifyAll();
    }
  }

  /** {@code why}: null when the sidecar has closed the stream. */
  private void ended(Stream ended, Throwable why) {
    if (stream != ended) {
      return; // known already
    }
    stream = null;
    failures++;
    tries += Trouble.isInternal(why) ? 1 : 0;
    if (ended.durable > 0) {
      failures = 0;
      tries = 0;
    }
    if (why == null) {
      closed();
    } else if (isOver()) {
      end(null);
    } else if (tries >= MOST_TRIES) {
      link.say("turn " + id + " is lost, the sidecar has failed with it " + tries + " times", why);
      end((StatusRuntimeException) why);
    } else {
      Trouble trouble = Trouble.of(why);
      switch (trouble.kind()) {
        case FINAL -> {
          link.say("the sidecar has refused turn " + id, why);
          end((StatusRuntimeException) why);
        }
        case LATER -> {
          if (!trouble.pause().isZero() && !toldLater) {
            toldLater = true;
            link.say("the sidecar refuses turn " + id + " for now", why);
          }
          wantLater(trouble.pause().toMillis());
        }
        case AWAY -> {
          link.lost(why, ended.outages);
          wantLater(0);
        }
      }
    }
    link.released();
  }

  /** The sidecar has closed the stream. */
  private void closed() {
    boolean something;
    synchronized (lock) {
      something = !unsent.isEmpty() || !underWay.isEmpty();
      if (!something && !finishing && !over) {
        // Closed because nothing was said for long: `deliver` opens another when there is something. Until then nothing
        // here holds a turn that its agent may have forgotten.
        link.turns().remove(this);
        return;
      }
    }
    if (something) {
      wantLater(0);
    } else {
      end(null);
    }
  }

  /** Shortens the texts that the sidecar would refuse the turn for. */
  private static void cut(Message.Builder message) {
    message
        .getAllFields()
        .forEach(
            (field, value) -> {
              if (field.getJavaType() == JavaType.MESSAGE && field.isRepeated() && !field.isMapField()) {
                for (int place = 0; place < message.getRepeatedFieldCount(field); place++) {
                  Message.Builder each = ((Message) message.getRepeatedField(field, place)).toBuilder();
                  cut(each);
                  message.setRepeatedField(field, place, each.build());
                }
              } else if (field.getJavaType() == JavaType.MESSAGE && !field.isRepeated()) {
                Message.Builder inner = ((Message) value).toBuilder();
                cut(inner);
                message.setField(field, inner.build());
              } else if (value instanceof String text && text.length() > LONGEST_TEXT_BYTES / 4) {
                message.setField(field, cut(text));
              }
            });
  }

  private static String cut(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    if (bytes.length <= LONGEST_TEXT_BYTES) {
      return text;
    }
    int end = LONGEST_TEXT_BYTES - CUT.getBytes(StandardCharsets.UTF_8).length;
    while ((bytes[end] & 0xC0) == 0x80) {
      end--; // not within a character
    }
    return new String(bytes, 0, end, StandardCharsets.UTF_8) + CUT;
  }

  private void wantLater(long atLeastMs) {
    waitsForStream = true;
    link.later(
        () -> {
          waitsForStream = false;
          wantStream();
        },
        Math.min(failures * Link.FIRST_PAUSE_MS, Link.LONGEST_PAUSE_MS),
        atLeastMs);
  }

  private boolean isOver() {
    synchronized (lock) {
      return over;
    }
  }

  private void end(StatusRuntimeException refusal) {
    synchronized (lock) {
      link.turns().remove(this);
      if (over) {
        return;
      }
      over = true;
      error = refusal;
      dropped += unsent.size() + underWay.size();
      unsent.forEach(this::forget);
      underWay.forEach(this::forget);
      unsent.clear();
      underWay.clear();
      lock.notifyAll();
    }
  }

  /** Ends the reporting, with what it has not delivered. The sidecar abandons the turn after 30 idle minutes. */
  void abandon() {
    end(null);
    if (stream != null) {
      stream.call.cancel("the client was closed", null);
    }
  }

  /** Wakes whoever waits for news. */
  void tell() {
    synchronized (lock) {
      lock.notifyAll();
    }
  }

  /** One stream, from its opening to its end. */
  private final class Stream implements ClientResponseObserver<RunTurnRequest, RunTurnResponse> {
    private final int outages;
    private ClientCallStreamObserver<RunTurnRequest> call;
    private boolean first = true;
    private boolean complete;
    private long durable;

    Stream(int outages) {
      this.outages = outages;
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<RunTurnRequest> begun) {
      call = begun;
      call.setOnReadyHandler(this::send);
    }

    void send() {
      while (stream == this && !complete && call.isReady()) {
        RunTurnRequest request = request(first);
        if (request == null) {
          return;
        }
        first = false;
        try {
          call.onNext(request);
        } catch (RuntimeException | Error theirs) { // an interceptor's: what was not sent is sent on another stream
          call.cancel("an interceptor has failed", theirs);
          return;
        }
        int events = request.getEventsCount();
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
      link.answered(outages);
      for (TurnDirective directive : response.getDirectivesList()) {
        if (directive.hasAck()) {
          settle(directive.getAck().getDurable() - durable);
          durable = directive.getAck().getDurable();
        }
        hear(directive);
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
