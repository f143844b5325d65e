"""The examples run as they are: with numpy alone, and with PyTorch where it is installed."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support
import gerne

EXAMPLES = support.SOURCE / "examples"


class Examples(unittest.TestCase):
    def run_example(self, name, *words, folder, path=support.PACKAGE):
        result = subprocess.run(
            [sys.executable, "-B", str(EXAMPLES / name), *words], capture_output=True, text=True,
            timeout=100 * support.PATIENCE, cwd=folder, env={**os.environ, "PYTHONPATH": str(path)})
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_embeddings(self):
        with tempfile.TemporaryDirectory() as folder:
            refuse = Path(folder) / "sitecustomize.py"  # numpy and nothing else
            refuse.write_text("import sys\nfor name in ('sklearn', 'pandas', 'torch', 'scipy'):\n"
                              "    sys.modules[name] = None\n")
            out = self.run_example("embeddings.py", folder=folder,
                                   path=f"{folder}:{support.PACKAGE}")
            self.assertGreater((Path(folder) / "birds.onnx").stat().st_size, 100)
            model = gerne.load(Path(folder) / "birds.safetensors")
            self.assertEqual(model.class_names, ["landbird", "waterbird"])
            self.assertEqual(model.predict([[0.0] * 32]).tolist(), ["landbird"])
        self.assertIn("Verdict: strongly biased", out)
        self.assertIn("'ci95_low'", out)
        difference = out.split("WGA difference")[1].split()[0]
        self.assertGreater(float(difference), 20)

    @unittest.skipUnless(support.has("torch"), "python3-torch is not installed")
    def test_pytorch_loop(self):
        with tempfile.TemporaryDirectory() as folder:
            out = self.run_example("pytorch_loop.py", folder=folder)
        worst = {line.split(":")[0]: float(line.split()[-1]) for line in out.splitlines()}
        self.assertGreater(worst["GERNE"], worst["plain"] + 0.2, out)


if __name__ == "__main__":
    support.main()
