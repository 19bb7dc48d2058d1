import dagster as dg
import pytest

from voyager_assets import retries
from voyager_core.errors import PermanentError, TransientError


def step(error, attempts):
    @dg.asset
    def thing(context: dg.AssetExecutionContext):
        attempts.append(context.retry_number)
        with retries.core_errors(context):
            raise error

    return thing


@pytest.fixture
def no_wait(monkeypatch):
    monkeypatch.setattr(retries, "wait_seconds", lambda _retry_number: 0.0)


def test_a_transient_error_is_tried_again_and_then_fails(no_wait):
    attempts = []
    result = dg.materialize(
        [step(TransientError("server is down"), attempts)], raise_on_error=False
    )
    assert not result.success
    assert attempts == [0, 1, 2, 3]


def test_a_permanent_error_fails_at_once_with_its_text(no_wait):
    attempts = []
    result = dg.materialize(
        [step(PermanentError("wrong password"), attempts)], raise_on_error=False
    )
    assert attempts == [0]
    failure = next(e for e in result.all_events if e.event_type_value == "STEP_FAILURE")
    assert "wrong password" in failure.event_specific_data.user_failure_data.description


def test_waits_grow_and_stop_growing():
    waits = [retries.wait_seconds(number) for number in range(6)]
    assert waits == [15.0, 60.0, 240.0, 600.0, 600.0, 600.0]


def test_every_failed_part_is_named(no_wait):
    @dg.asset
    def thing(context: dg.AssetExecutionContext):
        retries.raise_for(context, [("a 1-5", PermanentError("x")), ("b 1-5", PermanentError("y"))])

    result = dg.materialize([thing], raise_on_error=False)
    failure = next(e for e in result.all_events if e.event_type_value == "STEP_FAILURE")
    text = failure.event_specific_data.user_failure_data.description
    assert text == "a 1-5: x; b 1-5: y"


def test_one_failure_that_may_pass_is_enough_for_another_try(no_wait):
    attempts = []

    @dg.asset
    def thing(context: dg.AssetExecutionContext):
        attempts.append(context.retry_number)
        failures = [("a", PermanentError("x")), ("b", TransientError("y"))]
        retries.raise_for(context, failures if not context.retry_number else failures[:1])

    assert not dg.materialize([thing], raise_on_error=False).success
    assert attempts == [0, 1]
