import type { Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { Way } from "./address.js";

/**
 * What a connection may hold in memory, in megabytes. With Node's 10 it refuses streams while large events wait: as many as a
 * client keeps of all its turns fit.
 */
const SESSION_MEGABYTES = 128;

type Sessions = Pick<Http2SessionManager, "authority" | "request" | "notifyResponseByteRead">;

/** One HTTP/2 connection, made when it is first used and again when it broke. */
export class Connection implements Transport {
  private session: Http2SessionManager;
  private transport: Transport;
  private before: Http2SessionManager | undefined;

  /** `holdsProcess`: a call on it keeps the process alive until the call has ended. */
  constructor(
    private readonly way: Way,
    private readonly holdsProcess = true,
  ) {
    [this.session, this.transport] = this.made();
  }

  readonly unary: Transport["unary"] = (...call) => this.transport.unary(...call);
  readonly stream: Transport["stream"] = (...call) => this.transport.stream(...call);

  /** What is called from now on goes over a new connection. Calls on the one before go on; on earlier ones they end. */
  renew(): void {
    this.before?.abort();
    this.before = this.session;
    [this.session, this.transport] = this.made();
  }

  /** Ends every call on it. */
  close(): void {
    this.before?.abort();
    this.session.abort();
  }

  private made(): [Http2SessionManager, Transport] {
    const { baseUrl, options } = this.way;
    const limits = { maxSessionMemory: SESSION_MEGABYTES, ...options };
    const session = new Http2SessionManager(baseUrl, { pingIntervalMs: 60_000, pingTimeoutMs: 20_000 }, limits);
    return [session, createGrpcTransport({ baseUrl, sessionManager: this.holdsProcess ? session : letting(session) })];
  }
}

/** These sessions, of which none keeps the process alive. */
function letting(sessions: Sessions): Sessions {
  return {
    authority: sessions.authority,
    request: async (...given) => {
      const stream = await sessions.request(...given);
      // The manager holds the process at the first stream of a session, before it hands the stream out.
      stream.session?.unref();
      return stream;
    },
    notifyResponseByteRead: (stream) => sessions.notifyResponseByteRead(stream),
  };
}
