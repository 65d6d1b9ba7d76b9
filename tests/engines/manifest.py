"""What is wrong with a Kubernetes manifest, held key by key against the generated models of kubeflow-training and kubernetes.

Their own deserializer passes over keys that it does not know, so a typo would be found on the cluster only.
"""

import difflib
import re

REPLICA_TYPES = ("Master", "Worker")  # of a PyTorchJob; the model takes any text
SCALARS = {"str": str, "int": int, "bool": bool, "float": (int, float)}


def class_of(models, document):
    if document.get("kind") == "PyTorchJob":
        return "KubeflowOrgV1PyTorchJob"
    return f"V1{document.get('kind')}"


def problems(models, document):
    """Sentences, each with the key's path; none: every key is known, of its type, and none that is needed lacks."""
    found = []
    build(models, class_of(models, document), document, document.get("kind", "?"), found)
    if document.get("kind") == "PyTorchJob":
        replicas = (document.get("spec") or {}).get("pytorchReplicaSpecs") or {}
        found += [f"PyTorchJob.spec.pytorchReplicaSpecs.{name}: expected Master or Worker" for name in replicas
                  if name not in REPLICA_TYPES]
    return found


def build(models, kind, value, path, found):
    """The model's object for `value`; None where it could not be made."""
    listed, mapped = re.fullmatch(r"list\[(.*)\]", kind), re.fullmatch(r"dict[\[(]str, ?(.*)[\])]", kind)
    if listed or mapped:
        if not isinstance(value, list if listed else dict):
            found.append(f"{path}: expected a {'list' if listed else 'map'}, found {value!r}")
            return None
        if listed:
            return [build(models, listed[1], item, f"{path}[{i}]", found) for i, item in enumerate(value)]
        return {key: build(models, mapped[1], item, f"{path}.{key}", found) for key, item in value.items()}
    if kind in SCALARS:
        wrong = not isinstance(value, SCALARS[kind]) or (isinstance(value, bool) and kind != "bool")
        if wrong:
            found.append(f"{path}: expected {kind}, found {value!r}")
        return value
    if kind in ("object", "datetime"):
        return value
    return build_model(getattr(models, kind), models, value, path, found)


def build_model(model, models, value, path, found):
    if not isinstance(value, dict):
        found.append(f"{path}: expected a map, found {value!r}")
        return None
    attributes = {key: name for name, key in model.attribute_map.items()}
    arguments = {}
    for key, item in value.items():
        if key not in attributes:
            near = difflib.get_close_matches(key, attributes, 1)
            found.append(f"{path}.{key}: no such key in {model.__name__}" + (f"; did you mean {near[0]}?" if near else ""))
            continue
        name = attributes[key]
        arguments[name] = build(models, model.openapi_types[name], item, f"{path}.{key}", found)
    try:
        return model(**arguments)  # says what is needed and not there, and which values are allowed
    except ValueError as error:
        found.append(f"{path}: {error}")
        return None
