"""Versions of what names are read with, which a rule set's digest holds, and of chunks."""

CATEGORIES_VERSION = 2
"""Raised with every change that moves names: a moved release changes what clients see."""

NAMES_VERSION = 2
"""Raised with every change that calls other names random, or chooses other names (`titles`)."""

CHUNKS_AS_GOOD_SINCE = 1
"""The oldest version of the codec whose chunks need not be written again.

A newer one that only makes chunks smaller leaves it as it is: every version can be read.
"""
