"""What the tests of several processes share: mpirun, small data, the losses of a run."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

BUILD = Path(os.environ.get("GERNE_BUILD", "build"))
GERNE = BUILD / "gerne"
PATIENCE = float(os.environ.get("GERNE_PATIENCE", "1"))


def skip(reason):
    print(f"skipped: {reason}", file=sys.stderr)
    sys.exit(77)


def launcher():
    """The mpirun of the MPI that the program was built with; the test is skipped without one."""
    words = subprocess.run([GERNE, "--version"], capture_output=True, text=True, check=True).stdout
    mpi = re.search(r"^MPI: (.*)$", words, re.MULTILINE).group(1)
    if mpi == "none":
        skip("this build of gerne is without MPI (install libopenmpi-dev)")
    names = ["mpirun.mpich", "mpiexec.hydra"] if mpi.startswith("MPICH") else ["mpirun.openmpi", "mpirun"]
    for name in names:
        if shutil.which(name):
            return [name] + ([] if mpi.startswith("MPICH") else ["--oversubscribe", "--bind-to", "none"])
    skip(f"gerne is built with {mpi}, but its mpirun is not installed (install openmpi-bin)")


MPIRUN = launcher()


def environment():
    # Open MPI unloads its plug-ins with what they allocated: no frame is left to name it by.
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMP_WAIT_POLICY": "PASSIVE", "ASAN_OPTIONS": sanitizer.lstrip(":")}


def command(ranks, *words):
    mpirun = [*MPIRUN, "-n", str(ranks)] if ranks > 1 else []
    return [*map(str, mpirun), str(GERNE), *map(str, words)]


def gerne(ranks, *words, timeout=300):
    """Runs it on so many ranks."""
    return subprocess.run(command(ranks, *words), env=environment(), capture_output=True, text=True,
                          timeout=timeout * PATIENCE)


def losses(run):
    """The loss of every evaluation, by stage."""
    found = []
    for line in (run / "log.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "evaluation":
            found.append((event["stage"], event["train"]["loss"]))
    return found


class Stream:
    """Numbers that are the same everywhere."""

    def __init__(self, seed):
        self.state = seed

    def next(self, below):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % below


def write_png(path, side, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    raw = b"".join(b"\0" + bytes(row) for row in rows)
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw))
                     + chunk(b"IEND", b""))


def labels(n, stream):
    """Rows (y, a, split) in which a goes with y four times of five."""
    for i in range(n):
        y = i % 2
        a = y if stream.next(5) else 1 - y
        yield y, a, "train" if i < n * 5 // 8 else "val" if i < n * 13 // 16 else "test"


def make_images(folder, n, side):
    stream = Stream(1)
    folder.mkdir()
    lines = ["filename,y,a,split"]
    for i, (y, a, split) in enumerate(labels(n, stream)):
        rows = [[min(255, stream.next(120) + (80 if y and (r // 4 + c // 4) % 2 else 0)
                     + (60 if channel == a else 0)) for c in range(side) for channel in range(3)]
                for r in range(side)]
        write_png(folder / f"{i}.png", side, rows)
        lines.append(f"{i}.png,{y},{a},{split}")
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n")
    return ["--data.format", "images", "--data.dir", folder, "--data.split_column", "split"]


def make_features(path, n):
    stream = Stream(2)
    lines = ["y,a,split," + ",".join(f"x{j}" for j in range(8))]
    for y, a, split in labels(n, stream):
        x = [stream.next(1000) / 500 - 1 + (0.5 * y if j < 2 else 1.0 * a if j < 4 else 0) for j in range(8)]
        lines.append(f"{y},{a},{split}," + ",".join(f"{v:.4f}" for v in x))
    path.write_text("\n".join(lines) + "\n")
    return ["--data.format", "features", "--data.file", path]


def temporary():
    return tempfile.TemporaryDirectory(prefix="gerne-ranks-")
