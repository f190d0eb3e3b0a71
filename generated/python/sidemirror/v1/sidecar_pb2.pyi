from sidemirror.v1 import thinking_pb2 as _thinking_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetServerInfoRequest(_message.Message):
    __slots__ = ("tenant_id", "project_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    project_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ...) -> None: ...

class GetServerInfoResponse(_message.Message):
    __slots__ = ("version", "tenant_id", "project_id", "stores", "models", "default_config", "default_budget", "limits")
    class LimitsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    STORES_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_CONFIG_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_BUDGET_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    version: str
    tenant_id: str
    project_id: str
    stores: _containers.RepeatedCompositeFieldContainer[StoreInfo]
    models: _containers.RepeatedCompositeFieldContainer[ModelInfo]
    default_config: _thinking_pb2.ThinkingConfig
    default_budget: _thinking_pb2.TurnBudget
    limits: _containers.ScalarMap[str, int]
    def __init__(self, version: _Optional[str] = ..., tenant_id: _Optional[str] = ..., project_id: _Optional[str] = ..., stores: _Optional[_Iterable[_Union[StoreInfo, _Mapping]]] = ..., models: _Optional[_Iterable[_Union[ModelInfo, _Mapping]]] = ..., default_config: _Optional[_Union[_thinking_pb2.ThinkingConfig, _Mapping]] = ..., default_budget: _Optional[_Union[_thinking_pb2.TurnBudget, _Mapping]] = ..., limits: _Optional[_Mapping[str, int]] = ...) -> None: ...

class StoreInfo(_message.Message):
    __slots__ = ("kind", "holds", "durability", "available")
    KIND_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    kind: str
    holds: str
    durability: str
    available: bool
    def __init__(self, kind: _Optional[str] = ..., holds: _Optional[str] = ..., durability: _Optional[str] = ..., available: bool = ...) -> None: ...

class ModelInfo(_message.Message):
    __slots__ = ("purpose", "provider", "model")
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    purpose: str
    provider: str
    model: str
    def __init__(self, purpose: _Optional[str] = ..., provider: _Optional[str] = ..., model: _Optional[str] = ...) -> None: ...
