"""Reports in a real browser: browser.py PROGRAM [--keep DIRECTORY].

Every report is opened in a page of 1280 and of 390 pixels, light and dark, with everything unfolded,
and asked: does it overflow, is every picture drawn, do labels lie inside of their picture and beside
each other, did the script fail, does hovering tell values. Skips without Chromium.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path

from made import make_run, make_study

SKIP = 77
WIDTHS = (1280, 390)
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--hide-scrollbars", "--no-first-run", "--virtual-time-budget=20000")
DARK = "--blink-settings=preferredColorScheme=0"
CATCH = "<script>window.faults=[];window.onerror=function(m){window.faults.push(String(m))};" \
        "console.error=function(m){window.faults.push(String(m))};</script>"

# Runs in the outer page, which reads what lies in its frames.
ASK = """
function inside(a, b, slack) {
    return a.left >= b.left - slack && a.right <= b.right + slack &&
           a.top >= b.top - slack && a.bottom <= b.bottom + slack;
}
function meet(a, b) {
    return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
           Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
}
function ask(frame) {
    var win = frame.contentWindow, doc = frame.contentDocument, answer = {};
    doc.querySelectorAll('details').forEach(function (d) { d.open = true; });
    answer.faults = win.faults;
    answer.width = win.innerWidth;
    answer.scroll = doc.documentElement.scrollWidth;
    answer.background = win.getComputedStyle(doc.body).backgroundColor;
    answer.pictures = 0;
    answer.undrawn = [];
    answer.outside = [];
    answer.overlaps = [];
    doc.querySelectorAll('svg').forEach(function (svg) {
        var box = svg.getBoundingClientRect();
        answer.pictures++;
        if (!(box.width > 0 && box.height > 0) || !svg.children.length)
            answer.undrawn.push(svg.outerHTML.slice(0, 200));
        if (!svg.classList.contains('plot'))
            return;
        var texts = Array.prototype.slice.call(svg.querySelectorAll('text'));
        var boxes = texts.map(function (t) { return t.getBoundingClientRect(); });
        boxes.forEach(function (b, i) {
            if (!inside(b, box, 6))
                answer.outside.push(texts[i].textContent);
            for (var k = 0; k < i; k++)
                if (meet(b, boxes[k]))
                    answer.overlaps.push(texts[k].textContent + ' | ' + texts[i].textContent);
        });
    });
    doc.querySelectorAll('p,h1,h2,h3,figcaption,.legend li,.facts dd').forEach(function (e) {
        if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth)
            answer.outside.push(e.textContent.slice(0, 80));
    });
    var line = doc.querySelector('svg.plot polyline[data-name]');
    answer.tip = null;
    if (line) {
        var plot = line.ownerSVGElement, at = plot.getBoundingClientRect();
        plot.dispatchEvent(new win.PointerEvent('pointermove', {
            clientX: at.left + at.width / 2, clientY: at.top + at.height / 2, bubbles: true}));
        answer.tip = doc.getElementById('tip').textContent;
    }
    return answer;
}
var waiting = pages.length, answers = [];
pages.forEach(function (page, i) {
    var frame = document.createElement('iframe');
    frame.style.cssText = 'border:0;height:900px;width:' + page.width + 'px';
    frame.onload = function () {
        try { answers[i] = ask(frame); } catch (e) { answers[i] = {failed: String(e.stack)}; }
        if (--waiting === 0)
            document.getElementById('answers').textContent = JSON.stringify(answers);
    };
    frame.srcdoc = page.html;
    document.body.appendChild(frame);
});
"""


def browser():
    for name in NAMES:
        if shutil.which(name):
            return shutil.which(name)
    print("skipped: no Chromium here (any of " + ", ".join(NAMES) + ")")
    sys.exit(SKIP)


def reports(program, scratch):
    """Writes the reports that are looked at; name -> file."""
    digits = [str(i) for i in range(10)]
    shapes, colours = ["disc", "cross", "ring", "saltire"], ["red", "green", "blue", "yellow"]
    runs = {
        "run": make_run(scratch / "run", shapes, colours, pictures=12),
        "digits": make_run(scratch / "digits", digits, digits, steps=64, pictures=4),
        "many": make_run(scratch / "many", [f"class {i}" for i in range(300)],
                         [f"place {i}" for i in range(12)], per_group=2),
        "map": make_run(scratch / "map", [f"class {i}" for i in range(30)], digits, per_group=3),
        "names": make_run(scratch / "names", ["<b>bold</b>", "\u65e5\u672c\u8a9e" * 30, "w" * 300],
                          ["'quoted'", "m" * 150], pictures=2),
        "unfinished": make_run(scratch / "unfinished", shapes, colours, finished=False),
        "warned": make_run(scratch / "warned", shapes, colours, accuracy=0.99,
                           warnings=["beta 6 is outside [-1.04, 3.04]", "w" * 2000]),
        "diverged": make_run(scratch / "diverged", shapes, colours, warnings=["the loss grows"],
                             diverged={"stage": "main", "step": 1013, "loss": None,
                                       "message": "diverged at step 1013: the loss is nan",
                                       "hint": "lower train.lr"}),
        "study": make_study(scratch / "study"),
    }
    erm = make_run(scratch / "erm", shapes, colours, method="erm", accuracy=0.4, seed=1)
    oracle = make_run(scratch / "oracle", shapes, colours, oracle=True, seed=2)
    wanted = {name: [path] for name, path in runs.items()}
    wanted["comparison"] = [erm, runs["run"], oracle, runs["unfinished"], runs["warned"],
                            runs["diverged"]]
    files = {}
    for name, paths in wanted.items():
        files[name] = scratch / f"{name}.html"
        subprocess.run([program, "report", *paths, "--out", files[name]], check=True,
                       stdout=subprocess.DEVNULL)
    return files


def look(chromium, files, scratch, dark):
    """The answers of every report at every width."""
    asked, pages = [], []
    for name, file in files.items():
        html = file.read_text(encoding="utf-8").replace("<head>", "<head>" + CATCH, 1)
        for width in WIDTHS:
            asked.append((name, width))
            pages.append({"html": html, "width": width})
    outer = scratch / "outer.html"
    outer.write_text("<!DOCTYPE html><html><body><pre id=\"answers\"></pre><script>var pages=" +
                     json.dumps(pages).replace("</", "<\\/").replace("<!--", "<\\!--") + ";" + ASK +
                     "</script></body></html>", encoding="utf-8")
    command = [chromium, *FLAGS, f"--user-data-dir={scratch / 'profile'}", "--window-size=1400,1000",
               *([DARK] if dark else []), "--dump-dom", outer.as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=100,
                            check=False)
    match = re.search(r'<pre id="answers">(.*?)</pre>', result.stdout, re.S)
    if not match or not match[1]:
        sys.exit(f"the browser did not answer: {result.stderr[-2000:]}")
    return dict(zip(asked, json.loads(unescape(match[1]))))


def spoil(file):
    """A report with every fault that is looked for, to see that it is found."""
    html = file.read_text(encoding="utf-8")
    html = html.replace("<main>", "<main><div style=\"width:3000px\">wide</div><svg class=\"plot\"/>"
                        "<svg class=\"plot\" viewBox=\"0 0 100 100\"><text x=\"20\" y=\"50\">one</text>"
                        "<text x=\"22\" y=\"50\">two</text><text x=\"300\" y=\"9\">out</text></svg>"
                        "<script>window.faults.push('foreign')</script>", 1)
    # before the policy, which keeps the other one from running
    html = html.replace("<head>", "<head><script>throw new Error('thrown')</script>", 1)
    spoilt = file.with_name("spoilt.html")
    spoilt.write_text(html, encoding="utf-8")
    return spoilt


def judge(name, width, answer, complaints):
    def complain(words):
        complaints.append(f"{name} at {width}: {words}")
    if "failed" in answer:
        complain(answer["failed"])
        return
    if answer["width"] != width:
        complain(f"the frame is {answer['width']} wide")
    if answer["scroll"] > width:
        complain(f"overflows to {answer['scroll']}")
    for key in ("faults", "undrawn", "outside", "overlaps"):
        if answer[key]:
            complain(f"{key}: {answer[key][:4]}")
    if answer["pictures"] < 3:
        complain(f"only {answer['pictures']} pictures")
    if name != "study" and not re.match(r"step \d+worst group: [\d.]+ %", answer["tip"] or ""):
        if name != "comparison" or not re.match(r"step \d+erm: [\d.]+ %", answer["tip"] or ""):
            complain(f"hovering says {answer['tip']!r}")


def main(program, keep):
    chromium = browser()
    scratch = Path(tempfile.mkdtemp(prefix="gerne-browser-"))
    complaints, spoilt = [], []
    try:
        files = reports(program, scratch)
        files["spoilt"] = spoil(files["run"])
        light, dark = (look(chromium, files, scratch, d) for d in (False, True))
        for answers in (light, dark):
            for (name, width), answer in answers.items():
                judge(name, width, answer, spoilt if name == "spoilt" else complaints)
        shades = {a.get("background") for a in light.values()}, {a.get("background") for a in dark.values()}
        if len(shades[0]) != 1 or len(shades[1]) != 1 or shades[0] == shades[1]:
            complaints.append(f"light and dark: {shades}")
        found = " ".join(spoilt)
        complaints += [f"the spoilt page passes: {words}" for words in
                       ("overflows to 3", "thrown", "undrawn", "'out'", "one | two")
                       if words not in found]
        if "foreign" in found:
            complaints.append("a script that is not the report's ran")
        if keep:
            shutil.copytree(scratch, keep, dirs_exist_ok=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{2 * len(light)} pages, {sum(a.get('pictures', 0) for a in light.values())} pictures each")
    if complaints:
        sys.exit("\n".join(complaints))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]), sys.argv[3] if len(sys.argv) == 4 else None)
