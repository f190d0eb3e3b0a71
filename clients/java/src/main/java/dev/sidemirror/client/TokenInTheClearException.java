package dev.sidemirror.client;

/** The token would go to another machine over a connection that everybody on the way can read. */
public final class TokenInTheClearException extends IllegalArgumentException {
  private static final long serialVersionUID = 1;

  TokenInTheClearException(String target) {
    super(
        "the token of SIDEMIRROR_TOKEN_FILE does not go to "
            + target
            + " without TLS: write https:// before the address, or set tls(true), or name the authority's file in"
            + " SIDEMIRROR_CA_FILE");
  }
}
