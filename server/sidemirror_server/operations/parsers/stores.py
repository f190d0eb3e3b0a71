"""Parsers of the commands that work on a store without a sidecar."""

import argparse
from typing import Any

from sidemirror_server.operations.parsers import Commands
from sidemirror_server.operations.parsers.arguments import add_json, add_settings, flags_of
from sidemirror_server.settings import load


def add_backup(commands: Commands) -> None:
    """Adds `backup` and `restore`."""
    backup = commands.add_parser("backup", help="copy the embedded store into one file, also while a sidecar serves")
    backup.add_argument("file", metavar="FILE", help="the new file; nothing is overwritten")
    backup.set_defaults(run=_backup)
    restore = commands.add_parser("restore", help="make a backup the embedded store, while no sidecar serves it")
    restore.add_argument("file", metavar="FILE", help="a file that `sidemirror backup` has made")
    restore.add_argument(
        "--replace", action="store_true", help="where there is a store: keep it beside the restored one"
    )
    restore.add_argument(
        "--erased", default="", metavar="FILE", help="erase again what `sidemirror erase --list` printed"
    )
    restore.set_defaults(run=_restore)
    for command in (backup, restore):
        add_settings(command, "data_dir")
    add_json([backup, restore])


def add_migrate(commands: Commands) -> None:
    """Adds `migrate`."""
    migrate = commands.add_parser("migrate", help="make or update the schema of a Postgres database, as its owner")
    migrate.add_argument(
        "--database-url",
        default="",
        metavar="OWNER_URL",
        help="postgresql://owner@host/database; better in SIDEMIRROR_DATABASE_URL, which nobody else sees",
    )
    migrate.add_argument(
        "--grant-to",
        action=_GrantTo,
        default={},
        metavar="ROLE",
        help="a role that sidecars use; may come several times",
    )
    migrate.add_argument(
        "--tenant",
        action=_Tenant,
        dest="grant_to",
        metavar="TENANT",
        help="whose rows the role before it reaches from now on, and no others; '*': every tenant's",
    )
    migrate.set_defaults(run=_migrate)


class _GrantTo(argparse.Action):
    """Collects roles, each with the tenant of the `--tenant` after it, or None."""

    def __call__(self, _: object, options: argparse.Namespace, role: Any, *__: object) -> None:
        options.grant_to = {**options.grant_to, role: None}


class _Tenant(argparse.Action):
    """Sets the tenant of the last role."""

    def __call__(
        self, parser: argparse.ArgumentParser, options: argparse.Namespace, tenant_id: Any, *_: object
    ) -> None:
        role = next(reversed(options.grant_to), None)
        if role is None or options.grant_to[role] is not None:
            parser.error("--tenant: comes after the --grant-to whose role it is about")
        if not tenant_id:
            parser.error("--tenant: names a tenant, or '*' for every one")
        if tenant_id.endswith("/*"):
            alone = tenant_id.removesuffix("/*")
            parser.error(f"--tenant: {tenant_id!r} is no tenant: its id alone binds all its projects, {alone!r}")
        options.grant_to = {**options.grant_to, role: tenant_id}


def _backup(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.backup import backup

    return backup(flags_of(options), options.file, as_json=options.json)


def _restore(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.backup import restore

    return restore(
        flags_of(options), options.file, erased=options.erased, replace=options.replace, as_json=options.json
    )


def _migrate(options: argparse.Namespace) -> int:
    from sidemirror_server.operations.migrate import migrate

    return migrate(options.database_url or load().database_url.reveal(), options.grant_to)
