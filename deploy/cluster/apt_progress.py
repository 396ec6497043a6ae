"""Reads what apt-get writes to APT::Status-Fd from standard input to its end, and shows on the terminal how far it is:

    apt_progress.py WHAT       what apt-get is asked to do, in a word or two

deploy/install-deps calls it. It ends when apt-get does and at no signal: without a reader apt-get would be killed amid
a package."""

import signal
import sys
import time

from .progress import TimeLeft, read_apt, words
from .terminal_line import TerminalLine


def main():
    what, line, left = sys.argv[1], TerminalLine(), TimeLeft()
    began, asked_to_stop, reading = time.monotonic(), [], None

    def text():
        now = time.monotonic()
        doing = what if reading is None else reading.what
        if asked_to_stop:
            doing = "stops after that: " + doing
        if reading is None:
            return words("apt", now - began, None, doing)
        return words(reading.count, now - began, left.seconds(reading, now), doing)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: asked_to_stop.append(True))
    with line.ticking(text):
        for told in sys.stdin:
            reading = read_apt(told) or reading
            line.show(text())


if __name__ == "__main__":
    main()
