package dev.sidemirror.client;

import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.TlsChannelCredentials;
import io.grpc.netty.NettyChannelBuilder;
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
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.InvalidKeyException;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** Makes connections over TCP, with or without TLS, or over a Unix socket. */
final class Connections implements AutoCloseable {
  /** A connection. {@code channel}: the same with what every call carries. */
  record Connection(ManagedChannel managed, Channel channel) implements AutoCloseable {
    @Override
    public void close() {
      managed.shutdownNow();
    }
  }

  private final Address address;
  private final ChannelCredentials credentials;
  private final List<ClientInterceptor> interceptors;
  private final ScheduledExecutorService timers;
  private final boolean epoll = Epoll.isAvailable();
  private final EventLoopGroup sockets;

  /** Throws IOException, which names the file, when one cannot be read, IllegalArgumentException when the arguments do not go together. */
  Connections(Sidemirror.Builder given, List<ClientInterceptor> interceptors, ScheduledExecutorService timers)
      throws IOException {
    this.timers = timers;
    boolean hasCertificate = given.certificateFile != null || given.keyFile != null;
    address = Address.of(given.address, given.tls || given.caFile != null, given.tokenFile != null, hasCertificate);
    credentials = address.tls() ? tls(given) : InsecureChannelCredentials.create();
    this.interceptors = interceptors;
    if (!address.isUnix()) {
      sockets = null;
      return;
    }
    if (!epoll && !KQueue.isAvailable()) {
      throw new UnsupportedOperationException("Unix sockets need Linux or macOS", Epoll.unavailabilityCause());
    }
    ThreadFactory threads = new DefaultThreadFactory("sidemirror-socket", true);
    sockets = epoll ? new EpollEventLoopGroup(1, threads) : new KQueueEventLoopGroup(1, threads);
  }

  private static ChannelCredentials tls(Sidemirror.Builder given) throws IOException {
    Path certificate = given.certificateFile;
    if ((certificate == null) != (given.keyFile == null)) {
      throw new IllegalArgumentException("a client's certificate needs its key, and the key its certificate");
    }
    TlsChannelCredentials.Builder tls = TlsChannelCredentials.newBuilder();
    if (given.caFile != null) {
      tls.trustManager(read(given.caFile, "SIDEMIRROR_CA_FILE, or caFile()"));
    }
    if (certificate != null) {
      String from = "SIDEMIRROR_CLIENT_KEY_FILE, or clientCertificate()";
      try (InputStream key = read(given.keyFile, from)) {
        tls.keyManager(
            read(certificate, "SIDEMIRROR_CLIENT_CERTIFICATE_FILE, or clientCertificate()"),
            new ByteArrayInputStream(Keys.pkcs8(key.readAllBytes())));
      } catch (InvalidKeyException why) {
        throw new IllegalArgumentException("the file " + given.keyFile + " (" + from + ") holds no key: " + why, why);
      }
    }
    return tls.build();
  }

  /** What the file holds. {@code from}: what names it. */
  private static InputStream read(Path file, String from) throws IOException {
    try {
      return new ByteArrayInputStream(Files.readAllBytes(file));
    } catch (IOException why) {
      throw new IOException("the file " + file + " (" + from + ") cannot be read: " + why, why);
    }
  }

  /** {@code host:port}, or {@code unix:/path}. */
  String address() {
    return address.target();
  }

  /**
   * A connection of its own, opened when it is first used. {@code forStubs}: unary calls are tried again, and wait for a
   * place.
   */
  Connection make(boolean forStubs) {
    NettyChannelBuilder builder;
    if (address.isUnix()) {
      builder =
          NettyChannelBuilder.forAddress(new DomainSocketAddress(address.path()), credentials)
              .overrideAuthority("localhost")
              .channelType(epoll ? EpollDomainSocketChannel.class : KQueueDomainSocketChannel.class)
              .eventLoopGroup(sockets)
              // Unset, because it is not one of a Unix socket's, and Netty warns of it at each try to connect.
              .withOption(ChannelOption.SO_KEEPALIVE, null);
    } else {
      // The brackets and the zone of an IPv6 address stand in no path of a URI.
      String target = address.target().replace("%", "%25").replace("[", "%5B").replace("]", "%5D");
      builder = NettyChannelBuilder.forTarget("dns:///" + target, credentials);
    }
    if (forStubs) {
      builder.defaultServiceConfig(Calls.serviceConfig());
    }
    ManagedChannel managed =
        builder
            // A sidecar is next door: never through a proxy.
            .proxyDetector(target -> null)
            .keepAliveTime(60, TimeUnit.SECONDS)
            .keepAliveTimeout(20, TimeUnit.SECONDS)
            .enableRetry()
            .build();
    Channel bare = forStubs ? ClientInterceptors.intercept(managed, new Places(timers)) : managed;
    return new Connection(managed, ClientInterceptors.intercept(bare, interceptors));
  }

  /** Ends what connections share. They are closed by whoever made them. */
  @Override
  public void close() {
    if (sockets != null) {
      // Open for a moment: calls that are told of the end hand work to it.
      sockets.shutdownGracefully(100, 5_000, TimeUnit.MILLISECONDS);
    }
  }
}
