"""Sidemirror's contract, version 1: one `<file>_pb2` and `<file>_pb2_grpc` module per file in `protos/sidemirror/v1`."""
