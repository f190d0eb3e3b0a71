package dev.sidemirror.client;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;

/**
 * What the end of a turn's stream means.
 *
 * @param pause for {@link Kind#LATER}, how long at least
 */
record Trouble(Kind kind, Duration pause) {
  enum Kind {
    /** The sidecar has understood, and will say the same again. */
    FINAL,
    /** The sidecar is there, and takes the turn up again. */
    LATER,
    /** The sidecar does not know the token, or there is none. */
    TOKEN,
    /** The sidecar does not answer. */
    AWAY
  }

  private static final Set<Status.Code> LASTING =
      EnumSet.of(
          Status.Code.INVALID_ARGUMENT,
          Status.Code.NOT_FOUND,
          Status.Code.ALREADY_EXISTS,
          Status.Code.FAILED_PRECONDITION,
          Status.Code.OUT_OF_RANGE,
          Status.Code.PERMISSION_DENIED,
          Status.Code.UNIMPLEMENTED);

  /** The sidecar has failed, and may do so again. */
  static boolean isInternal(Throwable why) {
    return why instanceof StatusRuntimeException error
        && error.getStatus().getCode() == Status.Code.INTERNAL
        && !isRefusedStream(error);
  }

  /** The sidecar itself has answered so: nothing else gives a reason. */
  static boolean isAnswer(Throwable why) {
    return !Problem.of(why).reason().isEmpty();
  }

  /** An answer of a sidecar that can go on: it does not end, its store is not away, and it takes the token. */
  static boolean isThere(Throwable why) {
    Status.Code code = Status.fromThrowable(why).getCode();
    return isAnswer(why) && code != Status.Code.UNAVAILABLE && code != Status.Code.UNAUTHENTICATED;
  }

  /**
   * Whether a call that is UNAVAILABLE was answered: the sidecar's store or model is away, and it says so itself. One that
   * ends says so too, and is as good as away.
   */
  static boolean isUnable(Throwable why) {
    String reason = Problem.of(why).reason();
    return Status.fromThrowable(why).getCode() == Status.Code.UNAVAILABLE && !reason.isEmpty() && !reason.equals("DRAINING");
  }

  /** HTTP/2's word for: not begun with, come again. The sidecar still counts streams that have ended. */
  static boolean isRefusedStream(Throwable why) {
    return String.valueOf(why.getMessage()).contains("REFUSED_STREAM");
  }

  /** Why, in one line. Of a connection that cannot be made gRPC itself says "io exception", and its cause says more. */
  static String reason(Throwable why) {
    Throwable cause = why.getCause();
    if (!(why instanceof StatusRuntimeException error) || cause == null) {
      return firstLine(String.valueOf(why.getMessage()));
    }
    String said = cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    return error.getStatus().getCode() + ": " + firstLine(said);
  }

  private static String firstLine(String text) {
    return text.lines().findFirst().orElse("");
  }

  static Trouble of(Throwable why) {
    if (!(why instanceof StatusRuntimeException error)) {
      return new Trouble(Kind.AWAY, Duration.ZERO);
    }
    if (error.getStatus().getCode() == Status.Code.RESOURCE_EXHAUSTED) {
      // A limit of the turn, such as its bytes; or one of the moment, and then the sidecar says when it has passed.
      Problem problem = Problem.of(error);
      return problem
          .retryAfter()
          .map(pause -> new Trouble(Kind.LATER, pause))
          .orElseGet(() -> new Trouble(problem.reason().isEmpty() ? Kind.AWAY : Kind.FINAL, Duration.ZERO));
    }
    if (LASTING.contains(error.getStatus().getCode())) {
      return new Trouble(Kind.FINAL, Duration.ZERO);
    }
    if (error.getStatus().getCode() == Status.Code.UNAUTHENTICATED) {
      return new Trouble(Kind.TOKEN, Duration.ZERO);
    }
    if (isInternal(error)) {
      return new Trouble(Problem.of(error).reason().isEmpty() ? Kind.AWAY : Kind.LATER, Duration.ZERO);
    }
    // Given up by the sidecar; with a cause it was given up here.
    boolean givenUp = error.getStatus().getCode() == Status.Code.CANCELLED && error.getStatus().getCause() == null;
    return new Trouble(isRefusedStream(error) || givenUp ? Kind.LATER : Kind.AWAY, Duration.ZERO);
  }
}
