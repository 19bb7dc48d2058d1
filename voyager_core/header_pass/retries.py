"""What a poster merely sent again, and what is another post of a file: one rule for all.

A poster who gets no answer sends an article again. So at most a tenth of the parts that are
there of a file, or one part, are a retry when they come once more than the others; more are a
post. The engine deals the copies of a part out by this rule (`assemble/generations.rs`), and
the pieces of several spans are dealt out by it; a rule set may drop more or fewer (`share`).

The parts that are there decide, not those that subjects announce: of a file that lacks many,
posts that share few parts would be taken for retries, with articles that are there once.
"""

import polars as pl

from voyager_core.domain.rulesets import REPOST_REMNANT, RuleSet

SHARE = 0.1
"""Of the parts that are there, so many come again by retries at most; as in the engine."""


def most_again(parts: int, share: float = SHARE) -> int:
    """Returns how many parts a retry has at most.

    Args:
        parts: how many parts of the file are there.
        share: of these that a retry has at most.
    """
    return max(1, int(parts * share))


def times_posted(copies: list[int]) -> int:
    """Returns how often a file was posted: so many copies have more parts than retries bring.

    Args:
        copies: how many copies each part has, the most first.
    """
    retried = most_again(len(copies))
    return copies[retried] if retried < len(copies) else 1


def is_retry(found: int, fullest: int, share: float = SHARE) -> bool:
    """Tells whether a later posting is what is left of a retry.

    Args:
        found: how many parts it has.
        fullest: the most parts that a posting of the file has.
        share: of these that a retry has at most.
    """
    return found <= most_again(fullest, share) < fullest


def retries(share: float | None) -> pl.Expr:
    """Tells rows of postings that are what is left of a retry; see `is_retry`.

    Args:
        share: of the parts of the fullest posting (`fullest`); None where the rule is not in
            force, which no row meets.
    """
    if share is None:
        return pl.lit(value=False)
    most = (pl.col("fullest") * share).floor().clip(1)
    few = (pl.col("parts_found") <= most) & (pl.col("fullest") > most)
    # The first posting is what the others repeat.
    return few & (pl.col("generation") > 0)


def dropped_share(rules: RuleSet) -> float | None:
    """Returns the share up to which rules drop retries; None when they keep all of them."""
    return rules.remnant_share if REPOST_REMNANT in rules.dropped else None
