"""Which lines and sources clang-tidy is given; nothing is compiled here."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import lint_tidy  # noqa: E402

DIFF = """\
--- a.cc
+++ a.cc
@@ -3 +3,2 @@ void F() {
-  old
+  new
+  newer
@@ -9,2 +10,0 @@
-gone
-gone
--- b.h
+++ b.h
@@ -0,0 +1 @@
+first
"""


def test_lines_that_are_there_now_count():
    assert lint_tidy.lines_of_diff(DIFF) == {"a.cc": [[3, 4]], "b.h": [[1, 1]]}


def test_a_header_is_seen_by_the_source_nearest_to_it():
    core = "scheduler/core/planning/"
    known = {core + name for name in ("victims.cc", "victims_test.cc", "placement_test.cc", "planner.cc")}
    changed = {core + name for name in ("victims.h", "placement.h", "planner.cc", "gone.cc")}
    assert lint_tidy.sources_for(changed, known) == [
        core + n for n in ("placement_test.cc", "planner.cc", "victims.cc")
    ]


def test_a_header_without_a_source_of_its_name_is_seen_by_whoever_includes_it():
    known = {"scheduler/core/core.cc", "scheduler/core/planning/planner.cc"}
    assert lint_tidy.sources_for({"scheduler/core/planning/pass.h"}, known) == ["scheduler/core/planning/planner.cc"]


def test_beyond_the_bound_a_share_rotates_and_the_rest_is_told():
    sources = ["a", "b", "c", "d", "e"]
    assert lint_tidy.share(sources, 5, 7) == (sources, [])
    assert lint_tidy.share(sources, 2, 0) == (["a", "b"], ["c", "d", "e"])
    assert lint_tidy.share(sources, 2, 2) == (["e", "a"], ["b", "c", "d"])
    taken = {name for turn in range(5) for name in lint_tidy.share(sources, 2, turn)[0]}
    assert taken == set(sources)
