"""Newznab errors: codes, texts and the document that carries them (NZ-15, NZ-21, NZ-27)."""

from enum import IntEnum

from voyager_api.newznab.xml import XmlWriter
from voyager_core.errors import VoyagerError


class ErrorCode(IntEnum):
    """The codes that Voyager sends; clients act on them, so they are never reused."""

    WRONG_CREDENTIALS = 100
    MISSING_PARAMETER = 200
    INCORRECT_PARAMETER = 201
    NO_SUCH_FUNCTION = 202
    FUNCTION_NOT_AVAILABLE = 203
    NO_SUCH_ITEM = 300
    LIMIT_REACHED = 500
    UNKNOWN = 900


# What a downloader or a feed reader is told by the status alone (NZ-27).
_DOWNLOAD_STATUS = {
    ErrorCode.WRONG_CREDENTIALS: 401,
    ErrorCode.MISSING_PARAMETER: 400,
    ErrorCode.INCORRECT_PARAMETER: 400,
    ErrorCode.NO_SUCH_FUNCTION: 400,
    ErrorCode.FUNCTION_NOT_AVAILABLE: 400,
    ErrorCode.NO_SUCH_ITEM: 404,
}


class NewznabError(VoyagerError):
    """An answer that is an `<error>` document.

    Attributes:
        code: what went wrong, as clients read it.
        description: one line for a person.
        status: an HTTP status that holds for every address; None = by `http_status`.
        retry_after_seconds: when another try makes sense, at least 1; None = not said.
    """

    def __init__(
        self,
        code: ErrorCode,
        description: str,
        *,
        status: int | None = None,
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.status = status
        self.retry_after_seconds = retry_after_seconds


def http_status(error: NewznabError, *, download: bool) -> int:
    """Returns the HTTP status of an error.

    Args:
        error: what went wrong.
        download: True where the reader acts on the status (NZBs and feeds); searches answer 200,
            since that is the only form whose reason Sonarr, Prowlarr and Hydra all show.
    """
    if error.status is not None:
        return error.status
    return _DOWNLOAD_STATUS.get(error.code, 200) if download else 200


def wrong_credentials() -> NewznabError:
    """The key is unknown or revoked."""
    return NewznabError(ErrorCode.WRONG_CREDENTIALS, "Incorrect user credentials")


def missing_parameter(name: str) -> NewznabError:
    """A parameter without which the function makes no sense is absent or empty."""
    return NewznabError(ErrorCode.MISSING_PARAMETER, f"Missing parameter ({name})")


def incorrect_parameter(name: str) -> NewznabError:
    """A parameter is present and cannot be understood."""
    return NewznabError(ErrorCode.INCORRECT_PARAMETER, f"Incorrect parameter ({name})")


def no_such_function(name: str) -> NewznabError:
    """`t` names nothing that Newznab has."""
    return NewznabError(ErrorCode.NO_SUCH_FUNCTION, f"No such function ({name[:40]})")


def function_not_available(name: str) -> NewznabError:
    """`t` names a Newznab function that Voyager does not offer."""
    return NewznabError(ErrorCode.FUNCTION_NOT_AVAILABLE, f"Function not available ({name[:40]})")


def no_such_item(description: str = "No such item") -> NewznabError:
    """The id is well formed or not, but no release has it, or not what is asked of it."""
    return NewznabError(ErrorCode.NO_SUCH_ITEM, description)


def limit_reached(retry_after_seconds: float) -> NewznabError:
    """The key used up its requests or downloads; the text is one that clients compare (NZ-15)."""
    return NewznabError(
        ErrorCode.LIMIT_REACHED,
        "Request limit reached",
        status=429,
        retry_after_seconds=max(1, -int(-retry_after_seconds // 1)),
    )


def unavailable(retry_after_seconds: int) -> NewznabError:
    """The catalog does not answer; another try later makes sense."""
    return NewznabError(
        ErrorCode.UNKNOWN,
        "The catalog cannot be reached; try again later",
        status=503,
        retry_after_seconds=retry_after_seconds,
    )


def unknown_error() -> NewznabError:
    """Something failed that nobody foresaw; the reason is in the log (NZ-28)."""
    return NewznabError(ErrorCode.UNKNOWN, "Unknown error", status=500)


def error_xml(error: NewznabError) -> bytes:
    """Returns the `<error>` document; both attributes are always there."""
    writer = XmlWriter()
    writer.empty("error", [("code", int(error.code)), ("description", error.description)])
    return writer.to_bytes()


def error_json(error: NewznabError) -> dict[str, str]:
    """Returns the same for `o=json`."""
    return {"code": str(int(error.code)), "description": error.description}
