"""What the layers of one request tell one another."""

from typing import Any

from starlette.types import Scope

from voyager_api.newznab.parameters import Parameters

_PARAMETERS = "parameters"


def note_parameters(scope: Scope, parameters: Parameters) -> None:
    """Keeps what a route read of address and body, for the answer to a failure and the counts."""
    scope.setdefault("state", {})[_PARAMETERS] = parameters


def parameters_of(scope: Scope) -> Parameters:
    """Returns the parameters of a request; those of its address where no route read them."""
    state: dict[str, Any] = scope.get("state", {})
    known = state.get(_PARAMETERS)
    return known if isinstance(known, Parameters) else Parameters.from_query(scope["query_string"])
