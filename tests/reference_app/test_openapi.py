"""The contract is valid OpenAPI, as a tool that is not ours says, and the server gives it away in one piece."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reference_app.peer import Serve

from tpharness.reference_app.openapi import openapi_document
from tpharness.resources import conformance_dir
from tpharness.suite_yaml import load_suite_yaml


def test_the_contract_is_valid_openapi() -> None:
    """The file itself, its references to the schema files resolved from where it lies."""
    from jsonschema_path import SchemaPath  # the validator is imported by the two tests that need it
    from jsonschema_path.handlers import default_handlers
    from openapi_spec_validator import OpenAPIV31SpecValidator

    path = conformance_dir() / "control.openapi.yaml"
    document = load_suite_yaml(path)
    event = json.loads((conformance_dir() / "schemas" / "server-event.schema.json").read_text("utf-8"))

    def read(uri: str) -> Any:
        if uri == event["$id"]:
            return event
        return load_suite_yaml(conformance_dir() / "schemas" / uri.rpartition("/")[2])

    handlers = {**default_handlers, "urn": read, "file": read}
    base = path.resolve().as_uri()
    errors = list(
        OpenAPIV31SpecValidator(SchemaPath.from_dict(document, base_uri=base, handlers=handlers)).iter_errors()
    )
    assert errors == []


def test_the_bundled_contract_is_valid_and_whole() -> None:
    """No reference leads outside, every one leads somewhere, and the paths are the contract's."""
    from openapi_spec_validator import OpenAPIV31SpecValidator

    document = openapi_document()
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []
    schemas = document["components"]["schemas"]
    targets = set(_references(document))
    assert all(target.startswith("#/components/") for target in targets)
    assert {t.split("/")[3] for t in targets if t.startswith("#/components/schemas/")} <= set(schemas)
    source = load_suite_yaml(conformance_dir() / "control.openapi.yaml")
    assert list(document["paths"]) == list(source["paths"])


@pytest.mark.asyncio
async def test_the_server_serves_every_path_of_the_contract(serve: Serve) -> None:
    """No operation of the document answers 404 for its path, or 405 for its method."""
    async with serve() as peer:
        status, document = await peer.answer("GET", "/openapi.json")
        assert status == 200
        for path, operations in document["paths"].items():
            for method in set(operations) & {"get", "post", "delete"}:
                body: dict[str, Any] | None = None if method == "get" else {}
                status, told = await peer.answer(method.upper(), path.replace("{thread_id}", "none"), body)
                assert status != 405, (method, path)
                assert status != 404 or "no thread" in told["error"]["message"], (method, path)


def _references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [r for item in value for r in _references(item)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [r for item in value.values() for r in _references(item)]
