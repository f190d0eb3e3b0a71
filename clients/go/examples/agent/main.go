// Command agent is a whole agent, whose model is a list of steps: it asks a database, fails, listens to what the sidecar
// makes of it, and answers. It does the same when no sidecar is there.
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
	client, err := sidemirror.Connect()
	if err != nil {
		panic(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	turn := client.BeginTurn(sidemirror.TurnOptions{Started: &pb.TurnStarted{
		Task: task, BasePrompt: "You are helpful.", Config: &pb.ThinkingConfig{Level: pb.ThinkLevel_THINK_LEVEL_MEDIUM},
	}})
	messages := []string{"You are helpful.", task}
	if plan := turn.Plan(ctx); plan != nil {
		messages[0] = plan.GetSystemPrompt()
	}
	for _, query := range queries {
		turn.Report(sidemirror.ToolCalled("run_sql", query))
		result := runSQL(query)
		turn.Report(sidemirror.ToolReturned(result, strings.HasPrefix(result, "error")))
		messages = append(messages, result)
		// A real agent takes what is there before it asks its model again; this one has nothing else to do meanwhile.
		time.Sleep(500 * time.Millisecond)
		for _, directive := range turn.Take() {
			messages = append(messages, heard(directive)...)
		}
	}
	turn.Report(sidemirror.ResponseDrafted("12 orders are open."))
	score := 1.0
	turn.Finish(pb.TaskOutcome_TASK_OUTCOME_SUCCESS, &score)
	if summary := turn.Summary(ctx); summary != nil {
		messages = append(messages, fmt.Sprint(summary.GetToolErrorCount(), " of the tool calls failed"))
	}
	fmt.Println(strings.Join(messages, "\n"))
}

// heard is what the agent's model should read of a directive.
func heard(directive *pb.TurnDirective) []string {
	switch {
	case directive.GetReflection() != nil:
		return []string{"[reflection] " + directive.GetReflection().GetReflection()}
	case directive.GetNudge() != nil:
		return []string{"[nudge] " + directive.GetNudge().GetMessage()}
	}
	return nil
}

func runSQL(query string) string {
	if strings.Contains(query, "status") {
		return "error: no such column: status"
	}
	return "12"
}
