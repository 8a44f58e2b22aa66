"""Addresses as browsers and Node.js write them: `new URL(address).href` of the WHATWG's URL standard."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

__all__ = ["href"]

_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))


def _all_but(written: str) -> str:
    """Return the characters that stay as they are where those of `written` are percent-encoded."""
    return "".join(character for character in _PRINTABLE if character not in written)


_OPAQUE, _FRAGMENT = _all_but(""), _all_but(' "<>`')
_QUERY, _PATH = _all_but(" \"#<>'"), _all_but(' "#<>?^`{}')


def href(address: str) -> str:
    """Return an absolute address in its normal form: the scheme and the host in small letters, no usual port.

    Of other schemes than those of the web, such as `data:`, only letters beyond ASCII are encoded. ValueError if the
    port is not a number.
    """
    scheme, _, rest = address.strip().partition(":")
    scheme = scheme.lower()
    if scheme not in _DEFAULT_PORTS:
        body, mark, fragment = rest.partition("#")
        return f"{scheme}:{quote(body, safe=_OPAQUE)}{mark}{quote(fragment, safe=_FRAGMENT)}"
    split = urlsplit(f"{scheme}:{rest}")
    user, at, _ = split.netloc.rpartition("@")
    host = (split.hostname or "").encode("idna").decode()
    port = "" if split.port in (None, _DEFAULT_PORTS[scheme]) else f":{split.port}"
    query = f"?{quote(split.query, safe=_QUERY)}" if split.query else ""
    fragment = f"#{quote(split.fragment, safe=_FRAGMENT)}" if split.fragment else ""
    return f"{scheme}://{user}{at}{host}{port}{quote(_without_dots(split.path), safe=_PATH)}{query}{fragment}"


def _without_dots(path: str) -> str:
    """Return a path from the root on, without the steps `.` and `..`."""
    steps: list[str] = []
    *before, last = path.split("/")[1:] or [""]
    for step in (*before, last):
        if step == "..":
            steps = steps[:-1]
        elif step != ".":
            steps.append(step)
    ends = [""] if last in (".", "..") else []
    return "/" + "/".join([*steps, *ends])
