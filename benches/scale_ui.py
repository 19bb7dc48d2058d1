"""What the browser asks for the pages that an operator uses, recorded and replayed."""

import json
import shutil
import time
import urllib.request
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

RECORDED = Path(__file__).with_name("scale_queries.json")

PAGES = {
    "overview": "/overview",
    "runs": "/runs",
    "backfills": "/runs?view=backfills",
    "catalog": "/assets",
    "lineage": "/asset-groups",
    "group lineage": "/locations/voyager/asset-groups/header_pass",
    "asset": "/assets/chunks?view=overview",
    "asset partitions": "/assets/chunks?view=partitions",
    "asset events": "/assets/chunks?view=events",
    "one partition": "/assets/chunks?view=partitions&partition={key}",
    "automation": "/automation",
    "sensor": "/locations/voyager/sensors/index_history",
    "deployment": "/deployment",
    "job": "/locations/voyager/jobs/history",
    "run": "/runs/{run}",
}


@dataclass(frozen=True)
class Query:
    page: str
    operation: str
    body: str


@contextmanager
def browser():
    """Yields headless Chromium, None where there is none."""
    program = next((p for n in ("chromium", "google-chrome") if (p := shutil.which(n))), None)
    if program is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield made
        finally:
            made.close()


def record(
    base: str,
    *,
    key: str,
    run: str,
    cpu: Callable[[], float],
    pictures: Path | None = None,
) -> tuple[list[Query], dict[str, float]]:
    """Opens every page in Chromium.

    Returns:
        The GraphQL queries it sent, each once, and the CPU seconds that each page took, caches
        that are made at the first look included.
    """
    costs: dict[str, float] = {}
    found: dict[tuple[str, str], Query] = {}
    with browser() as chromium:
        if chromium is None:
            return recorded(key=key, run=run), costs
        page = chromium.new_page(viewport={"width": 1500, "height": 1000})
        current = [""]

        def note(request) -> None:
            if request.method == "POST" and "/graphql" in request.url and request.post_data:
                operation = json.loads(request.post_data).get("operationName") or "?"
                body = request.post_data
                found.setdefault((operation, body), Query(current[0], operation, body))

        page.on("request", note)
        for name, path in PAGES.items():
            current[0] = name
            before = cpu()
            page.goto(base + path.format(key=quote(key, safe=""), run=run))
            # Pages ask for more as they show more.
            page.wait_for_timeout(6000)
            costs[name] = round(cpu() - before, 2)
            if pictures is not None:
                pictures.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=str(pictures / f"{name.replace(' ', '_')}.png"))
    queries = list(found.values())
    # One line a query, so that a change of Dagster's UI shows as such.
    RECORDED.write_text(
        json.dumps(
            [
                [each.page, each.operation, each.body.replace(key, "{key}").replace(run, "{run}")]
                for each in queries
            ],
            indent=0,
        )
    )
    return queries, costs


def recorded(*, key: str, run: str) -> list[Query]:
    """Returns the queries that Chromium sent when they were recorded."""
    return [
        Query(page, operation, body.replace("{key}", key).replace("{run}", run))
        for page, operation, body in json.loads(RECORDED.read_text())
    ]


def replay(
    base: str, query: Query, cpu: Callable[[], float]
) -> tuple[float, float, int, str | None]:
    """Sends a query; returns CPU seconds, wall seconds, bytes of the reply, and an error."""
    request = urllib.request.Request(
        f"{base}/graphql?op={query.operation}",
        data=query.body.encode(),
        headers={"Content-Type": "application/json"},
    )
    before, began = cpu(), time.monotonic()
    with urllib.request.urlopen(request, timeout=600) as reply:
        data = reply.read()
    took = time.monotonic() - began
    # What a reply set off may still be running.
    time.sleep(0.05)
    problems = json.loads(data).get("errors")
    return cpu() - before, took, len(data), str(problems)[:200] if problems else None


def ask(base: str, query: str, variables: dict[str, object]) -> dict:
    """Sends a query of one's own and returns the reply."""
    request = urllib.request.Request(
        f"{base}/graphql",
        data=json.dumps({"query": query, "variables": variables}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.loads(reply.read())
