"""Versions of what names are read with; a rule set's digest holds them."""

CATEGORIES_VERSION = 2
"""Raised with every change that moves names: a moved release changes what clients see."""

NAMES_VERSION = 2
"""Raised with every change that calls other names random, or chooses other names (`titles`)."""
