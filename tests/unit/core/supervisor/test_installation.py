"""Where services listen: what is refused before anything is started."""

import socket
import threading

import pytest

from voyager_core.errors import SettingsError
from voyager_core.settings import ApiSettings, DagsterSettings, Settings
from voyager_core.supervisor.environment import free_port
from voyager_core.supervisor.installation import Installation


def refusal(tmp_path, api, dagster=("127.0.0.1", 0)):
    settings = Settings(
        _env_file=None,
        data_dir=tmp_path,
        api=ApiSettings(host=api[0], port=api[1] or free_port()),
        dagster=DagsterSettings(host=dagster[0], port=dagster[1] or free_port()),
    )
    with pytest.raises(SettingsError) as caught:
        Installation(settings, print, threading.Event()).check_ports()
    return str(caught.value)


def test_a_port_of_another_program_is_named_with_its_setting(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = refusal(tmp_path, ("127.0.0.1", taken.getsockname()[1]))
    assert "another program uses it; set VOYAGER_API__PORT to a free port" in said


@pytest.mark.parametrize("host", ["203.0.113.1", "300.1.1.1", "no.such.invalid", "ü" * 99])
def test_an_address_that_is_not_this_machine_is_no_question_of_the_port(tmp_path, host):
    said = refusal(tmp_path, (host, 0))
    assert said.endswith("set VOYAGER_API__HOST to an address of this machine")
    assert "another program" not in said


@pytest.mark.parametrize(
    ("api", "dagster"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("localhost", "127.0.0.1")],
)
def test_one_port_is_not_enough_for_two_services(tmp_path, api, dagster):
    port = free_port()
    said = refusal(tmp_path, (api, port), (dagster, port))
    assert said == f"API and Dagster cannot both listen on port {port}; set VOYAGER_API__PORT"
