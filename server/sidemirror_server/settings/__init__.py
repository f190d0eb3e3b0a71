"""Every setting of the server, with its unit, its default and the reason for it. The only reader of the environment.

A flag of `sidemirror serve` (`--data-dir`) overrides the environment (`SIDEMIRROR_DATA_DIR`), which overrides the
default. Nested settings have two underscores: `SIDEMIRROR_LIMITS__MESSAGE_BYTES`.

msgspec checks the values, because the process loads it anyway. pydantic-settings would add 186 ms to the start, and
msgspec adds 13 ms (measured over a bare grpc.aio server, which takes 90 ms).

`table.py` lists the settings; `reading.py` reads them from flags and the environment.
"""

from sidemirror_server.settings.reading import PREFIX as PREFIX
from sidemirror_server.settings.reading import SECRETS as SECRETS
from sidemirror_server.settings.reading import AsClient as AsClient
from sidemirror_server.settings.reading import BadSettings as BadSettings
from sidemirror_server.settings.reading import Idle as Idle
from sidemirror_server.settings.reading import Source as Source
from sidemirror_server.settings.reading import as_client as as_client
from sidemirror_server.settings.reading import config_folder as config_folder
from sidemirror_server.settings.reading import is_measured as is_measured
from sidemirror_server.settings.reading import load as load
from sidemirror_server.settings.reading import names as names
from sidemirror_server.settings.reading import nearest as nearest
from sidemirror_server.settings.reading import of_libraries as of_libraries
from sidemirror_server.settings.reading import quieten_grpc as quieten_grpc
from sidemirror_server.settings.reading import sources as sources
from sidemirror_server.settings.reading import unknown_names as unknown_names
from sidemirror_server.settings.reading import without_effect as without_effect
from sidemirror_server.settings.table import Limits as Limits
from sidemirror_server.settings.table import Memory as Memory
from sidemirror_server.settings.table import PurposeSettings as PurposeSettings
from sidemirror_server.settings.table import Retention as Retention
from sidemirror_server.settings.table import Secret as Secret
from sidemirror_server.settings.table import Settings as Settings
