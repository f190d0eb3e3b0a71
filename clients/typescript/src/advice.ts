import { ResultStatus, type ContextBlock } from "@sidemirror/api/v1/common";
import type { TurnDirective } from "@sidemirror/api/v1/thinking";

/** Whether there is something in it for a model. */
export function isAdvice(directive: TurnDirective): boolean {
  return paragraphs(directive).length > 0;
}

/**
 * The one text that a model is shown of directives: a paragraph for each nudge, recovery, reflection, block of lessons
 * and request to revise. Empty without any.
 */
export function adviceText(directives: Iterable<TurnDirective>): string {
  return [...directives].flatMap(paragraphs).join("\n\n");
}

/** The text for a model of what `recall` gave; empty without lessons. */
export function lessonsText(lessons: ContextBlock | undefined): string {
  return lessons?.text ?? "";
}

function paragraphs({ kind }: TurnDirective): string[] {
  if (kind.case === "nudge") return [`[nudge] ${kind.value.message}`];
  if (kind.case === "advice") return kind.value.block?.text ? [kind.value.block.text] : [];
  if (kind.case === "critique") return kind.value.shouldRevise ? [`[critique] ${kind.value.revisionPrompt}`] : [];
  if (kind.case !== "reflection") return [];
  const { status, reflection, suggestedAction, lessons } = kind.value;
  const said = status === ResultStatus.OK ? `${reflection} ${suggestedAction ?? ""}`.trim() : "";
  return [said && `[reflection] ${said}`, lessons?.text ?? ""].filter(Boolean);
}
