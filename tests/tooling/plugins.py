"""Methods outside the tree, as their author meets them: installs into a temporary folder, compiles the
example with the installed headers alone, and uses it with the installed program."""
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from tools import SOURCE, install, pkg_config, run

CC = os.environ.get("CC", "cc")
EXAMPLE = SOURCE / "examples/out-of-tree/tilted.c"
# A plug-in needs little more than a descriptor to be looked at.
MINIMAL = """
#include "methods/plugin.h"
#include "methods/weighted.h"
static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{ (void)run; (void)k; (void)plan; return GERNE_OK; }
static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{ (void)k; return gn_plain_step(run, batch); }
static const gn_method m = {.name = NAME, .paper = "none", .summary = "s", .plan = plan, STEP};
"""
QUICK = "--data.n 600 --model.hidden 16 --threads 1 --quiet --train.batch 32".split()


def called_by_plugins(header):
    """The functions of a header between the marks that export them."""
    names = set()
    for region in re.findall(r"visibility push\(default\)(.*?)visibility pop", header, re.S):
        region = re.sub(r"/\*.*?\*/", " ", region, flags=re.S)
        region = re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*", " ", region, flags=re.M)
        region = re.sub(r"static inline[^{]*\{[^}]*\}", " ", region)
        for statement in re.split(r"[;{}]", region):
            match = re.search(r"\b(gn_\w+)\s*\(", statement)
            if match and "typedef" not in statement:
                names.add(match[1])
    return names


class Plugins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="gerne-plugins-"))
        cls.prefix = cls.folder / "prefix"
        install(cls.prefix)
        cls.headers = sorted((cls.prefix / "include/gerne").rglob("*.h"))
        cls.flags = pkg_config(cls.prefix, "gerne-method", "--cflags")
        cls.tilted = cls.compile("tilted", EXAMPLE.read_text(encoding="utf-8"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def compile(cls, name, source, *words):
        """Compiles a plug-in as docs/plugins.md says."""
        (cls.folder / f"{name}.c").write_text(source, encoding="utf-8")
        output = cls.folder / f"{name}.so"
        result = run([CC, "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", *cls.flags,
                      cls.folder / f"{name}.c", "-o", output, *words])
        assert result.returncode == 0, result.stderr
        return output

    def minimal(self, name, method="mine", step=".step = step", end="GN_PLUGIN(&m);"):
        source = MINIMAL.replace("NAME", f'"{method}"').replace("STEP", step) + end
        return self.compile(name, source, "-Wno-unused-function", "-Wno-unused-const-variable")

    def gerne(self, *words, code=0, **options):
        result = run([self.prefix / "bin/gerne", *words], **options)
        self.assertEqual(result.returncode, code, f"{words}\n{result.stdout}{result.stderr}")
        return result.stdout if code == 0 else result.stderr

    def train(self, out, *words, plugin=None, **options):
        return self.gerne("train", "--plugin", plugin or self.tilted, "--method.name", "tilted", *QUICK,
                          "--out", out, *words, **options)

    def out(self, name):
        return self.folder / "runs" / self.id().split(".")[-1] / name

    # ---- the interface ----

    def test_every_header_compiles_alone(self):
        self.assertGreater(len(self.headers), 10)
        for header in self.headers:
            with self.subTest(header=header.name):
                source = f'#include "{header}"\nextern int something;\n'
                result = run([CC, "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-x", "c",
                              *self.flags, "-"], input=source)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_program_exports_what_the_headers_mark(self):
        lines = run(["nm", "-D", "--defined-only", self.prefix / "bin/gerne"]).stdout.splitlines()
        # "gn_random_words.resolver" is the compiler's own, of a function with clones for CPUs.
        exported = {name for name in (line.split()[-1] for line in lines)
                    if name.startswith("gn_") and "." not in name}
        marked = set()
        for header in self.headers:
            marked |= called_by_plugins(header.read_text(encoding="utf-8"))
        self.assertIn("gn_run_pass", marked)
        self.assertEqual(marked - exported, set(), "marked and not exported")
        self.assertEqual(exported - marked, set(), "exported and not marked")

    def test_the_documented_command(self):
        user = self.folder / "documented"
        user.mkdir()
        shutil.copy(EXAMPLE, user)
        line = re.search(r"^cc (.*)$", (SOURCE / "docs/plugins.md").read_text(encoding="utf-8"), re.M)[1]
        packages = next(self.prefix.rglob("gerne-method.pc")).parent
        result = run(["sh", "-c", f"{CC} {line}"], cwd=user, env={**os.environ, "PKG_CONFIG_PATH": str(packages)})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("tilted", self.gerne("methods", "--plugin", "tilted.so", cwd=user))

    def test_find_package(self):
        user = self.folder / "user"
        user.mkdir()
        shutil.copy(EXAMPLE, user)
        (user / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\nproject(user C)\nfind_package(gerne 0.1 REQUIRED)\n"
            "add_library(tilted MODULE tilted.c)\ntarget_link_libraries(tilted PRIVATE gerne::method)\n")
        for words in (["-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                       f"-DCMAKE_C_COMPILER={CC}"], ["--build", user / "build"]):
            result = run(["cmake", *words])
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("tilted", self.gerne("methods", "--plugin", user / "build/libtilted.so"))

    # ---- using it ----

    def test_lists_and_help(self):
        self.assertNotIn("tilted", self.gerne("methods"))
        self.assertIn("Li et al. 2021", self.gerne("methods", "--plugin", self.tilted))
        for words in (["methods", "tilted"], ["help", "tilted"], ["help", "method.tilt"]):
            self.assertIn("--method.tilt X", self.gerne(*words, f"--plugin={self.tilted}"))
        found = json.loads(self.gerne("methods", "tilted", "--json", "--plugin", self.tilted))
        self.assertEqual([option["name"] for option in found[0]["options"]], ["tilt", "lambda"])
        for words in (["train", "--help"], ["tune", "--help"], ["help", "train"]):
            self.assertIn("Method tilted:", self.gerne(*words, "--plugin", self.tilted))
            self.assertIn("--plugin", self.gerne(*words))

    def test_train_evaluate_report(self):
        """Only training needs the plug-in, and a result says which it was."""
        run_folder = self.out("run")
        results = json.loads(self.train(run_folder, "--method.tilt", "2", "--train.steps", "60", "--json"))
        self.assertEqual(results["method"], "tilted")
        self.assertEqual(results["method_options"]["tilt"], 2)
        digest = hashlib.sha256(self.tilted.read_bytes()).hexdigest()
        self.assertEqual(results["method_options"]["plugin_sha256"], digest)
        config = (run_folder / "config.yaml").read_text()
        self.assertIn(f'plugin_sha256: "{digest}"', config)
        self.assertNotIn(".so", config)
        self.assertIn("tilted", (run_folder / "report.html").read_text())
        judged = json.loads(self.gerne("eval", run_folder, "--json", "--quiet"))
        self.assertEqual(judged["gba"], results["splits"]["test"]["gba"])
        self.assertTrue(self.gerne("predict", run_folder, "--quiet").startswith("index,"))
        self.gerne("report", run_folder, "--out", self.folder / "again.html")

    def test_it_learns_the_minority(self):
        """What its paper claims, roughly: the worst group of the biased data beats ERM's, which is lost."""
        words = "--data.n 2000 --data.ratio 0.05 --train.epochs 12 --train.lr 0.03 --threads 1 --quiet --json".split()
        wga = {}
        for name in ("erm", "tilted"):
            results = json.loads(self.gerne("train", "--plugin", self.tilted, "--method.name", name, *words,
                                            "--out", self.out(name)))
            wga[name] = results["splits"]["test"]["wga"]
        self.assertGreater(wga["tilted"], wga["erm"] + 0.2, wga)

    def test_unknown_attributes_use_an_estimator(self):
        results = json.loads(self.train(
            self.out("run"), "--method.attributes", "unknown", "--method.estimator", "jtt", "--train.steps", "30",
            "--method.estimator_epochs", "3", "--data.ratio", "0.1", "--cache", self.out("cache"), "--json"))
        self.assertEqual(results["method_options"]["estimator"], "jtt")

    def test_options_are_checked(self):
        for words, sentence in ((["--method.tilt", "-1"], "method.tilt: '-1' is outside [0, 100]"),
                                (["--method.tlit", "1"], "did you mean 'method.tilt'?"),
                                (["--method.eta", "1"], "belongs to: groupdro")):
            self.assertIn(sentence, self.train(self.out("run"), *words, code=2))

    def test_kill_and_resume(self):
        words = ["--train.steps", "3000", "--train.checkpoint_every", "20", "--train.eval_every", "500"]
        whole, cut = self.out("whole"), self.out("cut")
        self.train(whole, *words)
        process = subprocess.Popen(
            [str(w) for w in (self.prefix / "bin/gerne", "train", "--plugin", self.tilted, "--method.name", "tilted",
                              *QUICK, "--out", cut, *words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while not (cut / "last.ckpt").exists() and time.monotonic() < until:
            time.sleep(0.005)
        process.kill()
        self.assertEqual(process.wait(), -signal.SIGKILL)
        self.assertTrue((cut / "last.ckpt").exists())
        self.assertFalse((cut / "results.json").exists())
        refusal = self.gerne("train", "--resume", cut, code=2)
        self.assertIn("there is no method 'tilted'", refusal)
        self.assertIn("say where that is with --plugin FILE.so", refusal)
        other = self.compile("other", EXAMPLE.read_text(encoding="utf-8"), "-O0")
        self.assertIn("the configuration was made with another plug-in: method.plugin_sha256 is",
                      self.gerne("train", "--resume", cut, "--plugin", other, code=2))
        self.gerne("train", "--resume", cut, "--plugin", self.tilted, "--quiet")
        for name in ("results.json", "best.safetensors", "predictions.csv"):
            self.assertEqual((cut / name).read_bytes(), (whole / name).read_bytes(), name)

    def test_the_code_is_part_of_the_run_hash(self):
        source = EXAMPLE.read_text(encoding="utf-8")
        same = self.folder / "copy.so"
        shutil.copy(self.tilted, same)
        other = self.compile("hashed", source, "-O1")
        hashes = [json.loads(self.train(self.out(str(i)), "--train.steps", "5", "--json", plugin=plugin))["run_hash"]
                  for i, plugin in enumerate((self.tilted, same, other))]
        self.assertEqual(hashes[0], hashes[1])
        self.assertNotEqual(hashes[0], hashes[2])

    def test_tune(self):
        study = self.out("study")
        words = ["tune", "--plugin", self.tilted, "--method.name", "tilted", *QUICK, "--train.steps", "20",
                 "--train.eval_every", "10", "--out", study, "--seeds", "1", "--search.method.tilt", "0.5,2"]
        document = json.loads(self.gerne(*words, "--json"))
        self.assertEqual({trial["settings"]["method.tilt"] for trial in document["trials"]}, {"0.5", "2"})
        self.gerne(*words)  # again: nothing is left to do
        other = self.compile("tuned", EXAMPLE.read_text(encoding="utf-8"), "-O1")
        words[2] = other
        self.assertIn("method.plugin_sha256", self.gerne(*words, code=2))
        best = study / "best.yaml"
        self.assertIn("--plugin FILE.so", self.gerne("train", best, "--out", self.out("best"), code=2))
        self.gerne("train", best, "--plugin", self.tilted, "--out", self.out("best"), "--quiet")

    def test_the_usual_search_is_the_methods(self):
        """Without axes, tune searches the options for which the method names values."""
        document = json.loads(self.gerne(
            "tune", "--plugin", self.tilted, "--method.name", "tilted", *QUICK, "--train.steps", "2", "--out",
            self.out("study"), "--seeds", "1", "--tune.strategy", "random", "--tune.trials", "2", "--json"))
        self.assertIn("method.tilt", document["trials"][0]["settings"])

    # ---- nothing is loaded unasked ----

    def test_no_file_names_a_plugin(self):
        marker = self.folder / "loaded"
        spy = self.minimal("spy", end=f"""GN_PLUGIN(&m);
            #include <stdio.h>
            __attribute__((constructor)) static void spy(void)
            {{ FILE *file = fopen("{marker}", "w"); if (file) fclose(file); }}""")
        self.gerne("methods", "--plugin", spy)
        self.assertTrue(marker.exists())
        marker.unlink()
        config = self.folder / "sent.yaml"
        for text in (f"plugin: {spy}\n", f"method: {{name: mine, plugin: {spy}}}\n",
                     f"method: {{name: mine, plugin_sha256: {spy}}}\n"):
            config.write_text(text)
            for command in ("train", "tune"):
                with self.subTest(text=text, command=command):
                    self.gerne(command, config, "--out", self.out("run"), code=2)
        run_folder = self.out("sent")
        run_folder.mkdir(parents=True)
        shutil.copy(config, run_folder / "config.yaml")
        self.gerne("train", "--resume", run_folder, code=2)
        self.gerne("eval", run_folder, code=2)
        self.assertIn("unknown key 'plugin'", self.gerne("eval", run_folder, "--plugin", spy, code=2))
        # A bare name is a file of the present folder, wherever else the system would look.
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.folder)}
        self.assertIn("there is no such file",
                      self.gerne("methods", "--plugin", "spy.so", code=2, env=environment, cwd=self.prefix))
        self.gerne("methods", "--", "--plugin", spy, code=2)
        self.assertFalse(marker.exists())

    # ---- what cannot be loaded ----

    def test_refusals(self):
        text, empty = self.folder / "text.so", self.folder / "empty.so"
        text.write_text("not a shared object, but long enough to have a header of sixty-four bytes\n")
        empty.touch()
        two_steps = ".step = step, .options_size = 1"
        cases = [
            (self.folder / "missing.so", 2, "there is no such file"),
            (self.folder, 1, "is a directory, not a regular file"),
            (text, 1, "it cannot be loaded: invalid ELF header"),
            (empty, 1, "it cannot be loaded: file too short"),
            (self.minimal("bare", end="extern int x; int x = 1;"), 1,
             "it is not a plug-in: it has no symbol gerne_plugin"),
            (self.minimal("old", end='#undef GN_METHOD_INTERFACE\n#define GN_METHOD_INTERFACE "0123456789ab"\n'
                                     '#undef GN_METHOD_VERSION\n#define GN_METHOD_VERSION "0.0.9"\nGN_PLUGIN(&m);'), 1,
             "it was compiled for the method interface 0123456789ab of gerne 0.0.9, and this is"),
            (self.minimal("long", end='#undef GN_METHOD_INTERFACE\n#define GN_METHOD_INTERFACE "0123456789abcdef"\n'
                                      'GN_PLUGIN(&m);'), 1, "method interface 0123456789abcdef of gerne"),
            (self.minimal("unresolved", end="extern int gn_hidden(void); int f(void); int f(void) { return gn_hidden(); }"
                                            "\nGN_PLUGIN(&m);"), 1, "undefined symbol: gn_hidden"),
            (self.minimal("taken", method="erm"), 1, "there is a method 'erm' already"),
            (self.minimal("none", end="GN_PLUGIN(NULL);"), 1, "it has no methods"),
            (self.minimal("named", method="My Method"), 1, "a method has no name of lower-case letters"),
            (self.minimal("stepless", step=".step = NULL"), 1, "method 'mine': the hook step is missing"),
            (self.minimal("shadow", step=two_steps + ', .option_count = 1, .options = (const gn_option[]){{"name", '
                                                     'GN_BOOL, 0, .help = "h"}}'), 1,
             "method 'mine': every method has an option 'name' already"),
        ]
        for path, code, sentence in cases:
            with self.subTest(path=path.name):
                message = self.gerne("methods", "--plugin", path, code=code)
                self.assertIn(f"gerne: plug-in '{path}': ", message)
                self.assertIn(sentence, message)
        self.assertIn("'--plugin' needs a value", self.gerne("methods", "--plugin", code=2))
        self.assertIn("'--plugin' is given twice",
                      self.gerne("methods", "--plugin", self.tilted, "--plugin", self.tilted, code=2))
        failure = run([self.prefix / "bin/gerne", "methods", "--plugin", text, "--json"])
        self.assertEqual(json.loads(failure.stdout)["error"]["exit_code"], 1)


if __name__ == "__main__":
    unittest.main()
