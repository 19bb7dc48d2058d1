"""Every process that runs tests must know them by the same names."""

import pytest


def test_no_name_of_a_test_depends_on_the_order_of_a_set(request: pytest.FixtureRequest) -> None:
    # The order of a set of texts is another one in every process, and xdist then runs nothing.
    named = [
        item.nodeid
        for item in request.session.items
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
        for value in item.callspec.params.values()
        if isinstance(value, (set, frozenset)) and len(value) > 1 and str(value) in item.nodeid
    ]
    assert named == []
