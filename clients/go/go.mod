module github.com/sidemirror/sidemirror/clients/go

go 1.24.0

require (
	github.com/sidemirror/sidemirror/generated/go v0.1.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20251202230838-ff82c1b0f217
	google.golang.org/grpc v1.79.0
	google.golang.org/protobuf v1.36.11
)

require (
	golang.org/x/net v0.48.0 // indirect
	golang.org/x/sys v0.39.0 // indirect
	golang.org/x/text v0.32.0 // indirect
)

// Inside this repository the contract is the one beside it; whoever depends on this module does not see this line.
replace github.com/sidemirror/sidemirror/generated/go => ../../generated/go
