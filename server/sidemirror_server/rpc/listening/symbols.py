"""The symbol look-up of server reflection. `server.py` uses it when reflection is on."""

from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FileDescriptor


class Symbols:
    """Python's descriptor pool, extended to find methods. The pool itself finds services, messages and fields only:
    `grpcurl describe` of a method would be answered with NOT_FOUND."""

    def __init__(self) -> None:
        self._pool: Any = descriptor_pool.Default()

    def FindFileContainingSymbol(self, name: str) -> FileDescriptor:  # noqa: N802  # protobuf's name
        """The file that defines `name`. Raises KeyError."""
        try:
            found: FileDescriptor = self._pool.FindFileContainingSymbol(name)
        except KeyError:
            service_name, _, method = name.rpartition(".")
            service = self._pool.FindServiceByName(service_name)
            if method not in service.methods_by_name:
                raise
            found = service.file
        return found

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._pool, verb)
