"""Ctrl-C in the midst of a computation, counted in processor time: a busy machine neither delays nor spoils it.

A test starts a process that imports this module. The signal is sent once that process has used some seconds of
its own, and what counts as late is what it used from then on, divided among the processors.
"""

import os
import signal
import sys
import threading
import time

import pytest

LIMIT = 0.2  # Seconds of its own that a process may use between the signal and the exception.

signals = pytest.mark.skipif(sys.platform == "win32", reason="os.kill ends a process on Windows")

IMPORT = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); from interrupting import Strike\n"
"""First line of the code of such a process."""


class Strike:
    """Context in which Ctrl-C comes after some seconds of processor time, if its body takes that long.

    The body ends with :meth:`over`: a signal that was sent too late for it is raised there.
    """

    def __init__(self, seconds):
        self.seconds, self.sent, self.under_way = seconds, None, True
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def start(self):
        self._begin = time.process_time()
        self._thread.start()
        return self

    def over(self):
        """Say that the computation is over, and wait for a signal that is on its way."""
        self.under_way = False
        self._over.set()
        self._thread.join()

    @property
    def late(self):
        """Seconds of its own that the process used since the signal."""
        return (time.process_time() - self.sent) / (os.cpu_count() or 1)

    def _run(self):
        while time.process_time() - self._begin < self.seconds:
            if self._over.wait(0.001):
                return
        self.sent = time.process_time()
        os.kill(os.getpid(), signal.SIGINT)
