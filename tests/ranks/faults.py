"""What goes wrong on several ranks: killed, stopped, told to end, unlike each other, misconfigured.

usage: faults.py             everything, with a few kills
       faults.py KILLS       only that: so many runs are killed at a random moment and resumed
"""
import os
import random
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import launch

KILLS = 4
LIMIT = 10 * launch.PATIENCE  # seconds in which all ranks have to end
# Large enough for sums on a thread of their own.
MLP = ["--model.arch", "mlp", "--model.hidden", "1100,1100", "--train.per_group", "6", "--train.lr", "0.05", "--threads", "1",
       "--quiet"]


def processes(word):
    """Of gerne, by rank: those whose command line has this word."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode().split("\0")
            environment = (folder / "environ").read_bytes().decode().split("\0")
        except (OSError, UnicodeDecodeError):
            continue
        if not words[0].endswith("gerne") or word not in words:
            continue
        for line in environment:
            name, _, value = line.partition("=")
            if name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK"):
                found[int(value)] = int(folder.name)
    return found


class Faults(unittest.TestCase):
    def setUp(self):
        temporary = launch.temporary()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.data = launch.make_features(self.folder / "x.csv", 160)

    def words(self, out, *more):
        return ["train", *self.data, *MLP, *more, "--cache", self.folder / "cache", "--out", out]

    def start(self, out, *more, ranks=2):
        process = subprocess.Popen(launch.command(ranks, *self.words(out, *more)), env=launch.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, condition, what):
        deadline = time.monotonic() + 60 * launch.PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"no {what}")
            time.sleep(0.02)

    def ends(self, process, since, code=None):
        """It ends in time; what it said."""
        _, said = process.communicate(timeout=60 * launch.PATIENCE)
        self.assertLess(time.monotonic() - since, LIMIT, said)
        self.assertNotEqual(process.returncode, 0)
        if code is not None:
            self.assertEqual(process.returncode, code, said)
        return said

    def refused(self, words, result):
        """With one sentence, whatever the number of ranks."""
        self.assertNotEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count(words), 1, result.stderr)

    # ---- killed ----

    LONG = ["--train.steps", "150", "--train.eval_every", "15", "--train.checkpoint_every", "5"]

    def files(self, run):
        return {name: (run / name).read_bytes() for name in ("results.json", "best.safetensors", "predictions.csv")}

    def test_killed_and_resumed(self):
        whole = self.folder / "whole"
        result = launch.gerne(2, *self.words(whole, *self.LONG))
        self.assertEqual(result.returncode, 0, result.stderr)
        began = time.monotonic()
        result = launch.gerne(2, *self.words(self.folder / "again", *self.LONG))
        seconds = time.monotonic() - began
        chance = random.Random(1)
        hit = 0
        for i in range(KILLS):
            out = self.folder / f"killed{i}"
            process = self.start(out, *self.LONG)
            self.wait_for(lambda: len(processes(str(out))) == 2 or process.poll() is not None, "ranks")
            time.sleep(chance.random() * seconds)
            victim = processes(str(out)).get(chance.randrange(2))
            if victim and process.poll() is None:
                try:
                    os.kill(victim, signal.SIGKILL)
                    hit += 1
                except ProcessLookupError:
                    pass
                since = time.monotonic()
                process.communicate(timeout=60 * launch.PATIENCE)
                self.assertLess(time.monotonic() - since, LIMIT)
            process.communicate()
            self.wait_for(lambda: not processes(str(out)), "end")
            again = ["--resume", out, "--quiet"] if (out / "config.yaml").exists() else self.words(out, *self.LONG)[1:]
            result = launch.gerne(2, "train", *again)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.files(out), self.files(whole), f"run {i}")
        self.assertGreater(hit, 0)

    def test_stopped(self):
        """A process that does not answer."""
        for rank in range(2):
            out = self.folder / f"stopped{rank}"
            process = self.start(out, "--train.steps", "1000000", "--train.eval_every", "1000000")
            self.wait_for(lambda: (out / "log.jsonl").exists(), "run")
            os.kill(processes(str(out))[rank], signal.SIGSTOP)
            said = self.ends(process, time.monotonic())
            self.assertRegex(said, rf"rank {rank} on \S+ has not answered for \d+ s")

    def test_signal(self):
        """Saves and ends with the code that batch systems wait for."""
        whole, out = self.folder / "whole", self.folder / "signalled"
        self.assertEqual(launch.gerne(2, *self.words(whole, *self.LONG)).returncode, 0)
        for i, number in enumerate((signal.SIGUSR1, signal.SIGTERM)):
            out = self.folder / f"signalled{i}"
            process = self.start(out, *self.LONG[:-2])
            self.wait_for(lambda: (out / "log.jsonl").exists() and len(processes(str(out))) == 2, "run")
            since = time.monotonic()
            for pid in processes(str(out)).values():  # as srun and Kubernetes send it
                os.kill(pid, number)
            said = self.ends(process, since, 130)
            self.assertIn("the run is saved", said)
            self.assertTrue((out / "last.ckpt").exists())
            result = launch.gerne(2, "train", "--resume", out, "--quiet")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual((out / "predictions.csv").read_bytes(), (whole / "predictions.csv").read_bytes())

    def test_bad_file(self):
        data = launch.make_images(self.folder / "images", 64, 8)
        (self.folder / "images/7.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
        since = time.monotonic()
        result = launch.gerne(2, "train", *data, *MLP, "--data.resize", "8", "--train.steps", "50", "--out",
                              self.folder / "bad")
        self.assertLess(time.monotonic() - since, LIMIT + 10 * launch.PATIENCE)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("7.png", result.stderr)

    # ---- refused ----

    def pair(self, first, second):
        """Two ranks with command lines of their own."""
        command = [*launch.MPIRUN, "-n", "1", *first, ":", "-n", "1", *second]
        return subprocess.run([str(word) for word in command], env=launch.environment(), capture_output=True,
                              text=True, timeout=60 * launch.PATIENCE)

    def test_unlike_ranks(self):
        out = self.folder / "unlike"
        words = [launch.GERNE.resolve(), *self.words(out, "--train.steps", "5")]
        self.refused("the ranks differ in the configuration", self.pair(words, [*words, "--seed", "1"]))
        other = ["2" if before == "--threads" else word for before, word in zip(["", *words], words)]
        self.refused("the ranks differ in the number of threads", self.pair(words, other))
        slower = ["env", "ONEDNN_MAX_CPU_ISA=SSE41", *words]
        self.refused("the ranks differ in the CPU's instruction set", self.pair(words, slower))
        self.data = launch.make_features(self.folder / "other.csv", 168)
        other = [launch.GERNE.resolve(), *self.words(out, "--train.steps", "5")]
        self.refused("the ranks differ in the data", self.pair(words, other))
        self.assertFalse(out.exists())

    def test_unseen_directory(self):
        folders = [self.folder / "here", self.folder / "there"]
        parts = []
        for folder in folders:
            folder.mkdir()
            parts.append(["-wdir", folder, launch.GERNE.resolve(), *self.words("out", "--train.steps", "5")])
        self.refused("is not visible here", self.pair(*parts))
        self.assertFalse((folders[0] / "out").exists())

    def test_too_many_ranks(self):
        words = ["train", *self.data, "--model.arch", "linear", "--method.name", "erm", "--train.batch", 3,
                 "--train.steps", 5, "--quiet", "--out", self.folder / "few"]
        self.refused("4 ranks share batches of 3 samples", launch.gerne(4, *words))

    def test_another_number_of_ranks(self):
        out = self.folder / "three"
        process = self.start(out, "--train.steps", "1000000", "--train.checkpoint_every", "1")
        self.wait_for(lambda: (out / "last.ckpt").exists(), "checkpoint")
        process.send_signal(signal.SIGKILL)
        for pid in processes(str(out)).values():
            os.kill(pid, signal.SIGKILL)
        process.communicate()
        self.wait_for(lambda: not processes(str(out)), "end")
        self.refused("the number of ranks differs: 3 now, 2 then", launch.gerne(3, "train", "--resume", out))

    def test_one_process_commands(self):
        self.refused("'gerne eval' runs in one process, but mpirun started 2", launch.gerne(2, "eval", "nothing"))

    def test_wrong_key(self):
        self.refused("unknown key 'train.bacth'", launch.gerne(2, *self.words(self.folder / "key", "--train.bacth", 3)))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        KILLS = int(sys.argv.pop(1))
        unittest.main(defaultTest="Faults.test_killed_and_resumed")
    unittest.main()
