#!/usr/bin/env python3
"""disk.py on histories worked out by hand: it must find what a careless program loses."""
import os
import random
import tempfile
import unittest

import disk


def after(changes, moment=None, start=None):
    """The states after some changes of a directory, as a list of {path: bytes}."""
    with tempfile.TemporaryDirectory() as root:
        for name, data in (start or {}).items():
            with open(os.path.join(root, name), "wb") as file:
                file.write(data)
        inodes = {name: os.stat(os.path.join(root, name)).st_ino for name in start or {}}
        history = disk.Disk(root)
    history.follow([(what, inodes.get(of, of) if what in ("write", "cut") else of, *rest)
                    for what, of, *rest in changes])
    moment = len(history.changes) if moment is None else moment
    return list(disk.states(history, moment, random.Random(1))), history


WRITE = [("create", 1, "a.tmp"), ("write", 1, 0, b"new!")]
CAREFUL = [*WRITE, ("sync", 1), ("rename", "a.tmp", "a"), ("syncdir", ".")]


class Power(unittest.TestCase):
    def test_careful(self):
        states, _ = after(CAREFUL, start={"a": b"old"})
        self.assertEqual(states, [{"a": b"new!"}])

    def test_every_moment_of_a_careful_one(self):
        for moment in range(len(CAREFUL) + 1):
            for state in after(CAREFUL, moment, {"a": b"old"})[0]:
                self.assertIn(state["a"], (b"old", b"new!"))

    def test_renamed_without_sync(self):
        states, _ = after([*WRITE, ("rename", "a.tmp", "a"), ("syncdir", ".")])
        self.assertEqual({state["a"] for state in states}, {b"", b"new!", b"ne", b"\0\0\0\0"})

    def test_directory_not_synced(self):
        states, _ = after(CAREFUL[:-1], start={"a": b"old"})
        self.assertIn({"a": b"old"}, states)                     # neither the file nor its new name
        self.assertIn({"a": b"old", "a.tmp": b"new!"}, states)   # not yet renamed
        self.assertIn({"a": b"new!"}, states)
        self.assertNotIn({}, states)                             # the old one does not vanish

    def test_parent_not_synced(self):
        changes = [("mkdir", "run"), ("create", 1, "run/a.tmp"), ("write", 1, 0, b"x"), ("sync", 1),
                   ("rename", "run/a.tmp", "run/a"), ("syncdir", "run")]
        states, history = after(changes)
        self.assertIn({}, states)
        self.assertEqual(disk.commits(history), [(5, "run/a.tmp", None), (6, "run/a", b"x")])
        states, _ = after([changes[0], ("syncdir", "."), *changes[1:]])
        self.assertEqual(states, [{"run": disk.FOLDER, "run/a": b"x"}])

    def test_appended(self):
        states, _ = after([("write", "log", 3, b"cd"), ("write", "log", 5, b"ef")], start={"log": b"ab\n"})
        self.assertEqual({state["log"] for state in states},
                         {b"ab\n", b"ab\ncd", b"ab\ncdef", b"ab\n\0\0ef", b"ab\ncde", b"ab\n\0\0\0\0"})

    def test_cut(self):
        states, _ = after([("cut", "log", 1)], start={"log": b"abc"})
        self.assertEqual({state["log"] for state in states}, {b"abc", b"a"})

    def test_changes_of_one_name_keep_their_order(self):
        states, _ = after([("create", 1, "a"), ("unlink", "a"), ("create", 2, "a"), ("mkdir", "b")])
        found = {tuple(sorted(state)) for state in states}
        self.assertEqual(found, {(), ("a",), ("b",), ("a", "b")})

    def test_removed_without_sync(self):
        states, _ = after([("unlink", "a")], start={"a": b"x"})
        self.assertEqual(states, [{"a": b"x"}, {}])


if __name__ == "__main__":
    unittest.main()
