"""How far something is that takes minutes: read from the words of apt and ninja, with the time that is left, in words
for one line of a terminal (terminal_line.py). Pure: no clock and no output."""

import re
from dataclasses import dataclass

# Before that much time and work an estimate would jump about.
ELAPSED_MIN_S, FRACTION_MIN = 3.0, 0.02
PACE_MIN = 0.5  # one quick step promises no quick rest


@dataclass(frozen=True)
class Reading:
    """`fraction` of the work of a `stage` is done; `count` says so for people; `what` is being worked on."""

    stage: str
    fraction: float
    count: str
    what: str


def read_apt(line):
    """A line that apt-get writes to APT::Status-Fd, `KIND:NAME:PERCENT:WORDS`; None if it tells of no progress. A name
    may have the architecture behind a colon of its own."""
    stages = {"dlstatus": "downloading", "pmstatus": "installing"}
    found = re.fullmatch(r"(dlstatus|pmstatus):(.+?):(\d+(?:\.\d+)?):.*", line.strip())
    if not found:
        return None
    kind, name, percent = found[1], found[2], min(100.0, float(found[3]))
    what = "" if kind == "dlstatus" or name.startswith("dpkg-exec") else f" {name.partition(':')[0]}"
    return Reading(stages[kind], percent / 100, f"{percent:.0f} %", stages[kind] + what)


def read_ninja(line):
    """A line of ninja with NINJA_STATUS = "[%f/%t] "; None if it is another one. What comes first are generated files
    and small libraries: the later half of the edges takes two thirds of the time, which the power stands for."""
    found = re.fullmatch(r"\[(\d+)/(\d+)\] (.*)", line.strip())
    if not found or int(found[2]) == 0:
        return None
    done, total = int(found[1]), int(found[2])
    return Reading("building", (done / total) ** 1.5, f"{done} of {total}", file_of_edge(found[3]))


def file_of_edge(words):
    """The file that ninja's words for an edge are about, without the folders of CMake."""
    path = re.sub(r"CMakeFiles/|\.dir\b", "", words.rpartition(" ")[2])
    return "/".join(path.split("/")[-3:])


class TimeLeft:
    """Of the stage that goes on: as if the rest went as quickly as what was done since the stage was first heard of."""

    def __init__(self):
        self.stage, self.began, self.at_first = None, 0.0, 0.0

    def seconds(self, reading, now):
        """None: it is too early to tell."""
        if reading.stage != self.stage:
            self.stage, self.began, self.at_first = reading.stage, now, reading.fraction
        elapsed, done = now - self.began, reading.fraction - self.at_first
        if elapsed < ELAPSED_MIN_S or done < FRACTION_MIN:
            return None
        return elapsed * (1 - reading.fraction) / done


def left_of_steps(expected, took, elapsed):
    """Seconds left of a row of steps. `expected`: what each takes on a quiet machine; `took`: what the first ones have
    taken, which says how much slower this machine is; `elapsed`: since the next one began, which may say more."""
    known = sum(expected[: len(took)])
    current, *later = expected[len(took) :] or [0.0]
    pace = max(PACE_MIN, sum(took) / known if known else 1.0, (sum(took) + elapsed) / (known + current))
    return max(0.0, current * pace - elapsed) + sum(later) * pace


def duration(seconds):
    """For people: no more exact than one can wait for."""
    seconds = max(0, round(seconds))
    if seconds < 60:
        return f"{seconds} s"
    return f"{seconds // 60} min {seconds % 60:02d} s" if seconds < 600 else f"{seconds // 60} min"


def estimate(seconds):
    """The same for what is not known exactly."""
    if seconds < 10:
        return "some seconds left"
    if seconds < 90:
        return f"about {round(seconds / 10) * 10} s left"
    return f"about {round(seconds / 60)} min left"


def words(count, elapsed, left, what):
    """What is most important comes first: a narrow terminal cuts the end."""
    time = duration(elapsed) + ("" if left is None else f", {estimate(left)}")
    return f"    {count}, {time}: {what}"


def fit(text, columns):
    """The line cut to a terminal of so many columns; the last one stays free, as some terminals wrap there. What is not
    printable, or may be two columns wide, becomes a question mark."""
    plain = "".join(c if " " <= c <= "~" else "?" for c in text)
    return plain[: max(0, columns - 1)].rstrip()
