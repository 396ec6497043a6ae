"""What of this machine a cluster's jobs may name: workdir, checkpoint.dir, mounts."""

import os
import pwd


def allowed_folders(wanted, own):
    """What of `wanted` jobs may be given: folders that are there, each once, without links. Neither "/" nor one with
    the cluster's `own` folder in it, where the agents' files and the database lie."""
    found = []
    for folder in sorted({os.path.realpath(path) for path in wanted if path and os.path.isdir(path)}):
        holds_own = os.path.commonpath([folder, os.path.realpath(own)]) == folder
        if not holds_own and not any(os.path.commonpath([folder, other]) == other for other in found):
            found.append(folder)
    return found


def callers_folders(root):
    """Where somebody who starts a cluster by hand keeps jobs: at home (also that of who called sudo), in the checkout,
    here."""
    homes = [os.path.expanduser("~")]
    if os.environ.get("SUDO_USER"):
        try:
            homes.append(pwd.getpwnam(os.environ["SUDO_USER"]).pw_dir)
        except KeyError:  # a user that this machine does not know
            pass
    return [*homes, root, os.getcwd()]
