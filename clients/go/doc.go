// Package sidemirror is the Go client of Sidemirror, the gRPC sidecar that gives an agent a second look at its own work.
//
//	client, err := sidemirror.Connect()
//	turn := client.BeginTurn(sidemirror.TurnOptions{Started: &pb.TurnStarted{Task: "find the cheapest flight"}})
//	turn.Report(sidemirror.ToolCalled("search", `{"to": "LIS"}`))
//	for _, directive := range turn.Take() { ... }
//	turn.Finish(pb.TaskOutcome_TASK_OUTCOME_SUCCESS, nil)
//	client.Close()
//
// A [Turn] is reported beside the agent: Report and Finish never wait and never fail because the sidecar is away. For
// everything else the client holds the typed stubs of the contract, whose calls get a deadline, are tried again when the
// sidecar is away, and carry the token, the scope and a request_id where the call says nothing else.
package sidemirror
