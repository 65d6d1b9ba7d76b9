"""Facts of a training that its process states in a trace: its host, learning rates, model and batch. Loaded by
_ddpprof_torch.py.
"""
import collections
import contextlib
import math
import os
import socket
import sys

_MOST_BATCHES = 4096  # forwards whose batch is kept


def host():
    return {
        "cores": len(os.sched_getaffinity(0)),
        "host": socket.gethostname(),
        "boot_id": _boot_id(),
        "network": _network(),
    }


def _boot_id():
    """Returns the id of the kernel's start. All containers of a machine have the same one."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def _network():
    """Returns the id of the network namespace. Containers of one machine usually have different ones."""
    try:
        return os.readlink("/proc/self/ns/net")
    except OSError:
        return ""


def rates(optimizer):
    """Returns the learning rate of the first group of parameters, without its schedule, Adam's betas, and the rates of all
    groups if they differ. A scheduler of torch stores the rate that it was given as initial_lr, OneCycleLR its largest
    rate as max_lr.
    """
    groups = optimizer.param_groups
    tuned = [_number(group, ("max_lr", "initial_lr", "lr")) for group in groups]
    now = _number(groups[0], ("lr",)) if groups else None
    facts = {"learning_rate": tuned[0] if tuned else None}
    if now is not None and facts["learning_rate"] is not None and now != facts["learning_rate"]:
        facts["learning_rate_of_step"] = now
    group = groups[0] if groups else {}
    # RMSprop averages squares alone.
    betas = 2 * [group.get("alpha")] if type(optimizer).__name__ == "RMSprop" else group.get("betas")
    if isinstance(betas, (list, tuple)) and len(betas) == 2:
        facts["betas"] = [_number({"beta": beta}, ("beta",)) for beta in betas]
    different = sorted({rate for rate in tuned if rate is not None})
    if len(different) > 1:
        facts["learning_rates"] = different[:64]
    return facts


def _number(group, names):
    """Returns the first of the numbers that the group has, or None."""
    for name in names:
        try:
            value = float(group[name])
        except Exception:  # missing, or not a number
            continue
        if math.isfinite(value):  # JSON has no infinity
            return value
    return None


def batches(seen):
    """Returns the most frequent of the batches, and how they vary. `seen`: one batch for each forward; None: unknown."""
    counts = collections.Counter(batch for batch in seen if batch is not None)
    if not counts:
        return {}
    usual, times = counts.most_common(1)[0]
    facts = {"batch": usual}
    if len(counts) > 1:
        facts.update(batch_least=min(counts), batch_most=max(counts), batch_forwards=sum(counts.values()),
                     batch_others=sum(counts.values()) - times)
    return facts


def numel(parameter):
    """Returns the number of elements of the whole parameter, also if DeepSpeed's ZeRO 3 has taken it away."""
    return getattr(parameter, "dsnumel", None) or parameter.numel()


def sharding(model):
    """Returns what divides parameters or optimizer state between the ranks, if the model's class states it, or None."""
    try:
        stage = type(model).zero_optimization_stage(model)
        return "ZeRO stage %d of DeepSpeed" % stage if stage > 0 else None
    except Exception:  # not DeepSpeed's
        return None


class ModelFacts:
    """What steps of DistributedDataParallel, or of a model without it, show: their batches, and how often the forward runs.

    Is itself the model's forward hook during these steps.
    """

    _torchdynamo_disable = True

    def __init__(self, model):
        self.model = model
        self.batches = []  # one for each forward; None: unknown
        self.forwards = 0  # without those that evaluate a closure again
        self.inside = False
        self.watch()

    def watch(self):
        self.handle = self.model.register_forward_pre_hook(self, with_kwargs=True)

    def trained(self):
        return [p for p in self.model.parameters() if p.requires_grad]

    def __call__(self, module, args, kwargs):
        try:
            import torch

            if not (module.training and torch.is_grad_enabled()):
                return
            again, self.inside = self.inside, _inside_step(torch)
            self.forwards += not (self.inside and again)
            if len(self.batches) < _MOST_BATCHES:
                self.batches.append(_first_dimension((args, kwargs)))
        except Exception:  # a fact is unknown; the job goes on
            pass

    def __reduce__(self):
        """In a copy of the model (pickle, deepcopy) the hook is a function that does nothing."""
        return getattr, (contextlib.nullcontext(), "__exit__")


def _inside_step(torch):
    """Returns true in Optimizer.step(closure): LBFGS evaluates its closure several times with one batch."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "step" and isinstance(frame.f_locals.get("self"), torch.optim.Optimizer):
            return True
        frame = frame.f_back
    return False


def _is_tensor(value):
    return getattr(value, "shape", None) is not None and hasattr(value, "dtype")


def _first_dimension(value, depth=0):
    """Returns the first dimension of the first tensor in nested containers, or None. A list of tensors may have one for
    each sample: then the importer derives the batch from shapes."""
    if _is_tensor(value):
        return int(value.shape[0]) if len(value.shape) > 0 else None
    if depth > 4 or (isinstance(value, list) and len(value) > 1 and all(map(_is_tensor, value))):
        return None
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    for one in values:
        found = _first_dimension(one, depth + 1)
        if found is not None:
            return found
    return None
