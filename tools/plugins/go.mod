// The plugins of protoc that write Go: `go tool protoc-gen-go`. go.sum says which bytes they are.
module github.com/sidemirror/sidemirror/tools/plugins

go 1.25.0

tool (
	google.golang.org/grpc/cmd/protoc-gen-go-grpc
	google.golang.org/protobuf/cmd/protoc-gen-go
)

require (
	google.golang.org/grpc/cmd/protoc-gen-go-grpc v1.6.2 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
