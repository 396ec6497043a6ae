"""Whose token a call is made by: files of a local cluster, one for each user, made when the user is first asked for."""

import os


class Tokens:
    """`operator`: the folder that the scheduler made at its first start; `folder`: of everybody else's tokens (0700).
    Users are rows of the registry, and in no team unless a test says otherwise. `user_ids`: {name: (uid, gid)} of those
    who have them there."""

    def __init__(self, operator, folder, user_ids=None):
        self.operator, self.folder, self.user_ids = operator, folder, user_ids or {}
        self.authority = os.path.join(operator, "ca.pem")
        os.makedirs(folder, mode=0o700, exist_ok=True)

    def file_of(self, user, glim):
        if user is None:
            return os.path.join(self.operator, "token")
        path = os.path.join(self.folder, user)
        if not os.path.exists(path):
            uid, gid = self.user_ids.get(user, (None, None))
            glim.text("admin", "user", "set", user, "-y", *([] if uid is None else ["--uid", uid, "--gid", gid]))
            self.write(user, glim.text("admin", "token", "create", "--user", user))
        return path

    def write(self, user, token):
        """Keeps a token that was made by hand, in place of the one that there was."""
        path = os.path.join(self.folder, user)
        with open(os.open(path + ".part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(token)
        os.replace(path + ".part", path)
        return path
