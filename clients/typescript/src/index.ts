/**
 * Sidemirror for TypeScript: an agent's turns reported without waiting, and typed clients for everything else.
 *
 * Messages are in `@sidemirror/api`.
 *
 * @packageDocumentation
 */
export { connect, DEFAULT_ADDRESS, Sidemirror, type ConnectOptions } from "./client.js";
export { problemOf, type Problem } from "./problem.js";
export { Turn, type EventInit, type TurnOptions } from "./turn.js";
