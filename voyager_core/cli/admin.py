"""`voyager settings`, `migrate` and `doctor`."""

import argparse

from voyager_core.cli.output import printable, printable_lines, table
from voyager_core.settings import known_variables, load_settings, shown_values


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands."""
    settings = commands.add_parser("settings", help="the settings in force, secrets hidden")
    settings.set_defaults(run=_settings)
    migrate = commands.add_parser("migrate", help="bring the catalog's tables up to date")
    migrate.add_argument(
        "--dagster", action="store_true", help="make Dagster's own database as well"
    )
    migrate.set_defaults(run=_migrate)
    doctor = commands.add_parser("doctor", help="what is missing for a working set-up")
    doctor.set_defaults(run=_doctor)


def _settings(options: argparse.Namespace) -> int:
    values = shown_values(load_settings(options.env_file))
    rows = [(name, values[name], text) for name, text in known_variables().items()]
    print(table(("variable", "value", "meaning"), rows))
    return 0


def _migrate(options: argparse.Namespace) -> int:
    from voyager_core.catalog.connect import dagster_dsn, database_dsn, ensure_database
    from voyager_core.catalog.embedded import embedded_postgres
    from voyager_core.catalog.migrate import migrate

    settings = load_settings(options.env_file)
    if settings.database_url is None:
        with embedded_postgres(settings):
            dsn = database_dsn(settings)
            ensure_database(dsn)
            applied = migrate(dsn)
    else:
        dsn = database_dsn(settings)
        ensure_database(dsn)
        applied = migrate(dsn)
    if options.dagster:
        ensure_database(dagster_dsn(settings))
    for name in applied:
        print(f"applied {name}")
    if not applied:
        print("the catalog is up to date")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from voyager_core.cli.doctor import examine

    findings = examine(options.env_file)
    for finding in findings:
        print(f"{finding.mark} {finding.what}: {printable_lines(finding.found)}")
        if finding.advice:
            print(f"    → {printable(finding.advice)}")
    broken = sum(not finding.ok for finding in findings)
    verb = "needs" if broken == 1 else "need"
    print(
        f"\n{broken} of {len(findings)} {verb} attention" if broken else "\neverything is in place"
    )
    return 1 if broken else 0
