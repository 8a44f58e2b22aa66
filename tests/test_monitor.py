"""Monitors: the guide's timeouts in virtual time."""

from __future__ import annotations

from datetime import datetime

from tests.scenarios import load_builtin

from tpharness.monitor import ClientMonitor, ServerMonitor, Timeouts


def test_the_guides_timeouts_are_the_defaults() -> None:
    """The client waits a little longer than the server, and heartbeats come between."""
    defaults = Timeouts()
    assert (defaults.server_stream, defaults.client_stream) == (30.0, 35.0)
    assert (defaults.max_reconnects, defaults.heartbeat) == (3, 15.0)


def test_a_silent_model_is_a_timeout_after_the_limit_and_not_at_it() -> None:
    """Nothing for longer than the limit is a timeout (R27)."""
    monitor = ServerMonitor(0.0)
    monitor.event(10.0)
    assert monitor.reason(40.0) is None
    assert monitor.reason(40.1) == "timeout"
    assert monitor.next_deadline() == 40.0


def test_a_late_event_does_not_undo_a_timeout() -> None:
    """The first interruption stands (R26)."""
    monitor = ClientMonitor(0.0)
    monitor.event(36.0)
    monitor.stop()
    assert monitor.reason(36.0) == "timeout"


def test_a_run_that_ended_is_never_interrupted() -> None:
    """An interruption after the end changes nothing (R26)."""
    monitor = ClientMonitor(0.0)
    monitor.ended()
    monitor.closed()
    assert monitor.reason(1000.0) is None


def test_each_reason_is_detected() -> None:
    """Cancelled, gone, failed, filtered, closed: each has its word."""
    server = [ServerMonitor(0.0) for _ in range(4)]
    server[0].cancel()
    server[1].disconnected()
    server[2].error()
    server[3].finish_reason("content_filter")
    found = [monitor.reason(1.0) for monitor in server]
    assert found == ["user_cancelled", "network_failure", "error", "safety_halt"]
    client = ClientMonitor(0.0)
    client.finish_reason("stop")
    assert client.reason(1.0) is None
    client.closed(open_parts=2)
    assert client.reason(1.0) == "network_failure"


def test_heartbeats_keep_a_silent_stream_until_they_stop() -> None:
    """A ping proves that the connection lives (R55); without one the limit is over 35 seconds after the last."""
    client = ClientMonitor(0.0)
    assert not client.alive(30.0)
    client.heartbeat(20.0)
    assert client.alive(49.9)
    assert client.reason(35.1) is None
    assert client.next_deadline() == 55.0
    assert client.reason(55.1) == "timeout"
    client.heartbeat(56.0)
    assert client.reason(57.0) == "timeout"


def test_a_server_sends_a_heartbeat_when_it_has_sent_nothing() -> None:
    """Every 15 seconds of silence, until the run is over."""
    server = ServerMonitor(0.0)
    assert not server.heartbeat_due(14.9)
    assert server.heartbeat_due(15.0)
    server.sent(15.0)
    assert not server.heartbeat_due(29.9)
    server.cancel()
    assert not server.heartbeat_due(60.0)


def test_the_stall_of_a_scenario_is_the_timeout_that_a_monitor_detects() -> None:
    """The scenario's hanging tool, watched in its own virtual time, gives the reason that the scenario states."""
    (_, run), *_ = load_builtin("interruptions/timeout-while-a-tool-hangs").runs
    assert run.interrupt
    times = [datetime.fromisoformat(event["at"]).timestamp() for event in run.events_before_cut]
    begun = datetime.fromisoformat(run.started_at).timestamp()
    server, client = ServerMonitor(begun), ClientMonitor(begun)
    for now in times[:-1]:  # the last event is the stall itself
        for monitor in (server, client):
            monitor.event(now)
            assert monitor.reason(now) is None
    cut = datetime.fromisoformat(run.interrupt.at).timestamp()
    assert {server.reason(cut), client.reason(cut)} == {run.interrupt.reason} == {"timeout"}
