"""Settings: what is read, what is refused, what is hidden."""

import os

import pytest

from voyager_core.errors import SettingsError
from voyager_core.settings import load_settings, shown_values


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("VOYAGER_NEWS__URL", "VOYAGER_DATA_DIR", "VOYAGER_API__PORT"):
        monkeypatch.delenv(name, raising=False)


def test_an_env_file_is_read_and_the_environment_wins(monkeypatch, tmp_path):
    (tmp_path / ".env").write_text("VOYAGER_API__PORT=9000\nVOYAGER_DATA_DIR=/srv/a\nOTHER=1\n")
    monkeypatch.setenv("VOYAGER_DATA_DIR", "/srv/b")
    settings = load_settings()
    assert settings.api.port == 9000
    assert str(settings.data_dir) == "/srv/b"


@pytest.mark.parametrize("name", ["VOYAGER_NEWZ__URL", "VOYAGER_API__PROT", "VOYAGER_X"])
def test_a_misspelt_variable_is_refused_by_name(monkeypatch, name):
    monkeypatch.setenv(name, "secret-value")
    with pytest.raises(SettingsError, match=name) as caught:
        load_settings()
    assert "secret-value" not in str(caught.value)


@pytest.mark.parametrize("line", ["VOYAGER_NEWZ__URL=x", "VOYAGER_API__PROT=1", "voyager_foo=1"])
def test_a_misspelt_line_of_the_env_file_is_refused_by_name(tmp_path, line):
    (tmp_path / ".env").write_text(f"{line}\n")
    with pytest.raises(SettingsError, match=f"(?i){line.split('=')[0]}"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VOYAGER_API__PORT", "eighty"),
        ("VOYAGER_API__PORT", "0"),
        ("VOYAGER_SPOOL__BLOCK_SIZE", "-1"),
        ("VOYAGER_CATALOG__RANGE_SIZE", "2.5"),
    ],
)
def test_a_value_out_of_range_is_refused_without_being_shown(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=name):
        load_settings()


def test_secrets_are_never_shown(monkeypatch):
    monkeypatch.setenv("VOYAGER_NEWS__URL", "nntps://me:hunter2@host")
    settings = load_settings()
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in str(shown_values(settings))
    assert shown_values(settings)["VOYAGER_NEWS__URL"] == "**********"


def test_an_env_file_that_is_no_text_is_a_clear_error(tmp_path):
    (tmp_path / ".env").write_bytes(b"\xff\xfe\x00VOYAGER_API__PORT=1")
    with pytest.raises(SettingsError, match=r"\.env"):
        load_settings()


@pytest.mark.parametrize("place", ["environment", "argument"])
@pytest.mark.parametrize("kind", ["missing", "folder"])
def test_a_named_env_file_that_cannot_be_one_is_refused(monkeypatch, tmp_path, place, kind):
    file = tmp_path / "named.env"
    if kind == "folder":
        file.mkdir()
    if place == "environment":
        monkeypatch.setenv("VOYAGER_ENV_FILE", str(file))
    with pytest.raises(SettingsError, match=r"named\.env (does not exist|is a folder)"):
        load_settings(file if place == "argument" else None)


def test_the_null_device_stands_for_no_env_file(monkeypatch, tmp_path):
    (tmp_path / ".env").write_text("VOYAGER_API__PORT=9000\n")
    monkeypatch.setenv("VOYAGER_ENV_FILE", os.devnull)
    assert load_settings().api.port == 8484


def test_an_empty_variable_is_an_unset_one(monkeypatch, tmp_path):
    (tmp_path / ".env").write_text("VOYAGER_API__PORT=\nVOYAGER_DATABASE_URL=\n")
    monkeypatch.setenv("VOYAGER_NEWS__URL", "")
    settings = load_settings()
    assert (settings.api.port, settings.database_url, settings.news.url) == (8484, None, None)


@pytest.mark.parametrize(
    "url",
    [
        "voyager",
        "http://h/d",
        "postgresql://u:hun ter2@h/d",
        "postgresql://u:hunter2%zz@h/d",
        "postgresql://u:p@hunter2@h/d",
    ],
)
@pytest.mark.parametrize("name", ["VOYAGER_DATABASE_URL", "VOYAGER_DAGSTER_DATABASE_URL"])
def test_an_unreadable_database_url_is_refused_without_being_shown(monkeypatch, name, url):
    monkeypatch.setenv(name, url)
    with pytest.raises(SettingsError, match=f"{name}.*postgresql://") as caught:
        load_settings()
    assert "hun" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VOYAGER_ALERTS__URL", "hunter2"),
        ("VOYAGER_ALERTS__URL", "https://[hunter2"),
        ("VOYAGER_CLUSTER__BROKER", "hunter2:6379"),
        ("VOYAGER_CLUSTER__BACKEND", "http://hunter2"),
        ("VOYAGER_API__EXTERNAL_URL", "javascript:hunter2"),
        ("VOYAGER_CATALOG__RANGE_SIZE", "99999999999999999999"),
        ("VOYAGER_CATALOG__BACKFILL_DAYS", "9999999999"),
        ("VOYAGER_CATALOG__SETTLE_AFTER_SECONDS", "99999999999999"),
        ("VOYAGER_ALERTS__LAG_SECONDS", "99999999999999"),
    ],
)
def test_an_address_or_number_that_nothing_can_use_is_refused(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=f"{name}: (?!Value error)") as caught:
        load_settings()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('OTHER=1\nVOYAGER_NEWS__URL="nntps://me:hunter2@host\n', 2),
        ("VOYAGER_API__PORT=9000\n\n= hunter2\n", 3),
    ],
)
def test_a_line_of_the_env_file_that_cannot_be_read_is_refused_by_number(tmp_path, text, line):
    (tmp_path / ".env").write_text(text)
    with pytest.raises(SettingsError, match=f"line {line} of the settings file") as caught:
        load_settings()
    assert "hunter2" not in str(caught.value)


def test_an_env_file_that_can_be_read_only_once_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SettingsError, match="pipe is no plain file"):
        load_settings(tmp_path / "pipe")


@pytest.mark.parametrize(
    "name", ["VOYAGER_NEWS__URL", "VOYAGER_API__EXTERNAL_URL", "VOYAGER_DATA_DIR", "voyager_x"]
)
def test_a_variable_that_is_no_text_is_refused_without_being_shown(monkeypatch, name):
    monkeypatch.setenv(name, os.fsdecode(b"https://hunter2\xff@host"))
    with pytest.raises(SettingsError, match=name) as caught:
        load_settings()
    assert "hunter2" not in str(caught.value)


def test_a_nul_in_the_env_file_is_refused_by_line(tmp_path):
    (tmp_path / ".env").write_bytes(b"OTHER=1\nVOYAGER_DATA_DIR=/srv/hunter2\0/b\n")
    with pytest.raises(SettingsError, match="line 2 of the settings file") as caught:
        load_settings()
    assert "hunter2" not in str(caught.value)


def test_a_tilde_is_the_home_folder_where_no_shell_has_seen_it(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", "/home/ann")
    lines = ("DATA_DIR=~/voyager", "CORPUS_DIR=~", "SPOOL__URL=~/spool")
    (tmp_path / ".env").write_text("".join(f"VOYAGER_{line}\n" for line in lines))
    settings = load_settings()
    assert str(settings.data_dir) == "/home/ann/voyager"
    assert str(settings.corpus_path) == "/home/ann"
    assert settings.spool.url == "/home/ann/spool"


@pytest.mark.parametrize("name", ["VOYAGER_DATA_DIR", "VOYAGER_CORPUS_DIR", "VOYAGER_SPOOL__URL"])
def test_the_home_of_a_user_that_does_not_exist_is_told(monkeypatch, name):
    monkeypatch.setenv(name, "~nobody-of-that-name/voyager")
    with pytest.raises(SettingsError, match=f"{name}: .*home"):
        load_settings()
