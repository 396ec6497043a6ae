"""What a fault run's ranks find of each other's, and what the modes of kept folders say."""

import os
from types import SimpleNamespace

import curiosity

UIDS = {"ana": os.geteuid(), "ben": os.geteuid() + 1}


def test_a_mark_that_another_can_find_is_told(tmp_path):
    curiosity.leave_marks("ana", [str(tmp_path), "/nowhere"])
    assert curiosity.had_of_others("ana", [str(tmp_path)]) == []
    (had,) = curiosity.had_of_others("ben", [str(tmp_path)])
    assert had == f"{tmp_path}/mark-of-ana: found, may read and write"


def test_what_ranks_had_is_a_finding():
    lines = [{"what": "begin"}, {"what": "had", "of": "/tmp/mark-of-ana: found, may read"}]
    account = SimpleNamespace(who="7.1 rank 0", of=lambda what: [line for line in lines if line["what"] == what])
    assert curiosity.check_had([account]) == ["7.1 rank 0 had /tmp/mark-of-ana: found, may read"]


def test_a_task_looks_above_its_own_folders():
    places = curiosity.places_of_a_task({"GLIM_CHECKPOINT_DIR": "/s/n1/checkpoints/7", "GLIM_SOCKET": "/s/n1/t/run/x"})
    assert {"/tmp", "/dev/shm", "/s/n1/checkpoints/7", "/s/n1/checkpoints", "/s/n1", "/s/n1/t/run"} <= set(places)


def test_kept_folders_are_their_users_and_closed(tmp_path):
    folder = tmp_path / "7"
    folder.mkdir(mode=0o700)
    (folder / "save").write_text("x")
    assert curiosity.check_modes({str(folder): "ana"}, UIDS) == []
    folder.chmod(0o750)
    (open_one,) = curiosity.check_modes({str(folder): "ana"}, UIDS)
    assert open_one == f"{folder} of ana is open to others: 0o750"
    if os.geteuid() == 0:
        os.chown(folder / "save", UIDS["ben"], -1)
        assert f"{folder}/save is uid {UIDS['ben']}'s, not ana's" in curiosity.check_modes({str(folder): "ana"}, UIDS)
