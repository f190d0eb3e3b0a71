/** Why a turn was told nothing, by the codes that are on its record. */
import { SilenceReason, type Silence } from "@sidemirror/api/v1/thinking";

const SENTENCES: Partial<Record<SilenceReason, string>> = {
  [SilenceReason.NOTHING_KNOWN]: "nothing was known",
  [SilenceReason.GATE]: "what was tried before did not pass the gates",
  [SilenceReason.SUSPENDED]: "what is known was suspended: it failed twice in succession after it was told",
  [SilenceReason.NOTHING_TO_ADD]: "what is known was done already, or is for another kind of call",
  [SilenceReason.NOTHING_FITS]: "no lesson fitted the task",
  [SilenceReason.HELD_BACK]: "it was held back by a draw",
  [SilenceReason.SHADOW]: "the sidecar was in shadow mode",
  [SilenceReason.OFF_BY_POLICY]: "a policy turned it off",
  [SilenceReason.SILENCED]: "a policy silenced it",
  [SilenceReason.SHELL]: "the host has a shell, and it may not be told there",
  [SilenceReason.OFF_BY_SETTING]: "a setting of the sidecar turned it off",
  [SilenceReason.NO_ROOM]: "it did not fit into the tokens of a block",
  [SilenceReason.TOLD_ALREADY]: "the turn was told of it already",
  [SilenceReason.STORE_AWAY]: "the store was away or too slow",
  [SilenceReason.NOT_ASKED]: "the turn asked for none",
};

/** The reason in words; empty for none. */
export function whySilent(reason: SilenceReason): string {
  return reason === SilenceReason.UNSPECIFIED ? "" : (SENTENCES[reason] ?? "for a reason that this page does not know");
}

/** The reason at a failing call, with the tries that were known then. */
export function whyNoAdvice(silence: Silence): string {
  const tries = silence.tries ? ` (it had worked in ${silence.worked} of ${silence.tries} tries)` : "";
  return whySilent(silence.reason) + tries;
}
