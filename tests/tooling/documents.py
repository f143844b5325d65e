"""README, CONTRIBUTING and docs/ speak of what is there: commands, make targets, files, folders, methods."""
import re
import unittest

from tools import SOURCE, build, run

DOCUMENTS = ("README.md", "CONTRIBUTING.md")
TEXTS = {name: (SOURCE / name).read_text(encoding="utf-8") for name in DOCUMENTS}
# Parts of the design that arrive later; README's source map says that their place is reserved.
RESERVED = {f"src/{n}" for n in "debias data engine nn methods train study report".split()}


def shell_lines(text):
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
    return [line for block in blocks for line in block.splitlines()]


def anchors(text):
    """What GitHub makes of the headings of a page."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Documents(unittest.TestCase):
    def test_commands_exist(self):
        for name, text in TEXTS.items():
            for line in shell_lines(text):
                match = re.match(r"(?:build/)?gerne ([a-z]+)", line)
                if match:
                    with self.subTest(document=name, line=line):
                        self.assertEqual(run([build() / "gerne", match[1], "--help"]).returncode, 0)

    def test_make_targets_exist(self):
        makefile = (SOURCE / "Makefile").read_text(encoding="utf-8")
        targets = set(re.findall(r"^([a-z]+):", makefile, re.M))
        self.assertIn("demo", targets)
        for name, text in TEXTS.items():
            named = re.findall(r"(?:^|`)make((?: [A-Za-z]+=[^\s`]*)*) ([a-z]+)\b(?!=)", text, re.M)
            self.assertNotEqual(named, [])
            for _, target in named:
                self.assertIn(target, targets, name)

    def test_files_exist(self):
        for name, text in TEXTS.items():
            paths = re.findall(r"`((?:src|tests|scripts|cmake|include|man|bench)/[\w./-]*)`", text)
            paths += re.findall(r"\]\(([A-Z]\w+[\w.]*)\)", text)
            self.assertNotEqual(paths, [])
            for path in paths:
                if path.rstrip("/") not in RESERVED:
                    self.assertTrue((SOURCE / path).exists(), f"{name}: {path}")

    def test_source_map_is_complete(self):
        for folder in (SOURCE / "src").iterdir():
            if folder.is_dir():
                self.assertIn(f"`src/{folder.name}/`", TEXTS["README.md"])

    def test_links_lead_somewhere(self):
        documents = [SOURCE / name for name in DOCUMENTS] + sorted((SOURCE / "docs").glob("*.md"))
        self.assertGreater(len(documents), len(DOCUMENTS))
        for document in documents:
            text = document.read_text(encoding="utf-8")
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                path, _, anchor = target.partition("#")
                if "://" in path:
                    continue
                with self.subTest(document=document.name, target=target):
                    file = document.parent / path if path else document
                    self.assertTrue(file.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(file.read_text(encoding="utf-8")))

    def test_the_methods_are_described_as_the_program_does(self):
        page = (SOURCE / "docs/methods.md").read_text(encoding="utf-8")
        printed = run([build() / "gerne", "methods", "--markdown"])
        self.assertEqual((printed.returncode, printed.stderr), (0, ""))
        self.assertTrue(page == printed.stdout, "docs/methods.md is out of date: run 'make docs'")

    def test_every_exit_code_is_in_the_readme(self):
        overview = run([build() / "gerne"]).stdout
        codes = re.findall(r"^  (\d+) +(.*)$", overview, re.M)
        self.assertEqual(len(codes), 5)
        for code, meaning in codes:
            self.assertIn(f"{code} {meaning}", TEXTS["README.md"])


if __name__ == "__main__":
    unittest.main()
