"""Reports as files: well-formed, self-contained, small, honest about what is missing: pages.py PROGRAM."""
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

from made import PLOTS, make_run, make_study

PROGRAM = None
DIGITS = [str(i) for i in range(10)]
SHAPES, COLOURS = ["disc", "cross", "ring"], ["red", "blue"]
VOID = {"meta", "br", "img", "link", "input", "hr"}
HOSTILE = ["<script>alert(1)</script>", "\"x\" onload='y' &amp;", "\u65e5\u672c\u8a9e" * 30, "z" * 400]

DIVERGED = {"stage": "main", "step": 1013, "loss": None, "hint": "lower train.lr",
            "message": "diverged at step 1013: the loss is <b>nan</b>"}


class Balance(HTMLParser):
    """Every element that opens closes, in order; SVG elements may close themselves."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.faults, self.tags, self.links, self.text = [], [], {}, [], []

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.faults.append(f"<{tag}> has an attribute twice: {names}")
        self.links += [v for n, v in attrs if n in ("src", "href", "srcset", "action")]
        self.faults += [f"<{tag} {n}>" for n in names if n.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> closes {self.open[-3:]} at {self.getpos()}")
        else:
            self.open.pop()

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text.append(data)


MARKUP = "<img src=x onerror=alert(1)>"


def marked(value):
    """The same with markup for every text, and as a key."""
    if isinstance(value, str):
        return MARKUP
    if isinstance(value, list):
        return [marked(item) for item in value]
    if isinstance(value, dict):
        return {**{key: marked(item) for key, item in value.items()}, MARKUP: MARKUP}
    return value


def hostile(document):
    """(key, the document with its value marked), for every key: others may need theirs."""
    for key in document:
        yield key, {**document, key: marked(document[key])}


def gerne(*arguments, cwd=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=cwd,
                          encoding="utf-8", errors="replace", check=False)


class Pages(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="gerne-report-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def report(self, *paths, name="out.html"):
        """Writes a report, checks its form, and returns its parser and bytes."""
        out = self.dir / name
        result = gerne("report", *paths, "--out", out)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        raw = out.read_bytes()
        page = Balance()
        page.feed(raw.decode("utf-8"))
        page.close()
        self.assertEqual((page.faults, page.open), ([], []))
        self.assertEqual([link for link in page.links if not link.startswith("data:image/png")], [])
        self.assertEqual((page.tags["script"], page.tags["style"], page.tags["title"] > 0),
                         (1, 1, True))
        self.assertIsNone(re.search(rb"https?://|@import|url\(", raw))
        return page, raw

    def short(self, *paths):
        """What --json prints."""
        result = gerne("report", *paths, "--json", "--out", self.dir / "short.html")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def said(self, page):
        return " ".join(" ".join(page.text).split()).replace("\u202f", " ")

    def test_a_run(self):
        run = make_run(self.dir / "run", SHAPES, COLOURS, pictures=3)
        page, raw = self.report(run)
        text = self.said(page)
        for words in ("Worst group", "95 % interval", "selected on validation by gba", "L_ext",
                      "balanced: 1", "bound: 2.3", "configured: 1", "Strongly biased", "predicted as",
                      f"gerne train {run}/config.yaml --out {run}-again --threads 2"):
            self.assertIn(words, text)
        self.assertEqual(page.tags["img"], 3)
        self.assertNotIn("ORACLE", text)
        self.assertEqual(raw, self.report(run, name="again.html")[1])

    def test_figures_of_the_method(self):
        def words(**options):
            return self.said(self.report(make_run(self.dir / str(len(list(self.dir.iterdir()))), SHAPES, COLOURS,
                                                  **options))[0])
        text = words()
        self.assertIn("L_ext, extrapolated", text)
        self.assertNotIn("Extrapolation s", text)  # no s_high was logged
        self.assertIn("s = 1 balances", words(plots=[{**PLOTS[0], "note": "s = 1 balances"}]))
        for plots in (None, [], "loss", {"title": "x"}):  # earlier versions, damage
            text = words(plots=plots)
            self.assertIn("Training loss", text)
            self.assertIn("L_lb", text)
            self.assertNotIn("L_ext", text)
        for plots in ([1, None, {}], [{"title": 1, "needs": []}], [{"title": "t", "needs": "loss", "lines": 3}],
                      [{"title": "t", "needs": "x" * 99, "lines": [{}]}],
                      [{"title": "t", "needs": "loss", "lines": [None, {"figure": 5}, {"figure": "x" * 99}]}]):
            self.assertNotIn("Training loss", words(plots=plots))
        self.assertIn("<b>", words(plots=[{**PLOTS[0], "title": "<b>"}]))

    def test_texts_are_quoted(self):
        run = make_run(self.dir / "run", SHAPES, COLOURS, pictures=1)
        [picture] = (run / "errors").iterdir()
        picture.unlink()
        words = "<script>alert(1)</script> & \u05e9\u05dc\u05d5\u05dd\n" + "long " * 1000
        picture.with_suffix(".txt").write_text(words, encoding="utf-8")
        page, raw = self.report(run)
        self.assertIn("Test texts of", self.said(page))
        self.assertIn("<script>alert(1)</script> & \u05e9\u05dc\u05d5\u05dd long", self.said(page))
        self.assertNotIn(b"<script>alert", raw)
        self.assertNotIn("long " * 500, self.said(page))
        self.assertEqual((page.tags["blockquote"], "img" in page.tags), (1, False))

    def test_an_oracle_is_marked(self):
        run = make_run(self.dir / "run", SHAPES, COLOURS, oracle=True)
        self.assertIn("ORACLE: the checkpoint was selected on the test split", self.said(self.report(run)[0]))

    def test_default_places(self):
        one, two = (make_run(self.dir / n, SHAPES, COLOURS, seed=i) for i, n in enumerate("ab"))
        self.assertEqual(gerne("report", one).returncode, 0)
        self.assertTrue((one / "report.html").exists())
        self.assertEqual(gerne("report", one, two, cwd=self.dir).returncode, 0)
        self.assertTrue((self.dir / "report.html").exists())

    def test_a_comparison(self):
        runs = [make_run(self.dir / n, SHAPES, COLOURS, seed=i, method=m, accuracy=a)
                for i, (n, m, a) in enumerate((("erm", "erm", 0.4), ("ours", "gerne", 0.95)))]
        page, _ = self.report(*runs)
        text = self.said(page)
        for words in ("Best worst-group accuracy: ours", "Paired differences",
                      "on the same 120 test samples", "< 0.0001"):
            self.assertIn(words, text)
        result = json.loads(gerne("report", *runs, "--json", "--out", self.dir / "x.html").stdout)
        self.assertEqual([r["method"] for r in result["runs"]], ["erm", "gerne"])
        self.assertEqual(result["report"], str(self.dir / "x.html"))
        self.assertEqual(result["bytes"], (self.dir / "x.html").stat().st_size)
        results = [json.loads((r / "results.json").read_text()) for r in runs]
        gba = [r["splits"]["test"]["gba"] for r in results]
        wga = [r["splits"]["test"]["wga"] for r in results]
        self.assertAlmostEqual(result["comparison"][0]["gba_difference"], gba[1] - gba[0], 12)
        self.assertAlmostEqual(result["comparison"][0]["wga_difference"], wga[1] - wga[0], 12)

    def test_runs_of_one_name_are_told_apart(self):
        runs = [make_run(self.dir / n / "run", SHAPES, COLOURS, seed=i) for i, n in enumerate("ab")]
        text = self.said(self.report(*runs)[0])
        self.assertIn(f"{self.dir}/a/run", text)

    def test_different_data_are_refused(self):
        one = make_run(self.dir / "one", SHAPES, COLOURS)
        for name, changes in {"classes": {"class_names": SHAPES[:2] + ["star"]},
                              "attributes": {"attribute_names": COLOURS + ["green"]},
                              "data": {"fingerprint": "e" * 64}}.items():
            settings = {"class_names": SHAPES, "attribute_names": COLOURS, **changes}
            two = make_run(self.dir / name, settings.pop("class_names"),
                           settings.pop("attribute_names"), **settings)
            result = gerne("report", one, two, "--out", self.dir / "no.html")
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"'{one}' and '{two}' have different data", result.stderr)
            self.assertIn(name, result.stderr)
            self.assertFalse((self.dir / "no.html").exists())

    def test_a_run_that_has_not_finished(self):
        run = make_run(self.dir / "run", SHAPES, COLOURS, finished=False,
                       log_tail='{"event":"evaluation","st')
        text = self.said(self.report(run)[0])
        for words in ("Not finished: worst group", "The run has not finished",
                      f"gerne train --resume {run}", "Training loss"):
            self.assertIn(words, text)
        self.assertNotIn("damaged", text)
        # held by a trainer
        code = ("import fcntl, os, subprocess, sys; "
                "fcntl.flock(os.open(sys.argv[1], 0), fcntl.LOCK_EX); "
                "sys.exit(subprocess.run(sys.argv[2:]).returncode)")
        subprocess.run([sys.executable, "-c", code, run, PROGRAM, "report", run, "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
        self.assertIn("still running", (run / "report.html").read_text(encoding="utf-8"))

    def test_a_run_that_diverged(self):
        run = make_run(self.dir / "run", SHAPES, COLOURS, diverged=DIVERGED)
        page, raw = self.report(run)
        text = self.said(page)
        for words in ("Diverged at step 1013: the loss is <b>nan</b>", "Hint: lower train.lr",
                      "without a test figure. Last evaluation: worst group", "Training loss", "Configuration Method",
                      "Resuming would diverge again",
                      f"gerne train {run}/config.yaml --out {run}-again --threads 2"):
            self.assertIn(words, text)
        for words in ("not finished", "--resume", "chosen on validation", "chosen checkpoint",
                      "95 % interval"):
            self.assertNotIn(words, text)
        self.assertNotIn(b"<b>nan", raw)
        self.assertEqual(self.short(run)["runs"][0]["diverged"], DIVERGED)
        self.assertIn(f"{run}: diverged at step 1013", gerne("report", run).stdout)

    def test_a_stage_that_diverged_before_it_was_evaluated(self):
        run = make_run(self.dir / "run", SHAPES, COLOURS,
                       diverged={**DIVERGED, "stage": "<refit>", "step": 7,
                                 "message": "diverged at step 7: the loss is inf"})
        page, raw = self.report(run)
        self.assertIn("Diverged at step 7 of the stage <refit>: the loss is inf", self.said(page))
        self.assertNotIn(b'class="mark"', raw) # the curves are those of the stage before

    def test_a_diverged_run_never_wins(self):
        bad = make_run(self.dir / "bad", SHAPES, COLOURS, accuracy=0.99, diverged=DIVERGED)
        good = make_run(self.dir / "good", SHAPES, COLOURS, accuracy=0.3, seed=1)
        for runs in ((bad, good), (good, bad)):
            text = self.said(self.report(*runs)[0])
            for words in ("Best worst-group accuracy: good",
                          "The others: bad diverged at step 1013.",
                          "bad gerne, seed 0 diverged at step 1013",
                          "bad diverged at step 1013: the loss is <b>nan</b>"):
                self.assertIn(words, text)
            for words in ("not finished", "Differences, sample by sample"):
                self.assertNotIn(words, text)
            states = {Path(r["path"]).name: (r["complete"], r["diverged"], r["wga"] is None)
                      for r in self.short(*runs)["runs"]}
            self.assertEqual(states, {"good": (True, None, False), "bad": (False, DIVERGED, True)})
        two = make_run(self.dir / "two", SHAPES, COLOURS, seed=2, diverged=DIVERGED)
        self.assertIn("None of the 2 runs has results", self.said(self.report(bad, two)[0]))

    def test_a_damaged_divergence(self):
        for i, broken in enumerate((b"", b"{", b"[]", b"7", b"{}", b"\xff\xfe", b'{"message": 3}')):
            run = make_run(self.dir / f"run{i}", SHAPES, COLOURS, diverged=DIVERGED)
            (run / "diverged.json").write_bytes(broken)
            text = self.said(self.report(run)[0])
            self.assertIn("diverged.json is damaged (", text)
            self.assertIn("what it said is taken from log.jsonl", text)
            self.assertIn("Diverged at step 1013: the loss is", text)
            (run / "log.jsonl").unlink()
            text = self.said(self.report(run)[0])
            self.assertIn("where and why the run diverged is not known", text)
            self.assertEqual(set(self.short(run)["runs"][0]["diverged"].values()), {None})
        (run / "diverged.json").write_text('{"message":"diverged","step":-1e300,"hint":[],"stage":7}')
        self.assertIn("Diverged: diverged", self.said(self.report(run)[0]))

    def test_warnings(self):
        run = make_run(self.dir / "run", SHAPES, COLOURS, warnings=[HOSTILE[0], "w" * 2000])
        page, raw = self.report(run)
        text = self.said(page)
        self.assertIn(f"Warning: {HOSTILE[0]}", text)
        self.assertLess(text.index("Warning:"), text.index("All samples"))
        self.assertNotIn(b"<script>alert", raw)
        self.assertNotIn(b"w" * 700, raw)
        self.assertEqual(self.short(run)["runs"][0]["warnings"], [HOSTILE[0], "w" * 2000])
        self.assertIn("    warning: <script>", gerne("report", run).stdout)
        many = make_run(self.dir / "many", SHAPES, COLOURS, warnings=[f"number {i}" for i in range(50)])
        self.assertIn("30 more warnings are in log.jsonl", self.said(self.report(many)[0]))
        open_run = make_run(self.dir / "open", SHAPES, COLOURS, finished=False, warnings=["early"])
        self.assertIn("Warning: early", self.said(self.report(open_run)[0]))

    def test_warnings_in_a_comparison(self):
        best = make_run(self.dir / "best", SHAPES, COLOURS, accuracy=0.99, warnings=[HOSTILE[0], "both"])
        other = make_run(self.dir / "other", SHAPES, COLOURS, accuracy=0.3, seed=1, warnings=["both"])
        plain = make_run(self.dir / "plain", SHAPES, COLOURS, accuracy=0.3, seed=2)
        page, raw = self.report(best, other, plain)
        text = self.said(page)
        for words in (f"best has the best worst group and warned: {HOSTILE[0]}", "best ! gerne, seed 0",
                      "other ! gerne, seed 1", "plain gerne, seed 2", f"best : {HOSTILE[0]}",
                      "best , other : both"):
            self.assertIn(words, text)
        self.assertNotIn(b"<script>alert", raw)
        self.assertNotIn("marks a run that warned", self.said(self.report(plain, plain)[0]))

    def test_runs_of_versions_without_warnings(self):
        run = make_run(self.dir / "run", SHAPES, COLOURS, warnings=None)
        self.assertNotIn("Warning", self.said(self.report(run)[0]))
        self.assertEqual(self.short(run)["runs"][0]["warnings"], [])
        results = json.loads((run / "results.json").read_text())
        for odd in (None, {}, "text", 7, [None, 3, ["x"]]):
            (run / "results.json").write_text(json.dumps({**results, "warnings": odd}))
            self.assertEqual(self.short(run)["runs"][0]["warnings"], [], odd)

    def test_only_keys_of_the_configuration_are_shown(self):
        run = make_run(self.dir / "run", SHAPES, COLOURS)
        text = self.said(self.report(run)[0])
        asked = text[text.index("Configuration Method"):text.index("Full configuration")]
        self.assertIn("Data format synthetic ratio 0.01 Network arch mlp hidden 100, 100 Training "
                      "optimizer sgd lr 0.02 Selection metric gba split val Run", asked)

    def test_a_run_that_has_hardly_begun(self):
        run = self.dir / "run"
        run.mkdir()
        (run / "config.yaml").write_text("seed: 3\nmethod:\n  name: erm\n")
        text = self.said(self.report(run)[0])
        self.assertIn("nothing has been evaluated yet", text)
        self.assertIn("log.jsonl is missing", text)

    def test_figures_that_are_no_numbers(self):
        run = make_run(self.dir / "run", SHAPES, COLOURS)
        results = json.loads((run / "results.json").read_text())
        test = results["splits"]["test"]
        for key in ("wga", "gba", "wga_ci95", "auroc", "worst_group", "ece"):
            test[key] = None
        test["groups"][1].update(n=0, correct=0, acc=None, ci95=None)
        (run / "results.json").write_text(json.dumps(results))
        lines = (run / "log.jsonl").read_text().splitlines()
        lines[3] = lines[3].replace('"wga": 0', '"wga": null, "was": 0')
        (run / "log.jsonl").write_text("\n".join(lines) + "\n")
        text = self.said(self.report(run)[0])
        self.assertIn("Worst group n/a", text)
        self.assertIn("Not a number on the test split: the worst group's accuracy", text)
        self.assertIn("1 of 6 groups have no test samples", text)
        self.assertIsNone(re.search(r"\bnan\b", text, re.I))

    def test_names_are_escaped(self):
        run = make_run(self.dir / "<b>&", HOSTILE, ["<i>", "a" * 200], pictures=2)
        page, raw = self.report(run)
        self.assertNotIn(b"<script>alert", raw)
        self.assertNotIn(b"<i>", re.sub(rb"<span[^>]*><i>", b"", raw)) # our own are in spans
        self.assertIn("<script>alert(1)</script>", self.said(page))
        self.assertIn("<b>&", self.said(page))

    def test_every_text_of_a_study_is_escaped(self):
        study = make_study(self.dir / "study")
        for name, whole in hostile(json.loads((study / "study.json").read_text())):
            (study / "study.json").write_text(json.dumps(whole))
            self.assertNotIn(b"<img src=x", self.report(study)[1], name)

    def test_every_text_of_a_run_is_escaped(self):
        run = make_run(self.dir / "run", SHAPES, COLOURS, steps=3)
        for name, whole in hostile(json.loads((run / "results.json").read_text())):
            kept = (run / "results.json").read_text()
            (run / "results.json").write_text(json.dumps(whole))
            if gerne("report", run).returncode == 0: # it may be refused
                self.assertNotIn(b"<img src=x", self.report(run)[1], name)
            (run / "results.json").write_text(kept)
        events = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
        for key in {key for event in events for key in event}:
            lines = [json.dumps({**e, key: marked(e[key])} if key in e else e) for e in events]
            (run / "log.jsonl").write_text("\n".join(lines) + "\n")
            self.assertNotIn(b"<img src=x", self.report(run)[1], key)

    def test_a_policy_forbids_all_but_our_script(self):
        _, raw = self.report(make_run(self.dir / "run", SHAPES, COLOURS))
        script = re.search(rb"<script>(.*?)</script>", raw, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
        policy = re.search(rb'http-equiv="Content-Security-Policy" content="([^"]*)"', raw)[1].decode()
        self.assertIn(f"script-src 'sha256-{digest}'", policy)
        self.assertIn("default-src 'none'", policy)
        self.assertLess(raw.index(b"Content-Security-Policy"), raw.index(b"<title>"))

    def test_many_groups_stay_small(self):
        run = make_run(self.dir / "digits", DIGITS, DIGITS, steps=64)
        page, raw = self.report(run)
        self.assertIn("The 20 worst of 100 groups", self.said(page))
        self.assertLess(len(raw), 400_000)
        run = make_run(self.dir / "k1000", [f"class {i}" for i in range(1000)],
                       ["in", "out", "street"], per_group=3)
        page, raw = self.report(run)
        self.assertIn("The 20 worst of 3000 groups", self.said(page))
        self.assertIn("most imbalanced classes", self.said(page))
        self.assertLess(len(raw), 800_000)

    def test_a_long_and_damaged_log(self):
        run = make_run(self.dir / "run", SHAPES, COLOURS, steps=12)
        with open(run / "log.jsonl", "a", encoding="utf-8") as log:
            line = json.dumps({"event": "evaluation", "stage": "main", "step": 0,
                               "train": {"loss": 1.0}, "val": {"gba": 0.5, "wga": 0.25}})
            for i in range(30000):
                log.write(line.replace('"step": 0', f'"step": {600 + i}') + "\n")
            log.write('{"event":"evalu\n[1,2]\n"text"\n\x00\x01\n' + "x" * 5_000_000 + "\n")
            log.write('{"event":"evaluation","step":"x","val":[1],"train":7}\n')
        page, raw = self.report(run)
        text = self.said(page)
        self.assertIn("5 damaged lines of log.jsonl were ignored", text)
        self.assertIn("each point of a curve is the mean of 64 evaluations", text)
        self.assertLess(len(raw), 400_000)
        points = max(len(p.split()) for p in re.findall(r'points="([^"]*)"', raw.decode()))
        self.assertLessEqual(points, 500)

    def test_missing_and_damaged_files(self):
        run = make_run(self.dir / "run", SHAPES, COLOURS, predictions=False)
        self.assertIn("predictions.csv is missing", self.said(self.report(run)[0]))
        (run / "predictions.csv").write_text("index,y,a,split,pred\n0,disc,red,test,moon\n")
        self.assertIn("predictions.csv is damaged", self.said(self.report(run)[0]))
        (run / "errors").mkdir()
        (run / "errors" / "1_0_0_1.png").write_bytes(b"no picture")
        (run / "errors" / "1_9_0_1.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
        self.assertNotIn("img", self.report(run)[0].tags)
        whole = (run / "results.json").read_bytes()
        for broken in (whole[:-40], b"", b"[]", b"{}", whole.replace(b'"y": 2', b'"y": 9')):
            (run / "results.json").write_bytes(broken)
            result = gerne("report", run, "--out", self.dir / "no.html")
            self.assertEqual(result.returncode, 1, broken[:40])
            self.assertIn("results.json", result.stderr)
            self.assertFalse((self.dir / "no.html").exists())

    def test_what_is_no_run(self):
        (self.dir / "empty").mkdir()
        (self.dir / "file").write_text("x")
        (self.dir / "begun").mkdir()
        (self.dir / "begun" / "ledger.sqlite").write_bytes(b"")
        for path, words in ((None, "no run or study given"), ("nowhere", "there is no directory"),
                            ("empty", "neither a run nor a study"), ("file", "is a file"),
                            ("begun", "no study.json yet")):
            result = gerne("report", *([path] if path else []), cwd=self.dir)
            self.assertEqual(result.returncode, 2)
            self.assertIn(words, result.stderr)
        run = make_run(self.dir / "run", SHAPES, COLOURS)
        result = gerne("report", run, "--out", self.dir / "nowhere" / "x.html")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(sorted(p.name for p in run.iterdir()),
                         ["config.yaml", "log.jsonl", "predictions.csv", "results.json"])

    def test_a_study(self):
        page, raw = self.report(make_study(self.dir / "study"))
        text = self.said(page)
        for words in ("A search on <made> data", "Best: beta\u00a0=\u00a01.5".replace("\u00a0", " "),
                      "1 trial failed", "C-CIFAR-10 is not here", "Ours & the paper's", "not run",
                      "Group-balanced accuracy over epochs", "t against precision", "Ranking",
                      "method.beta", "24 trials", "diverged at step 7: the loss is <nan>",
                      "1 of 3 runs of it warned: the loss <jumped>", "1 !",
                      "no significant difference from", "gerne tune config.yaml"):
            self.assertIn(words, text)
        self.assertLess(len(raw), 200_000)
        half = self.said(self.report(make_study(self.dir / "half", complete=False))[0])
        self.assertIn("not complete", half)

    def test_a_study_of_anything(self):
        """Keys that are missing, empty or of another kind leave their part out."""
        study = make_study(self.dir / "study")
        whole = json.loads((study / "study.json").read_text())
        for key in whole:
            for value in (None, [], {}, "text", 7, [None], [[]], [{}], {"x": None}):
                (study / "study.json").write_text(json.dumps({**whole, key: value}))
                self.assertEqual(gerne("report", study).returncode, 0, f"{key} = {value}")
        (study / "study.json").write_text("{}")
        self.assertEqual(gerne("report", study).returncode, 0)
        (study / "study.json").write_text("[]")
        self.assertEqual(gerne("report", study).returncode, 1)

    def test_training_that_diverges_writes_one(self):
        run = self.dir / "run"
        result = gerne("train", *("--train.lr 30 --method.beta 1.6 --train.steps 200 --threads 1 "
                                  "--data.n 400 --quiet --out").split(), run)
        self.assertEqual(result.returncode, 1)
        self.assertIn("diverged at step", result.stderr)
        first = result.stderr[result.stderr.index("diverged at step"):].splitlines()[0]
        page = Balance()
        page.feed((run / "report.html").read_text(encoding="utf-8"))
        self.assertIn(first[1:], self.said(page))
        self.assertEqual(self.short(run)["runs"][0]["diverged"]["message"], first)

    def test_training_writes_one(self):
        settings = ("--train.steps 20 --train.eval_every 10 --train.per_class 8 --model.hidden 8 "
                    "--threads 1 --data.n 800 --quiet").split()
        for name in "ab":
            result = gerne("train", *settings, "--out", self.dir / name)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"open {self.dir}/{name}/report.html in a browser", result.stdout)
        pictures = [{p.name: p.read_bytes() for p in (self.dir / n / "errors").iterdir()}
                    for n in "ab"]
        self.assertEqual(pictures[0], pictures[1])
        self.assertEqual(len(pictures[0]), 12)
        page, _ = self.report(self.dir / "a", self.dir / "b")
        self.assertEqual(page.tags["img"], 24)
        self.assertIn("Accuracy of every group on validation", self.said(page))
        # a run without its report gets one; a run that has one is left alone
        before = (self.dir / "a" / "report.html").stat().st_mtime_ns
        (self.dir / "b" / "report.html").unlink()
        for name in "ab":
            self.assertEqual(gerne("train", "--resume", self.dir / name).returncode, 0)
        self.assertEqual((self.dir / "a" / "report.html").stat().st_mtime_ns, before)
        self.assertTrue((self.dir / "b" / "report.html").exists())


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
