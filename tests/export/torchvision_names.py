"""Prints torchvision_names.json: names and shapes of the state_dict of torchvision's ResNets, but
for num_batches_tracked, which torch adds itself. Needs python3-torchvision."""
import json

import torchvision

networks = {}
for name in ("resnet18", "resnet34", "resnet50"):
    state = getattr(torchvision.models, name)().state_dict()
    networks[name] = {key: list(value.shape) for key, value in state.items()
                      if not key.endswith("num_batches_tracked")}
lines = [f'  "{name}": {{\n' + ",\n".join(f'    "{k}": {json.dumps(v)}' for k, v in tensors.items()) +
         "\n  }" for name, tensors in networks.items()]
print(f'{{\n"torchvision": "{torchvision.__version__}",\n"networks": {{\n' + ",\n".join(lines) + "\n}\n}")
