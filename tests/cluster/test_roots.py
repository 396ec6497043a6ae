"""The foreign Debian systems of the tests: mirror, packages and folder. What needs neither root nor network."""

import importlib.util
import os
import subprocess
from importlib.machinery import SourceFileLoader

import pytest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "roots")


@pytest.fixture(scope="module")
def roots():
    loader = SourceFileLoader("glim_roots", PROGRAM)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def apt(tmp_path, **files):
    """A folder as /etc/apt; {name of a file, with _ for its dot: text}."""
    (tmp_path / "sources.list.d").mkdir()
    for name, text in files.items():
        name = ".".join(name.rsplit("_", 1))
        (tmp_path / ("" if name == "sources.list" else "sources.list.d") / name).write_text(text)
    return str(tmp_path)


STANZAS = """\
Types: deb
URIs: https://packages.example/vendor
Suites: nodistro bookworm-vendor
Components: main

# a comment of Debian's own file
Types: deb
URIs: http://mirror.example/debian-security/
Suites: bookworm-security
Components: main

Types: deb deb-src
# http://snapshot.example/archive
URIs: http://mirror.example/debian/ http://second.example/debian
Suites: bookworm
 bookworm-updates
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 Types: deb
"""


def test_the_mirror_is_read_out_of_stanzas(roots, tmp_path):
    assert roots.sources_of_stanzas(STANZAS)[3:5] == [
        ("http://mirror.example/debian/", "bookworm", ["main", "contrib"]),
        ("http://mirror.example/debian/", "bookworm-updates", ["main", "contrib"]),
    ]
    assert roots.mirror_of(apt(tmp_path, debian_sources=STANZAS)) == "http://mirror.example/debian"


@pytest.mark.parametrize(
    "line, wanted",
    [
        ("deb http://mirror.example/debian bookworm main", "http://mirror.example/debian"),
        (
            "  deb [arch=amd64 signed-by=/a/b.gpg] https://m.example:81/d/ stable contrib main # x",
            "https://m.example:81/d",
        ),
        ("deb file:/srv/debian trixie main", "file:/srv/debian"),
        (
            "deb cdrom:[Debian GNU/Linux 12]/ bookworm main\ndeb http://after.example bookworm main",
            "http://after.example",
        ),
        ("#deb http://old.example bookworm main\ndeb http://new.example bookworm main", "http://new.example"),
    ],
)
def test_the_mirror_is_read_out_of_lines(roots, tmp_path, line, wanted):
    assert roots.mirror_of(apt(tmp_path, sources_list=line + "\n")) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "deb-src http://mirror.example/debian bookworm main",
        "deb http://mirror.example/debian bookworm-security main",
        "deb http://mirror.example/debian bookworm contrib",
        "deb http://mirror.example/debian jammy main",
        "deb ssh:/mirror.example/debian bookworm main",
        "deb http://mirror.example/debian",
        "",
    ],
)
def test_what_is_no_mirror_of_debian_is_not_taken(roots, tmp_path, text):
    with pytest.raises(roots.NotMade, match="names no mirror of Debian: add a source"):
        roots.mirror_of(apt(tmp_path, sources_list=text + "\n"))


def test_a_file_that_is_off_is_not_read_and_the_main_one_comes_first(roots, tmp_path):
    off = "Types: deb\nURIs: http://off.example\nSuites: sid\nComponents: main\nEnabled: no\n"
    line = "deb http://{}.example bookworm main\n"
    folder = apt(
        tmp_path, a_sources=off, b_disabled=line.format("disabled"), c_list=line.format("c"), d_list=line.format("d")
    )
    assert roots.mirror_of(folder) == "http://c.example"
    (tmp_path / "sources.list").write_text(line.format("first"))
    assert roots.mirror_of(folder) == "http://first.example"


def test_of_a_list_of_mirrors_the_first_is_taken(roots, tmp_path):
    mirrors = tmp_path / "debian.list"
    mirrors.write_text("# ours\n\nhttps://near.example/debian\tpriority:1\nhttps://far.example/debian\n")
    folder = apt(tmp_path, debian_sources=STANZAS.replace("http://mirror.example/debian/", f"mirror+file:{mirrors}"))
    assert roots.mirror_of(folder) == "https://near.example/debian"


def test_a_root_has_its_suite_and_packages(roots):
    for name in ("bookworm", "bullseye", "trixie"):
        assert roots.root_of(name) == (name, ())
    assert roots.root_of("trixie-torch") == ("trixie", ("python3-torch", "python3-numpy"))


@pytest.mark.parametrize(
    "environment, wanted",
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/glim/roots"),
        ({"XDG_CACHE_HOME": "c", "HOME": "/h"}, "/h/.cache/glim/roots"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/glim/roots"),
    ],
)
def test_roots_lie_in_the_cache_of_whoever_asks(roots, environment, wanted):
    assert roots.cache_folder(environment) == wanted


def ask(cache, *words):
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run([PROGRAM, *words], env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "words, said",
    [
        ((), "roots: use deploy/roots make NAME or deploy/roots path NAME"),
        (("make",), "roots: use deploy/roots make NAME"),
        (("remove", "bookworm"), "roots: use deploy/roots make NAME"),
        (("make", "bookworm", "trixie"), "roots: use deploy/roots make NAME"),
        (("make", "jammy"), "roots: there is no root 'jammy': use one of bookworm, bullseye, trixie, trixie-torch"),
        (("path", "../bookworm"), "roots: there is no root '../bookworm'"),
        (("make", ""), "roots: there is no root ''"),
    ],
)
def test_wrong_use_is_told_in_one_sentence(tmp_path, words, said):
    code, out, error = ask(tmp_path, *words)
    assert (code, out) == (2, "") and error.startswith(said) and error.count("\n") == 1
    assert os.listdir(tmp_path) == []


def test_a_root_that_is_there_is_told_and_not_made_again(tmp_path):
    path = tmp_path / "glim" / "roots" / "bookworm"
    code, out, error = ask(tmp_path, "path", "bookworm")
    assert (code, out) == (1, f"{path}\n") and error == "roots: bookworm is not made: deploy/roots make bookworm\n"
    path.mkdir(parents=True)
    assert ask(tmp_path, "path", "bookworm") == ask(tmp_path, "make", "bookworm") == (0, f"{path}\n", "")
    assert os.listdir(path) == []
