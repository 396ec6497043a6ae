"""Glim's in-task side: stop at an agreed step, save, leave the nodes, and go on from there later.

    import glim
    with glim.session() as run:                     # a no-op off the cluster
        run.track(model=model, optim=optim, sampler=sampler)
        run.restore()
        for batch in run.steps(loader, epochs=10):  # ends after the agreed step on every rank, saved
            loss = train(batch)
            run.progress(loss=loss)
    if run.stopped:
        sys.exit(0)                                 # the platform runs this script again later

Needs the standard library alone; run.track() needs torch.
"""

from .atomic_file import atomic_write
from .interrupt import Interrupt
from .session import Session, session

__all__ = ["Interrupt", "Session", "atomic_write", "session"]
__version__ = "0.1.0"
