package dev.sidemirror.client;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.regex.Pattern;

/**
 * Where the sidecar is and how it is reached.
 *
 * @param target {@code host:port}, or {@code unix:/path}
 * @param tls whether the connection is TLS
 */
record Address(String target, boolean tls) {
  private static final String UNIX = "unix:";
  private static final String HTTPS = "https://";
  private static final String HTTP = "http://";
  private static final Pattern PORT = Pattern.compile(".*:\\d+");
  private static final Pattern LOOPBACK = Pattern.compile("127(\\.(25[0-5]|2[0-4]\\d|1?\\d?\\d)){3}");

  /** Throws IllegalArgumentException when a token would go to another machine in the clear. */
  static Address of(String given, boolean tls, boolean hasToken) {
    if (given.startsWith(UNIX)) {
      return new Address(given, false);
    }
    if (given.startsWith(HTTPS)) {
      String target = bare(given, HTTPS);
      return new Address(PORT.matcher(target).matches() ? target : target + ":443", true);
    }
    String target = bare(given, HTTP);
    if (hasToken && !tls && !isLoopback(target)) {
      throw new IllegalArgumentException(
          "the token of SIDEMIRROR_TOKEN_FILE does not go to "
              + target
              + " without TLS: write https:// before the address, or set tls(true), or name the authority's file in"
              + " SIDEMIRROR_CA_FILE");
    }
    return new Address(target, tls);
  }

  boolean isUnix() {
    return target.startsWith(UNIX);
  }

  /** The path of a Unix socket. */
  String path() {
    String path = target.substring(UNIX.length());
    return path.startsWith("//") ? path.substring(2) : path;
  }

  private static String bare(String given, String scheme) {
    String target = given.startsWith(scheme) ? given.substring(scheme.length()) : given;
    return target.endsWith("/") ? target.substring(0, target.length() - 1) : target;
  }

  /** Whether {@code host:port} is this machine, by its own name or number. No name is looked up. */
  static boolean isLoopback(String target) {
    String host = target;
    if (target.startsWith("[")) {
      host = target.substring(1, Math.max(1, target.indexOf(']')));
    } else if (target.indexOf(':') == target.lastIndexOf(':')) {
      host = target.split(":", 2)[0];
    }
    if (host.indexOf(':') < 0) {
      return host.equalsIgnoreCase("localhost") || LOOPBACK.matcher(host).matches();
    }
    try {
      return InetAddress.getByName("[" + host + "]").isLoopbackAddress();
    } catch (UnknownHostException none) {
      return false;
    }
  }
}
