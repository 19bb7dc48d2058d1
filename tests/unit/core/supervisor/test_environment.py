"""What child processes are given, and the small state of the demo."""

import json
import os
import socket

import pytest
from pydantic import SecretStr

from voyager_core.demo.run import RANGE_SIZE, demo_settings
from voyager_core.demo.state import DemoState, choose_ports, read_state, write_state
from voyager_core.errors import SettingsError
from voyager_core.settings import Settings, load_settings
from voyager_core.supervisor.environment import (
    child_environment,
    choose_code_port,
    find_dagster_yaml,
    is_listening,
    is_port_free,
    prepare_dagster_home,
    settings_environment,
    with_changes,
    write_workspace,
)


@pytest.fixture
def settings(tmp_path) -> Settings:
    return Settings(
        _env_file=None,
        data_dir=tmp_path / "data",
        database_url=SecretStr("postgresql://a:b@db:5433/cat"),
        corpus_dir=tmp_path / "corpus",
        news={"url": "nntps://u:p%40ss@news.example:563?connections=9", "connections": 3},
        catalog={"range_size": 700, "backfill_days": 12},
        api={"external_url": "https://x.example/v", "requests_per_day": 5},
    )


def test_a_child_reads_the_same_settings(settings, monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith("VOYAGER_"):
            monkeypatch.delenv(name)
    (tmp_path / ".env").write_text("VOYAGER_API__PORT=1\n")
    monkeypatch.chdir(tmp_path)
    environment = child_environment(
        settings, catalog_dsn="postgresql://a:b@db:5433/cat", dagster_dsn="postgresql://a@db/d"
    )
    for name, value in environment.items():
        if name.startswith("VOYAGER_"):
            monkeypatch.setenv(name, value)
    again = load_settings()
    expected = settings.model_copy(
        update={"dagster_database_url": SecretStr("postgresql://a@db/d")}
    )
    assert again == expected


def test_runs_do_not_fight_over_threads_unless_told_to(settings, monkeypatch):
    dsns = {"catalog_dsn": "postgresql://a@db/c", "dagster_dsn": "postgresql://a@db/d"}
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    assert child_environment(settings, **dsns)["POLARS_MAX_THREADS"] == "1"
    monkeypatch.setenv("POLARS_MAX_THREADS", "4")
    assert child_environment(settings, **dsns)["POLARS_MAX_THREADS"] == "4"


def test_dagster_gets_the_parts_of_its_dsn(settings):
    environment = child_environment(
        settings,
        catalog_dsn="postgresql://x",
        dagster_dsn="postgresql://me:p%40w@10.0.0.7:5444/dag",
    )
    assert environment["VOYAGER_PG_HOST"] == "10.0.0.7"
    assert environment["VOYAGER_PG_PORT"] == "5444"
    assert environment["VOYAGER_PG_USER"] == "me"
    assert environment["VOYAGER_PG_PASSWORD"] == "p@w"
    assert environment["VOYAGER_PG_DAGSTER_DB"] == "dag"


@pytest.mark.parametrize("dsn", ["postgresql:///dag", "host=/run/postgresql dbname=dag"])
def test_dagster_needs_a_server_by_tcp(settings, dsn):
    with pytest.raises(SettingsError, match="TCP"):
        child_environment(settings, catalog_dsn="postgresql://x", dagster_dsn=dsn)


def test_variables_of_another_installation_are_not_handed_on(settings, monkeypatch):
    monkeypatch.setenv("VOYAGER_NEWS__TIMEOUT_SECONDS", "1")
    monkeypatch.setenv("DAGSTER_HOME", "/elsewhere")
    environment = child_environment(
        settings, catalog_dsn="postgresql://x", dagster_dsn="postgresql://a@db/d"
    )
    assert environment["VOYAGER_NEWS__TIMEOUT_SECONDS"] == "60.0"
    assert environment["DAGSTER_HOME"] == str(settings.data_dir.absolute() / "dagster")


def test_unset_settings_are_no_variables(tmp_path):
    found = settings_environment(Settings(_env_file=None, data_dir=tmp_path))
    assert "VOYAGER_NEWS__URL" not in found
    assert "VOYAGER_DATABASE_URL" not in found


def test_dagster_home_gets_the_projects_file_and_keeps_up_with_it(settings, tmp_path):
    source = tmp_path / "dagster.yaml"
    source.write_text("telemetry: {enabled: false}\n")
    home = prepare_dagster_home(settings, source)
    copied = home / "dagster.yaml"
    assert copied.read_text().endswith("telemetry: {enabled: false}\n")
    before = copied.stat().st_ino
    prepare_dagster_home(settings, source)
    assert copied.stat().st_ino == before
    source.write_text("telemetry: {enabled: true}\n")
    prepare_dagster_home(settings, source)
    assert copied.read_text().endswith("telemetry: {enabled: true}\n")


def test_a_home_that_cannot_be_made_is_told(settings, tmp_path):
    source = tmp_path / "dagster.yaml"
    source.write_text("x\n")
    settings.data_dir.parent.mkdir(exist_ok=True)
    settings.data_dir.write_text("a file where the folder should be")
    with pytest.raises(SettingsError, match="cannot be prepared"):
        prepare_dagster_home(settings, source)


def test_the_projects_dagster_yaml_is_found():
    assert "VOYAGER_PG_DAGSTER_DB" in find_dagster_yaml().read_text()


def test_ports_in_use_are_seen():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        taken.listen()
        assert not is_port_free("127.0.0.1", port)
        assert is_listening(port)
    assert is_port_free("127.0.0.1", port)
    assert not is_listening(port)


def test_the_demo_leaves_the_account_and_the_databases_of_the_settings_alone(settings):
    demo = demo_settings(settings, DemoState("k", 7001, 7002, 7003))
    assert demo.news.url.get_secret_value() == "nntp://demo:sample@127.0.0.1:7001?connections=4"
    assert (demo.database_url, demo.dagster_database_url, demo.corpus_dir) == (None, None, None)
    assert demo.catalog.range_size == RANGE_SIZE
    assert (demo.api.port, demo.dagster.port) == (7002, 7003)
    assert demo.api.requests_per_day == 5


def test_a_section_is_changed_without_the_others(settings):
    changed = with_changes(settings, {"api": {"port": 9}})
    assert changed.api.port == 9
    assert changed.api.external_url == settings.api.external_url
    assert changed.news == settings.news


def test_state_is_kept_for_its_owner(tmp_path):
    state = DemoState("key", 1, 2, 3)
    write_state(tmp_path, state)
    write_state(tmp_path, state)
    assert read_state(tmp_path) == state
    assert (tmp_path / "demo.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        "\x00",
        json.dumps({"api_key": "k", "news_port": "x", "api_port": 1, "dagster_port": 1}),
        json.dumps({"api_key": "k", "news_port": 70000, "api_port": 1, "dagster_port": 1}),
        json.dumps({"api_key": "k", "news_port": -1, "api_port": 1, "dagster_port": 1}),
        json.dumps({"api_key": "k", "news_port": None, "api_port": 1, "dagster_port": 1}),
    ],
)
def test_a_damaged_state_counts_as_none(tmp_path, text):
    (tmp_path / "demo.json").write_text(text)
    assert read_state(tmp_path) == DemoState()


def test_taken_ports_are_replaced(settings):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        crowded = with_changes(settings, {"api": {"port": port}, "dagster": {"port": port}})
        state = choose_ports(DemoState(news_port=port), crowded)
    assert port not in {state.news_port, state.api_port, state.dagster_port}
    assert all((state.news_port, state.api_port, state.dagster_port))


def test_free_ports_of_the_last_start_are_taken_again(settings):
    first = choose_ports(DemoState(), settings)
    assert choose_ports(first, settings) == first


def test_the_code_server_keeps_its_port_while_it_is_free(tmp_path):
    port = choose_code_port(tmp_path)
    assert choose_code_port(tmp_path) == port
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        other = choose_code_port(tmp_path)
        assert other != port
    assert choose_code_port(tmp_path) == other


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "70000", "\u0665"])
def test_a_damaged_port_file_is_replaced(tmp_path, text):
    (tmp_path / "code_port").write_text(text)
    port = choose_code_port(tmp_path)
    assert (tmp_path / "code_port").read_text() == f"{port}\n"


def test_the_code_location_has_a_name_of_its_own(tmp_path):
    assert "location_name: voyager" in write_workspace(tmp_path, 4000).read_text()
