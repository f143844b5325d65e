"""scripts/same-bits: says equal of one program, and can say that two differ, in what, and that one fails."""
import importlib.machinery
import importlib.util
import json
import struct
import unittest

from tools import SOURCE, TemporaryTree, build, run

SCRIPT = SOURCE / "scripts/same-bits"
PROGRAM = build() / "gerne"


def same_bits(*words, program=PROGRAM, only="^erm/known$"):
    return run([SCRIPT, "--base-program", PROGRAM, "--program", program, "--only", only, *words])


def load():
    loader = importlib.machinery.SourceFileLoader("same_bits_script", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class SameBits(unittest.TestCase):
    def test_one_program_is_equal_to_itself(self):
        result = same_bits()
        self.assertEqual(result.stdout, "erm/known: equal\n1 equal, 0 differ\n", result.stderr)
        self.assertEqual(result.returncode, 0)

    def test_another_seed_differs(self):
        result = same_bits("--head-flags", "--seed 4")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("erm/known: differs: best.safetensors: tensor fc1.bias and 5 more; results.json: ",
                      result.stdout)
        self.assertIn("0 equal, 1 differ", result.stdout)

    def test_a_program_that_fails_is_no_equal(self):
        with TemporaryTree({"broken": "#!/bin/sh\necho 'gerne: broken' >&2\nexit 1\n"}) as root:
            (root / "broken").chmod(0o755)
            result = same_bits(program=root / "broken")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("erm/known: differs: head ended with exit code 1, not 0: gerne: broken", result.stdout)

    def test_wrong_calls(self):
        self.assertEqual(same_bits(only="^nonsense$").returncode, 2)
        self.assertEqual(same_bits(program="/nonexistent/gerne").returncode, 2)
        self.assertEqual(run([SCRIPT]).returncode, 2)

    def test_added_figures_are_no_difference_and_lost_ones_are(self):
        differences = load().json_differences
        old, new = {"wga": 0.5, "groups": [{"n": 1}]}, {"wga": 0.5, "groups": [{"n": 1, "lost": 0}]}
        self.assertEqual(differences(old, new, "val"), ([], ["val.groups[0].lost"]))
        self.assertEqual(differences(new, old, "val"), (['val.groups[0].lost 0 -> "absent"'], []))

    def test_metadata_and_tensors_are_told_apart(self):
        def file(metadata, value):
            header = json.dumps({"__metadata__": metadata,
                                 "w": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}).encode()
            return struct.pack("<Q", len(header)) + header + bytes([value])

        with TemporaryTree({}) as root:
            paths = [root / name for name in ("a", "b", "c")]
            for path, contents in zip(paths, (file({"k": "x"}, 1), file({"k": "y"}, 1), file({"k": "x"}, 2))):
                path.write_bytes(contents)
            difference = load().weights_difference
            self.assertEqual(difference(paths[0], paths[0]), "")
            self.assertEqual(difference(paths[0], paths[1]), "best.safetensors: metadata k")
            self.assertEqual(difference(paths[0], paths[2]), "best.safetensors: tensor w")


if __name__ == "__main__":
    unittest.main()
