package dev.sidemirror.client;

import io.grpc.ChannelCredentials;
import io.grpc.ConnectivityState;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.TlsChannelCredentials;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.kqueue.KQueue;
import io.netty.channel.kqueue.KQueueDomainSocketChannel;
import io.netty.channel.kqueue.KQueueEventLoopGroup;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** The channel over TCP, with or without TLS, or over a Unix socket; looked after while the sidecar is away. */
final class Connection implements AutoCloseable {
  private static final String UNIX = "unix:";

  private final ManagedChannel channel;
  private final EventLoopGroup sockets;
  private final ScheduledExecutorService own;
  private boolean looking;

  /** Throws IOException when a file cannot be read. {@code own}: a single thread. */
  Connection(Sidemirror.Builder given, ScheduledExecutorService own) throws IOException {
    this.own = own;
    NettyChannelBuilder builder;
    if (given.address.startsWith(UNIX)) {
      boolean epoll = Epoll.isAvailable();
      if (!epoll && !KQueue.isAvailable()) {
        throw new UnsupportedOperationException("Unix sockets need Linux or macOS", Epoll.unavailabilityCause());
      }
      ThreadFactory threads = new DefaultThreadFactory("sidemirror-socket", true);
      sockets = epoll ? new EpollEventLoopGroup(1, threads) : new KQueueEventLoopGroup(1, threads);
      Class<? extends Channel> type = epoll ? EpollDomainSocketChannel.class : KQueueDomainSocketChannel.class;
      builder =
          NettyChannelBuilder.forAddress(
                  new DomainSocketAddress(path(given.address)), InsecureChannelCredentials.create())
              .overrideAuthority("localhost")
              .channelType(type)
              .eventLoopGroup(sockets)
              // Unset, because it is not one of a Unix socket's, and Netty warns of it at each try to connect.
              .withOption(ChannelOption.SO_KEEPALIVE, null);
    } else {
      sockets = null;
      builder = NettyChannelBuilder.forTarget("dns:///" + given.address, credentials(given));
    }
    channel =
        builder
            // A sidecar is next door: never through a proxy.
            .proxyDetector(target -> null)
            .keepAliveTime(60, TimeUnit.SECONDS)
            .keepAliveTimeout(20, TimeUnit.SECONDS)
            .defaultServiceConfig(Calls.serviceConfig())
            .enableRetry()
            .build();
    watch();
  }

  private static String path(String address) {
    String path = address.substring(UNIX.length());
    return path.startsWith("//") ? path.substring(2) : path;
  }

  private static ChannelCredentials credentials(Sidemirror.Builder given) throws IOException {
    if (given.caFile == null) {
      return InsecureChannelCredentials.create();
    }
    Path certificate = given.certificateFile;
    if ((certificate == null) != (given.keyFile == null)) {
      throw new IllegalArgumentException("a client's certificate needs its key, and the key its certificate");
    }
    TlsChannelCredentials.Builder tls = TlsChannelCredentials.newBuilder().trustManager(given.caFile.toFile());
    if (certificate != null) {
      tls.keyManager(certificate.toFile(), given.keyFile.toFile());
    }
    return tls.build();
  }

  ManagedChannel channel() {
    return channel;
  }

  /** The channel would wait up to two minutes before it looks for a lost sidecar again: it is made to after one second. */
  private void watch() {
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

  @Override
  public void close() {
    channel.shutdownNow();
    if (sockets != null) {
      // Open for a moment: calls that are told of the end hand work to it.
      sockets.shutdownGracefully(100, 5_000, TimeUnit.MILLISECONDS);
    }
  }
}
