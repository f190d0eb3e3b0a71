package dev.sidemirror.client;

import dev.sidemirror.v1.MidTurnReflection;
import dev.sidemirror.v1.ResultStatus;
import dev.sidemirror.v1.TurnDirective;
import java.util.ArrayList;
import java.util.List;

/** What a model is shown of what the sidecar says. */
final class Advice {
  private Advice() {}

  /** Whether there is something in it for a model. */
  static boolean is(TurnDirective directive) {
    return !text(List.of(directive)).isEmpty();
  }

  static String text(Iterable<TurnDirective> directives) {
    List<String> paragraphs = new ArrayList<>();
    for (TurnDirective directive : directives) {
      if (directive.hasNudge()) {
        paragraphs.add("[nudge] " + directive.getNudge().getMessage());
      } else if (directive.hasAdvice()) {
        String text = directive.getAdvice().getBlock().getText();
        if (!text.isEmpty()) {
          paragraphs.add(text);
        }
      } else if (directive.hasReflection()) {
        reflection(directive.getReflection(), paragraphs);
      } else if (directive.hasCritique() && directive.getCritique().getShouldRevise()) {
        paragraphs.add("[critique] " + directive.getCritique().getRevisionPrompt());
      }
    }
    return String.join("\n\n", paragraphs);
  }

  private static void reflection(MidTurnReflection reflection, List<String> paragraphs) {
    if (reflection.getStatus() == ResultStatus.RESULT_STATUS_OK) {
      String said = (reflection.getReflection() + " " + reflection.getSuggestedAction()).strip();
      if (!said.isEmpty()) {
        paragraphs.add("[reflection] " + said);
      }
    }
    if (!reflection.getLessons().getText().isEmpty()) {
      paragraphs.add(reflection.getLessons().getText());
    }
  }
}
