"""The JSON that machines other than Newznab clients read."""

from typing import Literal

from pydantic import BaseModel


class Health(BaseModel):
    """The process is alive; says nothing of the database."""

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """Whether requests can be answered.

    Attributes:
        catalog: the database answers with the schema of this program.
        releases: whether there is something to find; without, the Test button of Sonarr and its
            relatives fails (NZ-20).
    """

    status: Literal["ready", "not ready"]
    catalog: bool
    releases: bool
    message: str
