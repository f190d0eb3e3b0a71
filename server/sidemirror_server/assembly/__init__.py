"""Builds a server from settings. The only room that imports every adapter, and the owner of every lifetime.

async with assemble(settings) as sidecar:
    await sidecar.serve_until(stop)

`assembled.py` has `assemble`; `stores.py` opens the stores, `models.py` makes the models, `sidecar.py` puts the server
together, and `service_health.py` keeps the health of the services in step with the stores.
"""

from sidemirror_server.assembly.assembled import assemble as assemble
from sidemirror_server.assembly.choices import refused_choices as refused_choices
from sidemirror_server.assembly.erasing import Buried as Buried
from sidemirror_server.assembly.erasing import erase_again as erase_again
from sidemirror_server.assembly.erasing import restore_store as restore_store
from sidemirror_server.assembly.erasing import tombstones_in as tombstones_in
from sidemirror_server.assembly.models import ASKED_FOR as ASKED_FOR
from sidemirror_server.assembly.models import Destination as Destination
from sidemirror_server.assembly.models import destinations_of as destinations_of
from sidemirror_server.assembly.models import routes_of as routes_of
from sidemirror_server.assembly.sidecar import Sidecar as Sidecar
from sidemirror_server.assembly.stores import back_up_store as back_up_store
from sidemirror_server.assembly.stores import examine_redis as examine_redis
from sidemirror_server.assembly.stores import examine_shared_store as examine_shared_store
from sidemirror_server.assembly.stores import examine_store as examine_store
from sidemirror_server.assembly.stores import migrate_shared as migrate_shared
