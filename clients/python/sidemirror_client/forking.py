"""gRPC's own handling of forks is turned off, before anything imports gRPC, which reads the variable then.

It is for gRPC's synchronous clients, and crashes some children of others. Whoever sets the variable decides, and a
process that has imported gRPC before keeps what it has.
"""

import os

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
