package dev.sidemirror.client;

import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.util.regex.Matcher;
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
  private static final String HTTPS_PORT = ":443";
  private static final Pattern HOST_AND_PORT = Pattern.compile("(?:\\[[\\w:.%]+]|[^\\s:/\\[\\]@?#\\\\]+):([0-9]{1,5})");
  private static final Pattern LOOPBACK = Pattern.compile("127(\\.(25[0-5]|2[0-4]\\d|1?\\d?\\d)){3}");

  /**
   * Throws IllegalArgumentException for what is no address and for a certificate without TLS on the way to another
   * machine, TokenInTheClearException when a token would go there in the clear.
   */
  static Address of(String given, boolean tls, boolean hasToken, boolean hasCertificate) {
    String bare = withoutSlashes(given);
    if (given.startsWith(UNIX) && !bare.equals(UNIX)) {
      return new Address(given, false);
    }
    boolean secure = tls || given.startsWith(HTTPS);
    String target = withoutScheme(withoutScheme(bare, HTTPS), HTTP);
    if (secure && (target.indexOf(':') < 0 || target.endsWith("]"))) {
      target += HTTPS_PORT;
    }
    if (!isPlace(target)) {
      throw new IllegalArgumentException(
          "the address \""
              + given
              + "\" of Sidemirror (SIDEMIRROR_ADDRESS, or address()): host:port, such as "
              + Sidemirror.DEFAULT_ADDRESS
              + ", https://host, https://host:port or unix:/path is expected");
    }
    if (hasToken && !secure && !isLoopback(target)) {
      throw new TokenInTheClearException(target);
    }
    if (hasCertificate && !secure && !isLoopback(target)) {
      throw new IllegalArgumentException(
          "the certificate of SIDEMIRROR_CLIENT_CERTIFICATE_FILE does nothing at "
              + target
              + " without TLS: write https:// before the address, or set tls(true), or name the authority's file in"
              + " SIDEMIRROR_CA_FILE");
    }
    return new Address(target, secure);
  }

  boolean isUnix() {
    return target.startsWith(UNIX);
  }

  /** The path of a Unix socket. */
  String path() {
    String path = target.substring(UNIX.length());
    return path.startsWith("//") ? path.substring(2) : path;
  }

  private static String withoutScheme(String given, String scheme) {
    return given.startsWith(scheme) ? given.substring(scheme.length()) : given;
  }

  private static String withoutSlashes(String given) {
    int end = given.length();
    while (end > 0 && given.charAt(end - 1) == '/') {
      end--;
    }
    return given.substring(0, end);
  }

  /** Whether it is {@code host:port}, with a port that there can be, and IPv6 in brackets. */
  private static boolean isPlace(String target) {
    Matcher found = HOST_AND_PORT.matcher(target);
    if (!found.matches()) {
      return false;
    }
    int port = Integer.parseInt(found.group(1));
    return port > 0 && port < 65_536 && isJavas(target);
  }

  /** Whether Java finds a host in it, as grpc-java asks of it: no name with an underscore is one. */
  private static boolean isJavas(String target) {
    try {
      return new URI("//" + target).getHost() != null;
    } catch (URISyntaxException none) {
      return false;
    }
  }

  /** Whether the host of {@code host:port} is this machine, by its own name or number. No name is looked up. */
  static boolean isLoopback(String target) {
    String host = target.substring(0, target.lastIndexOf(':'));
    if (host.startsWith("[")) {
      host = host.substring(1, host.length() - 1);
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
