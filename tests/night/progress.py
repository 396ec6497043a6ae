"""What of a part is done, in a file outside the checkout: a part that was cut off goes on there."""

import glob
import json
import os


def state_folder():
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "glim", "nightly")


class Progress:
    """The items of one part that ended, over sources with one fingerprint. Those that failed are kept as well: a part
    that goes on does not try its luck twice."""

    def __init__(self, folder, part, fingerprint):
        self._folder, self._part = folder, part
        self._path = os.path.join(folder, f"{part}@{fingerprint}.json")
        self.seconds, self.items = 0.0, {}
        try:
            with open(self._path) as file:
                read = json.load(file)
            self.seconds = float(read["seconds"])
            self.items = {name: (int(passed), list(failed)) for name, (passed, failed) in read["items"].items()}
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{self._path} cannot be read ({error}): remove it, and the part begins again") from error

    def add(self, item, passed, failed):
        self.items[item] = (passed, failed)
        self.save()

    def save(self):
        os.makedirs(self._folder, exist_ok=True)
        with open(self._path + ".new", "w") as file:
            json.dump({"seconds": self.seconds, "items": self.items}, file)
        os.replace(self._path + ".new", self._path)

    def drop(self):
        """The sources were changed meanwhile."""
        if os.path.exists(self._path):
            os.unlink(self._path)

    def forget(self):
        """The part has ended: what was begun of it over other sources is worth nothing any more, either."""
        for path in glob.glob(os.path.join(glob.escape(self._folder), f"{self._part}@*.json")):
            os.unlink(path)
