"""Logging of the command line and the services: one line an event, to standard error."""

import logging


def configure_logging(*, verbose: bool = False) -> None:
    """Sends Voyager's log lines to standard error; `verbose` adds the informative ones."""
    logging.basicConfig(
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        level=logging.INFO if verbose else logging.WARNING,
    )
