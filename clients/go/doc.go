// Package sidemirror is the Go client of Sidemirror, the gRPC sidecar that gives an agent a second look at its own work.
//
//	client := sidemirror.Must(sidemirror.Connect())
//	defer client.Close()
//	turn := client.BeginTurn(sidemirror.TurnOptions{Task: "find the cheapest flight"})
//	defer turn.End(&err)
//	lessons := turn.Recall(ctx).GetText()
//	turn.Report(sidemirror.ToolResult("", errors.New("no flight to LIS")))
//	advice := sidemirror.AdviceText(turn.Advice(ctx))
//	answer, err := turn.Revised(ctx, "TAP, 89 EUR", again)
//	turn.Finish(sidemirror.OutcomeSuccess, nil)
//
// A [Turn] is reported beside the agent: Report and Finish never wait, nothing fails because the sidecar is away, and
// every method that waits answers at once then. For everything else the client holds the typed stubs of the contract,
// whose calls get a deadline, are tried again when the sidecar is away, and carry the token, the scope and a request_id
// where the call says nothing else.
package sidemirror
