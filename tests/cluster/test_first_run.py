"""What a first run shows while packages are installed and while it builds: on a terminal one line that is rewritten,
off it plain lines; what apt and the compiler say only when they fail; and nothing runs on after a Ctrl-C. apt-get, sudo
and cmake are stand-ins; nothing of this machine is touched."""

import contextlib
import fcntl
import glob
import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from cluster.processes import SLOWER, processes_with, start_time, wait_until
from cluster.terminal_line import TerminalLine

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
DEPLOY = os.path.join(ROOT, "deploy")
SECONDS = 120 * SLOWER  # a bound for a machine that is busy with other work

PROGRAMS = {
    # Nobody but the packages that INSTALLED names is there; the rest of dpkg's answers are nothing.
    "dpkg-query": 'case " $INSTALLED " in *" $3 "*) printf "ii " ;; *) exit 1 ;; esac',
    "id": "echo 1000",
    "sudo": 'case $1 in sh | setsid) exec "$@" ;; tee) exec cat >/dev/null ;; *) exit 0 ;; esac',
    "apt-get": r"""
echo "$*" >>"$CALLS"
case " $* " in
  *" update "*) echo dlstatus:1:50.0:half >&3 ;;
  *" --download-only "*)
    echo "Get:1 a thousand lines"
    for percent in 10 60; do echo "dlstatus:1:$percent.0:Retrieving file" >&3; done ;;
  *" install "*)
    echo "Unpacking ..."
    for percent in 20 90; do echo "pmstatus:libfmt-dev:$percent.0:Unpacking" >&3; done ;;
esac
[ -z "${WAITS:-}" ] || case " $* " in
  *" --download-only "*) ;;
  *" install "*) : >"$CALLS.waits"; until [ -e "$CALLS.go" ]; do sleep 0.02; done; : >"$CALLS.over" ;;
esac
[ -z "${HANGS:-}" ] || case " $* " in *" $HANGS "*) : >"$CALLS.waits"; exec sleep 300 ;; esac
[ -z "${FAILS:-}" ] || case " $* " in *" install "*) echo "E: $FAILS" >&2; exit 100 ;; esac
""",
    "cmake": r"""
[ "$1" = --build ] || { echo "-- Configuring"; exit 0; }
[ "$NINJA_STATUS" = "[%f/%t] " ] || exit 9
echo "[1/4] Building CXX object a.o"
echo "[2/4] Building CXX object core/CMakeFiles/rows.dir/rows.cc.o"
[ -z "${HANGS:-}" ] || { sleep 300 & : >"$CALLS.waits"; wait; }
[ -z "${FAILS:-}" ] || { printf 'FAILED: rows.cc.o \nc++ -c rows.cc\n%s\nninja: build stopped.\n' "$FAILS"; exit 1; }
""",
}
BUILD = """
import sys
from cluster.build import build
from cluster.commands import StepFailed
from cluster.quickstart import Steps, interrupt_on_signals
interrupt_on_signals()
steps = Steps(["build"])
try:
    steps.run("build", "Building", lambda: build(sys.argv[1], sys.argv[2], steps.note))
except StepFailed as error:
    sys.exit(f"error: {error}")
except KeyboardInterrupt:
    sys.exit(130)
"""


class Terminal:
    """Runs a command on a terminal of its own, of `columns` columns; None: it does not say how many it has."""

    def __init__(self, argv, env, columns):
        self.reader, writer = pty.openpty()
        # What the kernel does at a Ctrl-C it does beside the program: it echoes, and drops what was written meanwhile.
        settings = termios.tcgetattr(writer)
        settings[3] = (settings[3] & ~termios.ECHO) | termios.NOFLSH
        termios.tcsetattr(writer, termios.TCSANOW, settings)
        if columns is not None:
            fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

        def control():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(argv, stdin=writer, stdout=writer, stderr=writer, env=env, preexec_fn=control)
        os.close(writer)
        self.text = ""

    def press_ctrl_c(self):
        os.write(self.reader, b"\x03")

    def read(self, wanted=None):
        """Until `wanted` stands there; None: to the end, and returns the exit code."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            if wanted and wanted in self.text:
                return None
            if select.select([self.reader], [], [], 1)[0]:
                try:
                    self.text += os.read(self.reader, 65536).decode()
                except OSError:  # all that had it open have ended
                    assert not wanted, f"{wanted!r} did not come: {self.text!r}"
                    return self.process.wait(SECONDS)
        raise AssertionError(f"it did not come to {wanted or 'its end'!r}: {self.text!r}")

    def close(self):
        os.close(self.reader)
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def screen(text):
    """What stands there in the end: a carriage return goes back to the line's beginning."""
    rows = []
    for row in text.replace("\r\n", "\n").split("\n"):
        shown = ""
        for part in row.split("\r"):
            shown = part + shown[len(part) :]
        rows.append(shown.rstrip())
    return "\n".join(rows)


def rewritten(text):
    """The lines that did not stay, in their order."""
    rows = text.replace("\r\n", "\n").split("\n")
    return [part.rstrip() for row in rows for part in row.split("\r")[:-1] if part.strip()]


class FirstRun:
    def __init__(self, folder):
        self.folder, self.calls = folder, str(folder / "calls")
        self.programs = folder / "programs"
        self.programs.mkdir()
        for name, text in PROGRAMS.items():
            (self.programs / name).write_text(f"#!/bin/sh\n{text.strip()}\n")
            (self.programs / name).chmod(0o755)
        self.env = {
            "PATH": f"{self.programs}:/usr/sbin:/usr/bin:/sbin:/bin",
            "TMPDIR": str(folder),
            "CALLS": self.calls,
            "INSTALLED": "python3",
            "TERM": "xterm",
            "PYTHONPATH": DEPLOY,
            "FIRST_RUN": str(folder),
        }
        self.install = [os.path.join(DEPLOY, "install-deps"), "build"]
        self.build = ["/usr/bin/python3", "-c", BUILD, str(folder), str(folder / "build.log")]

    def off_terminal(self, argv, **env):
        done = subprocess.run(argv, env={**self.env, **env}, capture_output=True, text=True, timeout=SECONDS)
        return done.returncode, done.stdout, done.stderr

    @contextlib.contextmanager
    def terminal(self, argv, columns=80, **env):
        terminal = Terminal(argv, {**self.env, **env}, columns)
        try:
            yield terminal
        finally:
            terminal.close()

    def on_terminal(self, argv, columns=80, **env):
        with self.terminal(argv, columns, **env) as terminal:
            return terminal.read(), terminal.text

    def logs(self):
        return glob.glob(str(self.folder / "install-deps-*.log"))

    def wait_for(self, name):
        wait_until(lambda: os.path.exists(f"{self.calls}.{name}"), 120, name)

    def left(self):
        """Processes of it that are there."""
        return [pid for pid in processes_with("FIRST_RUN", str(self.folder)) if start_time(pid) is not None]


@pytest.fixture
def first(tmp_path):
    return FirstRun(tmp_path)


def test_on_a_terminal_one_line_tells_how_far_apt_is_and_is_gone_in_the_end(first):
    code, text = first.on_terminal(first.install)
    assert code == 0
    assert re.fullmatch(
        r"install-deps: missing: build-essential [^\n]*\ninstall-deps: installed \d+ packages\n", screen(text)
    )
    lines = rewritten(text)
    assert any(re.match(r"    (10|60) %, \d s: downloading$", line) for line in lines), lines
    assert any(re.match(r"    (20|90) %, \d s: installing libfmt-dev$", line) for line in lines), lines
    assert "\x1b" not in text and "thousand lines" not in text and "Unpacking" not in text
    assert first.logs() == [], "what apt said is kept only when it fails"


def test_off_a_terminal_each_step_is_a_plain_line(first):
    code, out, err = first.off_terminal(first.install)
    lines = [re.sub(r"\d+", "N", line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert lines[1:] == [
        "install-deps: apt-get update",
        "install-deps: apt-get downloads packages (N)",
        "install-deps: apt-get installs packages (N)",
        "install-deps: installed N packages",
    ]
    assert "\r" not in out and first.logs() == []
    calls = [line.split() for line in open(first.calls)]
    assert all("APT::Status-Fd=3" in call for call in calls)
    assert [[word for word in call if word in ("update", "install", "--download-only")] for call in calls] == [
        ["update"],
        ["install", "--download-only"],
        ["install"],
    ]


def test_nothing_is_installed_twice_and_a_check_installs_nothing(first):
    assert first.off_terminal([*first.install, "--check"])[0] == 1
    missing = first.off_terminal([*first.install, "--check"])[1].partition("missing: ")[2]
    code, out, _ = first.off_terminal(first.install, INSTALLED=missing.strip())
    assert code == 0 and re.fullmatch(r"install-deps: all \d+ packages are installed\n", out)
    assert not os.path.exists(first.calls)


@pytest.mark.parametrize(
    "fails, advice",
    [
        ("Temporary failure resolving 'deb.debian.org'", "does not reach its Debian mirror"),
        ("Could not get lock /var/lib/dpkg/lock-frontend", "another apt is at work"),
        ("dpkg was interrupted, you must manually run", "dpkg --configure -a"),
        ("Unable to locate package libfmt-dev", "Debian 12"),
        ("You don't have enough free space", "disk is full"),
        ("Sub-process /usr/bin/dpkg returned an error code (1)", "mend what apt says"),
    ],
)
def test_when_apt_fails_it_is_said_what_to_do_and_where_to_read_on(first, fails, advice):
    code, out, err = first.off_terminal(first.install, FAILS=fails)
    assert code == 1 and "installed" not in out
    assert f"    E: {fails}\n" in err and advice in err and "exit code 100" in err
    [log] = first.logs()
    assert log in err
    with open(log) as file:
        assert fails in file.read()


def test_when_apt_fails_on_a_terminal_the_line_is_gone(first):
    code, text = first.on_terminal(first.install, FAILS="no")
    assert code == 1 and rewritten(text)
    assert re.search(r"^install-deps: apt-get install failed \(exit code 100\)\. Its last words:$", screen(text), re.M)


def test_ctrl_c_ends_a_download_at_once(first):
    with first.terminal(first.install, HANGS="--download-only") as terminal:
        first.wait_for("waits")
        terminal.press_ctrl_c()
        assert terminal.read() == 130
        assert screen(terminal.text).endswith("install-deps: interrupted; run it again to go on\n")
    assert first.left() == [] and first.logs() == []
    assert "installs" not in terminal.text


def test_ctrl_c_waits_until_dpkg_is_done_with_what_it_began(first):
    with first.terminal(first.install, WAITS="1") as terminal:
        first.wait_for("waits")
        terminal.read("90 %")
        terminal.press_ctrl_c()
        terminal.read("stops after that: installing libfmt-dev")
        open(f"{first.calls}.go", "w").close()
        assert terminal.read() == 130
        assert os.path.exists(f"{first.calls}.over"), "it came to its end"
        assert screen(terminal.text).endswith("install-deps: interrupted; run it again to go on\n")
    assert first.left() == []


def test_a_ctrl_c_that_the_terminal_echoes_does_not_stay():
    class Screen(io.StringIO):
        def isatty(self):
            return True

    out = Screen()
    line = TerminalLine(out)
    for text in ("a long line of many words", "a line", "a short one"):
        line.show(text)
    out.write("^C")
    line.clear()
    out.write("^C")  # where no line is shown
    line.clear()
    line.say("stays")
    assert screen(out.getvalue()) == "stays\n"


@pytest.mark.parametrize("columns, most", [(80, 79), (24, 23), (None, 79)])
def test_a_line_of_the_build_is_no_wider_than_the_terminal(first, columns, most):
    code, text = first.on_terminal(first.build, columns, NO_COLOR="1")
    lines = rewritten(text)
    assert code == 0 and lines and max(map(len, lines)) <= most, lines
    assert any(line.startswith("    2 of 4, ") for line in lines), lines
    assert columns == 24 or any(line.endswith(": core/rows/rows.cc.o") for line in lines), lines
    assert re.fullmatch(r"==> Building\n    \d\.\d s\n", screen(text)) and "\x1b" not in text


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, None])
def test_off_a_terminal_a_build_is_two_plain_lines(first, env):
    code, text = first.on_terminal(first.build, **env) if env else first.off_terminal(first.build)[:2]
    assert code == 0 and re.fullmatch(r"==> Building\n    \d\.\d s\n", text.replace("\r\n", "\n"))


@pytest.mark.parametrize(
    "fails, told",
    [
        ("rows.cc:3:1: error: no", "    rows.cc:3:1: error: no"),
        (
            "c++: fatal error: Killed signal terminated program cc1plus",
            "CMAKE_BUILD_PARALLEL_LEVEL=1 deploy/quickstart",
        ),
        ("ld: final link failed: No space left on device", "The disk is full"),
    ],
)
def test_when_it_does_not_compile_the_file_the_error_and_the_log_are_named(first, fails, told):
    code, text = first.on_terminal(first.build, FAILS=fails)
    assert code == 1 and told in screen(text)
    assert "failed (exit code 1) at rows.cc.o:" in screen(text) and "c++ -c rows.cc" not in text
    assert str(first.folder / "build.log") in text


@pytest.mark.parametrize("how", ["ctrl-c", "sigterm"])
def test_nothing_of_the_build_runs_on_when_it_is_interrupted(first, how):
    with first.terminal(first.build, HANGS="1") as terminal:
        first.wait_for("waits")
        if how == "ctrl-c":
            terminal.press_ctrl_c()
        else:
            os.kill(terminal.process.pid, signal.SIGTERM)
        assert terminal.read() == 130
        assert screen(terminal.text).strip() == "==> Building"
    wait_until(lambda: not first.left(), 10, "what was killed is gone")
