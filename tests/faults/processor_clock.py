"""Runs the program by a clock that stands still while other programs have the processor.

    python -m tests.faults.processor_clock fit table.csv --time-limit 10s

Time limits are then seconds of its own work, on a machine that does anything else besides. What waits for another
process, or sleeps, has no such clock. Libraries that wait took the real clock before.
"""

import concurrent.futures.thread  # noqa: F401
import queue  # noqa: F401
import subprocess  # noqa: F401
import threading  # noqa: F401
import time

if __name__ == "__main__":
    time.monotonic = time.process_time
    from drbo.cli import main

    main(prog_name="drbo")
