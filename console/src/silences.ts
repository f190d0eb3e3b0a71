/** Why a turn was told nothing, by the codes that are on its record. */
import { RecoveryGate, SilenceReason, type MissedGate, type Silence } from "@sidemirror/api/v1/thinking";

import { counted } from "./words.js";

const SENTENCES: Partial<Record<SilenceReason, string>> = {
  [SilenceReason.NOTHING_KNOWN]: "no repair was known",
  [SilenceReason.GATE]: "what was tried before did not pass the gates",
  [SilenceReason.SUSPENDED]: "what is known was suspended: it failed twice in succession after it was told",
  [SilenceReason.NOTHING_TO_ADD]: "what is known was done already, or is for another kind of call",
  [SilenceReason.NOTHING_FITS]: "no lesson fitted the task",
  [SilenceReason.HELD_BACK]: "it was held back by a draw, one in ten, to see what happens without it",
  [SilenceReason.SHADOW]: "the sidecar was in shadow mode, which tells nothing",
  [SilenceReason.OFF_BY_POLICY]: "a policy turned it off",
  [SilenceReason.SILENCED]: "a policy silenced it",
  [SilenceReason.SHELL]: "the host has a shell, and it may not be told there",
  [SilenceReason.OFF_BY_SETTING]: "a setting of the sidecar turned it off",
  [SilenceReason.NO_ROOM]: "it did not fit into the tokens of a block",
  [SilenceReason.TOLD_ALREADY]: "the turn was told of it already",
  [SilenceReason.STORE_AWAY]: "the store was away or too slow",
  [SilenceReason.NOT_ASKED]: "its start did not ask for any",
};

/** Where a turn's start has other words. A draw there is the caller's `holdout_fraction`. */
const AT_START: Partial<Record<SilenceReason, string>> = {
  [SilenceReason.HELD_BACK]: "what fitted was held back by a draw",
  [SilenceReason.NOTHING_KNOWN]: "the project had no lesson",
};

// How the ids of turns begin that are made of spans.
export const OF_SPANS = "otlp-";

/** Why a turn started without a lesson, and how many its agent was given later because it asked. */
export function whyNoLesson(reason: SilenceReason, turn: Recalled): string {
  return whyNothing(reason) + recalledLater(reason, turn);
}

/** Why nothing was given to a task. */
export function whyNothing(reason: SilenceReason): string {
  return AT_START[reason] ?? whySilent(reason);
}

/** Of a turn: how many lessons its agent was given because it asked. */
interface Recalled {
  turnId: string;
  recalledCount: number;
}

function recalledLater(reason: SilenceReason, turn: Recalled): string {
  if (turn.recalledCount > 0) return `; the agent asked later, and was given ${counted(turn.recalledCount, "lesson")}`;
  if (reason !== SilenceReason.NOT_ASKED) return "";
  if (turn.turnId.startsWith(OF_SPANS)) return "; it is made of spans, and what its agent was given when it asked is no part of it";
  return "; what it asked for later, if anything, has a line of its own";
}

/** The reason in words; empty for none. */
function whySilent(reason: SilenceReason): string {
  return reason === SilenceReason.UNSPECIFIED ? "" : (SENTENCES[reason] ?? "for a reason that this page does not know");
}

/** The reason at a failing call, with the tries that were known then and the gate that was not passed. */
export function whyNoAdvice(silence: Silence): string {
  const tries = silence.tries ? ` (without advice it had worked in ${silence.worked} of ${silence.tries} ${silence.tries === 1 ? "try" : "tries"})` : "";
  const gate = silence.missedGate ? `: ${gateTold(silence.missedGate)}` : "";
  return whySilent(silence.reason) + tries + gate;
}

const LAST = "by its last 20 tries";

/** The gate with what is needed and what there was: the server's `memory/recoveries/gates.py`. */
function gateTold({ gate, needed, found }: MissedGate): string {
  const [least, share] = [`${Math.round(100 * needed)} %`, `${(100 * found).toFixed(1)} %`];
  switch (gate) {
    case RecoveryGate.TRIES:
      return `${found} tries without advice; ${needed} are needed`;
    case RecoveryGate.RATE:
      return `${LAST} it works in at least ${share}; ${least} are needed`;
    case RecoveryGate.ADVISED_RATE:
      return `${LAST}, those after advice too, it works in at least ${share}; ${least} are needed`;
    case RecoveryGate.OTHER_MOVE:
      return `${LAST} it works in at least ${share}, and another move worked in ${least}`;
    case RecoveryGate.SESSIONS:
      return `it worked, a look-up with a value that was used, in ${found} sessions; ${needed} are needed`;
    case RecoveryGate.CHANGES:
      return `the changed argument worked ${found} times; ${needed} are needed`;
    case RecoveryGate.SENT_AGAIN_RATE:
      return `sent again it worked in ${share}; ${least} are needed`;
    case RecoveryGate.NONE_WORKED:
      return `another tool is told only where nothing worked again, and ${found} of the last tries did`;
    case RecoveryGate.RUNS:
      return `nothing worked again in ${found} runs; ${needed} are needed`;
    case RecoveryGate.GONE_ON:
      return `${found} runs went on with this tool; ${needed} are needed`;
    case RecoveryGate.CONVERSATIONS:
      return `${found} conversations show it; ${needed} are needed`;
    case RecoveryGate.KIND:
      return "such moves are counted and never told";
    default:
      return "a gate that this page does not know";
  }
}
