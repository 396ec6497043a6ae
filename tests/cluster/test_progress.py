"""How far apt, ninja and the story are: from their words to a line of the terminal."""

import pytest

from cluster.build import first_failure
from cluster.progress import (
    Reading,
    TimeLeft,
    duration,
    estimate,
    file_of_edge,
    fit,
    left_of_steps,
    read_apt,
    read_ninja,
    words,
)


@pytest.mark.parametrize(
    "line, wanted",
    [
        ("dlstatus:1:25.0:Retrieving file 3 of 10\n", Reading("downloading", 0.25, "25 %", "downloading")),
        ("dlstatus:1:100.0000:Retrieving file 10 of 10", Reading("downloading", 1, "100 %", "downloading")),
        ("pmstatus:libfmt9:40:Installing libfmt9 (amd64)", Reading("installing", 0.4, "40 %", "installing libfmt9")),
        ("pmstatus:libc6:amd64:7.5:Unpacking", Reading("installing", 0.075, "8 %", "installing libc6")),
        ("pmstatus:dpkg-exec:0.0000:Running dpkg", Reading("installing", 0, "0 %", "installing")),
        ("pmstatus:x:250:More than all", Reading("installing", 1, "100 %", "installing x")),
        ("pmerror:x:40:trying to overwrite", None),
        ("pmconffile:/etc/x:40:'a' 'b' 1 1", None),
        ("media-change: Debian:/cdrom/:40:please", None),
        ("pmstatus:x:many:words", None),
        ("", None),
        ("\n", None),
    ],
)
def test_reads_what_apt_says_of_its_progress(line, wanted):
    assert read_apt(line) == wanted


@pytest.mark.parametrize(
    "line, count, what",
    [
        (
            "[12/295] Building CXX object scheduler/core/CMakeFiles/glim_core.dir/Unity/unity_0_cxx.cxx.o\n",
            "12 of 295",
            "glim_core/Unity/unity_0_cxx.cxx.o",
        ),
        ("[295/295] Linking CXX executable bin/glim", "295 of 295", "bin/glim"),
        ("[1/2] Running cpp protocol buffer compiler on glim/v1/job.proto", "1 of 2", "glim/v1/job.proto"),
    ],
)
def test_reads_what_ninja_says_of_its_progress(line, count, what):
    reading = read_ninja(line)
    assert (reading.count, reading.what, reading.stage) == (count, what, "building")


@pytest.mark.parametrize("line", ["ninja: no work to do.", "FAILED: a.o", "[0/0] x", "[1/2]", "-- Configuring", ""])
def test_other_words_of_ninja_are_no_progress(line):
    assert read_ninja(line) is None


def test_the_later_edges_of_a_build_count_for_more():
    halves = [read_ninja(f"[{done}/100] x").fraction for done in (0, 50, 100)]
    assert halves[0] == 0 and 0.3 < halves[1] < 0.4 and halves[2] == 1


def test_what_an_edge_is_about_is_told_without_the_folders_of_cmake():
    assert file_of_edge("Building CXX object a/b/CMakeFiles/c.dir/d.cc.o") == "b/c/d.cc.o"
    assert file_of_edge("") == ""


@pytest.mark.parametrize(
    "told, left",
    [
        ([(0, 0.0), (1, 0.5)], None),  # too early
        ([(0, 0.0), (100, 0.01)], None),  # too little
        ([(0, 0.0), (10, 0.25)], 30),
        ([(0, 0.5), (10, 0.75)], 10),  # half was there already
        ([(0, 0.0), (10, 1.0)], 0),
        ([(0, 0.2), (10, 0.2)], None),  # it stands
    ],
)
def test_the_rest_takes_as_long_as_what_was_done(told, left):
    time_left = TimeLeft()
    seconds = [time_left.seconds(Reading("s", fraction, "", ""), 1000 + now) for now, fraction in told]
    assert seconds[0] is None and seconds[-1] == left


def test_each_stage_is_timed_for_itself():
    time_left = TimeLeft()
    assert time_left.seconds(Reading("downloading", 0.0, "", ""), 0) is None
    assert time_left.seconds(Reading("downloading", 1.0, "", ""), 100) == 0
    assert time_left.seconds(Reading("installing", 0.0, "", ""), 100) is None
    assert time_left.seconds(Reading("installing", 0.5, "", ""), 110) == 10


@pytest.mark.parametrize(
    "expected, took, elapsed, left",
    [
        ([10, 20, 30], [], 0, 60),
        ([10, 20, 30], [], 4, 56),
        ([10, 20, 30], [], 20, 100),  # it takes longer than it should: the machine is slow
        ([10, 20, 30], [10], 50, 60),
        ([10, 20, 30], [30], 0, 150),  # a machine of a third of the speed
        ([10, 20, 30], [30], 30, 120),
        ([10, 20, 30], [10, 20], 5, 25),
        ([10, 20, 30], [1], 0, 25),  # one quick step promises no quick rest
        ([10, 20], [10, 20], 3, 0),
    ],
)
def test_what_is_left_of_the_story_goes_by_the_pace_so_far(expected, took, elapsed, left):
    assert left_of_steps(expected, took, elapsed) == left


@pytest.mark.parametrize(
    "seconds, told, estimated",
    [
        (0, "0 s", "some seconds left"),
        (9.6, "10 s", "some seconds left"),
        (34, "34 s", "about 30 s left"),
        (89, "1 min 29 s", "about 90 s left"),
        (91, "1 min 31 s", "about 2 min left"),
        (605, "10 min", "about 10 min left"),
    ],
)
def test_durations_are_as_exact_as_one_can_wait_for(seconds, told, estimated):
    assert (duration(seconds), estimate(seconds)) == (told, estimated)


@pytest.mark.parametrize(
    "columns, shown",
    [
        (80, "    12 of 295, 1 min 05 s, about 3 min left: bin/glim"),
        (30, "    12 of 295, 1 min 05 s, ab"),
        (9, "    12 o"),
        (5, ""),
        (1, ""),
        (0, ""),
    ],
)
def test_a_narrow_terminal_cuts_the_end(columns, shown):
    assert fit(words("12 of 295", 65, 180, "bin/glim"), columns) == shown


def test_what_could_move_the_cursor_or_be_two_columns_wide_is_not_shown():
    assert fit("a\x1b[31mb\tc\r\n世", 80) == "a?[31mb?c???"
    assert fit("é" * 50, 40) == "?" * 39


NINJA = """\
[1/4] Building CXX object a.o
FAILED: scheduler/b.o {more}
/usr/bin/c++ -o scheduler/b.o -c b.cc -DERROR=error
In file included from b.cc:1:
b.h:3:1: error: unknown type name
    3 | nonsense
[2/4] Building CXX object c.o
FAILED: d.o
/usr/bin/c++ -o d.o -c d.cc
d.cc:1:1: error: another
ninja: build stopped: subcommand failed.
"""


def test_the_first_failure_is_told_from_its_first_error_on():
    said = ["b.h:3:1: error: unknown type name", "    3 | nonsense"]
    assert first_failure(NINJA.replace(" {more}", "")) == ("scheduler/b.o", said)


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("-- Configuring\nCMake Error at x:1\n", None),
        ("", None),
        ("FAILED: x", ("x", [])),
        ("FAILED: x\ncc\nld: cannot find -lz\nninja: build stopped", ("x", ["ld: cannot find -lz"])),
        ("FAILED: x\ncc\n" + "error: e\n" * 99, ("x", ["error: e"] * 20)),
    ],
)
def test_a_failure_is_found_in_any_output(text, wanted):
    assert first_failure(text) == wanted
