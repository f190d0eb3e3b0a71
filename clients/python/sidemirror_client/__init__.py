"""Sidemirror's Python client: a typed, thin layer over the generated stubs of `sidemirror.v1`."""
