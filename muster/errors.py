"""What a user can cause or must be told about; everything else is a bug and keeps its traceback."""

from __future__ import annotations


class MusterError(Exception):
    """A failure that the command line shows as one line, without a traceback.

    `what` says what is wrong, `where` names the path in the file, node or URN, `hint` says what to
    do next.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(str(self))

    def __str__(self) -> str:
        """`<where>: <what>. <hint>`, on one line."""
        text = f"{self.where}: {self.what}" if self.where else self.what
        text = f"{text.rstrip('.')}. {self.hint}" if self.hint else text
        return " ".join(text.split())

    def lines(self) -> tuple[str, ...]:
        """Return what a terminal shows: one line for each mistake that the error gathers."""
        return (str(self),)


class UsageError(MusterError):
    """Wrong usage or a wrong spec."""

    exit_code = 2


class UnknownOutcomeError(MusterError):
    """The question could not be answered: neither yes nor no."""

    exit_code = 3


class CommandError(MusterError):
    """A program that muster called failed, ended by a signal, or ran past its time."""


class RemoteError(MusterError):
    """A node could not be asked: no connection, no answer in time, or a refused host key."""
