/** The answer that a critique judged beside the one that the turn gave after it. */
import { QuoteSource, type CritiqueIssue } from "@sidemirror/api/v1/common";
import { AnswerChange, type TurnCritique } from "@sidemirror/api/v1/thinking";

import { Link, Text } from "./parts.js";
import type { GivenAnswer, Told } from "./record.js";
import { millisOf } from "./words.js";

const CHANGES: Partial<Record<AnswerChange, string>> = {
  [AnswerChange.NONE]: "the answer was not changed after it",
  [AnswerChange.CHANGED]: "the answer was changed after it",
};

/** What became of the answer, in words; empty while the turn is open, and where nothing was to be changed. */
export function changeTold(judged: TurnCritique | undefined, told: Told): string {
  const isUnknown = told.isOver && judged?.critique?.shouldRevise;
  return (judged && CHANGES[judged.answerChange]) ?? (isUnknown ? "what was sent is not on record: report it as response_drafted" : "");
}

/** The draft with the words that the issues are about, and the last answer after it if that differs. */
export function Drafts(props: { of: TurnCritique; told: Told }) {
  const { of, told } = props;
  if (!of.response) return null;
  const sent = of.answerChange === AnswerChange.CHANGED ? sentAfter(of, told) : undefined;
  return (
    <div class="drafts">
      <div>
        <p class="dim small">draft</p>
        <Text marked={quotesOf(of.critique?.issueDetails ?? [])}>{of.response}</Text>
      </div>
      {sent && (
        <div>
          <p class="dim small">
            {sent.sequence === undefined ? (
              "asked about later"
            ) : (
              <Link to={["turns", told.turnId]} query={{ at: String(sent.sequence) }}>{`sent, ${sent.sequence}`}</Link>
            )}
          </p>
          <Text>{sent.text}</Text>
        </div>
      )}
    </div>
  );
}

/** The words of a response that issues are about. */
function quotesOf(issues: readonly CritiqueIssue[]): string[] {
  return issues.flatMap((one) => (one.quoteSource === QuoteSource.RESPONSE && one.quote ? [one.quote] : []));
}

/** The last answer that the turn reported after a critique, else the last one that was criticised later. */
function sentAfter(of: TurnCritique, told: Told): GivenAnswer | undefined {
  const since = of.time ? millisOf(of.time) : Infinity;
  const isOther = (one: GivenAnswer) => one.atMs >= since && one.text !== of.response;
  const later = [...told.critiques.values()].map((one) => ({ text: one.response, atMs: one.time ? millisOf(one.time) : 0 }));
  return told.answers.findLast(isOther) ?? later.findLast(isOther);
}
