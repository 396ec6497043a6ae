"""What goes wrong with checkpoints. Apart from checkpoint.py, which needs the compiled part."""

from __future__ import annotations


class CheckpointError(RuntimeError):
    """`code` is one of gRPC's names ("DATA_LOSS", "NOT_FOUND", "FAILED_PRECONDITION", ...); `reason`, `field` and `fix`
    may be empty. The text has what happened and the fix."""

    def __init__(self, message: str, code: str = "UNKNOWN", reason: str = "", field: str = "", fix: str = "") -> None:
        super().__init__(f"{message} ({fix})" if fix else message)
        self.code, self.reason, self.field, self.fix = code, reason, field, fix

    @property
    def is_corrupt(self) -> bool:
        """The checkpoint is not there or not whole: another may be good."""
        return self.code in ("DATA_LOSS", "NOT_FOUND")


class RestoreFailed(CheckpointError):
    """The save that the scheduler named cannot be had on this node. The scheduler has been told, and tries the job
    elsewhere once this process has ended: let it end with an error."""
