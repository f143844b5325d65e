"""A gerne that is built without MPI: alone it works, under mpirun it says what is missing."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

GERNE = Path(os.environ.get("GERNE_BUILD", "build")) / "alone/gerne"


class Alone(unittest.TestCase):
    def run_gerne(self, *words, **environment):
        return subprocess.run([GERNE, *words], env={**os.environ, **environment}, capture_output=True, text=True,
                              timeout=60)

    def test_version(self):
        self.assertIn("MPI: none", self.run_gerne("--version").stdout)

    def test_trains(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.run_gerne("train", "--model.arch", "linear", "--train.steps", "2", "--out", f"{folder}/run")
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_several_processes(self):
        """Rank 0 says it once; the others do not end it before it has."""
        for size, rank in (("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), ("PMI_SIZE", "PMI_RANK"),
                           ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID")):
            first = self.run_gerne("train", **{size: "4", rank: "0"})
            self.assertEqual(first.returncode, 2)
            self.assertIn("started 4 processes, but this gerne is built without MPI", first.stderr)
            self.assertIn("libopenmpi-dev", first.stderr)
            other = self.run_gerne("train", **{size: "4", rank: "3"})
            self.assertEqual((other.returncode, other.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
