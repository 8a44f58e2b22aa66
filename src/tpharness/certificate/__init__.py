"""The certificate: what a target was found to keep, over which reports and which suite, and why to refuse it."""

from tpharness.certificate.claims import CONFORMS, IN_PART, claim_extent
from tpharness.certificate.envelope import has_valid_signature, load_private_key, load_public_key, open_envelope, seal
from tpharness.certificate.plan import plan_playing
from tpharness.certificate.requirements import load_requirements, new_since, relaxed_since
from tpharness.certificate.statement import Playing, describe_side, make_statement, read_report
from tpharness.certificate.suite import find_earlier_suite
from tpharness.certificate.summary import (
    badge_endpoint,
    badge_markdown,
    badge_svg,
    certificate_markdown,
    claim_lines,
    verdict_line,
    wires_of,
)
from tpharness.certificate.trusted_time import (
    UntrustedTimeError,
    find_expiry,
    find_revocations,
    find_trusted_time,
    read_revocations,
)
from tpharness.certificate.verify import claims_by_reports, compare_replay, find_refusals, read_statement

__all__ = [
    "CONFORMS",
    "IN_PART",
    "Playing",
    "UntrustedTimeError",
    "badge_endpoint",
    "badge_markdown",
    "badge_svg",
    "certificate_markdown",
    "claim_extent",
    "claim_lines",
    "claims_by_reports",
    "compare_replay",
    "describe_side",
    "find_earlier_suite",
    "find_expiry",
    "find_refusals",
    "find_revocations",
    "find_trusted_time",
    "has_valid_signature",
    "load_private_key",
    "load_public_key",
    "load_requirements",
    "make_statement",
    "new_since",
    "open_envelope",
    "plan_playing",
    "read_report",
    "read_revocations",
    "read_statement",
    "relaxed_since",
    "seal",
    "verdict_line",
    "wires_of",
]
