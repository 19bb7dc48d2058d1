"""Figures, and how they are printed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TextIO

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that the results are judged by.

    Attributes:
        name: what is measured, on what.
        value: the share that is right, from 0 to 1 (or wrong, when `at_most`).
        bar: what it must reach. None: the figure is only shown.
        counted: of how many; 0 when it says nothing.
        at_most: the value must not exceed the bar.
        failing: the cases that are wrong.
        details: further lines, printed whatever the outcome.
    """

    name: str
    value: float
    bar: float | None
    counted: int = 0
    at_most: bool = False
    failing: Sequence[str] = field(default=())
    details: Sequence[str] = field(default=())

    @property
    def is_met(self) -> bool:
        """Whether the value reaches the bar; a figure without one always does."""
        if self.bar is None:
            return True
        return self.value <= self.bar if self.at_most else self.value >= self.bar


@dataclass(frozen=True, slots=True)
class Skipped:
    """A figure that could not be measured, and why."""

    name: str
    reason: str


Result = Figure | Skipped


def share(
    name: str,
    failing: Sequence[str],
    counted: int,
    *,
    bar: float | None,
    at_most: bool = False,
    details: Sequence[str] = (),
) -> Result:
    """Returns the share of the cases that did not fail (of those that did, when `at_most`)."""
    if not counted:
        return Skipped(name, "the data holds no such case")
    wrong = len(failing) / counted
    value = wrong if at_most else 1 - wrong
    return Figure(name, value, bar, counted, at_most, tuple(failing), tuple(details))


def print_results(results: Iterable[Result], out: TextIO, *, shown: int = _SHOWN) -> int:
    """Prints results as they come; returns how many are below their bar.

    Args:
        results: figures and skipped ones.
        out: where to.
        shown: how many failing cases of a figure are printed.
    """
    below = 0
    for result in results:
        if isinstance(result, Skipped):
            out.write(f"skip   {result.name}: {result.reason}\n")
            out.flush()
            continue
        below += not result.is_met
        verdict = "info" if result.bar is None else "ok" if result.is_met else "FAIL"
        sign = "<=" if result.at_most else ">="
        bar = "" if result.bar is None else f" {sign} {result.bar:.2%}"
        out.write(f"{verdict:6} {result.name}: {result.value:.2%}{bar} of {result.counted}\n")
        out.writelines(f"         {text}\n" for text in result.details)
        out.writelines(f"       - {text[:300]}\n" for text in result.failing[:shown])
        if len(result.failing) > shown:
            out.write(f"       … and {len(result.failing) - shown} more\n")
        out.flush()
    return below
