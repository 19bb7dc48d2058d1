"""Overview blocks on disk: the spool that waits for the header pass, and the corpus that stays.

What belongs here: files of blocks as a news server sent them, whole or not at all. What
does not: the way to the server (`voyager_core.nntp`), the lines inside a block, SQL.
"""

from voyager_core.storage.blocks import BlockFacts, BlockInfo
from voyager_core.storage.corpus import Corpus
from voyager_core.storage.errors import BlockDamaged, BlockMissing, SpoolFull, StorageUnusable
from voyager_core.storage.spool import Spool

__all__ = [
    "BlockDamaged",
    "BlockFacts",
    "BlockInfo",
    "BlockMissing",
    "Corpus",
    "Spool",
    "SpoolFull",
    "StorageUnusable",
]
