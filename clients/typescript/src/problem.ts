import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "@sidemirror/api/google/rpc/error_details";

/** What the sidecar says about an error beyond its code (google.rpc). */
export interface Problem {
  /** A name of `ErrorReason` without its prefix; empty for errors that do not come from the sidecar. */
  readonly reason: string;
  /** What belongs to the reason. */
  readonly metadata: Readonly<Record<string, string>>;
  /** What is wrong with the request, by field. */
  readonly fields: Readonly<Record<string, string>>;
  /** When to come again, in milliseconds; undefined when the sidecar does not say. */
  readonly retryAfterMs: number | undefined;
}

/** The token's file gives none that can be sent: an UNAUTHENTICATED that no sidecar has said. It does not quote the file. */
export class TokenUnusable extends ConnectError {
  constructor(file: string, why: string) {
    super(`the token's file ${file} (SIDEMIRROR_TOKEN_FILE) ${why}`, Code.Unauthenticated);
  }

  /** By its class: ConnectError's own rule takes every ConnectError for one of this. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Function.prototype[Symbol.hasInstance].call(this, value);
  }
}

/**
 * UNAVAILABLE for a call that HTTP/2 has refused (REFUSED_STREAM), which connect-node calls INTERNAL: the sidecar has not
 * begun with it, because the connection is full for now. Any other error as it is.
 */
export function corrected(error: unknown): ConnectError {
  const given = ConnectError.from(error);
  return given.code === Code.Internal && isRefusedStream(given)
    ? new ConnectError(given.rawMessage, Code.Unavailable, given.metadata, undefined, given.cause)
    : given;
}

/**
 * UNAVAILABLE for a stream or call that nobody has cancelled and that has no connection: the sidecar's certificate is not
 * taken, which connect-node calls INTERNAL, or the connection broke, which it calls ABORTED or INTERNAL, and Node.js CANCEL.
 * So it does where the sidecar wants a certificate and there is none: TLS 1.3 says that only afterwards. Any other error as
 * it is: what the sidecar itself says has no error of Node.js as its cause.
 */
export function broken<E>(error: E): E | ConnectError {
  if (!(error instanceof ConnectError)) return error;
  const cause = (error.cause as NodeJS.ErrnoException | undefined)?.code;
  const reset = error.code === Code.Canceled && /error code CANCEL\b/.test(error.rawMessage);
  const lost = [Code.Aborted, Code.Internal].includes(error.code) && typeof cause === "string" && cause !== STREAM_ERROR;
  if (!reset && !lost) return error;
  const why = `there is no connection: ${error.rawMessage}`;
  return new ConnectError(why, Code.Unavailable, error.metadata, undefined, error.cause);
}

/** Of the errors of Node.js the one of a single stream, whose connection goes on. */
const STREAM_ERROR = "ERR_HTTP2_STREAM_ERROR";

/** Whether HTTP/2 has refused the call. It says so in the error's text only. */
export function isRefusedStream(error: ConnectError): boolean {
  return error.rawMessage.includes("REFUSED_STREAM");
}

/**
 * Whether a call that is UNAVAILABLE was answered: the sidecar's store or model is away, and it says so itself. One that ends
 * says so too, and is as good as away.
 */
export function isUnable(error: ConnectError): boolean {
  return error.code === Code.Unavailable && !["", "DRAINING"].includes(problemOf(error).reason);
}

/** Whether a call failed because nobody is there: the connection cannot be made, or breaks. */
export function isAbsence(error: ConnectError): boolean {
  return error.code === Code.Unavailable && !isRefusedStream(error);
}

/**
 * Whether what has failed, and is not final, is no absence: the sidecar itself says why, HTTP/2 has refused the stream or
 * call, or somebody has given it up. A connection that breaks is UNAVAILABLE.
 */
export function isThere(error: ConnectError): boolean {
  const isAnswer = !PASSING.has(error.code) && problemOf(error).reason !== "";
  return isAnswer || isRefusedStream(error) || error.code === Code.Canceled;
}

/** Whether nobody says that it passes, so that it is not tried for ever. */
export function isCounted(error: ConnectError): boolean {
  return !PASSING.has(error.code) && problemOf(error).retryAfterMs === undefined;
}

/** The sidecar is away, or may take another token. */
const PASSING = new Set([Code.Unavailable, Code.Unauthenticated]);

/** The sidecar has understood, and will say the same again. */
const FINAL = new Set([
  Code.InvalidArgument,
  Code.NotFound,
  Code.AlreadyExists,
  Code.FailedPrecondition,
  Code.OutOfRange,
  Code.PermissionDenied,
  Code.Unimplemented,
]);

/** Whether the sidecar will say the same again. */
export function isFinal(error: ConnectError): boolean {
  if (error.code !== Code.ResourceExhausted) return FINAL.has(error.code);
  // A limit of the turn, such as its bytes. Where there will be room again the sidecar says when.
  const { reason, retryAfterMs } = problemOf(error);
  return reason !== "" && retryAfterMs === undefined;
}

/** What came with the error of a call; empty where nothing did. */
export function problemOf(error: unknown): Problem {
  const known = ConnectError.from(error);
  const [info] = known.findDetails(ErrorInfoSchema);
  const [request] = known.findDetails(BadRequestSchema);
  const [retry] = known.findDetails(RetryInfoSchema);
  const violations = request?.fieldViolations ?? [];
  return {
    reason: info?.reason ?? "",
    metadata: info?.metadata ?? {},
    fields: Object.fromEntries(violations.map((violation) => [violation.field, violation.description])),
    retryAfterMs: retry?.retryDelay ? durationMs(retry.retryDelay) : undefined,
  };
}
