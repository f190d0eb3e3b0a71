"""SidecarService: what this server is."""

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.rpc.call import Call
from sidemirror_server.rpc.directives import config_to_wire
from sidemirror_server.rpc.events import budget_to_wire
from sidemirror_server.rpc.info import ServerInfo
from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.vocabulary.budget import TurnBudget


class SidecarCalls:
    """Says what `assembly` has put together."""

    def __init__(self, info: ServerInfo) -> None:
        self._info = info

    async def GetServerInfo(self, request: pb.GetServerInfoRequest, call: Call) -> pb.GetServerInfoResponse:
        info = self._info
        return pb.GetServerInfoResponse(
            version=info.version,
            tenant_id=info.own_scope.tenant_id,
            project_id=info.own_scope.project_id,
            stores=[
                pb.StoreInfo(
                    kind=store.kind, holds=store.holds, durability=store.durability, available=store.is_available()
                )
                for store in info.stores
            ],
            models=[
                pb.ModelInfo(purpose=model.purpose, provider=model.provider, model=model.model) for model in info.models
            ],
            default_config=config_to_wire(ThinkingConfig()),
            default_budget=budget_to_wire(TurnBudget()),
            limits=info.limits,
        )
