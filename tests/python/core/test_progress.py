"""How far, how long, and who may stop: lines, times and answers."""

import io
import re

import numpy as np
import pytest
import unbend as ub
from unbend import _core
from unbend.core import progress
from unbend.core.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def shown(stream):
    """Return what a terminal shows at the end: a return begins the line again."""
    lines = []
    for line in stream.getvalue().split("\n"):
        cells = []
        for part in line.split("\r"):
            cells[: len(part)] = part
        lines.append("".join(cells).rstrip())
    return lines


def fail(watch, stage, done, total, error):
    """Get so far and no further."""
    watch.progress(stage, done, total)
    raise error


# Lines


def test_one_line_for_each_stage_in_a_file(clock):
    stream = io.StringIO()
    watch = Progress(1, stream=stream)
    for stage, seconds in (("neighbors", 0.5), ("greedy", 75.0)):
        with watch.stage(stage, 100):
            clock.now += seconds
            watch.progress(stage, 50, 100)
    assert stream.getvalue() == "  neighbors              0.50 s\n  greedy               1:15 min\n"


def test_a_terminal_sees_the_line_change(clock):
    stream = Terminal()
    watch = Progress(1, stream=stream)
    with watch.stage("neighbors", 1000):
        clock.now += 3
        watch.progress("neighbors", 250, 1000)
        assert shown(stream) == ["  neighbors      25 %    3.00 s, about 9 s left"]
        clock.now += 9
        watch.progress("neighbors", 999, 1000)
        assert shown(stream)[0].startswith("  neighbors      99 %    12.0 s, about 1 s left")
    assert shown(stream) == ["  neighbors              12.0 s", ""]


def test_a_line_is_not_rewritten_more_often_than_anyone_can_read(clock):
    stream = Terminal()
    watch = Progress(1, stream=stream)
    with watch.stage("greedy"):
        for done in range(1000):
            clock.now += 0.001
            watch.progress("greedy", done, 1000)
    assert stream.getvalue().count("\r") <= 12


def test_nothing_is_said_about_the_end_before_it_can_be_known(clock):
    stream = Terminal()
    watch = Progress(1, stream=stream)
    with watch.stage("greedy"):
        clock.now += 0.2
        watch.progress("greedy", 50, 100)
        clock.now += 10
        watch.progress("greedy", 1, 100)
        watch.progress("greedy", 0, 0)
    with watch.stage("tangents"):
        clock.now += 10
        watch.progress("tangents", 9, 100)
    assert "left" not in stream.getvalue()


@pytest.mark.parametrize("again", [(40, 100), (60, 200)], ids=["anew", "of more"])
def test_a_stage_that_counts_again_has_no_known_end(clock, again):
    stream = Terminal()
    watch = Progress(1, stream=stream)
    with watch.stage("evidence"):
        clock.now += 10
        watch.progress("evidence", 50, 100)
        assert "about 10 s left" in shown(stream)[-1]
        clock.now += 10
        watch.progress("evidence", *again)
        clock.now += 10
        watch.progress("evidence", 90, again[1])
        assert "left" not in shown(stream)[-1]
    with watch.stage("faithfulness"):
        clock.now += 10
        watch.progress("faithfulness", 50, 100)
        assert "about 10 s left" in shown(stream)[-1]


def test_the_best_is_shown(clock):
    stream = io.StringIO()
    watch = Progress(1, stream=stream)
    with watch.stage("refine"):
        watch.report("refine", 1, 60, 0.5)
        watch.report("refine", 2, 60, 2.53e-5)
    with watch.stage("faithfulness", 10):
        pass
    first, second, _ = stream.getvalue().split("\n")
    assert first.endswith(", best 2.53e-05")
    assert "best" not in second


def test_what_may_end_at_any_step_claims_no_share(clock):
    stream = Terminal()
    watch = Progress(1, stream=stream)
    with watch.stage("refine"):
        clock.now += 5
        watch.report("refine", 2, 60, 0.25)
        assert shown(stream) == ["  refine                 5.00 s, step 3 of at most 60, best 0.25"]
    assert shown(stream) == ["  refine                 5.00 s, best 0.25", ""]


def test_a_stage_cut_short_says_where(clock):
    stream = io.StringIO()
    watch = Progress(1, stream=stream)
    with pytest.raises(KeyboardInterrupt), watch.stage("greedy", 100):
        fail(watch, "greedy", 45, 100, KeyboardInterrupt)
    assert stream.getvalue() == "  greedy         45 %    0.00 s, cut short\n"


def test_a_notebook_is_a_terminal():
    class OutStream(io.StringIO):
        pass

    OutStream.__module__ = "ipykernel.iostream"
    for stream, rewrites in ((OutStream(), True), (Terminal(), True), (io.StringIO(), False)):
        with Progress(1, stream=stream).stage("greedy", 10):
            pass
        assert ("\r" in stream.getvalue()) is rewrites


def test_without_standard_error(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with Progress(1).stage("greedy", 10):
        pass


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.00 s"),
        (0.004, "0.00 s"),
        (9.994, "9.99 s"),
        (9.996, "10.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1:00 min"),
        (245.2, "4:05 min"),
        (3599.9, "1:00 h"),
        (7825, "2:10 h"),
    ],
)
def test_durations(clock, seconds, text):
    stream = io.StringIO()
    with Progress(1, stream=stream).stage("greedy"):
        clock.now += seconds
    assert stream.getvalue().split(maxsplit=1)[1] == f"{text}\n"


@pytest.mark.parametrize(
    ("done", "total", "share"), [(999_999, 1_000_000, "99 %"), (7, 7, "100 %"), (0, 0, "0 %")]
)
def test_a_hundred_per_cent_are_all(clock, done, total, share):
    stream = Terminal()
    watch = Progress(1, stream=stream)
    with watch.stage("greedy"):
        clock.now += 1
        watch.progress("greedy", done, total)
        assert f" {share} " in shown(stream)[0]


# Times


def test_timings(clock):
    watch = Progress()
    for stage, seconds in (("neighbors", 1), ("refine", 2), ("refine", 3)):
        with watch.stage(stage):
            clock.now += seconds
    assert watch.timings == {"neighbors": 1, "refine": 5}


def test_a_stage_within_itself_is_one(clock):
    stream = io.StringIO()
    watch = Progress(1, stream=stream)
    with watch.stage("refine"):
        clock.now += 1
        with watch.stage("refine"):
            clock.now += 1
        clock.now += 1
    assert watch.timings == {"refine": 3}
    assert stream.getvalue().count("\n") == 1


def test_the_core_may_begin_with_another_stage(clock):
    stream = io.StringIO()
    watch = Progress(1, stream=stream)
    with watch.stage("greedy", 10):
        clock.now += 1
        watch.progress("charts", 5, 10)
        clock.now += 2
        watch.progress("greedy", 1, 10)
        clock.now += 4
        watch.progress("greedy", 9, 10)
        clock.now += 8
    assert watch.timings == {"charts": 3, "greedy": 12}
    assert [line.split()[0] for line in stream.getvalue().splitlines()] == ["charts", "greedy"]


def test_the_core_spells_otherwise(clock):
    heard = []
    watch = Progress(callback=lambda *report: heard.append(report))
    with watch.stage("neighbors", 9):
        watch.progress("neighbors", 4, 9)
    assert {report[0] for report in heard} == set(watch.timings) == {"neighbors"}


def test_every_stage_has_its_line_though_the_core_was_too_quick_to_report(clock):
    watch = Progress()
    with watch.stage("greedy", 10):
        watch.progress("charts", 5, 10)
        clock.now += 2
    assert watch.timings == {"charts": 2, "greedy": 0}


# Stopping


def test_reports_and_answers():
    heard = []
    watch = Progress(callback=lambda *report: heard.append(report))
    with watch.stage("neighbors", 9):
        assert watch.progress("neighbors", 4, 9) is False
    watch.best = 0.5
    assert watch.report("refine", 1, 60, 0.25) is False
    assert watch.report("refine", 2, 60) is False
    assert heard == [
        ("neighbors", 0, 9, None),
        ("neighbors", 4, 9, None),
        ("neighbors", 9, 9, None),
        ("refine", 1, 60, 0.25),
        ("refine", 2, 60, 0.25),
    ]


def test_who_asked_once_is_not_forgotten():
    answers = iter([None, True, None, None, None])
    watch = Progress(callback=lambda *_: next(answers))
    assert not watch.report("refine", 0, 9)
    assert watch.report("refine", 1, 9)
    assert watch.report("refine", 2, 9)
    assert not watch.report("faithfulness", 0, 9)


@pytest.mark.parametrize(
    ("answer", "stops"), [(True, True), (np.True_, True), (np.False_, False), (1, False), ("no", False)]
)
def test_only_true_stops(answer, stops):
    assert Progress(callback=lambda *_: answer).report("refine", 0, 9) is stops


@pytest.mark.parametrize("stage", ["neighbors", "charts", "greedy"])
def test_a_stage_is_not_begun_when_it_shall_stop(stage):
    watch = Progress(callback=lambda *_: True)
    with pytest.raises(ub.Stopped, match=f"in its stage {stage}, at 0 of 1,000"), watch.stage(stage, 1000):
        pytest.fail("begun")
    assert list(watch.timings) == [stage]


def test_with_an_embedding_at_hand_nothing_is_raised():
    watch = Progress(callback=lambda *_: True)
    done = []
    with watch.stage("refine", 60):
        done.append("refine")
    with watch.stage("faithfulness", 1000):
        done.append("faithfulness")
    assert done == ["refine", "faithfulness"]


def test_the_stop_of_the_core_becomes_ours():
    watch = Progress()
    with pytest.raises(ub.Stopped, match="in its stage charts, at 30 of 1,000"), watch.stage("greedy", 1000):
        fail(watch, "charts", 30, 1000, _core.Stopped("by the core"))
    assert issubclass(ub.Stopped, _core.Stopped)
    assert issubclass(ub.Stopped, RuntimeError)


def test_a_callback_must_be_callable():
    with pytest.raises(ValueError, match=re.escape("callback = 'f' cannot be called")):
        Progress(callback="f")
