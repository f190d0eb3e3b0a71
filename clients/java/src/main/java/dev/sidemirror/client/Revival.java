package dev.sidemirror.client;

import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Has a channel look for a lost sidecar after one second at most; by itself it would wait up to two minutes. On the
 * client's own thread.
 */
final class Revival {
  private final ManagedChannel channel;
  private final ScheduledExecutorService own;
  private boolean looking;

  Revival(ManagedChannel channel, ScheduledExecutorService own) {
    this.channel = channel;
    this.own = own;
  }

  void watch() {
    ConnectivityState state = channel.getState(false);
    if (state != ConnectivityState.SHUTDOWN) {
      channel.notifyWhenStateChanged(state, () -> own.execute(this::watch));
    }
    if (state == ConnectivityState.TRANSIENT_FAILURE && !looking) {
      looking = true;
      look(Link.FIRST_PAUSE_MS);
    }
  }

  private void look(long pauseMs) {
    Runnable again =
        () -> {
          looking = channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE;
          if (looking) {
            channel.resetConnectBackoff();
            look(Math.min(pauseMs * 2, Link.LONGEST_PAUSE_MS));
          }
        };
    own.schedule(again, pauseMs, TimeUnit.MILLISECONDS);
  }
}
