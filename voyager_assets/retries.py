"""What Dagster does about an error: try the step again later, or give up with a clear text."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import dagster as dg

from voyager_core.errors import TransientError, VoyagerError

STEP_RETRIES = 3
FIRST_WAIT_SECONDS = 15.0
LONGEST_WAIT_SECONDS = 600.0


def wait_seconds(retry_number: int) -> float:
    """Returns how long to wait before the next try: 15 s, 60 s, 240 s, at most ten minutes."""
    return min(FIRST_WAIT_SECONDS * 4.0**retry_number, LONGEST_WAIT_SECONDS)


def retry_later(retry_number: int, *, most: int) -> dg.RetryRequested:
    """Returns the request to run the step once more, after a wait that grows with each try."""
    return dg.RetryRequested(max_retries=most, seconds_to_wait=wait_seconds(retry_number))


def give_up(text: str) -> dg.Failure:
    """Returns a failure that no retry repeats."""
    return dg.Failure(description=text, allow_retries=False)


@contextmanager
def core_errors(
    context: dg.AssetExecutionContext, *, retries: int = STEP_RETRIES
) -> Iterator[None]:
    """Turns the errors of Voyager's core into what Dagster should do about them.

    Args:
        context: the step's context.
        retries: how often the step is tried again when the error may pass.

    Raises:
        dagster.RetryRequested: for a `TransientError`, while retries are left.
        dagster.Failure: otherwise, without retries.
    """
    try:
        yield
    except VoyagerError as error:
        raise_for(context, [("", error)], retries=retries)


def raise_for(
    context: dg.AssetExecutionContext,
    failures: Sequence[tuple[str, VoyagerError]],
    *,
    retries: int = STEP_RETRIES,
) -> None:
    """Ends a step whose parts failed, naming each of them.

    Args:
        context: the step's context.
        failures: what was tried, and the error.
        retries: how often the step is tried again when one of them may pass.

    Raises:
        dagster.RetryRequested: while retries are left and at least one failure may pass.
        dagster.Failure: otherwise.
    """
    if not failures:
        return
    text = "; ".join(f"{what}: {error}" if what else str(error) for what, error in failures)
    may_pass = any(isinstance(error, TransientError) for _, error in failures)
    if may_pass and context.retry_number < retries:
        context.log.warning("failed, and the step is tried again: %s", text)
        raise retry_later(context.retry_number, most=retries) from failures[0][1]
    raise give_up(text) from failures[0][1]
