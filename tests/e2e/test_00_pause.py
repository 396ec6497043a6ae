"""The scheduler is stopped (SIGSTOP) for two minutes, twice the silence after which a node is lost, and goes on: nobody
is declared lost. The pause begins before the other tests and ends after them (test_zz_pause.py): it only takes time."""


def test_a_pause_begins(paused):
    paused.begin()
