#!/usr/bin/env python3
"""Tests `gerne data fetch` against a server on this machine that can also lie, stall and break off.

usage: download.py PROGRAM [REAL_DATA]     REAL_DATA: the folder with mnist/, for the published name
"""
import hashlib
import http.server
import io
import json
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import zipfile

PROGRAM = shlex.split(os.environ.get("GERNE_LAUNCHER", "")) + [sys.argv[1]]
REAL = sys.argv[2] if len(sys.argv) > 2 else None
FILES = {}  # path -> bytes
LOG = []  # (path, Range header)
BREAK_AFTER = {}  # path -> bytes after which the connection closes, once
NO_RANGES = set()
UNASKED = set()  # paths answered with 206 whatever was asked


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked = self.headers.get("Range")
        LOG.append((self.path, asked))
        if self.path == "/moved.bin":
            self.send_response(302)
            self.send_header("Location", "/plain.bin")
            self.end_headers()
            return
        body = FILES.get(self.path)
        if body is None:
            self.send_error(404)
            return
        start = int(asked.split("=")[1].split("-")[0]) if asked and self.path not in NO_RANGES else 0
        if start and start >= len(body):
            self.send_error(416)
            return
        partial = start or self.path in UNASKED
        self.send_response(206 if partial else 200)
        if partial:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        stop = BREAK_AFTER.pop(self.path, None)
        try:
            self.wfile.write(body[start:stop])
        except ConnectionError:
            pass  # the client had enough

    def log_message(self, *_):
        pass


SERVER = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
BASE = f"http://127.0.0.1:{SERVER.server_port}"
threading.Thread(target=SERVER.serve_forever, daemon=True).start()


def sha(body):
    return hashlib.sha256(body).hexdigest()


def tar(entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as t:
        for name, body, kind in entries:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.size = len(body) if kind == tarfile.REGTYPE else 0
            info.linkname = "/etc/passwd"
            t.addfile(info, io.BytesIO(body))
    return out.getvalue()


class Fetch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = os.path.join(self.folder.name, "out")
        LOG.clear()

    def fetch(self, *arguments, code=0):
        result = subprocess.run(
            PROGRAM + ["data", "fetch", *arguments, "--out", self.out],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def here(self, name):
        with open(os.path.join(self.out, name), "rb") as f:
            return f.read()

    def test_plain(self):
        body = FILES["/plain.bin"] = os.urandom(300000)
        self.fetch(BASE + "/plain.bin", "--sha256", sha(body))
        self.assertEqual(self.here("plain.bin"), body)
        self.assertEqual(os.listdir(self.out), ["plain.bin"])
        result = self.fetch(BASE + "/plain.bin", "--sha256", sha(body))  # not fetched again
        self.assertIn("already downloaded", result.stderr)
        self.assertEqual(len(LOG), 1)
        result = self.fetch(BASE + "/moved.bin")  # follows, and says that nothing was checked
        self.assertIn(sha(body), result.stderr)
        self.assertEqual(self.here("moved.bin"), body)

    def test_resumes_an_interrupted_download(self):
        body = FILES["/long.bin"] = os.urandom(500000)
        BREAK_AFTER["/long.bin"] = 200000
        result = self.fetch(BASE + "/long.bin", "--sha256", sha(body), code=1)
        self.assertIn("to resume it", result.stderr)
        self.assertEqual(os.listdir(self.out), ["long.bin.part"])
        got = len(self.here("long.bin.part"))
        self.assertGreater(got, 0)
        self.fetch(BASE + "/long.bin", "--sha256", sha(body))
        self.assertEqual(LOG[-1], ("/long.bin", f"bytes={got}-"))
        self.assertEqual(self.here("long.bin"), body)

    def test_server_that_cannot_continue(self):
        body = FILES["/whole.bin"] = os.urandom(50000)
        NO_RANGES.add("/whole.bin")
        os.mkdir(self.out)
        with open(os.path.join(self.out, "whole.bin.part"), "wb") as f:
            f.write(body[:10000])
        self.fetch(BASE + "/whole.bin", "--sha256", sha(body))
        self.assertEqual(self.here("whole.bin"), body)

    def test_part_that_is_complete(self):
        body = FILES["/done.bin"] = os.urandom(50000)
        os.mkdir(self.out)
        with open(os.path.join(self.out, "done.bin.part"), "wb") as f:
            f.write(body)
        self.fetch(BASE + "/done.bin", "--sha256", sha(body))
        self.assertEqual(self.here("done.bin"), body)

    def test_part_without_checksum(self):
        """Nothing tells whether the two halves are of one file."""
        body = FILES["/other.bin"] = os.urandom(50000)
        os.mkdir(self.out)
        with open(os.path.join(self.out, "other.bin.part"), "wb") as f:
            f.write(bytes(10000))
        self.fetch(BASE + "/other.bin")
        self.assertEqual(self.here("other.bin"), body)
        BREAK_AFTER["/other.bin"] = 20000
        self.fetch(BASE + "/other.bin", code=1)
        self.assertEqual(os.listdir(self.out), ["other.bin"])

    def test_part_that_was_not_asked_for(self):
        FILES["/half.bin"] = os.urandom(5000)
        UNASKED.add("/half.bin")
        result = self.fetch(BASE + "/half.bin", code=1)
        self.assertIn("a part of", result.stderr)
        self.assertEqual(os.listdir(self.out), [])

    def test_linked_part(self):
        body = FILES["/linked.bin"] = os.urandom(5000)
        os.mkdir(self.out)
        precious = os.path.join(self.folder.name, "precious")
        with open(precious, "wb") as f:
            f.write(b"kept")
        os.symlink(precious, os.path.join(self.out, "linked.bin.part"))
        result = self.fetch(BASE + "/linked.bin", "--sha256", sha(body), code=1)
        self.assertIn("is a symbolic link", result.stderr)
        os.rename(os.path.join(self.out, "linked.bin.part"), os.path.join(self.out, "linked.bin"))
        result = self.fetch(BASE + "/linked.bin", "--sha256", sha(body), code=1)
        self.assertIn("is a symbolic link", result.stderr)
        with open(precious, "rb") as f:
            self.assertEqual(f.read(), b"kept")

    def test_no_program_is_started(self):
        """libarchive would have lrzip, grzip, lzop and others decompress for it."""
        bin = os.path.join(self.folder.name, "bin")
        os.mkdir(bin)
        witness = os.path.join(self.folder.name, "started")
        for name in ["lrzip", "grzip", "lzop", "gzip", "bzip2", "xz", "zstd", "lz4", "uudecode"]:
            path = os.path.join(bin, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\necho {name} >> {witness}\n")
            os.chmod(path, 0o755)
        before = os.environ["PATH"]
        os.environ["PATH"] = bin + os.pathsep + before
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        for name, magic in [
            ("lrzip", b"LRZI\x00\x06"), ("grzip", b"GRZipII\x00\x02\x04:)"),
            ("lzop", b"\x89LZO\x00\r\n\x1a\n"), ("zstd", b"\x28\xb5\x2f\xfd"),
        ]:  # fmt: skip
            FILES[f"/{name}.tar.gz"] = magic + bytes(2000)
            result = self.fetch(f"{BASE}/{name}.tar.gz", code=1)
            self.assertIn("cannot be unpacked", result.stderr)
        self.assertFalse(os.path.exists(witness))

    def test_half_an_archive_leaves_nothing(self):
        file = tarfile.REGTYPE
        FILES["/late.tar.gz"] = tar([("a/b.txt", b"one", file), ("../evil.txt", b"x", file)])
        self.fetch(BASE + "/late.tar.gz", code=1)
        self.assertEqual(os.listdir(self.out), ["late.tar.gz"])
        os.mkdir(os.path.join(self.out, ".unpacking"))  # of a process that was killed
        os.mkdir(os.path.join(self.out, "a"))
        with open(os.path.join(self.out, "a", "mine.txt"), "wb") as f:
            f.write(b"mine")
        FILES["/whole.tar.gz"] = tar([("a/b.txt", b"one", file)])
        self.fetch(BASE + "/whole.tar.gz")
        self.assertEqual(self.here("a/b.txt") + self.here("a/mine.txt"), b"onemine")
        self.assertEqual(sorted(os.listdir(self.out)), ["a", "late.tar.gz", "whole.tar.gz"])
        outside = os.path.join(self.folder.name, "outside")
        os.mkdir(outside)
        os.symlink(outside, os.path.join(self.out, "c"))
        FILES["/through.tar.gz"] = tar([("c/d.txt", b"x", file)])
        self.assertIn("where it should go", self.fetch(BASE + "/through.tar.gz", code=1).stderr)
        self.assertEqual(os.listdir(outside), [])

    def test_lie(self):
        FILES["/lie.bin"] = b"something else"
        result = self.fetch(BASE + "/lie.bin", "--sha256", sha(b"the truth"), code=1)
        self.assertIn("expected " + sha(b"the truth"), result.stderr)
        self.assertEqual(os.listdir(self.out), [])
        result = self.fetch("mnist", "--mirror", BASE + "/nowhere", code=1)
        self.assertIn("404", result.stderr)
        FILES["/false/train-images-idx3-ubyte.gz"] = bytes(1000)
        result = self.fetch("mnist", "--mirror", BASE + "/false", code=1)
        self.assertIn("train-images-idx3-ubyte.gz' has sha256", result.stderr)
        FILES["/flood/train-images-idx3-ubyte.gz"] = bytes(20 << 20)
        result = self.fetch("mnist", "--mirror", BASE + "/flood/", code=1)
        self.assertIn("larger than", result.stderr)

    def test_archives(self):
        file = tarfile.REGTYPE
        FILES["/good.tar.gz"] = tar([("a/b.txt", b"one", file), ("a/c/d.txt", b"two", file)])
        self.fetch(BASE + "/good.tar.gz")
        self.assertEqual(self.here("a/b.txt"), b"one")
        self.assertEqual(self.here("a/c/d.txt"), b"two")
        for name, entry, words in [
            ("up", ("a/../../evil.txt", b"x", file), "leaves the folder"),
            ("root", ("/tmp/gerne-evil.txt", b"x", file), "leaves the folder"),
            ("link", ("a/link", b"", tarfile.SYMTYPE), "a link or a special file"),
            ("hard", ("a/hard", b"", tarfile.LNKTYPE), "a link or a special file"),
            ("pipe", ("a/pipe", b"", tarfile.FIFOTYPE), "a link or a special file"),
        ]:
            FILES[f"/{name}.tar.gz"] = tar([entry])
            result = self.fetch(f"{BASE}/{name}.tar.gz", code=1)
            self.assertIn(words, result.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "evil.txt")))
        self.assertFalse(os.path.exists("/tmp/gerne-evil.txt"))
        FILES["/cut.tar.gz"] = FILES["/good.tar.gz"][:60]
        result = self.fetch(BASE + "/cut.tar.gz", code=1)
        self.assertIn("cannot be unpacked", result.stderr)
        FILES["/bomb.tar.gz"] = tar([("zeros", bytes(200 << 20), file)])
        self.assertIn("unpacks to more", self.fetch(BASE + "/bomb.tar.gz", code=1).stderr)
        self.assertFalse(os.path.exists(os.path.join(self.out, "zeros")))
        zipped = io.BytesIO()
        with zipfile.ZipFile(zipped, "w") as z:
            z.writestr("../up.txt", "x")
        FILES["/up.zip"] = zipped.getvalue()
        self.assertIn("leaves", self.fetch(BASE + "/up.zip", code=1).stderr)

    def test_usage(self):
        self.assertIn("did you mean 'mnist'", self.fetch("mnits", code=2).stderr)
        self.assertIn("end in a file name", self.fetch(BASE + "/", code=2).stderr)
        self.fetch("file:///etc/passwd", code=2)
        listed = json.loads(self.fetch("--json").stdout)
        self.assertIn("cifar10", [one["name"] for one in listed])
        result = self.fetch("http://127.0.0.1:1/x.bin", code=1)
        self.assertIn("cannot download", result.stderr)

    @unittest.skipUnless(REAL and os.path.isdir(REAL), "the folder with real data is absent")
    def test_mnist(self):
        for name in os.listdir(os.path.join(REAL, "mnist")):
            with open(os.path.join(REAL, "mnist", name), "rb") as f:
                FILES["/mnist/" + name] = f.read()
        result = self.fetch("mnist", "--mirror", BASE + "/mnist")
        self.assertIn("--data.format c-mnist", result.stdout)
        info = subprocess.run(
            PROGRAM + ["data", "info", "--json", "--data.format", "c-mnist", "--data.dir", self.out],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        self.assertEqual(json.loads(info.stdout)["splits"]["train"]["n"], 55000)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
