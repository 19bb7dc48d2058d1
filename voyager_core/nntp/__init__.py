"""The way to a news server: account, protocol, connections, and the errors they raise.

What belongs here: bytes to and from an NNTP server. What does not: files on disk
(`voyager_core.storage`), the meaning of overview lines (`voyager_native`), SQL.
"""

from voyager_core.nntp.account import AccountError, Compression, NewsAccount

__all__ = ["AccountError", "Compression", "NewsAccount"]
