#!/usr/bin/env python3
"""Makes tests/golden/data: what Pillow, SciPy and NumPy make of small pictures.

usage: data.py [WATERBIRDS]     the folder of the Waterbirds images (224 x 224), for waterbirds.bin

Needs numpy, scipy and Pillow (made with 1.24.2, 1.10.1 and 9.4.0). All numbers little-endian.
"""
import colorsys
import csv
import io
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage, stats

OUT = Path(__file__).parent / "data"
SIDE = 32


def smooth_picture(rng, height, width):
    """A colourful picture with edges: blurred noise and a few rectangles."""
    x = ndimage.gaussian_filter(rng.normal(size=(height, width, 3)), (3, 3, 0))
    x = (x - x.min()) / (x.max() - x.min())
    for _ in range(4):
        t, l = rng.integers(0, height - 4), rng.integers(0, width - 4)
        x[t : t + rng.integers(3, height), l : l + rng.integers(3, width)] *= rng.uniform(0.3, 1, 3)
    return (x * 255).astype(np.uint8)


# ---- corruptions, by the formulas of the benchmark ----


class Noise:
    """The shared lists, read from their start by every corruption."""

    def __init__(self, uniforms, normals):
        self.u, self.n, self.iu, self.in_ = uniforms, normals, 0, 0

    def uniform(self, *shape):
        k = int(np.prod(shape))
        self.iu += k
        return self.u[self.iu - k : self.iu].reshape(shape)

    def between(self, low, high, *shape):
        return low + (high - low) * self.uniform(*shape)

    def normal(self, *shape):
        k = int(np.prod(shape))
        self.in_ += k
        return self.n[self.in_ - k : self.in_].reshape(shape)


def smooth(x, sigma):
    sigmas = (sigma, sigma, 0) if x.ndim == 3 else sigma
    return ndimage.gaussian_filter(x, sigmas, mode="nearest", truncate=4.0)


def clipped_zoom(x, factor):
    ch = int(np.ceil(SIDE / factor))
    top = (SIDE - ch) // 2
    part = x[top : top + ch, top : top + ch]
    factors = (factor, factor, 1) if x.ndim == 3 else factor
    part = ndimage.zoom(part, factors, order=1)
    trim = (part.shape[0] - SIDE) // 2
    return part[trim : trim + SIDE, trim : trim + SIDE]


def motion(x, radius, sigma, angle):
    taps = 2 * int(np.ceil(radius)) + 1
    k = np.exp(-np.arange(taps) ** 2 / (2 * sigma**2))
    k /= k.sum()
    angle = np.deg2rad(angle)
    out = np.zeros_like(x)
    for i in range(taps):
        dx = int(np.ceil(i * np.cos(angle) - 0.5))
        dy = int(np.ceil(i * np.sin(angle) - 0.5))
        rows = np.clip(np.arange(SIDE) + dy, 0, SIDE - 1)
        columns = np.clip(np.arange(SIDE) + dx, 0, SIDE - 1)
        out += k[i] * x[rows][:, columns]
    return out


def plasma(decay, noise):
    m = np.zeros((SIDE, SIDE))
    step, wibble = SIDE, 100.0

    def mean(total):
        return total / 4 + wibble * noise.between(-wibble, wibble, *total.shape)

    while step >= 2:
        h = step // 2
        corners = m[0::step, 0::step]
        total = corners + np.roll(corners, -1, 0)
        total = total + np.roll(total, -1, 1)
        m[h::step, h::step] = mean(total)
        dr, ul = m[h::step, h::step], m[0::step, 0::step]
        m[0::step, h::step] = mean(dr + np.roll(dr, 1, 0) + ul + np.roll(ul, -1, 1))
        m[h::step, 0::step] = mean(dr + np.roll(dr, 1, 1) + ul + np.roll(ul, -1, 0))
        step //= 2
        wibble /= decay
    m -= m.min()
    return m / m.max()


def in_hsv(x, change):
    out = np.empty_like(x)
    for i in np.ndindex(SIDE, SIDE):
        out[i] = colorsys.hsv_to_rgb(*change(*colorsys.rgb_to_hsv(*x[i])))
    return out


def by_bytes(image):
    return np.asarray(image).astype(float) / 255 + 1e-9  # survives the cut to bytes


def corrupt(name, s, x255, noise, frost):
    x = x255 / 255.0
    if name == "gaussian_noise":
        return x + [0.04, 0.06, 0.08, 0.09, 0.10][s] * noise.normal(*x.shape)
    if name == "shot_noise":
        c = [500, 250, 100, 75, 50][s]
        return stats.poisson.ppf(noise.uniform(*x.shape), x * c).clip(0) / c
    if name == "impulse_noise":
        u = noise.uniform(*x.shape, 2)
        hit = u[..., 0] < [0.01, 0.02, 0.03, 0.05, 0.07][s]
        return np.where(hit, u[..., 1] < 0.5, x)
    if name == "speckle_noise":
        return x + x * [0.06, 0.10, 0.12, 0.16, 0.20][s] * noise.normal(*x.shape)
    if name == "gaussian_blur":
        return smooth(x, [0.4, 0.6, 0.7, 0.8, 1.0][s])
    if name == "defocus_blur":
        r, b = [(0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)][s]
        v, u = np.mgrid[-8:9, -8:9]
        disk = (u**2 + v**2 <= r * r).astype(float)
        disk /= disk.sum()
        g = np.exp(-np.array([-1, 0, 1]) ** 2 / (2 * b * b))
        g /= g.sum()
        kernel = ndimage.correlate(disk, np.outer(g, g), mode="mirror")
        return np.stack([ndimage.correlate(x[..., c], kernel, mode="mirror") for c in range(3)], -1)
    if name == "glass_blur":
        sigma, d, rounds = [(0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)][s]
        j = np.uint8(smooth(x, sigma) * 255)
        for _ in range(rounds):
            for h in range(SIDE - d, d, -1):
                for w in range(SIDE - d, d, -1):
                    dx, dy = np.floor(noise.uniform(2) * 2 * d).astype(int) - d
                    a, b = (h, w), (h + dy, w + dx)
                    j[a], j[b] = j[b], j[a]  # views of one array, as in the benchmark
        return smooth(j / 255.0, sigma)
    if name == "motion_blur":
        radius, sigma = [(6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)][s]
        return motion(x, radius, sigma, noise.between(-45, 45, 1)[0])
    if name == "zoom_blur":
        factors = np.arange(1, [1.06, 1.11, 1.16, 1.21, 1.26][s], 0.01)
        return (x + sum(clipped_zoom(x, f) for f in factors)) / (len(factors) + 1)
    if name == "snow":
        m, d, zoom, th, radius, sigma, mix = [
            (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
            (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
            (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
        ][s]
        layer = clipped_zoom(m + d * noise.normal(SIDE, SIDE), zoom).copy()
        layer[layer < th] = 0
        layer = np.uint8(np.clip(layer, 0, 1) * 255).astype(float)
        layer = (motion(layer, radius, sigma, noise.between(-135, -45, 1)[0]) / 255)[..., None]
        grey = (x @ [0.299, 0.587, 0.114])[..., None]
        x = mix * x + (1 - mix) * np.maximum(x, 1.5 * grey + 0.5)
        return x + layer + np.rot90(layer, 2)
    if name == "frost":
        c0, c1 = [(1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)][s]
        f = frost[int(noise.uniform(1)[0] * 5)]
        t = int(noise.uniform(1)[0] * (f.shape[0] - SIDE))
        l = int(noise.uniform(1)[0] * (f.shape[1] - SIDE))
        out = np.clip(c0 * x255 + c1 * f[t : t + SIDE, l : l + SIDE], 0, 255)
        return by_bytes(np.uint8(out))
    if name == "fog":
        c, decay = [(0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)][s]
        m = x.max()
        return (x + c * plasma(decay, noise)[..., None]) * m / (m + c)
    if name == "brightness":
        c = [0.05, 0.1, 0.15, 0.2, 0.3][s]
        return in_hsv(x, lambda h, t, v: (h, t, min(v + c, 1)))
    if name == "contrast":
        mean = x.mean((0, 1), keepdims=True)
        return (x - mean) * [0.75, 0.5, 0.4, 0.3, 0.15][s] + mean
    if name == "elastic":
        a = SIDE * [0, 0.05, 0.08, 0.1, 0.1][s]
        sigma = SIDE * [0, 0.2, 0.06, 0.04, 0.03][s]
        j = SIDE * [0.08, 0.07, 0.06, 0.05, 0.03][s]
        p = np.array([[26, 26], [26, 6], [6, 6]], float)
        q = p + noise.between(-j, j, 3, 2)
        # Rows (x, y, 1) of the moved points to the points: where a pixel comes from.
        inverse = np.linalg.solve(np.c_[q, np.ones(3)], p).T
        yx = inverse[::-1][:, [1, 0, 2]]
        x = np.stack(
            [
                ndimage.affine_transform(
                    x[..., c], yx[:, :2], yx[:, 2], order=1, mode="mirror"
                )
                for c in range(3)
            ],
            -1,
        )

        def field():
            f = noise.between(-1, 1, SIDE, SIDE)
            if sigma:
                f = ndimage.gaussian_filter(f, sigma, mode="reflect", truncate=3)
            return a * f

        dx, dy = field(), field()
        yy, xx = np.mgrid[:SIDE, :SIDE]
        at = np.stack([yy + dy, xx + dx])
        return np.stack(
            [ndimage.map_coordinates(x[..., c], at, order=1, mode="reflect") for c in range(3)], -1
        )
    if name == "pixelate":
        small = int(SIDE * [0.95, 0.9, 0.85, 0.75, 0.65][s])
        image = Image.fromarray(x255).resize((small, small), Image.BOX)
        return by_bytes(image.resize((SIDE, SIDE), Image.BOX))
    if name == "jpeg":
        buffer = io.BytesIO()
        Image.fromarray(x255).save(buffer, "JPEG", quality=[80, 65, 58, 50, 40][s])
        return by_bytes(Image.open(buffer))
    if name == "spatter":
        m, d, g, th, w = [(0.65, 0.1, 0.7, 0.69, 0.6), (0.65, 0.1, 0.5, 0.68, 0.6)][s - 3]
        layer = smooth(m + d * noise.normal(SIDE, SIDE), g)
        mask = smooth((layer > th).astype(float), w)
        mask[mask < 0.8] = 0
        return x * (1 - mask[..., None]) + mask[..., None] * np.array([63, 42, 20]) / 255
    if name == "saturate":
        c0, c1 = [(0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)][s]
        return in_hsv(x, lambda h, t, v: (h, min(max(t * c0 + c1, 0), 1), v))
    raise ValueError(name)


NAMES = (
    "gaussian_noise shot_noise impulse_noise speckle_noise gaussian_blur defocus_blur glass_blur "
    "motion_blur zoom_blur snow frost fog brightness contrast elastic pixelate jpeg spatter saturate"
).split()


def make_corruptions():
    """corruptions.bin: 6200 uniforms and 3100 normals (float32), the picture, five textures of
    40 x 44, then the outputs, by corruption and severity (spatter: 4 and 5 only), all bytes."""
    rng = np.random.default_rng(1)
    uniforms = rng.uniform(size=6200).astype("<f4")
    uniforms[uniforms >= 1] = 0.5
    normals = rng.normal(size=3100).astype("<f4")
    picture = smooth_picture(rng, SIDE, SIDE)
    frost = rng.integers(0, 256, (5, 40, 44, 3)).astype(np.uint8)
    parts = [uniforms.tobytes(), normals.tobytes(), picture.tobytes(), frost.tobytes()]
    for name in NAMES:
        for s in range(3 if name == "spatter" else 0, 5):
            noise = Noise(uniforms.astype(float), normals.astype(float))
            out = corrupt(name, s, picture, noise, frost)
            parts.append(np.uint8(np.clip(out, 0, 1) * 255).tobytes())
    (OUT / "corruptions.bin").write_bytes(b"".join(parts))


# ---- C-MNIST ----


def make_cmnist():
    """cmnist.bin: 100 grey pictures of 10 x 10, three normals each (float64), then their colours
    for attribute i % 10 and severity 1 + i / 10 % 5."""
    mu = np.array(
        [
            [0.98368233, 0.31251901, 0.16857535], [0.99052966, 0.91560525, 0.35151219],
            [0.67296398, 0.46107048, 0.57980818], [0.78325194, 0.83155590, 0.60132939],
            [0.08801579, 0.77796334, 0.98180777], [0.32139337, 0.96105456, 0.44644988],
            [0.02461588, 0.23565048, 0.75866628], [0.55524695, 0.10158014, 0.76176316],
            [0.20772320, 0.39294851, 0.01870239], [0.83365762, 0.20240927, 0.26694310],
        ]
    )  # fmt: skip
    sigma = [0.05, 0.02, 0.01, 0.005, 0.002]
    rng = np.random.default_rng(2)
    grey = rng.integers(0, 256, (100, 10, 10)).astype(np.uint8)
    noise = rng.normal(size=(100, 3))
    out = [
        (np.clip(mu[i % 10] + sigma[i // 10 % 5] * noise[i], 0, 1) * grey[i][..., None]).astype(np.uint8)
        for i in range(100)
    ]
    (OUT / "cmnist.bin").write_bytes(grey.tobytes() + noise.astype("<f8").tobytes() + np.array(out).tobytes())


# ---- pictures of many kinds ----


def png16(x):
    """An RGB PNG with 16 bits, which Pillow cannot write."""
    rows = b"".join(b"\0" + r.astype(">u2").tobytes() for r in x)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", x.shape[1], x.shape[0], 16, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def make_pictures():
    """pictures/*: files, each with FILE.rgb: height and width (uint16), then RGB as Pillow has it."""
    folder = OUT / "pictures"
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(3)
    x = smooth_picture(rng, 23, 31)
    image = Image.fromarray(x)
    rgba = Image.fromarray(np.dstack([x, rng.integers(0, 256, (23, 31)).astype(np.uint8)]))

    def keep(name, rgb):
        rgb = np.asarray(rgb)
        size = struct.pack("<HH", *rgb.shape[:2])
        (folder / (name + ".rgb")).write_bytes(size + rgb.tobytes())

    def save(name, picture, **options):
        picture.save(folder / name, **options)
        keep(name, Image.open(folder / name).convert("RGB"))

    save("rgb.png", image)
    save("grey.png", image.convert("L"))
    save("grey-alpha.png", rgba.convert("LA"))
    save("rgba.png", rgba)
    save("palette.png", image.convert("P", palette=Image.ADAPTIVE, colors=17))
    save("bit.png", image.convert("1"))
    (folder / "rgb16.png").write_bytes(png16(x.astype(np.uint16) * 257))
    keep("rgb16.png", x)
    save("rgb.jpg", image, quality=85)
    save("progressive.jpg", image, quality=70, progressive=True)
    save("full.jpg", image, quality=90, subsampling=0)
    save("grey.jpg", image.convert("L"), quality=85)
    save("cmyk.jpg", image.convert("CMYK"), quality=85)
    for orientation in range(2, 9):
        name = f"exif{orientation}.jpg"
        exif = Image.Exif()
        exif[0x0112] = orientation
        image.save(folder / name, quality=60, exif=exif)
        from PIL import ImageOps

        keep(name, ImageOps.exif_transpose(Image.open(folder / name)).convert("RGB"))


def make_resizes():
    """resize.bin: a picture of 47 x 61, then for each size below the result of BILINEAR."""
    rng = np.random.default_rng(4)
    x = smooth_picture(rng, 47, 61)
    parts = [x.tobytes()]
    for height, width in [(20, 30), (47, 30), (20, 61), (64, 64), (90, 40), (7, 5), (1, 1), (48, 60)]:
        parts.append(np.asarray(Image.fromarray(x).resize((width, height), Image.BILINEAR)).tobytes())
    # Resize to 32 x 40 and centre crop 21 x 24; centre crop 30 x 33 and resize to 40 x 40.
    small = np.asarray(Image.fromarray(x).resize((40, 32), Image.BILINEAR))
    top, left = int(round((32 - 21) / 2)), int(round((40 - 24) / 2))
    parts.append(small[top : top + 21, left : left + 24].tobytes())
    top, left = int(round((47 - 30) / 2)), int(round((61 - 33) / 2))
    cut = Image.fromarray(x[top : top + 30, left : left + 33])
    parts.append(np.asarray(cut.resize((40, 40), Image.BILINEAR)).tobytes())
    (OUT / "resize.bin").write_bytes(b"".join(parts))


def make_features():
    """features/*: one matrix of 6 x 3, x[i, j] = i + j / 4 - 2, in many forms, with y = i % 2."""
    folder = OUT / "features"
    folder.mkdir(exist_ok=True)
    x = np.arange(6)[:, None] + np.arange(3) / 4 - 2
    y = np.arange(6) % 2
    a = np.array(["land", "water", "land", "water", "\u00fcber", "land"])
    split = np.array([0, 0, 0, 1, 2, 2])
    np.savez(folder / "plain.npz", x=x.astype("<f4"), y=y, a=a, split=split, unused=np.zeros((2, 2, 2)))
    words = np.array(["train", "train", "train", "val", "test", "test"])
    np.savez_compressed(folder / "packed.npz", x=x.astype("<f8"), y=y.astype("u1"), a=a.astype("U"), split=words)
    np.savez(folder / "half.npz", x=x.astype("<f2"), y=y.astype("<f8"))
    np.savez(folder / "no-x.npz", z=x)
    np.savez(folder / "uneven.npz", x=x.astype("<f4"), y=y[:5])
    np.save(folder / "f4.npy", x.astype("<f4"))
    np.save(folder / "f8-fortran.npy", np.asfortranarray(x.astype("<f8")))
    np.save(folder / "u1.npy", (4 * x + 8).astype("u1"))
    np.save(folder / "big-endian.npy", x.astype(">f4"))
    np.save(folder / "complex.npy", x.astype("<c8"))
    np.save(folder / "integers.npy", x.astype("<i8"))
    np.save(folder / "cube.npy", np.zeros((2, 2, 2), "<f4"))
    # A zip entry that claims to be huge: 10^9 floats, all zero, packed small.
    import zipfile

    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (1000000, 1000)}
    )
    with zipfile.ZipFile(folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("x.npy", header.getvalue() + bytes(1 << 20))


def make_waterbirds(folder):
    """waterbirds.bin: for every 500th row of metadata.csv a part of 12 x 12 at (100, 90) of the
    decoded image, and the same at (40, 30) after Resize(96) and CenterCrop(80)."""
    rows = list(csv.DictReader(open(folder / "metadata.csv")))
    parts = []
    for row in rows[::500]:
        image = Image.open(folder / row["img_filename"]).convert("RGB")
        parts.append(np.asarray(image)[100:112, 90:102].tobytes())
        small = np.asarray(image.resize((96, 96), Image.BILINEAR))[8:88, 8:88]
        parts.append(small[40:52, 30:42].tobytes())
    (OUT / "waterbirds.bin").write_bytes(b"".join(parts))


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    make_corruptions()
    make_cmnist()
    make_pictures()
    make_resizes()
    make_features()
    if len(sys.argv) > 1:
        make_waterbirds(Path(sys.argv[1]))
