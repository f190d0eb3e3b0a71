package sidemirror

import (
	"strings"

	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
)

// AdviceText is the one text that a model is shown of what the sidecar says: a paragraph for each nudge, recovery,
// reflection, block of lessons and request to revise, with an empty line between; empty without any.
func AdviceText(directives []*pb.TurnDirective) string {
	var paragraphs []string
	for _, directive := range directives {
		switch kind := directive.GetKind().(type) {
		case *pb.TurnDirective_Nudge:
			paragraphs = append(paragraphs, "[nudge] "+kind.Nudge.GetMessage())
		case *pb.TurnDirective_Advice:
			if text := kind.Advice.GetBlock().GetText(); text != "" {
				paragraphs = append(paragraphs, text)
			}
		case *pb.TurnDirective_Reflection:
			if kind.Reflection.GetStatus() == pb.ResultStatus_RESULT_STATUS_OK {
				said := strings.TrimSpace(kind.Reflection.GetReflection() + " " + kind.Reflection.GetSuggestedAction())
				if said != "" {
					paragraphs = append(paragraphs, "[reflection] "+said)
				}
			}
			if lessons := kind.Reflection.GetLessons().GetText(); lessons != "" {
				paragraphs = append(paragraphs, lessons)
			}
		case *pb.TurnDirective_Critique:
			if kind.Critique.GetShouldRevise() {
				paragraphs = append(paragraphs, "[critique] "+kind.Critique.GetRevisionPrompt())
			}
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// LessonsText is the text for a model of what [Turn.Recall] gave; empty without lessons.
func LessonsText(lessons *pb.ContextBlock) string { return lessons.GetText() }

// isAdvice: there is something in it for a model.
func isAdvice(directive *pb.TurnDirective) bool {
	return AdviceText([]*pb.TurnDirective{directive}) != ""
}
