"""ddpprof.profile as a callback of other trainers. Their packages are imported when a callback is made."""
from __future__ import annotations

import os
from typing import Any, Union

from .profiling import profile


def HuggingFace(out: Union[str, "os.PathLike[str]"] = "job.db", steps: range = range(20, 40), **options: Any) -> Any:
    """Returns a callback for transformers.Trainer: Trainer(…, callbacks=[ddpprof.callbacks.HuggingFace()]).

    The arguments are those of ddpprof.profile. `recording` of the callback is its ddpprof.profile.
    """
    from transformers import TrainerCallback

    class Callback(TrainerCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.recording = profile(out, steps, **options)

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            self.recording.__enter__()

        def on_train_end(self, *_: Any, **__: Any) -> None:
            self.recording.__exit__(None, None, None)

    return Callback()


def Lightning(out: Union[str, "os.PathLike[str]"] = "job.db", steps: range = range(20, 40), **options: Any) -> Any:
    """Returns a callback for Lightning: Trainer(…, callbacks=[ddpprof.callbacks.Lightning()]).

    The arguments are those of ddpprof.profile. `recording` of the callback is its ddpprof.profile.
    """
    try:
        from lightning import Callback as Base
    except ImportError:
        from pytorch_lightning import Callback as Base

    class Callback(Base):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            self.recording = profile(out, steps, **options)

        def on_train_start(self, *_: Any) -> None:
            self.recording.__enter__()

        def on_train_end(self, *_: Any) -> None:
            self.recording.__exit__(None, None, None)

        def on_exception(self, _trainer: Any, _module: Any, error: BaseException) -> None:
            self.recording.__exit__(type(error), error, None)

    return Callback()
