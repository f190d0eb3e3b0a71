package dev.sidemirror.client;

import io.grpc.Attributes;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.Deadline;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;

/**
 * Room for the unary calls of a connection: so many are on their way at once, others wait in their order, and the wait counts
 * for their deadlines. The rest of what the sidecar takes on a connection is for streams.
 */
final class Places implements ClientInterceptor {
  /** The sidecar takes 100 on a connection. */
  static final int AT_ONCE = 90;

  private final ScheduledExecutorService timers;
  private final Deque<Waiting<?, ?>> waiting = new ArrayDeque<>();
  private int free = AT_ONCE;

  Places(ScheduledExecutorService timers) {
    this.timers = timers;
  }

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
    ClientCall<Q, A> call = next.newCall(method, options);
    return method.getType() == MethodType.UNARY ? new Waiting<>(call, options.getDeadline()) : call;
  }

  private synchronized boolean enters(Waiting<?, ?> call) {
    if (free > 0) {
      free--;
      return true;
    }
    waiting.add(call);
    return false;
  }

  private synchronized boolean leaves(Waiting<?, ?> call) {
    return waiting.remove(call);
  }

  private void released() {
    Waiting<?, ?> next;
    synchronized (this) {
      next = waiting.poll();
      if (next == null) {
        free++;
        return;
      }
    }
    next.begin(true);
  }

  /** A call that may have to wait for its place. What is done with it meanwhile is done when it begins. */
  private final class Waiting<Q, A> extends ClientCall<Q, A> {
    private final ClientCall<Q, A> call;
    private final Deadline deadline;
    private final List<Runnable> before = new ArrayList<>();
    private boolean begun;
    private Listener<A> listener;
    private Metadata headers;
    private Future<?> late;

    /** {@code deadline} may be null. */
    Waiting(ClientCall<Q, A> call, Deadline deadline) {
      this.call = call;
      this.deadline = deadline;
    }

    @Override
    public void start(Listener<A> told, Metadata with) {
      listener = told;
      headers = with;
      if (enters(this)) {
        begin(true);
      } else if (deadline != null) {
        // Begun with its deadline behind it, it fails by that before anything is sent.
        Future<?> timer = deadline.runOnExpiration(this::giveUp, timers);
        synchronized (this) {
          if (begun) {
            timer.cancel(false);
          } else {
            late = timer;
          }
        }
      }
    }

    private void giveUp() {
      if (leaves(this)) {
        begin(false);
      }
    }

    /** {@code held}: it has a place, which it gives back at its end. */
    private synchronized void begin(boolean held) {
      begun = true;
      if (late != null) {
        late.cancel(false);
      }
      call.start(held ? new Releasing<>(listener) : listener, headers);
      before.forEach(Runnable::run);
      before.clear();
    }

    private synchronized void whenBegun(Runnable use) {
      if (begun) {
        use.run();
      } else {
        before.add(use);
      }
    }

    @Override
    public void request(int count) {
      whenBegun(() -> call.request(count));
    }

    @Override
    public void sendMessage(Q request) {
      whenBegun(() -> call.sendMessage(request));
    }

    @Override
    public void halfClose() {
      whenBegun(call::halfClose);
    }

    @Override
    public void setMessageCompression(boolean enabled) {
      whenBegun(() -> call.setMessageCompression(enabled));
    }

    @Override
    public void cancel(String message, Throwable cause) {
      synchronized (this) {
        if (begun) {
          call.cancel(message, cause);
          return;
        }
        before.clear(); // nothing is sent
        before.add(() -> call.cancel(message, cause));
      }
      giveUp();
    }

    @Override
    public synchronized boolean isReady() {
      return begun && call.isReady();
    }

    @Override
    public Attributes getAttributes() {
      return call.getAttributes();
    }
  }

  /** Gives the place back when the call has ended. */
  private final class Releasing<A> extends SimpleForwardingClientCallListener<A> {
    Releasing(ClientCall.Listener<A> told) {
      super(told);
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      try {
        super.onClose(status, trailers);
      } finally {
        released();
      }
    }
  }
}
