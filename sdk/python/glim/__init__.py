"""Glim's in-task side: stop at an agreed step, save, leave the nodes, and go on from there later.

    import glim
    with glim.session() as run:                     # a no-op off the cluster
        run.track(model=model, optim=optim, sampler=sampler)
        run.restore()
        for batch in run.steps(loader, epochs=10):  # ends after the agreed step on every rank, saved
            loss = train(batch)
            run.progress(loss=loss)
    if run.stopped:
        sys.exit(0)                                 # the scheduler runs this script again later

Python 3.8 or newer. Needs the standard library alone; run.track() needs torch, and the compiled part for its saves.
"""

from .atomic_file import atomic_write
from .errors import CheckpointError, RestoreFailed
from .interrupt import Interrupt
from .session import Session, session
from .version import VERSION as __version__

__all__ = ["CheckpointError", "Interrupt", "RestoreFailed", "Session", "__version__", "atomic_write", "session"]
