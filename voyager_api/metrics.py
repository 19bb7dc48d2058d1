"""Counts what the process answers, and writes it for Prometheus."""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from voyager_api.newznab.errors import NewznabError
from voyager_api.newznab.functions import function_of
from voyager_api.scopes import parameters_of

TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_PLACES: Final = (
    ("/api/v1", "v1"),
    ("/getnzb", "get"),
    ("/rss", "rss"),
    ("/healthz", "health"),
    ("/readyz", "health"),
    ("/metrics", "metrics"),
)


@dataclass(slots=True)
class Metrics:
    """Requests by function and status, and how long they took."""

    _requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    _buckets: Counter[tuple[str, float]] = field(default_factory=Counter)
    _seconds: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, function: str, status: int, seconds: float) -> None:
        """Counts one answer."""
        with self._lock:
            self._requests[function, status] += 1
            self._seconds[function] = self._seconds.get(function, 0.0) + seconds
            for bucket in BUCKETS:
                if seconds <= bucket:
                    self._buckets[function, bucket] += 1

    def lines(self) -> list[str]:
        """Returns the counts in Prometheus' text form."""
        with self._lock:
            requests, buckets = dict(self._requests), dict(self._buckets)
            seconds = dict(self._seconds)
        totals: Counter[str] = Counter()
        for (function, _), number in requests.items():
            totals[function] += number
        name = "voyager_api_request_seconds"
        lines = family(
            "voyager_api_requests_total",
            "counter",
            "Answers by function and HTTP status.",
            (
                ({"function": function, "status": str(status)}, number)
                for (function, status), number in sorted(requests.items())
            ),
        )
        lines += [f"# HELP {name} Time to answer.", f"# TYPE {name} histogram"]
        for function, number in sorted(totals.items()):
            for bucket in BUCKETS:
                labels = {"function": function, "le": str(bucket)}
                lines.append(sample(f"{name}_bucket", labels, buckets.get((function, bucket), 0)))
            lines.append(sample(f"{name}_bucket", {"function": function, "le": "+Inf"}, number))
            lines.append(sample(f"{name}_sum", {"function": function}, seconds[function]))
            lines.append(sample(f"{name}_count", {"function": function}, number))
        return lines


class Measured:
    """Counts every answer of an application."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request and counts it, a failed one as 500."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, answer)
        finally:
            self._metrics.count(function_label(scope), status, time.perf_counter() - begin)


def function_label(scope: Scope) -> str:
    """Returns one of a small, closed set of names for what a request asks for."""
    path: str = scope["path"]
    for start, label in _PLACES:
        if path == start or path.startswith(f"{start}/"):
            return label
    if path.rstrip("/") not in {"/api", "/api/api"}:
        return "page"
    try:
        return function_of(parameters_of(scope).first("t")).value
    except NewznabError:
        return "unknown"


def family(
    name: str, kind: str, text: str, samples: Iterable[tuple[Mapping[str, str], float]]
) -> list[str]:
    """Returns the lines of one metric; none when it has no samples."""
    lines = [sample(name, labels, value) for labels, value in samples]
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}", *lines] if lines else []


def sample(name: str, labels: Mapping[str, str], value: float) -> str:
    """Returns one line; values of labels may hold anything."""
    shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{shown}}} {value:.17g}" if shown else f"{name} {value:.17g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
