"""Another tenant's ids open nothing over HTTP: the walk of tests/wire/test_other_tenants.py, through the door."""

from pathlib import Path

import pytest

from tests.http.callers import Refused, answers
from tests.http.sidecars import door, token_of
from tests.wire.access import ACME, EXPIRED, INTRUDER, bearer, write_access
from tests.wire.calls import stored
from tests.wire.sidecar import thinking
from tests.wire.test_other_tenants import CANARY, METHODS, SHOWN, Owned, requests

UNIMPLEMENTED = Refused("unimplemented")


# Some hundred requests, one after the other.
FAST = {"limits__http_requests_per_second": "5000"}


@pytest.mark.parametrize(
    "codec", ["json", pytest.param("proto", marks=pytest.mark.slow("the walk once more, in protobuf"))]
)
def test_another_tenants_ids_open_nothing(codec: str, tmp_path: Path) -> None:
    with door(tmp_path, FAST) as server, thinking(server) as stub:
        owned, token = Owned(server.address), token_of(tmp_path / "data")
        before = stored(stub, "acme")
        for method in METHODS:
            for request in requests(method, "intruder", owned):
                found = answers(server.http_port, method, request, token, codec)
                if isinstance(found, list):
                    assert CANARY not in "".join(map(str, found)), f"{method.name} {request}"
                elif method.client_streaming:
                    assert found == UNIMPLEMENTED
                else:
                    codes = ("not_found", "invalid_argument", "failed_precondition", "already_exists")
                    assert found.code in codes, f"{method.name} {request}"
        assert stored(stub, "acme") == before
        shown = {
            method.name
            for method in METHODS
            for request in requests(method, "acme", owned)
            if isinstance(found := answers(server.http_port, method, request, token, codec), list)
            and CANARY in "".join(map(str, found))
        }
        assert shown >= SHOWN


@pytest.mark.slow("the walk once more, with tokens")
def test_every_rpc_knows_whose_token_it_is(tmp_path: Path) -> None:
    """Without a token, with an expired one, with another tenant's, and with one's own. Seen to fail when the door's
    boundary has an identity that covers everything."""
    access = write_access(tmp_path / "access.json")
    with door(tmp_path, {**FAST, "access_file": str(access)}) as server:
        owned = Owned(server.address, bearer(ACME))
        shown = set()
        for method in METHODS:
            for request in requests(method, "acme", owned):
                for token in ("", EXPIRED):
                    found = answers(server.http_port, method, request, token)
                    assert found == Refused("unauthenticated", "UNAUTHENTICATED"), method.name
                found = answers(server.http_port, method, request, INTRUDER)
                denied = Refused("permission_denied", "SCOPE_NOT_PERMITTED")
                assert found == (UNIMPLEMENTED if method.client_streaming else denied), method.name
                own = answers(server.http_port, method, request, ACME)
                if isinstance(own, list) and CANARY in "".join(map(str, own)):
                    shown.add(method.name)
        assert shown >= SHOWN
