"""The rule set: what the header pass leaves out of the catalog, under names that are counted.

A rule set is data. Its number is what people and the ledger speak of, its digest what tells
that two of the same number are not the same; a changed rule makes the spans stale in which
it dropped something. What a rule looks at belongs into the rule set and not into code, since
the rule set of then is applied again when a rule is changed.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from voyager_core.domain.blocklist import BLOCKED_DIGESTS, BLOCKED_HALVES
from voyager_core.domain.posting_tools import is_signature
from voyager_core.domain.versions import CATEGORIES_VERSION, NAMES_VERSION

BLOCKED = "blocked"
"""Names that hint at the abuse of minors: counted, never stored, never sampled."""
DISGUISED_PROGRAM = "disguised_program"
"""Programs under a media name (`Film.mkv.exe`)."""
GARBAGE = "garbage"
"""Uploads under names that say nothing, by a tool that posts nothing else to that newsgroup."""
REPOST_REMNANT = "repost_remnant"
"""Single articles of a file sent twice (a retry of the poster), while the file itself is there."""

DROP_RULES = (BLOCKED, DISGUISED_PROGRAM, GARBAGE, REPOST_REMNANT)
"""What drops files, the first that matches, in this order."""

RULE_TEXTS = {
    BLOCKED: "uploads with a word that hints at the abuse of minors",
    DISGUISED_PROGRAM: "programs under a media name, such as Film.mkv.exe",
    GARBAGE: "uploads under random names, by the tools and newsgroups that are listed",
    REPOST_REMNANT: "single articles of a file that was posted a second time",
}
"""What each rule drops, in a line."""

LOOKS_AT: Mapping[str, tuple[str, ...]] = {
    BLOCKED: ("blocked_digests", "blocked_halves"),
    DISGUISED_PROGRAM: ("media_types", "program_types"),
    GARBAGE: ("garbage", "names_version"),
    REPOST_REMNANT: ("remnant_share",),
}
"""The fields of the rule set that each rule looks at."""

UNSAMPLED = frozenset({BLOCKED})
"""Rules of which no sample is kept."""

# Far less than a regular expression may be, since two engines read it.
_FILE_TYPE = re.compile(r"(?:[a-z0-9]\??){1,12}")


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Everything that decides what is kept.

    Attributes:
        version: of the built-in rule set: raised with every change of it. Of the one in force
            in a catalog: the number that the catalog gave it and that spans record.
        dropped: names of the rules that are in force.
        media_types: file extensions under which a program hides; `?` after what may lack.
        program_types: file extensions of programs.
        blocked_digests: of each blocked word, and of each blocked pair (`blocklist.digest_of`).
        blocked_halves: of the first words of these pairs (`blocklist.half_digest_of`).
        garbage: signatures `tool@newsgroup` (`posting_tools`); `*` stands for every newsgroup.
        remnant_share: a second copy with at most this share of a file's parts is a remnant.
        sample_share: share of what a rule drops that is kept as samples.
        names_version: of the rules about random names.
        categories_version: of the category rules.
    """

    version: int = 1
    dropped: tuple[str, ...] = DROP_RULES
    media_types: tuple[str, ...] = (
        *("mkv", "mp4", "m4v", "avi", "wmv", "mov", "mpe?g", "mp3", "flac", "m4a"),
        *("pdf", "epub", "jpe?g", "iso"),
    )
    program_types: tuple[str, ...] = (
        *("exe", "scr", "com", "bat", "cmd", "pif", "vbs", "js", "lnk", "msi"),
    )
    blocked_digests: frozenset[str] = BLOCKED_DIGESTS
    blocked_halves: frozenset[str] = BLOCKED_HALVES
    garbage: tuple[str, ...] = ()
    remnant_share: float = 0.1
    sample_share: float = 0.01
    names_version: int = NAMES_VERSION
    categories_version: int = CATEGORIES_VERSION

    def __post_init__(self) -> None:
        """Refuses shares that are none and rules that do not exist."""
        if not (0 <= self.remnant_share < 1 and 0 <= self.sample_share <= 1):
            msg = f"shares lie between 0 and 1: {self.remnant_share}, {self.sample_share}"
            raise ValueError(msg)
        for kind in (*self.media_types, *self.program_types):
            if not isinstance(kind, str) or not _FILE_TYPE.fullmatch(kind):
                msg = f"no file type: {kind!r} (letters and digits, `?` after one that may lack)"
                raise ValueError(msg)
        unknown = [rule for rule in self.dropped if rule not in DROP_RULES]
        if unknown:
            msg = f"no such rule: {', '.join(unknown)} (there are {', '.join(DROP_RULES)})"
            raise ValueError(msg)
        if wrong := [text for text in self.garbage if not is_signature(text)]:
            msg = f"no signature of a known tool and a newsgroup: {', '.join(map(str, wrong))}"
            raise ValueError(msg)

    def content(self) -> dict[str, object]:
        """Returns the rule set as JSON takes it, without its number."""
        content: dict[str, object] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "version":
                continue
            if isinstance(value, frozenset):
                value = sorted(value)
            content[each.name] = list(value) if isinstance(value, tuple) else value
        return content

    @classmethod
    def from_content(cls, version: int, content: Mapping[str, Any]) -> "RuleSet":
        """Returns the rule set of `content`; a field that it lacks is as built in.

        Raises:
            ValueError: it has fields, values or rules that this version does not know.
        """
        known = {each.name for each in fields(cls)} - {"version"}
        if unknown := sorted(set(content) - known):
            msg = f"no such field of a rule set: {', '.join(unknown)}"
            raise ValueError(msg)
        return cls(
            version=version,
            **{
                each.name: _value(each.name, type(each.default), content[each.name])
                for each in fields(cls)
                if each.name in content
            },
        )

    def without(self, *rules: str) -> "RuleSet":
        """Returns the same rules, these taken back.

        Raises:
            ValueError: one of them does not exist.
        """
        if unknown := [rule for rule in rules if rule not in DROP_RULES]:
            msg = f"no such rule: {', '.join(unknown)} (there are {', '.join(DROP_RULES)})"
            raise ValueError(msg)
        return replace(self, dropped=tuple(rule for rule in self.dropped if rule not in rules))

    @property
    def digest(self) -> str:
        """The SHA-256 of the content: the same rules have it, whatever their number."""
        text = json.dumps(self.content(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def changed_rules(before: RuleSet, now: RuleSet) -> list[str]:
    """Returns the rules in force before that are gone or look at something else now."""
    return [rule for rule in before.dropped if why_changed(rule, before, now)]


def why_changed(rule: str, before: RuleSet, now: RuleSet) -> str:
    """Returns what became of a rule that was in force before; empty when it is the same."""
    if rule not in now.dropped:
        return "retracted"
    names = [name for name in LOOKS_AT[rule] if getattr(before, name) != getattr(now, name)]
    return f"changed: {', '.join(names)}" if names else ""


def changed_since(rule: str, rulesets: Mapping[int, RuleSet], now: RuleSet) -> int:
    """Returns the first version from which on a rule is what it is now.

    Args:
        rule: the rule's name.
        rulesets: the recorded versions.
        now: the rule set in force.
    """

    def meaning(rules: RuleSet) -> object:
        fields_of = LOOKS_AT.get(rule, ())
        return rule in rules.dropped and [getattr(rules, name) for name in fields_of]

    since = now.version
    for version in sorted((v for v in rulesets if v < now.version), reverse=True):
        if meaning(rulesets[version]) != meaning(now):
            break
        since = version
    return since


def _value(name: str, kind: type, value: object) -> Any:
    """Returns a field's value as a rule set holds it.

    Args:
        name: the field.
        kind: what the field's built-in value is.
        value: what JSON says.

    Raises:
        ValueError: it is of another kind.
    """
    if kind in {tuple, frozenset}:
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return kind(value)
        wanted = "a list of texts"
    elif isinstance(value, kind | int) and not isinstance(value, bool):
        return kind(value)
    else:
        wanted = "a number" if kind is float else "a whole number"
    msg = f"{name} is {wanted}"
    raise ValueError(msg)
