import type { Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { Way } from "./address.js";

/** One HTTP/2 connection, made when it is first used and again when it broke. */
export class Connection implements Transport {
  private session: Http2SessionManager;
  private transport: Transport;
  private before: Http2SessionManager | undefined;

  constructor(private readonly way: Way) {
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
    const session = new Http2SessionManager(baseUrl, { pingIntervalMs: 60_000, pingTimeoutMs: 20_000 }, options);
    return [session, createGrpcTransport({ baseUrl, sessionManager: session })];
  }
}
