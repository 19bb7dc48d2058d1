"""The words of many names at once, as `tokens` gives them for one.

Names in plain ASCII, of which nearly all are, are cut by the native core. Names with apostrophes,
what is left of one, initials, accents or other scripts are read by themselves.
"""

from functools import lru_cache

import polars as pl

import voyager_native
from voyager_core.domain.tokens import CONTRACTED, MAX_TOKENS, PAIRS, token_hashes

# Two letters that stand alone, one after the other.
_INITIALS = "(?:^|[^A-Za-z0-9])[A-Za-z][^A-Za-z0-9]+[A-Za-z](?:[^A-Za-z0-9]|$)"


def token_hashes_of(names: pl.Series) -> pl.Series:
    """Returns for each name what `token_hashes` returns, a sorted list (List(Int32))."""
    rows = pl.DataFrame(_rules().hashes(names.to_frame("name"), "name")).with_row_index("_row")
    rest = (rows["tok"].is_null() | names.str.contains(_INITIALS)).arg_true()
    if not len(rest):
        return rows["tok"]
    read = [token_hashes(name) for name in names.gather(rest).to_list()]
    asked = pl.DataFrame({"_row": rest, "tok": pl.Series(read, dtype=pl.List(pl.Int32))})
    plain = rows.filter(~rows["_row"].is_in(rest.implode()))
    return pl.concat([plain, asked]).sort("_row")["tok"]


@lru_cache(maxsize=1)
def _rules() -> voyager_native.TokenRules:
    # Names of so many words may have too many when some of them have a second spelling.
    return voyager_native.TokenRules(
        pairs=PAIRS, contracted=sorted(CONTRACTED), most_words=MAX_TOKENS // 2
    )
