import { clone, create, toBinary, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";

/** The longest text that the sidecar takes; of a longer one the beginning is sent. */
export const LONGEST_TEXT_BYTES = 256 * 1024;
const CUT = " … [cut]";

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
 * A text as it is, an `Error` as its name and message, everything else as JSON; what JSON cannot say, such as a circle, as
 * JavaScript shows it.
 */
export function asText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Error) return String(value);
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return String(value);
  }
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
