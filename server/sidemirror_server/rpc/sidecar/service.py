"""SidecarService: the table of its RPCs."""

from functools import partial

from sidemirror_server.models.spending import Spending
from sidemirror_server.rpc.boundary.services import SIDECAR, ServiceTable, Unary
from sidemirror_server.rpc.sidecar.erase import erase
from sidemirror_server.rpc.sidecar.get_server_info import get_server_info
from sidemirror_server.rpc.sidecar.info import ServerInfo
from sidemirror_server.rpc.sidecar.list_tombstones import list_tombstones


def sidecar_service(info: ServerInfo, spending: Spending) -> ServiceTable:
    """The table of SidecarService."""
    return ServiceTable(
        SIDECAR,
        GetServerInfo=Unary(partial(get_server_info, info, spending)),
        Erase=Unary(erase),
        ListTombstones=Unary(list_tombstones),
    )
