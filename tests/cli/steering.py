#!/usr/bin/env python3
"""Names that would steer a terminal, in every command that prints them: steering.py PROGRAM.

Files, columns, classes and attributes are named with the sequence that sets a window's title, an
8-bit CSI and a change of the writing direction. In a pseudo-terminal none of these comes out, be it
in a table, in JSON or in an error; our own colours and cursor moves may.
"""
import os
import pty
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop())
ODD = b"\x1b]0;title\x07\xc2\x9b31m\xe2\x80\xae"
OURS = re.compile(rb"\x1b\[[0-9;?]*[mKAJlhG]")
FILE, RUN = b"n" + ODD + b".csv", b"r" + ODD
DATA = [b"--data.format", b"features", b"--data.file", FILE]
# arguments, exit code
COMMANDS = [
    ([b"audit", FILE], 0), ([b"audit", FILE, b"--json"], 0), ([b"audit", FILE, b"--a", ODD], 1),
    ([b"train", *DATA, b"--train.steps", b"20", b"--train.per_group", b"2", b"--out", RUN], 0),
    ([b"train", b"--resume", RUN], 0), ([b"train", b"--" + ODD, b"3"], 2),
    ([b"train", b"--model.arch", ODD], 2), ([b"eval", RUN], 0), ([b"eval", RUN, b"--json"], 0),
    ([b"eval", ODD], 2), ([b"eval", ODD, b"--json"], 2), ([b"predict", RUN], 0),
    ([b"eval", b"--predictions", RUN + b"/predictions.csv"], 0),
    ([b"eval", b"--predictions", RUN + b"/predictions.csv", b"--y", ODD], 1),
    ([b"report", RUN, b"--out", b"page" + ODD], 0), ([b"data", b"info", *DATA], 0),
    ([b"data", b"info", b"--json", *DATA], 0), ([b"data", b"fetch", ODD], 2), ([b"tune", ODD], 1),
    ([b"export", RUN, b"--onnx", ODD + b"/x"], 1), ([b"methods", ODD], 2), ([b"help", ODD], 2),
    ([b"reproduce", ODD], 2), ([ODD], 2),
]


def write_data():
    with open(FILE, "wb") as file:
        file.write(b"y,a,split,f" + ODD + b"\n")
        for i in range(240):
            file.write(b"c%s%d,a%s%d,%d,%d\n" % (ODD, i % 2, ODD, i // 2 % 2, i // 4 % 3, i % 7))


def run_in_terminal(words):
    """What a terminal gets, and the exit code."""
    terminal, other = pty.openpty()
    process = subprocess.Popen([PROGRAM.encode(), *words], stdin=other, stdout=other, stderr=other,
                               env={**os.environ, "TERM": "xterm"})
    os.close(other)
    text = b""
    try:
        while part := os.read(terminal, 65536):
            text += part
    except OSError:  # the program has ended
        pass
    os.close(terminal)
    return text, process.wait()


class Steering(unittest.TestCase):
    def test_commands(self):
        with tempfile.TemporaryDirectory(prefix="gerne-steering-") as folder:
            os.chdir(folder)
            self.addCleanup(os.chdir, "/")
            write_data()
            for words, code in COMMANDS:
                with self.subTest(words=words):
                    text, got = run_in_terminal(words)
                    self.assertEqual(got, code, text)
                    rest = OURS.sub(b"", text)
                    for steering in (b"\x1b", b"\x07", b"\xc2\x9b", b"\xe2\x80\xae"):
                        self.assertNotIn(steering, rest)


if __name__ == "__main__":
    unittest.main()
