"""An sshd of one's own on loopback, with keys made for it: for scp as a contender."""

import os
import shutil
import socket
import subprocess
import tempfile
import time

SSHD = "/usr/sbin/sshd"
PATIENCE_S = 20


class LoopbackSshd:
    @staticmethod
    def installed():
        return os.geteuid() == 0 and os.path.exists(SSHD) and shutil.which("scp") is not None

    def __init__(self):
        # Not below a folder that others may write to: sshd would not take the keys.
        self.folder = tempfile.mkdtemp(prefix="glim-sshd-", dir="/root")
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(name)], check=True)
        shutil.copy(self.path("user.pub"), self.path("authorized"))
        os.makedirs("/run/sshd", exist_ok=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        options = {
            "ListenAddress": f"127.0.0.1:{self.port}",
            "HostKey": self.path("host"),
            "AuthorizedKeysFile": self.path("authorized"),
            "PermitRootLogin": "prohibit-password",
            "PasswordAuthentication": "no",
            "UsePAM": "no",
            "PidFile": "none",
            "StrictModes": "no",
            "Subsystem": "sftp internal-sftp",
        }
        argv = [SSHD, "-D", "-e", "-f", "/dev/null"]
        for name, value in options.items():
            argv += ["-o", f"{name}={value}"]
        self.log = open(self.path("log"), "w")
        self.process = subprocess.Popen(argv, stderr=self.log)
        self.host = "root@127.0.0.1"
        self.scp = [
            "scp",
            "-q",
            "-P",
            str(self.port),
            "-i",
            self.path("user"),
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
        ]
        self.await_port()

    def path(self, name):
        return os.path.join(self.folder, name)

    def await_port(self):
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    with open(self.path("log")) as log:
                        raise SystemExit(f"sshd does not listen: {log.read()}") from None
                time.sleep(0.05)

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)
        self.log.close()
        shutil.rmtree(self.folder)
