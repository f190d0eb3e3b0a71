"""The policies in force, from the store and the settings. Called by `assembly/sidecar.py`."""

import msgspec

from sidemirror_server.assembly.stores import Stores
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.record import RetentionPeriods
from sidemirror_server.settings import Settings
from sidemirror_server.vocabulary.scope import Serves


def policies_of(settings: Settings, serves: Serves, stores: Stores) -> PoliciesInForce:
    """The policies of the store. The settings of retention count for an embedded store alone: in a shared one they
    would shorten what another sidecar keeps."""
    proposed = RetentionPeriods() if stores.is_shared else _retention(settings)
    return PoliciesInForce(stores.policies, proposed, serves, stores.clock, settings.limits.project_policies)


def _retention(settings: Settings) -> RetentionPeriods:
    """The settings as a policy has them: 0 keeps for ever."""
    return RetentionPeriods(**{name: value or 0 for name, value in msgspec.structs.asdict(settings.retention).items()})
