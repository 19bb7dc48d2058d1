"""What Dagster loads: `python -m dagster … -m voyager_assets.definitions`."""

import dagster as dg

from voyager_assets.build import build_definitions
from voyager_core.settings import load_settings


@dg.definitions
def defs() -> dg.Definitions:
    """Returns the definitions for the settings of this process.

    Raises:
        SettingsError: a setting is missing, misspelt or out of range; Dagster shows the text.
    """
    return build_definitions(load_settings())
