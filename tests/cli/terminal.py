#!/usr/bin/env python3
"""The progress line on terminals of several widths: terminal.py PROGRAM.

Each terminal is a pseudo-terminal of that many columns in which a training in two stages runs until
it has shown some lines, and is then interrupted.
"""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop())
PATIENCE = 60 * float(os.environ.get("GERNE_PATIENCE", "1"))
STYLE = re.compile(r"\x1b\[[0-9;]*m")
WORDS = ["train", "--data.n", "200", "--data.size", "8", "--model.hidden", "4", "--threads", "1",
         "--method.attributes", "unknown", "--method.t", "0.1", "--select.metric", "wga",
         "--train.eval_every", "5"]


def set_columns(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def frames(text):
    """The progress lines that were drawn one over the other, without what else was printed."""
    return [f.split("\r\n")[0] for f in re.split(r"\r\x1b\[J", text) if STYLE.sub("", f).startswith("train ")]


class Session:
    """The program in a terminal, from its start to the interrupt that ends it."""

    def __init__(self, folder, columns, **environment):
        self.terminal, other = pty.openpty()
        set_columns(self.terminal, columns)
        words = [*WORDS, "--train.steps", "1000000", "--out", os.path.join(folder, "run"), "--cache",
                 os.path.join(folder, "cache")]
        environment = {**os.environ, "TERM": "xterm", "NO_COLOR": None, **environment}
        environment = {k: v for k, v in environment.items() if v is not None}
        self.process = subprocess.Popen([PROGRAM, *words], stdin=other, stdout=other, stderr=other,
                                        env=environment, start_new_session=True)
        os.close(other)
        self.text = ""
        self.end = time.monotonic() + PATIENCE

    def read(self):
        try:
            self.text += os.read(self.terminal, 65536).decode("utf-8", "replace")
            return True
        except OSError:  # the program has ended
            return False

    def read_until(self, fine):
        while not fine(self.text):
            if time.monotonic() > self.end or not self.read():
                raise AssertionError(f"not seen: {self.text[-2000:]!r}")

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        while self.read():
            pass
        os.close(self.terminal)
        return self.process.wait(PATIENCE)


class Terminal(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gerne-terminal-")
        self.addCleanup(self.folder.cleanup)

    def session(self, *arguments, **keywords):
        return Session(self.folder.name, *arguments, **keywords)

    def test_the_line_fits(self):
        sessions = {}
        for columns in (12, 40, 80, 200):
            folder = os.path.join(self.folder.name, str(columns))
            os.mkdir(folder)
            sessions[columns] = Session(folder, columns)
        for columns, session in sessions.items():
            session.read_until(lambda text: len(frames(text)) > 3)
            self.assertEqual(session.interrupt(), 130)
        shown = {c: STYLE.sub("", frames(s.text)[2]) for c, s in sessions.items()}
        for columns, session in sessions.items():
            for frame in frames(session.text):
                self.assertLess(len(STYLE.sub("", frame)), columns, frame)
        self.assertRegex(shown[40], r"^train \d+\.\d %, [\d:]+ left  stage biased$")
        self.assertRegex(shown[200], r"^train \d+\.\d %, [\d:]+ left  stage biased, loss \d\.\d{4}, "
                                     r"best val balanced acc \d+\.\d %, \d+ samples/s$")
        self.assertTrue(shown[200].count(",") >= shown[80].count(",") >= shown[40].count(","))

    def test_a_narrower_window_is_cleared(self):
        session = self.session(200)
        session.read_until(lambda text: len(frames(text)) > 1)
        set_columns(session.terminal, 30)
        session.read_until(lambda text: "\x1b[3A\r\x1b[J" in text or "\x1b[2A\r\x1b[J" in text)
        before = len(frames(session.text))
        session.read_until(lambda text: len(frames(text)) > before + 1)
        self.assertEqual(session.interrupt(), 130)
        self.assertLess(len(STYLE.sub("", frames(session.text)[before])), 30)

    def test_colour(self):
        for value, coloured in ((None, True), ("", True), ("1", False)):
            with self.subTest(NO_COLOR=value), tempfile.TemporaryDirectory() as folder:
                session = Session(folder, 80, NO_COLOR=value)
                session.read_until(lambda text: len(frames(text)) > 1)
                self.assertEqual(session.interrupt(), 130)
                self.assertEqual(bool(STYLE.search(session.text)), coloured)
                self.assertEqual("\x1b[1;31mgerne:\x1b[0m interrupted" in session.text, coloured)

    def test_no_terminal(self):
        """A pipe, and a terminal that has no cursor to move, get no line and no colour."""
        done = subprocess.run([PROGRAM, *WORDS, "--train.steps", "0"], capture_output=True, text=True,
                              cwd=self.folder.name, env={**os.environ, "TERM": "xterm"})
        self.assertEqual(done.returncode, 2)
        self.assertNotIn("\x1b", done.stderr)
        session = self.session(80, TERM="dumb")
        session.read_until(lambda text: "stage biased" in text)
        time.sleep(2.5)
        self.assertEqual(session.interrupt(), 130)
        self.assertNotIn("\x1b", session.text)


if __name__ == "__main__":
    unittest.main()
