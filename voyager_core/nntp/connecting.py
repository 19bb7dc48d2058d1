"""Making a connection: finding the host, TCP, TLS, and what each can fail with."""

import asyncio
import os
import socket
import ssl

from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.connection import Connection, Deadlines
from voyager_core.nntp.errors import ConnectFailed, TlsFailed

_NO_TLS = ("WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")
# How long the server's end of TLS is waited for; nothing of value can come with it.
_GOODBYE_SECONDS = 1.0


async def connect(
    account: NewsAccount, deadlines: Deadlines, tls: ssl.SSLContext | None
) -> Connection:
    """Returns a new connection, encrypted when `tls` is given; the greeting is not read yet.

    Raises:
        ConnectFailed: no way to the server now.
        TlsFailed: its certificate is not accepted, or it speaks no TLS.
    """
    server = str(account)
    try:
        return await _reach(account, deadlines, tls)
    except TimeoutError:
        msg = f"{server} was not reached within {deadlines.connect_seconds:g} seconds"
        raise ConnectFailed(msg) from None
    except ssl.SSLCertVerificationError as error:
        msg = (
            f"the certificate of {server} is not accepted ({error.verify_message}); use the host "
            "name in the certificate, or ?ca=FILE with the certificates to trust"
        )
        raise TlsFailed(msg) from error
    except ssl.SSLError as error:
        if error.reason in _NO_TLS:
            msg = f"{server} speaks no TLS on this port; use nntp:// or the port for TLS (563)"
            raise TlsFailed(msg) from error
        msg = f"no TLS connection to {server} ({error.reason or error})"
        raise ConnectFailed(msg) from error
    except socket.gaierror as error:
        msg = f"the host {account.host} of the news URL was not found ({error.strerror})"
        raise ConnectFailed(msg) from error
    except (OSError, UnicodeError) as error:
        # asyncio puts "Connect call failed" in the place of the system's own words.
        number = getattr(error, "errno", None)
        msg = f"no connection to {server} ({os.strerror(number) if number else error})"
        raise ConnectFailed(msg) from error


async def _reach(
    account: NewsAccount, deadlines: Deadlines, tls: ssl.SSLContext | None
) -> Connection:
    """Tries the addresses of the host one after another.

    asyncio's own way of trying them together leaves sockets open when it is cancelled
    (Python 3.11), so each address gets its share of the time instead.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + deadlines.connect_seconds
    async with asyncio.timeout_at(until):
        found = await loop.getaddrinfo(account.host, account.port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    failure: OSError = socket.gaierror(socket.EAI_NONAME, "it has no address")
    for tried, address in enumerate(addresses):
        share = (until - loop.time()) / (len(addresses) - tried)
        try:
            return await _connect_to(address, account, deadlines, tls, seconds=share)
        except ssl.SSLError:
            raise
        except OSError as error:
            failure = error
    raise failure


async def _connect_to(
    address: str,
    account: NewsAccount,
    deadlines: Deadlines,
    tls: ssl.SSLContext | None,
    *,
    seconds: float,
) -> Connection:
    connection = Connection(str(account), deadlines)
    seconds = max(seconds, 0.001)
    try:
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().create_connection(
                lambda: connection,
                address,
                account.port,
                ssl=tls,
                server_hostname=account.host if tls is not None else None,
                ssl_handshake_timeout=seconds if tls is not None else None,
                ssl_shutdown_timeout=_GOODBYE_SECONDS if tls is not None else None,
            )
    except BaseException:
        connection.close()
        raise
    return connection


def tls_context(account: NewsAccount) -> ssl.SSLContext | None:
    """Returns how to encrypt connections of an account; None when it asks for none.

    Raises:
        TlsFailed: the file with trusted certificates cannot be used.
    """
    if not account.tls:
        return None
    try:
        context = ssl.create_default_context(cafile=account.ca_file)
    except (OSError, ssl.SSLError) as error:
        msg = f"the certificates in {account.ca_file} cannot be used ({error})"
        raise TlsFailed(msg) from error
    if not account.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
