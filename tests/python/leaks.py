"""Under SAN=address: what Python leaks of the library is reported, what it does not is not."""
import unittest

import support

MAKE = """
import numpy as np
import gerne
from gerne._calls import call_handle

def make():
    counts = np.array([[9, 1], [1, 9]], dtype=np.int64)
    return call_handle("groups_from_counts", counts.ctypes.data, 2, 2)

{}
"""


class Leaks(unittest.TestCase):
    def run_code(self, code):
        return support.python("-c", MAKE.format(code))

    def test_a_leak_is_reported(self):
        result = self.run_code("make()")
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertIn("gerne_groups_from_counts", result.stderr)

    def test_what_is_closed_is_not(self):
        result = self.run_code("gerne._loaded().groups_close(make())")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_objects_close_themselves(self):
        result = self.run_code("gerne.Groups([0, 1], [1, 0]); gerne.audit([[9, 1], [1, 9]])")
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    support.main()
