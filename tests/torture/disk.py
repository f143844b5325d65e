"""What a disk may hold after a power loss, given the changes that record.c wrote down.

Only what was synced is sure. Of the rest any part may be there:

    bytes       of a file are sure after an fsync of it; else each write may be there, missing or cut in
                its midst, and where a later one is there the missing bytes are zero
    names       in a directory (made, renamed, removed) are sure after an fsync of the directory; else any of
                the changes may be there, but those of one name in their order, and a rename is one change

fsync of a file says nothing about its name, nor the other way round.
"""
import itertools
import os
import random

FOLDER = "folder"
MOST_CHOICES = 64  # for one moment: more combinations than this are sampled


def read_log(path):
    """The changes in their order, as tuples."""
    with open(path, "rb") as file:
        while line := file.readline():
            word, _, rest = line.rstrip(b"\n").decode().partition(" ")
            if word == "write":
                inode, offset, size = map(int, rest.split())
                yield word, inode, offset, file.read(size)
                assert file.read(1) == b"\n"
            elif word == "create":
                inode, _, name = rest.partition(" ")
                yield word, int(inode), name
            elif word in ("sync", "cut"):
                yield word, *map(int, rest.split())
            elif word == "rename":
                yield word, *rest.split("\t")
            else:
                yield word, rest


class Disk:
    """The history of a directory: its state at first, and every change."""

    def __init__(self, root, skip=()):
        self.names, self.bytes, self.by_inode = {}, [], {}
        for folder, folders, files in os.walk(root):
            folders[:] = [name for name in folders if name not in skip]
            for name in folders:
                self.names[os.path.relpath(os.path.join(folder, name), root)] = FOLDER
            for name in files:
                path = os.path.join(folder, name)
                if name in skip:
                    continue
                with open(path, "rb") as file:
                    number = self.add(os.stat(path).st_ino, file.read())
                self.names[os.path.relpath(path, root)] = number
        self.changes = []

    def add(self, inode, data=b""):
        """A file gets a number of its own: the system uses inodes again."""
        self.bytes.append(data)
        self.by_inode[inode] = len(self.bytes) - 1
        return len(self.bytes) - 1

    def follow(self, log):
        """Takes the changes in; names are turned into what they mean at their time."""
        names = dict(self.names)
        for change in log:
            word, *rest = change
            if word == "create":
                effect = {rest[1]: self.add(rest[0])}
            elif word == "mkdir":
                effect = {rest[0]: FOLDER}
            elif word in ("unlink", "rmdir"):
                effect = {rest[0]: None}
            elif word == "rename":
                assert names[rest[0]] != FOLDER, "renamed directories are not known here"
                effect = {rest[0]: None, rest[1]: names[rest[0]]}
            elif word in ("write", "cut", "sync"):
                if rest[0] in self.by_inode:  # else it was made elsewhere
                    self.changes.append((word, self.by_inode[rest[0]], *rest[1:]))
                continue
            else:
                self.changes.append((word, rest[0]))
                continue
            names.update(effect)
            self.changes.append(("names", effect))

    def pending(self, moment):
        """What is not sure after the first changes: of names, and of each file's bytes."""
        of_names, of_bytes = [], {}
        for word, *rest in self.changes[:moment]:
            if word == "names":
                of_names.append(rest[0])
            elif word == "syncdir":
                of_names = [effect for effect in of_names
                            if all((os.path.dirname(path) or ".") != rest[0] for path in effect)]
            elif word == "sync":
                of_bytes.pop(rest[0], None)
            else:
                of_bytes.setdefault(rest[0], []).append((word, *rest[1:]))
        return of_names, of_bytes

    def sure(self, moment):
        """Names and bytes as far as they are sure; computed anew, and so free of the rest."""
        of_names, of_bytes = self.pending(moment)
        open_names = {id(effect) for effect in of_names}
        names, data = dict(self.names), list(self.bytes)
        left = {number: len(changes) for number, changes in of_bytes.items()}
        for word, *rest in self.changes[:moment]:
            if word == "names" and id(rest[0]) not in open_names:
                names.update(rest[0])
        for number in range(len(data)):
            own = [c for c in self.changes[:moment] if c[0] in ("write", "cut") and c[1] == number]
            own = own[:len(own) - left.get(number, 0)]
            data[number] = apply(data[number], [(c[0], *c[2:]) for c in own])
        return names, data


def apply(data, changes):
    for word, *rest in changes:
        if word == "cut":
            data = data[:rest[0]].ljust(rest[0], b"\0")
        else:
            offset, new = rest
            data = data.ljust(offset, b"\0")
            data = data[:offset] + new + data[offset + len(new):]
    return data


def byte_choices(data, changes):
    """What may be there of the unsynced changes of one file; the first is nothing, the second all."""
    found = [data, apply(data, changes)]
    word, *rest = changes[-1]
    found += [apply(data, changes[:n]) for n in range(1, len(changes))]
    found.append(apply(data, changes[-1:]))  # the last one came first
    if word == "write":
        found.append(apply(data, [*changes[:-1], ("write", rest[0], rest[1][:len(rest[1]) // 2])]))
    # The length is there, the bytes are not.
    found.append(data[:len(found[1])].ljust(len(found[1]), b"\0"))
    return list(dict.fromkeys(found))


def name_choices(effects, generator):
    """Subsets of the changes of names in which those of one name keep their order."""
    count = len(effects)
    before = [[j for j in range(i) if effects[j].keys() & effects[i].keys()] for i in range(count)]

    def legal(chosen):
        return all(j in chosen for i in chosen for j in before[i])

    if 2 ** count <= MOST_CHOICES:
        sets = [set(c) for n in range(count + 1) for c in itertools.combinations(range(count), n)]
    else:
        sets = [set(range(n)) for n in range(count + 1)]
        sets += [set(range(count)) - {i} for i in range(count)] + [{i} for i in range(count)]
        sets += [{i for i in range(count) if generator.random() < 0.5} for _ in range(MOST_CHOICES)]
    return [[effects[i] for i in sorted(chosen)] for chosen in sets if legal(chosen)]


def reachable(names):
    """Without what lies in directories that are not there."""
    out = {}
    for path, what in sorted(names.items()):
        parent = os.path.dirname(path)
        if what is not None and (not parent or out.get(parent) == FOLDER):
            out[path] = what
    return out


def states(disk, moment, generator):
    """Yields the trees that may be there after so many changes: path -> bytes, or FOLDER."""
    names, data = disk.sure(moment)
    of_names, of_bytes = disk.pending(moment)
    choices = {number: byte_choices(data[number], changes) for number, changes in of_bytes.items()}
    for effects in name_choices(of_names, generator):
        now = dict(names)
        for effect in effects:
            now.update(effect)
        now = reachable(now)
        there = sorted({number for number in now.values() if number in choices})
        product = itertools.product(*(range(len(choices[number])) for number in there))
        picks = list(itertools.islice(product, MOST_CHOICES))
        if len(picks) == MOST_CHOICES:
            picks = [[0] * len(there), [1] * len(there)] + [
                [generator.randrange(len(choices[number])) for number in there]
                for _ in range(MOST_CHOICES)]
        for pick in picks:
            chosen = {number: choices[number][i] for number, i in zip(there, pick)}
            yield {path: what if what == FOLDER else chosen.get(what, data[what])
                   for path, what in now.items()}


def commits(disk):
    """The changes that promise: (moment, path, bytes) when a file was renamed to its name and the directory
    synced; None instead of the bytes when it is removed again."""
    data, waiting, out = list(disk.bytes), [], []
    for moment, (word, *rest) in enumerate(disk.changes, 1):
        if word in ("write", "cut"):
            data[rest[0]] = apply(data[rest[0]], [(word, *rest[1:])])
        elif word == "names":
            out += [(moment, path, None) for path, what in rest[0].items() if what is None]
            if len(rest[0]) == 2:  # a rename
                path, number = next((p, n) for p, n in rest[0].items() if n is not None)
                waiting.append((path, data[number]))
        elif word == "syncdir":
            out += [(moment, path, whole) for path, whole in waiting
                    if (os.path.dirname(path) or ".") == rest[0]]
            waiting = [w for w in waiting if (os.path.dirname(w[0]) or ".") != rest[0]]
    return out
