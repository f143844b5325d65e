"""Run and study directories made up for tests of the report: right in form, free in content."""
import json
import math
import random
import struct
import zlib
from pathlib import Path


def png(width, height, colour):
    """A picture of one colour."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    rows = b"".join(b"\0" + bytes(colour) * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def split_of(correct, sizes, attributes):
    """The object S of results.json; the intervals are rough, which the report does not mind."""
    groups, lows, highs = [], [], []
    for g, (right, n) in enumerate(zip(correct, sizes)):
        acc = right / n if n else None
        half = 1.96 * math.sqrt(max(acc * (1 - acc), 0.01) / n) if n else 0
        ci = [max(acc - half, 0), min(acc + half, 1)] if n else None
        groups.append({"y": g // attributes, "a": g % attributes, "n": n, "correct": right,
                       "acc": acc, "ci95": ci})
        if n:
            lows.append(ci[0])
            highs.append(ci[1])
    filled = [g for g in groups if g["n"]]
    worst = min(filled, key=lambda g: g["acc"])
    gba = sum(g["acc"] for g in filled) / len(filled)
    total = sum(sizes)
    return {"n": total, "acc_avg": sum(correct) / total, "gba": gba,
            "gba_ci95": [max(gba - 0.01, 0), min(gba + 0.01, 1)], "wga": worst["acc"],
            "wga_ci95": [min(lows), min(highs)], "worst_group": {"y": worst["y"], "a": worst["a"]},
            "worst_class": gba, "balanced_acc": gba, "minority_acc": None, "adj_acc_avg": gba,
            "auroc": 0.9, "ece": 0.05, "groups": groups}


def bounds_of(classes, attributes, beta):
    alpha = [[0.9 if a == y % attributes else 0.1 / max(attributes - 1, 1)
              for a in range(attributes)] for y in range(classes)]
    return {"c": 0.5, "alpha": alpha, "beta": beta, "interval": [-1.1, 2.3], "beta_min": -1,
            "beta_max": 2.3, "beta_balanced": 1.0, "binding": {"y": 0, "a": 0}}


def evaluations(generator, count, groups, accuracy):
    for e in range(count):
        share = (e + 1) / count
        accs = [min(1, max(0, a * share ** 0.3 + generator.gauss(0, 0.02))) for a in accuracy]
        loss = 2 * math.exp(-3 * share)
        val = {"gba": sum(accs) / groups, "wga": min(accs), "acc_avg": sum(accs) / groups,
               "balanced_acc": sum(accs) / groups, "minority_acc": None}
        if groups <= 256:
            val["groups"] = [round(a, 5) for a in accs]
        yield {"event": "evaluation", "time": 1.7e9 + e, "stage": "main", "step": 50 * (e + 1),
               "epoch": share * 10, "lr": 0.1,
               "train": {"L_b": loss, "L_lb": loss * 1.1, "loss": loss * 1.2}, "val": val}


# As method gerne describes its figures.
PLOTS = [{"title": "Training loss", "needs": "loss", "lines": [
    {"figure": "L_b", "name": "L_b, biased batch", "limit": False},
    {"figure": "L_lb", "name": "L_lb, less biased batch", "limit": False},
    {"figure": "loss", "name": "L_ext, extrapolated", "limit": False}]},
    {"title": "Extrapolation s", "note": "s = 1 balances", "needs": "s_high", "lines": [
        {"figure": "s", "name": "s in training", "limit": False},
        {"figure": "s_high", "limit": True}]}]


def make_run(path, class_names, attribute_names, *, seed=0, method="gerne", per_group=20,
             accuracy=0.9, finished=True, predictions=True, pictures=0, fingerprint="f" * 64,
             oracle=False, steps=20, log_tail="", warnings=(), diverged=None,
             plots=tuple(PLOTS)):
    """Writes a run directory and returns its path. warnings None: as versions before them wrote it;
    diverged: what diverged.json says; plots None: as versions before them wrote it."""
    finished = finished and not diverged
    generator = random.Random(seed)
    path = Path(path)
    path.mkdir(parents=True)
    classes, attributes = len(class_names), len(attribute_names)
    groups = classes * attributes
    truth = [min(1, max(0, accuracy + generator.gauss(0, 0.08))) for _ in range(groups)]
    sizes = [per_group] * groups
    correct = [sum(generator.random() < p for _ in range(per_group)) for p in truth]
    (path / "config.yaml").write_text(
        f"seed: {seed}\nout: \"{path.name}\"\ndata:\n  format: synthetic\n  ratio: 0.01\nmodel:\n"
        f"  arch: mlp\n  hidden: [100, 100]\nmethod:\n  name: {method}\n  c: 0.5\n  beta: 1\n"
        "train:\n  optimizer: sgd\n  lr: 0.02\nselect:\n  metric: gba\n"
        f"  split: {'test' if oracle else 'val'}\n", encoding="utf-8")
    start = {"event": "start", "time": 1.7e9, "gerne": "0.1.0", "run_hash": "a" * 64,
             "data_fingerprint": fingerprint, "config": "", "threads": 2,
             "class_names": class_names, "attribute_names": attribute_names,
             "train_counts": [[900 if a == y % attributes else 10 for a in range(attributes)]
                              for y in range(classes)]}
    if plots is not None:
        start["plots"] = plots
    with open(path / "log.jsonl", "w", encoding="utf-8") as log:
        for event in (start, *evaluations(generator, steps, groups, truth)):
            log.write(json.dumps(event, ensure_ascii=False) + "\n")
        for text in warnings or ():
            log.write(json.dumps({"event": "warning", "time": 1.7e9, "message": text}) + "\n")
        if diverged:
            log.write(json.dumps({"event": "diverged", "time": 1.7e9, **diverged}) + "\n")
            (path / "diverged.json").write_text(json.dumps(diverged), encoding="utf-8")
        if finished:
            log.write('{"event":"end","time":1.7e9,"seconds":12.5}\n')
        log.write(log_tail)
    if not finished:
        return path
    split = split_of(correct, sizes, attributes)
    results = {"gerne": "0.1.0", "method": method,
               "method_options": {"attributes": "known", "c": 0.5, "beta": 1.0}, "seed": seed,
               "threads": 2, "run_hash": "a" * 64, "data_fingerprint": fingerprint,
               "class_names": class_names, "attribute_names": attribute_names,
               "selection": {"metric": "gba", "split": "test" if oracle else "val",
                             "oracle": oracle, "epoch": 9.0, "step": 50 * steps},
               "bounds": bounds_of(classes, attributes, 1.0) if method == "gerne" else None,
               "pseudo": None, "splits": {"val": split, "test": split},
               "last": {"val": split, "test": split}}
    if warnings is not None:
        results["warnings"] = list(warnings)
    (path / "results.json").write_text(json.dumps(results, ensure_ascii=False), encoding="utf-8")
    if predictions:
        write_predictions(path / "predictions.csv", class_names, attribute_names, correct, sizes,
                          generator)
    worst = split["worst_group"]
    for i in range(pictures):
        (path / "errors").mkdir(exist_ok=True)
        wrong = (worst["y"] + 1) % classes
        (path / "errors" / f"{i}_{worst['y']}_{worst['a']}_{wrong}.png").write_bytes(
            png(16, 16, (40 + 12 * i, 90, 160)))
    return path


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def write_predictions(path, class_names, attribute_names, correct, sizes, generator):
    attributes, index = len(attribute_names), 0
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("index,y,a,split,pred\n")
        for g, (right, n) in enumerate(zip(correct, sizes)):
            y, a = divmod(g, attributes)
            for i in range(n):
                other = generator.randrange(len(class_names) - 1)
                pred = y if i < right else other + (other >= y)
                file.write(f"{index},{quoted(class_names[y])},{quoted(attribute_names[a])},test,"
                           f"{quoted(class_names[pred])}\n")
                index += 1


def make_study(path, *, trials=24, complete=True):
    """Writes a study directory with every kind of content, and returns its path."""
    generator = random.Random(3)
    path = Path(path)
    path.mkdir(parents=True)
    listed, ranking = [], []
    betas, rates, arches = ("0", "0.5", "1", "1.5"), ("0.001", "0.01", "0.1"), ("mlp", "linear")
    for i in range(trials):
        settings = {"method.beta": betas[i % 4], "train.lr": rates[i // 4 % 3],
                    "model.arch": arches[i // 12 % 2]}
        gba = 0.6 + 0.08 * (i % 4) + generator.gauss(0, 0.02)
        state = "failed" if i == 5 else "waiting" if not complete and i > 20 else "done"
        figures = {"gba": gba, "wga": gba - 0.2, "acc_avg": gba + 0.05} if state == "done" else {}
        listed.append({"id": f"t{i:04d}", "run": f"trials/t{i:04d}", "settings": settings,
                       "seed": i % 3, "state": state,
                       "reason": "diverged at step 7: the loss is <nan>" if state == "failed" else
                       None, "diverged": state == "failed", "val": figures,
                       "warnings": ["the loss <jumped>"] if i == 3 else [],
                       "test": {**figures, "gba_ci95": [gba - 0.02, gba + 0.02]} if figures else {}})
        if state == "done":
            ranking.append({"settings": settings, "n": 3, "mean": gba, "sd": 0.011, "se": 0.006,
                            "test": {k: {"mean": v, "sd": 0.01, "se": 0.006}
                                     for k, v in figures.items()}})
    ranking.sort(key=lambda row: -row["mean"])
    for i, row in enumerate(ranking):
        difference = row["mean"] - ranking[0]["mean"]
        row.update(rank=i + 1, warned=int(i == 0),
                   warning="the loss <jumped>" if i == 0 else None,
                   difference={"mean": difference, "ci95": [difference - 0.05, difference + 0.05],
                               "test": "paired over seeds",
                               "significant": abs(difference) > 0.05} if i else None)
    epochs = list(range(1, 65))
    series = [{"name": f"beta = {b}", "x": epochs,
               "y": [100 * (0.2 + 0.5 * (1 - math.exp(-e / 12)) + 0.05 * k) for e in epochs],
               "lo": [100 * (0.18 + 0.5 * (1 - math.exp(-e / 12)) + 0.05 * k) for e in epochs],
               "hi": [100 * (0.22 + 0.5 * (1 - math.exp(-e / 12)) + 0.05 * k) for e in epochs],
               "dashed": k == 3} for k, b in enumerate((-1, 0, 1, 1.2))]
    study = {"gerne": "0.1.0", "kind": "tune", "title": "A search on <made> data",
             "command": "gerne tune config.yaml --out study",
             "selection": {"metric": "gba", "split": "val", "oracle": False},
             "complete": complete, "counts": {"done": trials - 1, "failed": 1, "waiting": 0},
             "notes": ["C-CIFAR-10 is not here: gerne data fetch gets it."],
             "parameters": ["method.beta", "train.lr", "model.arch"], "trials": listed,
             "ranking": ranking,
             "tables": [{"title": "Ours & the paper's", "columns": ["cell", "ours", "paper", "diff"],
                         "rows": [["0.5 %, known", 78.12, 77.79, 0.33],
                                  ["1 %, unknown", "not run", 83.98, None]],
                         "note": "A band of 1 point."}],
             "figures": [{"title": "Group-balanced accuracy over epochs",
                          "x": {"label": "epoch", "unit": "", "log": False},
                          "y": {"label": "group-balanced accuracy", "unit": "%"},
                          "series": series, "note": None},
                         {"title": "t against precision", "x": {"label": "t", "log": True},
                          "y": {"label": "precision", "unit": "%"},
                          "series": [{"name": "precision", "x": [0.0005, 0.001, 0.005, 0.01, 0.1],
                                      "y": [99, 97, 82, None, 20], "lo": None, "hi": None}],
                          "note": "One value is missing."}]}
    (path / "study.json").write_text(json.dumps(study), encoding="utf-8")
    return path
