"""A registry of container images on this machine: Debian's docker-registry, over a folder of a test."""

import base64
import http.client
import json
import os
import re
import ssl
import subprocess
import urllib.parse
from typing import NamedTuple

from .ports import steady_port
from .processes import SLOWER, Child, wait_until

HOST = "127.0.0.1"
USER = "glim"
READ = re.compile(r'"GET /v2/\S+/(manifests|blobs)/\S+ HTTP/[0-9.]+" 2\d\d ')


class Requests(NamedTuple):
    """What was downloaded from a registry."""

    manifests: int
    blobs: int


def skopeo(*words, seconds=300):
    """Runs it; what it said if it fails. It trusts every image: signatures are nobody's here."""
    done = subprocess.run(
        ["skopeo", "--insecure-policy", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds * SLOWER,
    )
    if done.returncode != 0:
        raise RuntimeError(f"skopeo {words[0]} ended with exit code {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def certificate(folder):
    """The paths of a new key and its certificate for 127.0.0.1 and localhost, which is its own authority. The latter's
    folder holds nothing else: skopeo and containerd are given such a folder (--cert-dir)."""
    trusted = os.path.join(folder, "trusted")
    os.mkdir(trusted)
    key, signed = os.path.join(folder, "key.pem"), os.path.join(trusted, "ca.crt")
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    argv += ["-days", "2", "-subj", "/CN=a registry of tests", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    subprocess.run([*argv, "-keyout", key, "-out", signed], check=True, capture_output=True, timeout=60 * SLOWER)
    return key, signed


def password_line(user, password):
    """Of a file as Apache's htpasswd writes it. The registry takes bcrypt alone, which neither openssl nor the later
    Pythons have; Perl hands it on from Debian's libcrypt."""
    argv = ["perl", "-e", 'print crypt($ARGV[0], "\\$2b\\$05\\$" . $ARGV[1])', password]
    salt = base64.b64encode(os.urandom(18), b"./").decode()[:22]
    hashed = subprocess.run([*argv, salt], check=True, capture_output=True, text=True).stdout
    return f"{user}:{hashed}\n"


class Registry:
    """Serves `address` (HOST:PORT, of this machine) from its creation until stop(); start() goes on with the same
    images at the same address. Everything of it is below `folder`, which is made. With `password` its user is USER, and
    `auth_file` has both as ~/.docker/config.json would; with `tls` the file `ca` is who signed its certificate, else
    None."""

    def __init__(self, folder, tls=False, password=None, host=HOST):
        self.folder = str(folder)
        os.makedirs(self.folder, exist_ok=True)
        self.log = os.path.join(self.folder, "log")
        self.tls, self.password = tls, password
        self.ca = self.auth_file = self._key = self._child = None
        if tls:
            self._key, self.ca = certificate(self.folder)
        self.address = f"{host}:{steady_port(host)}"
        if password is not None:
            self.auth_file = self._write("auth.json", json.dumps({"auths": {self.address: {"auth": self._basic()}}}))
        self._config = self._write("config.yml", json.dumps(self._settings()))
        self.start()

    def start(self):
        # Its settings may be overridden by variables of these names.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("REGISTRY_")}
        self._child = Child("docker-registry", ["docker-registry", "serve", self._config], self.log, environment)
        try:
            wait_until(self._answers, 30, "the registry answers")
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self):
        return self._child.pid

    def stop(self):
        """Ends our own child, if it runs."""
        self._child.stop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def push(self, image_folder, tag, name):
        """Copies one image of an ImageFolder to `name` ("team/tool:1"). Returns the digest that it has here, which is
        the folder's: nothing is compressed anew."""
        there = f"docker://{self.address}/{name}"
        digest = os.path.join(self.folder, "digest")
        words = ["--preserve-digests", f"--digestfile={digest}", *self.options("dest-")]
        skopeo("copy", *words, image_folder.address(tag), there)
        with open(digest) as text:
            return text.read().strip()

    def digest(self, name):
        """Of the manifest that is served as `name`."""
        there = f"docker://{self.address}/{name}"
        return skopeo("inspect", "--no-tags", "--format", "{{.Digest}}", *self.options(), there).strip()

    def options(self, side=""):
        """What skopeo is given to reach it; of `skopeo copy` the side is "src-" or "dest-"."""
        words = [f"--{side}tls-verify={'true' if self.tls else 'false'}"]
        if self.tls:
            words.append(f"--{side}cert-dir={os.path.dirname(self.ca)}")
        if self.auth_file:
            words.append(f"--{side}authfile={self.auth_file}" if side else f"--authfile={self.auth_file}")
        return words

    def requests(self):
        """What was downloaded since its creation; a push downloads nothing. A line of the log is written after its
        answer: wait for it."""
        with open(self.log, errors="replace") as log:
            found = [match[1] for line in log for match in [READ.search(line)] if match]
        return Requests(found.count("manifests"), found.count("blobs"))

    def get(self, path):
        """(status, body) of a path below /v2/, with the password."""
        host, port = self.address.split(":")
        if self.tls:
            trust = ssl.create_default_context(cafile=self.ca)
            connection = http.client.HTTPSConnection(host, int(port), timeout=10 * SLOWER, context=trust)
        else:
            connection = http.client.HTTPConnection(host, int(port), timeout=10 * SLOWER)
        headers = {"Accept": "application/vnd.oci.image.manifest.v1+json"}
        if self.password is not None:
            headers["Authorization"] = "Basic " + self._basic()
        try:
            connection.request("GET", "/v2/" + urllib.parse.quote(path), headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _answers(self):
        self._child.check()
        try:
            return self.get("")[0] == 200
        except OSError:
            return False

    def _basic(self):
        return base64.b64encode(f"{USER}:{self.password}".encode()).decode()

    def _write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as out:
            out.write(text)
        return path

    def _settings(self):
        """JSON is YAML, too."""
        settings = {
            "version": "0.1",
            "log": {"accesslog": {"disabled": False}, "level": "error"},
            "storage": {"filesystem": {"rootdirectory": os.path.join(self.folder, "images")}},
            "http": {"addr": self.address, "secret": "one registry alone"},
        }
        if self.tls:
            settings["http"]["tls"] = {"certificate": self.ca, "key": self._key}
        if self.password is not None:
            users = self._write("users", password_line(USER, self.password))
            settings["auth"] = {"htpasswd": {"realm": "tests", "path": users}}
        return settings
