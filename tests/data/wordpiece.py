"""Compares `gerne data tokens` with a tokenizer written for this test from BERT's description.

usage: wordpiece.py PROGRAM [REAL_DATA]

Without REAL_DATA: a page of difficult Unicode, every character that Python's tables know, and
random texts, with a vocabulary made here. With it: the real comments and BERT's vocabulary; exits
with 77 when they are not there.

Python's unicodedata and utf8proc may know different versions of Unicode. Characters that Python
does not know are left out, and their number is printed: what a newer version adds is unassigned to
an older one, and so part of a word. Nothing else may differ.
"""
import csv
import os
import random
import re
import subprocess
import sys
import tempfile
import unicodedata

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CHINESE = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
           (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]
WHITE_SPACE = set("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {
    chr(c) for c in range(0x2000, 0x200B)}

TORTURE = [
    "", " ", "\t \u00a0\u3000", "Hello, World!", "don't stop-believing: $5 + 3^2 = ~|`<>",
    "e\u0301 \u00e9 E\u0301 \u1e69 s\u0323\u0307 s\u0307\u0323 q\u0307\u0323",  # order of marks
    "a\u0315\u0300\u05ae\u0062 \U0001d15f\U0001d165\u1b44",  # marks that are not removed
    "\u1b44\U0001d165 \U0001d165\u1b44 \U0001d165\u034f\u1b44",  # canonical order, and its blocker
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 \u0627\u0644\u0639\u064e\u0631\u064e",
    "\u202babc\u202c \u200fx\u200e \u2066y\u2069",  # directions
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f44d\U0001f3fd \u2764\ufe0f",
    "\U0001f1e9\U0001f1ea \u0031\ufe0f\u20e3", "\u4e2d\u6587abc\u4e2d \u65e5\u672c\u8a9e\u306e\u30c6",
    "\uf900\u8c48 \U0002f800 \U00020000\U0002b820\U0002b920 \u3400", "\ue000a\ue001 \U0010fffdx",
    "a\x00b\x01c\x7f d\x1be \x0bf\x0cg\x85h", "zero\u200bwidth \ufeffbom soft\u00adhyphen \u2060",
    "\uff26\uff55\uff4c\uff4c \uff57\uff49\uff44\uff54\uff48\uff01\uff0c", "\u01c4\u01c5\u01c6 \u01f1\u01f2",
    "stra\u00dfe STRA\u1e9eE \u0130stanbul I\u0307 \u0131 \u212a \u212b \u2126",  # sharp s, dotted I
    "\u03a3\u03a3 \u039f\u03a3 \u03c2", "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab \uac00\uac01",
    "\u0958 \u0915\u093c \u0b94 \u0cca \u0f77 \u1b0e", "\u037e \u1fef \u2000\u2001 \u0387",
    "\u00bd \u2460 \u2163 \u216b \ufb01 \u00b2", "\u2014\u201cquoted\u201d\u2026 \u00bfqu\u00e9? \u3010x\u3011",
    "x" * 100, "x" * 101, "\u00e9" * 100, "\u00e9" * 101, ("\u0301" * 500) + "x",
    "[CLS] [SEP] x[MASK]y [UNK]", "[SEP", "[sep]", "[[SEP]]", "##x # ##", "\ufffd a\ufffdb",
]


def is_control(c):
    return c not in "\t\n\r" and unicodedata.category(c) in ("Cc", "Cf", "Co")


def is_punctuation(c):
    return ((c < "\x80" and not c.isalnum() and "!" <= c <= "~") or
            unicodedata.category(c).startswith("P"))


def normalize(text):
    text = "".join(" " if c in WHITE_SPACE else c for c in text
                   if c not in "\0\ufffd" and not is_control(c))
    text = "".join(f" {c} " if any(a <= ord(c) <= b for a, b in CHINESE) else c for c in text)
    text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    return "".join(c.lower() for c in text)  # one at a time: the last sigma of a word is no other


def words(text):
    for part in re.split("[" + "".join(WHITE_SPACE) + "]+", normalize(text)):
        word = ""
        for c in part:
            if is_punctuation(c):
                yield from filter(None, [word])
                yield c
                word = ""
            else:
                word += c
        yield from filter(None, [word])


def pieces(word, ids):
    if len(word) > 100:
        return [ids["[UNK]"]]
    out, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in ids:
                break
        else:
            return [ids["[UNK]"]]
        out.append(ids[piece])
        start = end
    return out


def encode(text, ids, most):
    found = []
    for part in re.split("(" + "|".join(re.escape(s) for s in SPECIAL if s in ids) + ")", text):
        if part in SPECIAL:
            found.append(ids[part])
        else:
            for word in words(part):
                found.extend(pieces(word, ids))
    return [ids["[CLS]"]] + found[:most - 2] + [ids["[SEP]"]]


def run(program, vocab, texts, most):
    bytes_in = b"\n".join(t if isinstance(t, bytes) else t.encode() for t in texts) + b"\n"
    out = subprocess.run([program, "data", "tokens", "--model.vocab", vocab, "--data.max_tokens",
                          str(most), "--quiet"], input=bytes_in, stdout=subprocess.PIPE, check=True)
    return [[int(i) for i in line.split()] for line in out.stdout.decode().splitlines()]


def compare(what, program, vocab, ids, texts, most):
    theirs = run(program, vocab, texts, most)
    names = {i: t for t, i in ids.items()}
    if len(theirs) != len(texts):
        sys.exit(f"{what}: {len(texts)} lines in, {len(theirs)} out")
    total = 0
    for number, (text, found) in enumerate(zip(texts, theirs)):
        text = text.decode(errors="replace") if isinstance(text, bytes) else text
        wanted = encode(text, ids, most)
        total += len(wanted)
        if found != wanted:
            at = next((i for i, (a, b) in enumerate(zip(found, wanted)) if a != b),
                      min(len(found), len(wanted)))
            show = lambda l: [names.get(i, i) for i in l[max(0, at - 3):at + 4]]
            sys.exit(f"{what}: text {number} differs at token {at}: {text[:200]!a}\n"
                     f"  wanted {show(wanted)}\n  found  {show(found)}")
    print(f"{what}: {len(texts)} texts, {total} tokens, no difference")


def make_vocabulary():
    """Tokens that texts of every kind are cut into, so that few words are unknown as a whole."""
    tokens = dict.fromkeys(SPECIAL)
    for text in TORTURE:
        for word in words(text):
            for c in word:
                tokens.setdefault(c)
                tokens.setdefault("##" + c)
            tokens.setdefault(word[:3])
            tokens.setdefault("##" + word[1:4])
    for c in range(33, 127):
        tokens.setdefault(chr(c).lower())
        tokens.setdefault("##" + chr(c).lower())
    for piece in ("hello", "wor", "##ld", "##lo", "##ll", "stras", "##se", "xx", "##xx", "##xxxx"):
        tokens.setdefault(piece)
    return [t for t in tokens if t and "\n" not in t and t != "##"]


def write_vocabulary(folder, tokens):
    path = os.path.join(folder, "vocab.txt")
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("".join(t + "\n" for t in tokens))
    return path, {t: i for i, t in enumerate(tokens)}


def made(program):
    known = [chr(c) for c in range(0x110000)
             if not 0xD800 <= c < 0xE000 and unicodedata.category(chr(c)) != "Cn"]
    few = [c for c in known if not (0x4E10 <= ord(c) < 0x9FF0 or 0xAC10 <= ord(c) < 0xD7A0 or
                                    0x20010 <= ord(c) < 0x323A0 or 0xE010 <= ord(c) < 0xF8F0 or
                                    0xF0010 <= ord(c) < 0x10FFF0 or c == "\n")]
    print(f"Unicode {unicodedata.unidata_version}: {len(known)} characters are assigned, "
          f"{0x110000 - 0x800 - len(known)} are left out; {len(few)} are tried one by one")
    draw = random.Random(12)
    pools = [few, [c for c in few if ord(c) < 0x300], [c for c in few if unicodedata.combining(c)],
             [chr(c) for c in range(32, 127)]]
    strings = ["".join(draw.choice(draw.choice(pools)) for _ in range(draw.randrange(60)))
               for _ in range(3000)]
    bad = [b"a\xffb", b"\xc3", b"\xe2\x82 x", b"\xf0\x9f\x98 y", b"\xed\xa0\x80z", b"\xc0\x80",
           b"\xf4\x90\x80\x80", b"ok \x80\x81 ok", b"\xe2\x82\xac\xe2"]
    with tempfile.TemporaryDirectory() as folder:
        vocab, ids = write_vocabulary(folder, make_vocabulary())
        compare("torture", program, vocab, ids, [t.replace("\n", " ") for t in TORTURE], 600)
        compare("malformed", program, vocab, ids, bad, 50)
        compare("characters", program, vocab, ids, [f"a{c}b {c} X{c}\u0308y" for c in few], 60)
        compare("random", program, vocab, ids, strings, 60)
        compare("truncated", program, vocab, ids, strings, 9)


def real(program, folder):
    vocab = os.path.join(folder, "text", "bert-base-uncased-vocab.txt")
    comments = os.path.join(folder, "text", "jigsaw2018_wikipedia_toxicity_12180.csv")
    if not os.path.exists(vocab) or not os.path.exists(comments):
        print("skipped: there are no real comments in", folder)
        sys.exit(77)
    with open(vocab, encoding="utf-8", newline="") as file:
        ids = {t.rstrip("\r\n"): i for i, t in enumerate(file)}
    csv.field_size_limit(1 << 30)
    with open(comments, encoding="utf-8", errors="replace", newline="") as file:
        texts = [re.sub("[\r\n]", " ", row[0]) for row in csv.reader(file)]
    compare("comments", program, vocab, ids, texts, 65536)
    compare("comments, truncated", program, vocab, ids, texts[:2000], 128)
    compare("torture", program, vocab, ids, [t.replace("\n", " ") for t in TORTURE], 600)


if len(sys.argv) == 3:
    real(sys.argv[1], sys.argv[2])
else:
    made(sys.argv[1])
