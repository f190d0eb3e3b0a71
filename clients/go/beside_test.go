package sidemirror

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// beside is a client of the sidecar that tests/clients starts.
func beside(t *testing.T) *Client {
	t.Helper()
	address := os.Getenv("SIDEMIRROR_TEST_SIDECAR")
	if address == "" {
		t.Skip("SIDEMIRROR_TEST_SIDECAR names no sidecar")
	}
	client, err := Connect(WithAddress(address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leaveNow(client) })
	return client
}

// Beside a call that failed, without which the rules let it through.
const (
	wrong = "There are 41 orders."
	right = "I could not count the orders: there is no such table."
)

// failToCount is a turn with such a call.
func failToCount(client *Client) *Turn {
	turn := client.BeginTurn(TurnOptions{Task: "count the orders"})
	turn.Report(ToolCalled("run_sql", "SELECT count(*) FROM order"))
	turn.Report(ToolResult("", errors.New("no such table: order")))
	return turn
}

// Seen to fail when the verdict's should_revise is not looked at, when what is made anew is judged once more, and when the
// answer is lost with an error.
func TestAnAnswerIsRevisedOnceWhereTheVerdictAsksForIt(t *testing.T) {
	client := beside(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	turn := failToCount(client)
	defer turn.End(nil)
	var prompts []string
	again := func(prompt string) (string, error) {
		prompts = append(prompts, prompt)
		return wrong + " ", nil
	}
	if text, err := turn.Revised(ctx, wrong, again); err != nil || text != wrong+" " {
		t.Fatal(text, err)
	}
	if text, err := turn.Revised(ctx, right, again, ReviseFor("How many orders are there?")); err != nil || text != right {
		t.Fatal(text, err)
	}
	if len(prompts) != 1 || !strings.HasPrefix(prompts[0], "Revise") {
		t.Fatal(prompts)
	}
	gaveUp := errors.New("the agent's own")
	giveUp := func(string) (string, error) { return "", gaveUp }
	if text, err := turn.Revised(ctx, wrong, giveUp); err != gaveUp || text != wrong {
		t.Fatal(text, err)
	}
}

func TestAnAnswerStaysAsItIsWhileTheSidecarIsAway(t *testing.T) {
	away := make(told, 10)
	client := connected(t, filepath.Join(t.TempDir(), "nobody.sock"), WithOnAway(away.on))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	turn := failToCount(client)
	_ = away.within(t, 10*time.Second)
	text, err := turn.Revised(ctx, wrong, func(prompt string) (string, error) { return prompt, errors.New(prompt) })
	if err != nil || text != wrong || ctx.Err() != nil {
		t.Fatal(text, err, ctx.Err())
	}
}
