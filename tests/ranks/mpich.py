"""The same with MPICH: one run on two ranks, a rank that is killed, a rank that does not answer."""
import os
import sys
import unittest
from pathlib import Path

BUILD = Path(os.environ.get("GERNE_BUILD", "build")) / "mpich"
if not (BUILD / "gerne").exists():
    print("skipped: no second program with MPICH (install mpich and libmpich-dev beside Open MPI)", file=sys.stderr)
    sys.exit(77)
os.environ["GERNE_BUILD"] = str(BUILD)

from faults import Faults  # noqa: E402 the program has to be named first
from parallel import Quick  # noqa: E402


def suite():
    tests = unittest.TestSuite([Quick("test_methods")])
    for name in ("test_killed_and_resumed", "test_stopped", "test_signal", "test_wrong_key"):
        tests.addTest(Faults(name))
    return tests


if __name__ == "__main__":
    result = unittest.TextTestRunner().run(suite())
    sys.exit(0 if result.wasSuccessful() else 1)
