package dev.sidemirror.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Notices that something was sent and that nothing has come since. Safe for many threads; it is looked at on the client's
 * own thread, and only while something waits. In the way of a call it hears what the sidecar answers to that.
 */
final class Silence implements ClientInterceptor {
  /** What was sent waits so long, and so long nothing is heard, until the sidecar is asked whether it is there. */
  private static final long SILENT_NS = Duration.ofSeconds(1).toNanos();

  /** How often that is looked at, and by how much a look may come late: a client that was held up heard nothing. */
  private static final long LOOK_MS = 250;

  static final long LATE_NS = Duration.ofMillis(500).toNanos();

  private final ScheduledExecutorService own;
  private final Runnable ask;
  private final Map<Object, Long> sentNs = new ConcurrentHashMap<>();
  private final AtomicBoolean looking = new AtomicBoolean();
  private volatile long heardNs = System.nanoTime();

  /** {@code ask} is run on the client's own thread when it is silent, again after each look until something is heard. */
  Silence(ScheduledExecutorService own, Runnable ask) {
    this.own = own;
    this.ask = ask;
  }

  /** Something was sent that the sidecar answers at once. Counts from the first time until it is {@link #settled}. */
  void sent(Object what) {
    sentNs.putIfAbsent(what, System.nanoTime());
    if (looking.compareAndSet(false, true)) {
      lookLater();
    }
  }

  /** It is answered, or given up. */
  void settled(Object what) {
    sentNs.remove(what);
  }

  /** Something has come from the sidecar. */
  void heard() {
    heardNs = System.nanoTime();
  }

  /** Something has come after that time of {@link System#nanoTime}. */
  boolean heardSince(long thenNs) {
    return heardNs - thenNs > 0;
  }

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions with, Channel next) {
    return new SimpleForwardingClientCall<>(next.newCall(method, with)) {
      @Override
      public void start(Listener<A> told, Metadata headers) {
        super.start(new Hearing<>(told), headers);
      }
    };
  }

  private void lookLater() {
    long dueNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LOOK_MS);
    own.schedule(() -> look(dueNs), LOOK_MS, TimeUnit.MILLISECONDS);
  }

  private void look(long dueNs) {
    long now = System.nanoTime();
    if (sentNs.isEmpty()) {
      looking.set(false);
      if (sentNs.isEmpty() || !looking.compareAndSet(false, true)) {
        return;
      }
    }
    if (now - dueNs > LATE_NS) {
      sentNs.replaceAll((what, since) -> now);
    } else {
      long waitedNs = sentNs.values().stream().mapToLong(since -> now - since).max().orElse(0);
      if (Math.min(waitedNs, now - heardNs) >= SILENT_NS) {
        ask.run();
      }
    }
    lookLater();
  }

  private final class Hearing<A> extends SimpleForwardingClientCallListener<A> {
    Hearing(ClientCall.Listener<A> told) {
      super(told);
    }

    @Override
    public void onMessage(A answer) {
      heard();
      super.onMessage(answer);
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      if (status.isOk() || Trouble.isAnswer(status.asException(trailers))) {
        heard();
      }
      super.onClose(status, trailers);
    }
  }
}
