// Package sidemirror is the Go client of Sidemirror, the gRPC sidecar that gives an agent a second look at its own work.
//
//	client, err := sidemirror.Connect()
//	defer client.Close()
//	turn := client.BeginTurn(sidemirror.TurnOptions{Task: "find the cheapest flight"})
//	defer turn.End(&err)
//	lessons := turn.Recall(ctx).GetText()
//	turn.Report(sidemirror.ToolReturned("no flight to LIS", true))
//	advice := sidemirror.AdviceText(turn.Advice(ctx))
//	turn.Finish(pb.TaskOutcome_TASK_OUTCOME_SUCCESS, nil)
//
// A [Turn] is reported beside the agent: Report and Finish never wait, nothing fails because the sidecar is away, and
// every method that waits answers at once then. For everything else the client holds the typed stubs of the contract,
// whose calls get a deadline, are tried again when the sidecar is away, and carry the token, the scope and a request_id
// where the call says nothing else.
package sidemirror
