package dev.sidemirror.client;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;

/**
 * What the end of a turn's stream means, and what the failure of a report.
 *
 * @param pause for {@link Kind#LATER}, how long at least
 */
record Trouble(Kind kind, Duration pause) {
  enum Kind {
    /** The sidecar has understood, and will say the same again. */
    FINAL,
    /** The sidecar is there, and takes it later. */
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

  /** The sidecar is away, or may take another token. */
  private static final Set<Status.Code> PASSING =
      EnumSet.of(Status.Code.UNAVAILABLE, Status.Code.UNAUTHENTICATED);

  /** Nobody says that it passes, so that it is not tried for ever. */
  static boolean isCounted(Throwable why) {
    return why instanceof StatusRuntimeException error
        && !PASSING.contains(error.getStatus().getCode())
        && !isRefusedStream(error)
        && Problem.of(error).retryAfter().isEmpty();
  }

  /** The sidecar itself has answered so: nothing else gives a reason. */
  static boolean isAnswer(Throwable why) {
    return !Problem.of(why).reason().isEmpty();
  }

  /** An answer of a sidecar that can go on: it does not end, its store is not away, and it takes the token. */
  static boolean isThere(Throwable why) {
    return isAnswer(why) && !PASSING.contains(Status.fromThrowable(why).getCode());
  }

  /** No answer in time: whether the sidecar is silent is found otherwise. */
  static boolean isLate(Throwable why) {
    return Status.fromThrowable(why).getCode() == Status.Code.DEADLINE_EXCEEDED;
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
    // Given up by the sidecar; with a cause it was given up here. A connection that breaks is UNAVAILABLE.
    boolean givenUp = error.getStatus().getCode() == Status.Code.CANCELLED && error.getStatus().getCause() == null;
    boolean there = isThere(error) || isRefusedStream(error) || givenUp;
    return new Trouble(there ? Kind.LATER : Kind.AWAY, Duration.ZERO);
  }
}
