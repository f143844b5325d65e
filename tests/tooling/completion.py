"""Completion scripts offer what help lists: completion.py SHELL. Skipped where the shell is not installed."""
import os
import pty
import re
import select
import shutil
import sys
import tempfile
import time
import unittest
from pathlib import Path

from tools import build, run

GERNE = build() / "gerne"
SHELL = sys.argv.pop() if len(sys.argv) > 1 else "bash"
KEY = re.compile(r"^  (--[a-z0-9_.-]+)", re.MULTILINE)


def commands():
    return re.findall(r"^  ([a-z]+) ", run([GERNE]).stdout.split("\n\n")[2], re.MULTILINE)


def keys(command):
    return set(KEY.findall(run([GERNE, command, "--help"]).stdout))


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="gerne-completion-"))
        cls.script = cls.folder / "script"
        done = run([GERNE, "completion", SHELL])
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        cls.script.write_text(done.stdout, encoding="utf-8")
        (cls.folder / "some file.yaml").write_text("")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_syntax(self):
        done = run([SHELL, "-n", self.script])
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_installed_file_is_what_the_program_prints(self):
        name = {"bash": "gerne.bash", "zsh": "_gerne", "fish": "gerne.fish"}[SHELL]
        self.assertEqual((build() / "completions" / name).read_text(encoding="utf-8"),
                         self.script.read_text(encoding="utf-8"))

    def test_commands(self):
        self.assertEqual(self.complete("") - {"--help", "--version"}, set(commands()))
        self.assertEqual(self.complete("tr"), {"train"})

    def test_keys(self):
        for command in commands():
            with self.subTest(command=command):
                self.assertEqual(self.complete(command, "--") - {"--help"}, keys(command))

    def test_values(self):
        self.assertEqual(self.complete("predict", "run", "--split", ""), {"train", "val", "test", "all"})
        self.assertEqual(self.complete("train", "--data.format", "c-"), {"c-mnist", "c-cifar10"})
        self.assertEqual(self.complete("train", "--method.name", "ger"), {"gerne"})
        self.assertEqual(self.complete("train", "--model.arch", "resnet5"), {"resnet50"})
        self.assertEqual(self.complete("train", "--train.lr", ""), set())

    def test_arguments(self):
        self.assertEqual(self.complete("data", ""), {"info", "make", "fetch", "tokens"})
        self.assertEqual(self.complete("completion", ""), {"bash", "zsh", "fish"})
        self.assertEqual(self.complete("models", "resnet3"), {"resnet34"})
        self.assertIn("gerne", self.complete("methods", ""))
        self.assertEqual(self.complete("help", "rep"), {"report", "reproduce"})

    def test_files(self):
        self.assertIn("some file.yaml", self.complete("train", ""))
        self.assertIn("some file.yaml", self.complete("train", "--out", "so"))


class Bash(Completion):
    def complete(self, *words):
        call = ('source "$0"; COMP_WORDS=(gerne "$@"); COMP_CWORD=$#; _gerne; '
                "printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = run(["bash", "--norc", "-c", call, self.script, *words], cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return set(done.stdout.splitlines()) - {""}

    def test_equals_sign(self):
        self.assertEqual(self.complete("train", "--select.split", "="), {"val", "test"})
        self.assertEqual(self.complete("train", "--select.split", "=", "v"), {"val"})

    def test_bash_asks_our_function(self):
        done = run(["bash", "--norc", "-c", 'source "$0"; complete -p gerne', self.script])
        self.assertEqual(done.stdout, "complete -F _gerne gerne\n")


class Fish(Completion):
    def complete(self, *words):
        line = " ".join(["gerne", *words])
        environment = {**os.environ, "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder / "config")}
        done = run(["fish", "--no-config", "-c", 'source $argv[1]; complete -C $argv[2]', self.script, line],
                   cwd=self.folder, env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        offered = {text.split("\t")[0] for text in done.stdout.splitlines()}
        return {text.replace("\\ ", " ") for text in offered}


class Zsh(Completion):
    """An interactive shell on a pseudo-terminal, which lists what it would offer."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # What would be shown or inserted goes to a file, match by match.
        setup = f"""
            PS1=; cd {cls.folder}; fpath=(/usr/share/zsh/functions/Completion/** $fpath)
            autoload -Uz compinit; compinit -u -D; source script
            zstyle ':completion:*' insert-tab false
            compadd() {{
                local -a found
                if [[ ${{@[1,(i)(-|--)]}} != *-(O|A|D)\ * ]]; then
                    builtin compadd -A found "$@"
                    print -rl -- $found >> {cls.folder}/offered
                fi
                builtin compadd "$@"
            }}
            forget() {{ BUFFER=; print -n forgotten }}
            zle -N forget; bindkey '^G' forget
            zle-line-init() {{ print -n ready }}
            zle -N zle-line-init
        """
        cls.process, cls.terminal = pty.fork()
        if cls.process == 0:
            os.environ.update(HOME=str(cls.folder), TERM="dumb", LC_ALL="C.UTF-8")
            os.execlp("zsh", "zsh", "-f", "-i")
        (cls.folder / "setup").write_text(setup)
        os.write(cls.terminal, f"source {cls.folder}/setup\n".encode())
        cls.read_until("ready")

    @classmethod
    def tearDownClass(cls):
        os.write(cls.terminal, b"\x03exit\n")
        os.close(cls.terminal)
        os.waitpid(cls.process, 0)
        super().tearDownClass()

    @classmethod
    def read_until(cls, words):
        text, end = "", time.monotonic() + 60
        while words not in text:
            assert time.monotonic() < end, f"zsh does not answer: {text!r}"
            if select.select([cls.terminal], [], [], 1)[0]:
                text += os.read(cls.terminal, 65536).decode("utf-8", "replace")
        return text

    def complete(self, *words):
        offered = self.folder / "offered"
        offered.write_text("")
        line = " ".join(["gerne", *words])
        os.write(self.terminal, line.encode() + b"\t\x07")
        self.read_until("forgotten")
        found = offered.read_text(encoding="utf-8").splitlines()
        return {text.rstrip("=").replace("\\ ", " ") for text in found if text}


def load_tests(loader, _tests, _pattern):
    return loader.loadTestsFromTestCase({"bash": Bash, "zsh": Zsh, "fish": Fish}[SHELL])


if __name__ == "__main__":
    if not shutil.which(SHELL):
        print(f"SKIPPED: {SHELL} is not installed")
        sys.exit(77)
    unittest.main()
