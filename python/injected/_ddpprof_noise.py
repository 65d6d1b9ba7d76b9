"""Squared norms of the gradient before and after DDP's all-reduce, for the gradient noise scale. Loaded with --noise-scale.

Hooks on the parameters see the gradient of a backward before it is accumulated, and so before DDP sends it. They are
removed after the last step with norms. DDP takes one communication hook, which cannot be removed and may be the job's.
"""
import math
import sys
import time


class Unsuitable(Exception):
    """The norms of this job cannot be measured. The text is the reason."""


def _squared(torch, tensor):
    return torch.linalg.vector_norm(tensor.detach(), dtype=torch.float32).double().square()


class NoiseWatch:
    def __init__(self, torch, wrappers, optimizer, first):
        """`wrappers`: the live DistributedDataParallel modules. Throws Unsuitable."""
        self.torch, self.first = torch, first
        self.parameters = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
        own = {id(p) for p in self.parameters}
        used = [one for one in wrappers if own & {id(p) for p in one.parameters()}]
        distributed = sys.modules.get("torch.distributed")
        ranks = distributed.get_world_size() if distributed and distributed.is_available() and distributed.is_initialized() else 1
        if len(used) > 1:
            raise Unsuitable("several models with DistributedDataParallel share an optimizer")
        if ranks > 1 and not used:
            raise Unsuitable("the model is not wrapped by DistributedDataParallel, so the gradients before and after its "
                             "all-reduce are unknown")
        if any(p.is_sparse or getattr(p, "_is_sharded", False) or hasattr(p, "placements") for p in self.parameters):
            raise Unsuitable("parameters are sparse or divided between ranks")
        self.wrapper, self.alone = (used[0] if used else None), ranks == 1
        self.begin_ns, self.before_ns = time.time_ns(), time.monotonic_ns()
        self.durations_ns, self.local_sqr, self.whole_sqr = [], [], []
        self.sync = True
        self.handles = [p.register_hook(self.hook_of(p)) for p in self.parameters]
        if self.wrapper is not None:
            self.handles.append(self.wrapper.register_forward_pre_hook(self.before_forward))
        self.start_step()

    def start_step(self):
        self.parts, self.backwards, self.synced, self.whole, self.queued, self.failed = [], 0, 0, None, False, False

    def before_forward(self, module, args):
        self.sync = module.require_backward_grad_sync

    def hook_of(self, parameter):
        def hook(gradient):
            try:
                self.before_accumulation(parameter, gradient)
            except Exception:  # this step has no norms; the job goes on
                self.failed = True
        hook._torchdynamo_disable = True
        return hook

    def before_accumulation(self, parameter, gradient):
        if not self.queued:
            self.queued = True
            self.torch.autograd.Variable._execution_engine.queue_callback(self.after_backward)
        if self.alone:
            self.parts.append(_squared(self.torch, gradient))
        elif self.sync:  # the whole gradient of this rank: earlier micro-batches are accumulated already
            whole = gradient if parameter.grad is None else gradient + parameter.grad
            self.parts.append(_squared(self.torch, whole))

    def after_backward(self):
        """At the end of a backward. DDP's own callback, which waits for the all-reduce, may be behind this one."""
        self.queued = False
        self.backwards += 1
        if self.sync or self.alone:
            self.synced += 1
            self.torch.autograd.Variable._execution_engine.queue_callback(self.after_all_reduce)

    def after_all_reduce(self):
        try:  # before the job clips gradients or removes a loss scale
            self.whole = [_squared(self.torch, p.grad) for p in self.parameters if p.grad is not None]
        except Exception:
            self.failed = True

    def after_step(self, now_ns):
        self.durations_ns.append(now_ns - self.before_ns)
        self.before_ns = now_ns
        local, whole = self.norms()
        self.local_sqr.append(local)
        self.whole_sqr.append(whole)
        self.start_step()

    def norms(self):
        """Returns both norms of the step; None, None if they are unknown: an overflow, several all-reduces in a step."""
        if self.failed or not self.parts or not self.whole or (not self.alone and self.synced != 1):
            return None, None
        local, whole = (float(self.torch.stack(parts).sum()) for parts in (self.parts, self.whole))
        if self.alone:  # A micro-batches: the mean of |A g_i|^2 beside |sum of g_i|^2, whether the loss was divided by A or not
            local *= self.backwards
            if self.backwards < 2:
                return None, None
        return (local, whole) if math.isfinite(local) and math.isfinite(whole) else (None, None)

    def remove(self):
        for handle in self.handles:
            handle.remove()
        self.handles = []

    def facts(self):
        return {"first": self.first, "begin_ns": self.begin_ns, "durations_ns": self.durations_ns,
                "local_sqr": self.local_sqr, "whole_sqr": self.whole_sqr}

    def problem(self):
        """Returns why no step has norms, or None."""
        if any(norm is not None for norm in self.local_sqr):
            return None
        if self.alone:
            return "one rank needs two micro-batches or more in a step (gradient accumulation)"
        return "no step had one backward with an all-reduce and finite gradients"
