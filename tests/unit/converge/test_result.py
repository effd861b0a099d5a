"""A run of Ansible is judged by its events: silence is a failure."""

from __future__ import annotations

from typing import Any

from muster.converge.result import EventReader, PlaybookResult


def failed(host: str, **res: Any) -> dict[str, Any]:
    data = {"host": host, "role": "slurmd", "task": "Run slurmd", "res": res}
    return {"event": "runner_on_failed", "event_data": data}


def stats(**columns: dict[str, int]) -> dict[str, Any]:
    return {"event": "playbook_on_stats", "event_data": columns}


def judge(
    *events: dict[str, Any], wanted: tuple[str, ...] = ("a", "b"), status: str = "successful"
) -> PlaybookResult:
    reader = EventReader()
    for event in events:
        reader.add(event)
    return reader.result(wanted=wanted, status=status, output="the end of the output", log="l")


def test_all_hosts_ok_is_ok_and_counts_are_per_host() -> None:
    result = judge(stats(ok={"a": 3, "b": 4}, changed={"b": 2}))
    assert result.ok
    assert result.changed == 2
    assert result.hosts["b"].ok == 4


def test_failed_task_names_host_role_task_and_what_the_program_said() -> None:
    result = judge(
        failed("a", msg="non-zero return code", stderr="no such\nfile"),
        stats(ok={"a": 1, "b": 1}, failures={"a": 1}),
        status="failed",
    )
    expected = "a: slurmd : Run slurmd: non-zero return code: no such file"
    assert [str(f) for f in result.failures] == [expected]


def test_unreachable_host_is_a_failure_although_nothing_failed() -> None:
    event = {
        "event": "runner_on_unreachable",
        "event_data": {"host": "b", "task": "Ask", "res": {"msg": "timed out"}},
    }
    result = judge(event, stats(ok={"a": 1}, dark={"b": 1}))
    assert [str(f) for f in result.failures] == ["b: Ask: timed out"]


def test_host_missing_from_the_statistics_is_a_failure() -> None:
    result = judge(stats(ok={"a": 1}))
    assert [f.host for f in result.failures] == ["b"]


def test_no_events_at_all_is_a_failure_with_the_output() -> None:
    result = judge(status="failed")
    assert [str(f) for f in result.failures] == ["ansible ended as 'failed': the end of the output"]


def test_no_statistics_is_a_failure_whatever_the_status_says() -> None:
    assert not judge(status="successful").ok


def test_bad_status_without_a_failed_host_is_a_failure() -> None:
    result = judge(stats(ok={"a": 1, "b": 1}), status="timeout")
    assert "ended as 'timeout'" in str(result.failures[0])


def test_failure_that_a_rescue_dealt_with_is_none() -> None:
    result = judge(failed("a", msg="first try"), stats(ok={"a": 2, "b": 2}, rescued={"a": 1}))
    assert result.ok


def test_several_hosts_are_each_named() -> None:
    result = judge(
        failed("a", msg="x"),
        failed("b", msg="y"),
        stats(failures={"a": 1, "b": 1}),
        status="failed",
    )
    assert [f.host for f in result.failures] == ["a", "b"]


def test_hidden_output_stays_hidden() -> None:
    result = judge(
        failed("a", censored="the output has been hidden", msg="KEY"),
        stats(ok={"b": 1}, failures={"a": 1}),
        status="failed",
    )
    assert "KEY" not in str(result.failures[0])


def test_changed_tasks_are_listed_with_their_host() -> None:
    data = {"host": "a", "role": "hosts", "task": "Write the files", "res": {"changed": True}}
    result = judge({"event": "runner_on_ok", "event_data": data}, stats(ok={"a": 1, "b": 1}))
    assert result.changed_tasks == ("a: hosts : Write the files",)
