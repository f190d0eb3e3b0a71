"""SidecarService: the table of its RPCs."""

from functools import partial

from sidemirror_server.memory.finding.search import MemorySearch
from sidemirror_server.models.spending import Spending
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.rpc.boundary.services import SIDECAR, ServiceTable, Unary
from sidemirror_server.rpc.sidecar.erase import erase
from sidemirror_server.rpc.sidecar.get_policy import get_policy
from sidemirror_server.rpc.sidecar.get_server_info import get_server_info
from sidemirror_server.rpc.sidecar.info import ServerInfo
from sidemirror_server.rpc.sidecar.list_tombstones import list_tombstones
from sidemirror_server.rpc.sidecar.policies import check_may_set
from sidemirror_server.rpc.sidecar.set_policy import set_policy
from sidemirror_server.trace.erasure import Erasures
from sidemirror_server.turns.advice_changes import AdviceChanges
from sidemirror_server.work.queue import Work


def sidecar_service(
    info: ServerInfo,
    spending: Spending,
    erasures: Erasures,
    work: Work,
    policies: PoliciesInForce,
    changes: AdviceChanges,
    search: MemorySearch,
    most_tombstones: int,
) -> ServiceTable:
    """The table of SidecarService."""
    return ServiceTable(
        SIDECAR,
        GetServerInfo=Unary(partial(get_server_info, info, spending, work, changes, search)),
        Erase=Unary(partial(erase, erasures, work, most_tombstones)),
        ListTombstones=Unary(partial(list_tombstones, erasures)),
        GetPolicy=Unary(partial(get_policy, policies)),
        SetPolicy=Unary(partial(set_policy, policies, changes), permits=partial(check_may_set, policies)),
    )
