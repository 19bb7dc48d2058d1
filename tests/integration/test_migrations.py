"""Migrations are applied once, whole, in order, by one process at a time."""

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from tests.integration.test_search import fill, find
from voyager_core.catalog import migrate as module
from voyager_core.catalog.connect import connect
from voyager_core.catalog.errors import (
    CatalogRefused,
    CatalogUnavailable,
    MigrationError,
    SettingMismatch,
)
from voyager_core.catalog.migrate import (
    NO_TRANSACTION,
    Migration,
    check_schema,
    load_migrations,
    migrate,
)
from voyager_core.catalog.stored_settings import (
    cut_of_history,
    pin_settings,
    stored_settings,
)
from voyager_core.settings import CatalogSettings

pytestmark = pytest.mark.postgres

FOLDER = Path(module.__file__).with_name("migrations")


def steps(*texts: str) -> list[Migration]:
    return [Migration(at, f"step_{at}", text) for at, text in enumerate(texts, start=1)]


def tables(dsn: str) -> set[str]:
    with connect(dsn) as conn:
        found = conn.execute(
            "select relname from pg_class where relnamespace = 'public'::regnamespace"
            " and relkind in ('r', 'p')"
        )
        return {name for (name,) in found}


def test_empty_database_gets_every_table_and_a_second_run_does_nothing(empty_database):
    names = [str(migration) for migration in load_migrations()]
    assert migrate(empty_database) == names
    assert migrate(empty_database) == []
    assert tables(empty_database) >= {
        "newsgroup",
        "range",
        "range_rule_count",
        "reject_count",
        "rule_sample",
        "ruleset",
        "rule_retraction",
        "range_version",
        "span_drop",
        "span_rule_count",
        "release",
        "release_alias",
        "chunk",
        "fragment",
        "candidate",
        "api_key",
        "api_use",
        "setting",
        "schema_migration",
    }
    with connect(empty_database) as conn:
        check_schema(conn)


def test_each_migration_works_on_the_schema_before_it(empty_database):
    for end in range(1, len(load_migrations()) + 1):
        assert len(migrate(empty_database, migrations=load_migrations()[:end])) == 1


def test_the_index_of_words_is_built_anew_on_a_catalog_that_is_in_use(empty_database):
    files = load_migrations()
    before = next(at for at, each in enumerate(files) if each.name == "search_by_category")
    migrate(empty_database, migrations=files[:before])
    with connect(empty_database) as conn:
        fill(
            conn,
            {"name": "Some.Show.S01E02-E04", "season": 1, "episode": 2, "episode_last": 4},
            {"name": "Some.Show.S01E03", "season": 1, "episode": 3, "category": 3010},
            {"name": "Other.Show.S01E03", "season": 1, "episode": 3},
        )
        migrate(empty_database)
        (definition,) = conn.execute(
            "select indexdef from pg_indexes where indexname = 'release_tok'"
        ).fetchone()
        assert "category" in definition
        assert find(conn, "some show", season=1, episode=3) == [
            "Some.Show.S01E02-E04",
            "Some.Show.S01E03",
        ]
        assert find(conn, "show", season=1, categories=[3000]) == ["Some.Show.S01E03"]


def test_missing_migrations_are_named(empty_database):
    with connect(empty_database) as conn, pytest.raises(MigrationError, match="voyager migrate"):
        check_schema(conn)


def test_changed_file_is_refused(empty_database):
    migrate(empty_database, migrations=steps("create table a (i int)"))
    with pytest.raises(MigrationError, match="0001_step_1 was changed after"):
        migrate(empty_database, migrations=steps("create table a (i bigint)"))


def test_line_ends_are_no_change(empty_database):
    migrate(empty_database, migrations=steps("create table a (\ni int)"))
    assert migrate(empty_database, migrations=steps("create table a (\r\ni int)")) == []


def test_database_of_a_newer_version_is_refused(empty_database):
    both = steps("create table a (i int)", "create table b (i int)")
    migrate(empty_database, migrations=both)
    with pytest.raises(MigrationError, match="newer than this code"):
        migrate(empty_database, migrations=both[:1])


def test_migration_that_was_slipped_in_before_others_is_refused(empty_database):
    one, two, three = steps("create table a (i int)", "select 1", "create table c (i int)")
    migrate(empty_database, migrations=[one])
    with connect(empty_database) as conn:
        conn.execute(
            "insert into schema_migration (version, name, sha256) values (3, 'step_3', %s)",
            [three.sha256],
        )
    with pytest.raises(MigrationError, match="0003 but not 0002_step_2"):
        migrate(empty_database, migrations=[one, two, three])


def test_failing_file_leaves_nothing_and_those_before_stay(empty_database):
    with pytest.raises(MigrationError, match="0002_step_2 failed, nothing of it was kept"):
        migrate(
            empty_database,
            migrations=steps("create table a (i int)", "create table b (i int); select 1 / 0"),
        )
    assert tables(empty_database) == {"schema_migration", "a"}
    assert migrate(
        empty_database, migrations=steps("create table a (i int)", "create table b (i int)")
    ) == ["0002_step_2"]


def test_file_may_run_outside_a_transaction(empty_database):
    texts = ("create table a (i int)", f"{NO_TRANSACTION}\ncreate index concurrently x on a (i)")
    assert len(migrate(empty_database, migrations=steps(*texts))) == 2
    with connect(empty_database) as conn:
        assert conn.execute("select to_regclass('x') is not null").fetchone() == (True,)


def test_lock_that_is_not_given_up_is_a_transient_error(empty_database):
    migrate(empty_database, migrations=steps("create table a (i int)"))
    waiting = steps(
        "create table a (i int)", "set local lock_timeout = '10ms'; alter table a add j int"
    )
    with psycopg.connect(empty_database) as holder:
        holder.execute("lock table a")
        with pytest.raises(CatalogUnavailable, match="0002_step_2 gave up waiting"):
            migrate(empty_database, migrations=waiting)
        holder.rollback()
    assert migrate(empty_database, migrations=waiting) == ["0002_step_2"]


def test_migrators_at_the_same_time_apply_each_file_once(empty_database):
    with ThreadPoolExecutor(4) as pool:
        applied = [name for names in pool.map(migrate, [empty_database] * 4) for name in names]
    assert sorted(applied) == [str(migration) for migration in load_migrations()]


def test_database_that_does_not_exist_is_refused(empty_database):
    with pytest.raises(CatalogRefused, match="does not exist"):
        migrate(empty_database + "_nowhere")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["0001_a.sql", "0003_c.sql"], "not numbered"),
        (["0001_a.sql", "0001_b.sql"], "not numbered"),
        (["1_a.sql"], "not named NNNN_name.sql"),
    ],
)
def test_misnamed_files_are_refused(tmp_path, files, message):
    for name in files:
        (tmp_path / name).write_text("select 1")
    with pytest.raises(MigrationError, match=message):
        load_migrations(tmp_path)


def test_files_pass_the_linter():
    squawk = shutil.which("squawk") or str(Path(psycopg.__file__).parents[4] / "bin" / "squawk")
    if not Path(squawk).exists():
        pytest.skip("squawk is not installed")
    done = subprocess.run(
        [
            squawk,
            "--pg-version=15.0",
            "--assume-in-transaction",
            # Sizes are chosen: 115 million rows make four bytes count.
            "--exclude=prefer-bigint-over-int,prefer-bigint-over-smallint",
            *map(str, sorted(FOLDER.glob("*.sql"))),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_every_file_sets_its_timeouts():
    for migration in load_migrations():
        assert "set local lock_timeout = '5s'" in migration.text, str(migration)
        assert "set local statement_timeout = '" in migration.text, str(migration)


def test_settings_are_pinned_when_the_catalog_is_created(catalog):
    pin_settings(catalog, CatalogSettings(range_size=1000, ranges_per_partition=4))
    pin_settings(catalog, CatalogSettings(range_size=1000, ranges_per_partition=4))
    assert stored_settings(catalog) == {"range_size": "1000", "ranges_per_partition": "4"}
    assert cut_of_history(catalog) == (1000, 4)
    with pytest.raises(
        SettingMismatch,
        match=r"range_size is 2000, .* with 1000 \(set VOYAGER_CATALOG__RANGE_SIZE=1000\)",
    ):
        pin_settings(catalog, CatalogSettings(range_size=2000, ranges_per_partition=4))
    assert cut_of_history(catalog) == (1000, 4)


def test_catalog_without_pinned_settings_says_so(catalog):
    with pytest.raises(SettingMismatch, match="range_size"):
        cut_of_history(catalog)
