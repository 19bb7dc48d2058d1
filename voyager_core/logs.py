"""Logging of the command line and the services: one line an event, to standard error."""

import logging


class OneLineFormatter(logging.Formatter):
    """Writes what is no letter, sign or blank as an escape; a traceback follows as it is.

    Names and addresses come from strangers, and could begin a line of their own or act on the
    terminal that shows the log.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """Returns the line of a record."""
        line = super().formatMessage(record)
        if line.isprintable():
            return line
        return "".join(
            character if character.isprintable() else ascii(character)[1:-1] for character in line
        )


def configure_logging(*, verbose: bool = False) -> None:
    """Sends Voyager's log lines to standard error; `verbose` adds the informative ones."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLineFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.INFO if verbose else logging.WARNING)
