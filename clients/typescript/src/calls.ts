import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { clone, create, type DescMessage, type DescMethodStreaming, type DescMethodUnary } from "@bufbuild/protobuf";
import type { Message, MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues, type StreamResponse, type Transport } from "@connectrpc/connect";
import type { UnaryResponse } from "@connectrpc/connect";
import { Health } from "@sidemirror/api/health";
import { RunTurnRequestSchema } from "@sidemirror/api/v1/thinking";
import type { Link } from "./link.js";
import { Gate } from "./pool.js";
import { broken, corrected, TokenUnusable } from "./problem.js";

/** Calls that ask a language model, which the sidecar gives up to 30 seconds an attempt. */
const MODEL_CALLS = new Set(["Reflect", "Critique", "EvaluateTrace", "GenerateReflection"]);
const MODEL_DEADLINE_MS = 60_000;
/** Streams that do one piece of work and end. */
const WORK_DEADLINE_MS = 300_000;
/** Streams that go on for as long as there is something to say. */
const ENDLESS = new Set(["RunTurn", "WatchTurns", "WatchGoalReflections", "Watch"]);
/** Calls that are on their way at once; others wait. The rest of the sidecar's 100 is for streams that an agent opens. */
const CALLS_AT_ONCE = 90;
/** A deadline of gRPC has eight digits at most. */
const LONGEST_MS = 99_999_999;
const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 100;

/** A time in milliseconds as a call can have it: none where it is over, or no number. */
export function within(ms: number): number {
  return ms > 0 ? Math.min(ms, LONGEST_MS) : 0;
}

type HeadersGiven = ConstructorParameters<typeof Headers>[0];

/** What is added to the calls of one client. */
export interface Carried {
  deadlineMs: number;
  tokenFile: string;
  tenantId: string;
  projectId: string;
}

/**
 * The transport with what every call carries: a deadline, the token, the scope, and for writes a request_id. Unary calls
 * that find the sidecar away are tried again: all are reads, or writes that the request_id makes safe to repeat.
 */
export class CarryingTransport implements Transport {
  private closed = false;
  private readonly places = new Gate(CALLS_AT_ONCE);

  /** `link` is told of answers; `attempts` are how often a call is made that finds the sidecar away. */
  constructor(
    private readonly next: Transport,
    private readonly carried: Carried,
    private readonly link?: Link,
    private readonly attempts = ATTEMPTS,
  ) {}

  /** No call is made any more: one would open the connection again, which keeps the process alive. */
  close(): void {
    this.closed = true;
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersGiven,
    input: MessageInitShape<I>,
    contextValues?: ContextValues,
  ): Promise<UnaryResponse<I, O>> {
    const ends = performance.now() + within(timeoutMs ?? this.deadline(method.name));
    const message = this.filled(method.input, input);
    if (!(await this.places.enter(ends - performance.now()))) {
      const why = `its deadline has passed while ${CALLS_AT_ONCE} other calls were on their way`;
      throw new ConnectError(why, Code.DeadlineExceeded);
    }
    try {
      return await this.attempt(method, signal, ends, header, message, contextValues);
    } finally {
      this.places.leave();
    }
  }

  /** `ends`: when its time is over, on the clock of `performance`. */
  private async attempt<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    ends: number,
    header: HeadersGiven,
    message: MessageInitShape<I>,
    contextValues?: ContextValues,
  ): Promise<UnaryResponse<I, O>> {
    for (let attempt = 1; ; attempt++) {
      try {
        this.checkOpen();
        const left = Math.max(1, Math.ceil(ends - performance.now()));
        const outages = this.link?.outages ?? 0;
        const headers = await this.authorized(header);
        const answer = await this.next.unary(method, signal, left, headers, message, contextValues);
        // Health answers whoever has no token, too.
        if (method.parent.typeName !== Health.typeName) this.link?.answered(outages);
        return answer;
      } catch (thrown) {
        const given = thrown instanceof ConnectError ? corrected(thrown) : thrown;
        const error = signal?.aborted || this.closed ? given : broken(given);
        const wait = FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.8 + 0.4 * Math.random());
        const again = error instanceof ConnectError && error.code === Code.Unavailable && attempt < this.attempts;
        if (!again || performance.now() + wait > ends || signal?.aborted || this.closed) throw error;
        await pause(wait, undefined, signal && { signal }).catch(() => {}); // aborted: the next attempt fails at once
      }
    }
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersGiven,
    input: AsyncIterable<MessageInitShape<I>>,
    contextValues?: ContextValues,
  ): Promise<StreamResponse<I, O>> {
    const given = timeoutMs ?? (ENDLESS.has(method.name) ? undefined : WORK_DEADLINE_MS);
    // To the transport a time of 0 is none.
    const deadline = given === undefined ? undefined : Math.max(1, within(given));
    const headers = await this.authorized(header);
    this.checkOpen();
    return this.next.stream(method, signal, deadline, headers, this.filledAll(method.input, input), contextValues);
  }

  private checkOpen(): void {
    if (this.closed) throw new ConnectError("the client is closed", Code.Canceled);
  }

  private deadline(name: string): number {
    return MODEL_CALLS.has(name) ? Math.max(this.carried.deadlineMs, MODEL_DEADLINE_MS) : this.carried.deadlineMs;
  }

  /** Reads the token for every call: whoever issues tokens replaces the file. */
  private async authorized(header: HeadersGiven): Promise<Headers> {
    const headers = new Headers(header);
    if (this.carried.tokenFile !== "") {
      const token = (await this.token()).trim();
      // Not left to `headers`, which takes more, and quotes the token in what it throws.
      if (!/^[ -~]*$/.test(token)) {
        throw new TokenUnusable(this.carried.tokenFile, "holds what cannot be sent: a token is one line of printable ASCII");
      }
      headers.set("authorization", `Bearer ${token}`);
    }
    return headers;
  }

  private async token(): Promise<string> {
    try {
      return await readFile(this.carried.tokenFile, "utf8");
    } catch (error) {
      throw new TokenUnusable(this.carried.tokenFile, `cannot be read: ${error}`);
    }
  }

  private async *filledAll<I extends DescMessage>(
    schema: I,
    inputs: AsyncIterable<MessageInitShape<I>>,
  ): AsyncGenerator<MessageInitShape<I>> {
    for await (const input of inputs) yield this.filled(schema, input);
  }

  /** The request with the client's scope and a request_id where it has none. The caller's own is left alone. */
  private filled<I extends DescMessage>(schema: I, input: MessageInitShape<I>): MessageInitShape<I> {
    const given = create(schema, input);
    const missing: Record<string, string> = { tenantId: this.carried.tenantId, projectId: this.carried.projectId };
    if (schema.typeName !== RunTurnRequestSchema.typeName) missing["requestId"] = randomUUID();
    let copied: (Message & Record<string, unknown>) | undefined;
    for (const [name, value] of Object.entries(missing)) {
      if (value === "" || !(name in schema.field) || (given as Record<string, unknown>)[name] !== "") continue;
      copied ??= clone(schema, given) as Message & Record<string, unknown>;
      copied[name] = value;
    }
    return (copied ?? given) as MessageInitShape<I>;
  }
}
