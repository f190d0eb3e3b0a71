/**
 * Sidemirror for TypeScript: an agent's turns reported without waiting, and typed clients for everything else.
 *
 * Messages are in `@sidemirror/api`; of them the two that every agent names are here, too.
 *
 * @packageDocumentation
 */
export { TaskOutcome } from "@sidemirror/api/v1/common";
export { ThinkLevel } from "@sidemirror/api/v1/thinking";
export { DEFAULT_ADDRESS, TokenInTheClear } from "./address.js";
export { adviceText, lessonsText } from "./advice.js";
export { connect, Sidemirror, type ConnectOptions } from "./client.js";
export { type Undelivered } from "./losses.js";
export { problemOf, type Problem } from "./problem.js";
export { type EventInit } from "./queue.js";
export {
  Turn,
  type ToolOptions,
  type CritiqueOptions,
  type FinishOptions,
  type GoalInit,
  type RecallOptions,
  type RunOptions,
  type TurnOptions,
  type WaitOptions,
} from "./turn.js";
