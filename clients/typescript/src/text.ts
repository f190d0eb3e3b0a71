import { clone, create, toBinary, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";

/** The longest text that the sidecar takes; of a longer one the beginning is sent. */
export const LONGEST_TEXT_BYTES = 256 * 1024;
const CUT = " … [cut]";
/** The longest name of a tool that the sidecar takes, in code points. */
const LONGEST_NAME = 256;

/**
 * A message that the sidecar takes, and its size in bytes. Too long texts are cut, half a surrogate pair is replaced. What
 * was given stays as it is. Throws for a value of a wrong type.
 */
export function fitted<S extends DescMessage>(schema: S, given: MessageInitShape<S>): [MessageShape<S>, number] {
  let message: MessageShape<S>;
  let bytes: number;
  try {
    message = clone(schema, create(schema, given));
    bytes = toBinary(schema, message).length;
    if (bytes <= LONGEST_TEXT_BYTES) return [message, bytes];
  } catch {
    // A text that was cut within a surrogate pair is no UTF-8.
    const mended = structuredClone(given);
    fit(mended as object);
    message = clone(schema, create(schema, mended));
  }
  fit(message);
  return [message, toBinary(schema, message).length];
}

/**
 * A text as it is, an `Error` as its name and message, everything else as JSON, in which an `Error` is the text that it is
 * alone, a BigInt the text of its digits, and what holds itself is `[circular]`. What throws when it is asked for its JSON is
 * said as JavaScript shows it.
 */
export function asText(value: unknown): string {
  if (typeof value === "string") return value;
  const isSaid = value instanceof Error || typeof value === "bigint";
  for (const shown of [() => (isSaid ? String(value) : (JSON.stringify(value, sayable()) ?? "null")), () => String(value)]) {
    try {
      return shown();
    } catch {
      // What is asked for its text may throw anything.
    }
  }
  return "[unsayable]";
}

/** Of a tool's name as much as the sidecar takes, which is no empty one. */
export function toolName(given: string): string {
  if (given.length <= LONGEST_NAME) return given || "unnamed";
  return [...given].slice(0, LONGEST_NAME).join("");
}

/** What JSON.stringify replaces by, with what it does not say as one would read it. */
function sayable(): (this: unknown, name: string, value: unknown) => unknown {
  const around: unknown[] = [];
  return function (_name, value) {
    if (value instanceof Error || typeof value === "bigint") return String(value);
    if (typeof value !== "object" || value === null) return value;
    // `this` holds the value; what was looked at since is beside it.
    while (around.length > 0 && around.at(-1) !== this) around.pop();
    if (around.includes(value)) return "[circular]";
    around.push(value);
    return value;
  };
}

function fit(message: object): void {
  for (const [name, value] of Object.entries(message)) {
    if (typeof value === "object" && value !== null) fit(value);
    else if (typeof value === "string") (message as Record<string, unknown>)[name] = fitting(value);
  }
}

function fitting(text: string): string {
  const bytes = Buffer.from(text); // which replaces half a surrogate pair
  if (bytes.length <= LONGEST_TEXT_BYTES) return bytes.toString();
  const kept = bytes.subarray(0, LONGEST_TEXT_BYTES - Buffer.byteLength(CUT));
  // With `stream` the part of a character that the cut leaves is left out.
  return new TextDecoder().decode(kept, { stream: true }) + CUT;
}
