"""An address is written as Node.js's `new URL(address).href` writes it."""

from __future__ import annotations

import json
import subprocess

import pytest

from tpharness.histories.web_address import href
from tpharness.targets.nodejs import find_node

ADDRESSES = (
    "https://example.org",
    "https://example.org/a",
    "HTTP://user:secret@EXAMPLE.org:443/Ä b%20c?d=ü#e",
    "http://EXAMPLE.org:80/./a/../b/.?q='x y'\"<>#f <g>`h",
    "https://example.org/a/b/..",
    "https://example.org/../{x}|y^z",
    "https://bücher.example:8443/?ß",
    "data:text/plain,hello you",
    "DATA:text/plain;base64,aGk=",
    "data:text/plain,ä?ö#ü x",
    "ftp://example.org:21/a",
)


@pytest.mark.node
def test_it_is_what_node_makes_of_it() -> None:
    """Schemes, ports, names of hosts, dots in paths, and what is percent-encoded where."""
    program = "console.log(JSON.stringify(JSON.parse(process.argv[1]).map(one => new URL(one).href)))"
    done = subprocess.run(
        [find_node().executable, "-e", program, json.dumps(ADDRESSES)], check=True, stdout=subprocess.PIPE, timeout=60
    )
    assert [href(one) for one in ADDRESSES] == json.loads(done.stdout)
