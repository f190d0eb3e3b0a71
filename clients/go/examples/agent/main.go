// Command agent is a whole agent, whose model is a list of steps: it recalls what was learned, asks a database, fails,
// listens to what the sidecar makes of it, has its answer judged, and says how it went. It does the same when no sidecar
// is there.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	sidemirror "github.com/sidemirror/sidemirror/clients/go"
	pb "github.com/sidemirror/sidemirror/generated/go/sidemirror/v1"
)

const task = "How many orders are open?"

var queries = []string{"SELECT count(*) FROM orders WHERE status = 'open'", "SELECT count(*) FROM open_orders"}

func main() {
	client := sidemirror.Must(sidemirror.Connect())
	defer client.Close()
	for _, message := range turn(context.Background(), client) {
		if message != "" {
			fmt.Println(message)
		}
	}
}

// turn is what the model was shown, and how it went.
func turn(ctx context.Context, client *sidemirror.Client) []string {
	turn := client.BeginTurn(sidemirror.TurnOptions{
		Task: task, Level: sidemirror.LevelMedium, Started: &pb.TurnStarted{BasePrompt: "You are helpful."},
		Goal: &sidemirror.Goal{ID: "open-orders", Objective: "Know how many orders are open"},
	})
	defer turn.End(nil)
	patient := sidemirror.Within(ctx, 10*time.Second)
	messages := []string{"You are helpful."}
	if plan := turn.Plan(patient); plan != nil {
		messages[0] = plan.GetSystemPrompt()
	}
	messages = append(messages, sidemirror.LessonsText(turn.Recall(ctx, sidemirror.RecallTools("run_sql"))), task)
	for _, query := range queries {
		turn.Report(sidemirror.ToolCalled("run_sql", query))
		result := runSQL(query)
		turn.Report(sidemirror.ToolReturned(result, strings.HasPrefix(result, "error")))
		messages = append(messages, result, sidemirror.AdviceText(turn.Advice(ctx)))
	}
	// With a reason to revise a real agent would ask its model again, which may fail.
	answer, _ := turn.Revised(ctx, "12 orders are open.", func(prompt string) (string, error) {
		return "I am not sure. " + prompt, nil
	})
	turn.Report(sidemirror.ResponseDrafted(answer))
	turn.Finish(sidemirror.OutcomeSuccess, sidemirror.Score(1))
	if summary := turn.Summary(patient); summary != nil {
		return append(messages, answer, fmt.Sprint(summary.GetToolErrorCount(), " of the tool calls failed"))
	}
	return append(messages, answer)
}

func runSQL(query string) string {
	if strings.Contains(query, "status") {
		return "error: no such column: status"
	}
	return "12"
}
