"""Help and manual page tell the same: what one prints, the other has."""
import re
import shutil
import unittest

from tools import build, run

GERNE = build() / "gerne"
KEY = re.compile(r"^  (--[a-z0-9_.-]+)", re.MULTILINE)


def commands():
    overview = run([GERNE]).stdout
    listed = overview.split("\n\n")[2]
    return re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)


def manual():
    """The page as roff, with escaped characters made plain again."""
    text = (build() / "gerne.1").read_text(encoding="utf-8")
    return text, text.replace("\\-", "-").replace("\\(aq", "'").replace("\\(dq", '"').replace("\\e", "\\")


def help_of(command):
    return run([GERNE, command, "--help"])


class Manual(unittest.TestCase):
    def test_there_are_commands(self):
        self.assertIn("help", commands())

    def test_every_command_has_help(self):
        for command in commands():
            with self.subTest(command=command):
                result = help_of(command)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertTrue(result.stdout.startswith(f"usage: gerne {command}"))
                self.assertEqual(run([GERNE, "help", command]).stdout, result.stdout)

    def test_the_page_is_what_the_program_prints(self):
        self.assertEqual(manual()[0], run([GERNE, "help", "--man"]).stdout)

    def test_every_command_and_key_is_in_the_page(self):
        page = manual()[1]
        sections = {s.split()[1]: s for s in re.split(r"^\.SS ", page, flags=re.M)[1:]}
        self.assertEqual(list(sections), commands())
        common = page[page.index(".SH OPTIONS OF EVERY COMMAND"):]
        for command in commands():
            keys = KEY.findall(help_of(command).stdout)
            self.assertIn("--json", keys)
            for key in keys:
                with self.subTest(command=command, key=key):
                    pattern = rf"\\fB{re.escape(key)}(?: [^\n]*)?\\fR\n"
                    self.assertRegex(sections[command] + common, pattern)

    def test_the_page_names_no_key_that_help_lacks(self):
        known = {key for c in commands() for key in KEY.findall(help_of(c).stdout)} | {"--help"}
        named = set(re.findall(r"\\fB(--[a-z0-9_.-]+)", manual()[1]))
        self.assertEqual(named - known, set())

    def test_lines_fit_a_terminal(self):
        for line in run([GERNE]).stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)
        for command in commands():
            for line in re.findall(r"^ {30}\S.*", help_of(command).stdout, re.MULTILINE):
                self.assertLessEqual(len(line), 80, line)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_roff_has_no_warnings(self):
        command = ["groff", "-ww", "-man", "-Tutf8", "-z"]
        page = build() / "gerne.1"
        result = run([*command, page])
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        result = run([*command, "-"], input=page.read_text(encoding="utf-8") + ".nosuch\n")
        self.assertNotEqual(result.stderr, "", "groff's warnings are not seen")


if __name__ == "__main__":
    unittest.main()
