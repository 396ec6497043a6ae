"""The dashboard's page: built where npm and its packages are, else left out with a word on what to do."""

import os
import shutil

from .commands import run_logged
from .processes import SLOWER

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WEBUI = os.path.join(ROOT, "webui")
# What the build makes, or does not read.
BESIDES = {"node_modules", "dist", "e2e", "schema.gen.ts", "README.md"}


class NoPage(RuntimeError):
    """There is none to serve: why, and what to do, in one line."""


def newest_source(folder):
    newest = 0.0
    for entry in os.scandir(folder):
        if entry.name in BESIDES or entry.name.startswith("."):
            continue
        newest = max(newest, newest_source(entry.path) if entry.is_dir() else entry.stat().st_mtime)
    return newest


def is_newer(path, time):
    return os.path.exists(path) and os.path.getmtime(path) >= time


class Page:
    """`webui`: the folder of its sources; `description`: the OpenAPI file that its types are made from."""

    def __init__(self, webui=WEBUI, description=os.path.join(ROOT, "docs", "openapi.json")):
        self.webui, self.description = webui, description
        self.dist = os.path.join(webui, "dist")

    def is_built(self):
        sources = max(newest_source(self.webui), os.path.getmtime(self.description))
        return is_newer(os.path.join(self.dist, "index.html"), sources)

    def has_packages(self):
        lock = os.path.getmtime(os.path.join(self.webui, "package-lock.json"))
        return is_newer(os.path.join(self.webui, "node_modules", ".package-lock.json"), lock)

    def npm(self, log, *args, seconds=900):
        env = {name: value for name, value in os.environ.items() if name != "GLIM_WEB_DIST"}  # another folder than ours
        return run_logged(["npm", *args], log, cwd=self.webui, env=env, seconds=seconds * SLOWER) == 0

    def as_it_is(self):
        """The folder to serve, without building anything."""
        if os.path.exists(os.path.join(self.dist, "index.html")):
            return self.dist
        raise NoPage("webui/dist is not built: `cd webui && npm ci --ignore-scripts && npm run build`")

    def build(self, log):
        """The folder to serve, built if it is out of date; npm's words go into `log`."""
        if self.is_built():
            return self.dist
        if shutil.which("npm") is None:
            raise NoPage("npm is not there to build it: `deploy/install-deps web` installs it")
        if not self.has_packages():
            if not self.npm(log, "ping", seconds=20):
                raise NoPage("npm does not reach its packages (`npm ping`): say in ~/.npmrc how it does, or go online")
            if not self.npm(log, "ci", "--ignore-scripts"):
                raise NoPage("its packages do not install: `cd webui && npm ci --ignore-scripts` says why")
        if not self.npm(log, "run", "build"):
            raise NoPage("it does not build: `cd webui && npm run build` says why")
        return self.dist


def ways_to(cluster):
    """Lines that say where the page of a running cluster is, and how one signs in."""
    tokens = cluster.glim.tokens
    variables = f"GLIM_SERVER={cluster.server} GLIM_CA={tokens.authority}"
    return [
        f"The dashboard: https://{cluster.host}:{cluster.http_port}/",
        f"    (the certificate is this cluster's own: accept it, or import {tokens.authority})",
        "To sign in, run this; it prints an address that opens the dashboard as the operator, once, within a minute:",
        f"    {variables} GLIM_TOKEN_FILE={tokens.file_of(None, cluster.glim)} {cluster.program('glim')} login --web",
    ]
