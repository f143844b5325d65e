"""From embeddings to a classifier whose worst group is good. Needs numpy and gerne alone.

Replace the first part by your own embeddings (of CLIP, DINO, a sentence encoder, ...), their
classes and an attribute that a classifier must not rely on, such as the background of a photo.
"""
import numpy as np

import gerne

# 4,000 made-up embeddings: 95 % of the birds are photographed where one expects them.
rng = np.random.default_rng(0)
bird = rng.choice(["landbird", "waterbird"], size=4000)
place = np.where(rng.random(4000) < 0.95, np.where(bird == "landbird", "land", "water"),
                 np.where(bird == "landbird", "water", "land"))
x = rng.normal(size=(4000, 32)).astype(np.float32)
x[:, 0] += 2 * (bird == "waterbird")  # what the bird looks like
x[:, 1] += 5 * (place == "water")     # what the background looks like
train, test = np.arange(4000) < 3000, np.arange(4000) >= 3000

# 1. Is the data biased?
print(gerne.audit(bird[train], place[train], text=True))

# 2. Train, once plainly and once by GERNE.
erm = gerne.Classifier(method="erm", random_state=0).fit(x[train], bird[train], groups=place[train])
fair = gerne.Classifier(c=0.5, beta=1.0, random_state=0).fit(x[train], bird[train],
                                                             groups=place[train])

# 3. Accuracy of every group, with intervals; the difference of the two models.
figures = fair.evaluate(x[test], bird[test], place[test])
print(gerne.table(figures))
print(gerne.compare(bird[test], place[test], fair.predict(x[test]), erm.predict(x[test]),
                    text=True))

# 4. Keep the model: for gerne.load and `gerne predict`, and for other runtimes.
fair.save("birds.safetensors")
fair.export(onnx="birds.onnx", overwrite=True)
