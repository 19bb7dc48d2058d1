import dagster as dg
import pytest
from pydantic import SecretStr

from voyager_assets.resources import (
    DATABASE_URL,
    NEWS_URL,
    Catalog,
    Clock,
    NewsServer,
    OverviewSpool,
    build_resources,
)
from voyager_core.catalog.errors import CatalogUnavailable
from voyager_core.errors import SettingsError
from voyager_core.settings import Settings, known_variables, load_settings

SECRET = "nntps://joe:hunter2@news.example.com:563?connections=7"


@pytest.fixture
def settings(monkeypatch, tmp_path):
    monkeypatch.setenv(NEWS_URL, SECRET)
    monkeypatch.setenv(DATABASE_URL, "postgresql://u:hunter2@127.0.0.1:1/none")
    monkeypatch.setenv("VOYAGER_DATA_DIR", str(tmp_path))
    file = tmp_path / "empty.env"
    file.touch()
    return load_settings(file)


def test_the_variables_of_secrets_are_those_of_the_settings():
    assert {NEWS_URL, DATABASE_URL} <= set(known_variables())


def test_dagster_sees_the_names_of_secrets_and_never_their_values(settings):
    shown = ""
    for resource in build_resources(settings).values():
        assert isinstance(resource, dg.ConfigurableResource)
        shown += str(resource._resolved_config_dict) + repr(resource) + str(resource.model_dump())
    assert "hunter2" not in shown
    assert NEWS_URL in shown
    assert DATABASE_URL in shown


def test_secrets_are_read_when_a_run_needs_them(settings):
    seen = {}

    @dg.asset
    def thing(news: NewsServer, catalog: Catalog):
        seen.update(account=news.account(), dsn=catalog.dsn())

    resources = build_resources(settings)
    assert dg.materialize([thing], resources=resources).success
    assert seen["account"].host == "news.example.com"
    assert seen["account"].connections == 7
    assert seen["dsn"] == "postgresql://u:hunter2@127.0.0.1:1/none"


def test_without_an_account_the_text_says_what_to_set():
    with pytest.raises(SettingsError, match=NEWS_URL):
        NewsServer().account()


def test_without_a_database_the_text_says_what_to_do(tmp_path):
    catalog = Catalog(data_dir=str(tmp_path))
    with pytest.raises(CatalogUnavailable, match="voyager up"), catalog.connect():
        pass


def test_settings_reach_the_core_objects(settings):
    changed = settings.model_copy(
        update={
            "spool": settings.spool.model_copy(update={"block_size": 123, "max_bytes": 2_000_000}),
            "news": settings.news.model_copy(update={"connections": 3, "timeout_seconds": 9.0}),
        }
    )
    resources = build_resources(changed)
    spool = resources["spool"]
    assert isinstance(spool, OverviewSpool)
    assert spool.options().block_size == 123
    assert spool.open().root == settings.spool_dir
    assert spool.open().corpus.root == settings.corpus_path
    assert resources["news"].connections == 3
    assert resources["news"].timeout_seconds == 9.0


def test_an_unset_account_is_no_variable():
    resources = build_resources(Settings(_env_file=None))
    assert resources["news"].url is None
    assert resources["catalog"].database_url is None


def test_the_clock_of_a_test_stands_still():
    clock = Clock(stands_at="2025-01-02T01:00:00+01:00")
    assert clock.now() == clock.now()
    assert clock.now().isoformat() == "2025-01-02T00:00:00+00:00"


def test_a_secret_in_the_settings_is_hidden_in_their_text():
    settings = Settings(_env_file=None, database_url=SecretStr("postgresql://u:hunter2@h/d"))
    assert "hunter2" not in str(settings)
