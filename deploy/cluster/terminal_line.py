"""A line of progress at the bottom of a terminal, rewritten in place."""

import contextlib
import os
import sys
import threading

from .progress import fit

COLUMNS = 80  # where the terminal does not say
EVERY_S = 0.25


def is_terminal(out):
    return out.isatty() and os.environ.get("TERM") != "dumb"


def columns_of(out):
    try:
        return os.get_terminal_size(out.fileno()).columns or COLUMNS
    except (OSError, ValueError):
        return COLUMNS


class TerminalLine:
    """Thread-safe. Where `out` is no terminal, `say` prints and nothing else does anything. Plain characters and
    carriage returns only: no colours and no other escape sequences (NO_COLOR has nothing to switch off)."""

    def __init__(self, out=None):
        self.out = out or sys.stdout
        self.on = is_terminal(self.out)
        self._lock, self._shown = threading.Lock(), ""

    def show(self, text):
        with self._lock:
            self._draw(fit(text, columns_of(self.out)))

    def clear(self):
        """Whether or not a line is shown: a Ctrl-C is echoed before the first, too."""
        with self._lock:
            self._draw("", always=True)

    def say(self, line):
        """A line that stays, above the one that is rewritten."""
        with self._lock:
            shown = self._shown
            self._draw("")
            print(line, file=self.out, flush=True)
            self._draw(shown)

    def _draw(self, text, always=False):
        if not self.on or (text == self._shown and not always):
            return
        # The terminal echoes a Ctrl-C where the line ends, and the cursor stands.
        width = min(len(self._shown) + len("^C"), max(0, columns_of(self.out) - 1))
        try:
            self.out.write("\r" + text.ljust(width) + "\r" + text)
            self.out.flush()
        except OSError:  # the terminal has gone; what we tell of goes on
            self.on = False
        self._shown = text

    @contextlib.contextmanager
    def ticking(self, text):
        """Shows what `text()` says, again and again; the line is empty afterwards, however the block ends."""
        if not self.on:
            yield
            return
        over = threading.Event()

        def tick():
            while not over.wait(EVERY_S):
                self.show(text())

        thread = threading.Thread(target=tick, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self.clear()
