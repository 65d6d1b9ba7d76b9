"""Follows a page of the guide as its reader would: its training and its commands, in a folder of their own."""
import os
import pathlib
import re
import subprocess
import sys

PROGRAM = pathlib.Path(os.environ["DDPPROF_PROGRAM"])


def follow(text, script, folder):
    """Writes the first Python block of `text` to `script` in `folder` and runs the first shell block there.

    Returns the commands and their result.
    """
    (folder / script).write_text(re.search(r"```python\n(.*?)```", text, re.S)[1])
    commands = re.search(r"```sh\n(.*?)```", text, re.S)[1]
    path = os.pathsep.join([str(PROGRAM.parent), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(["bash", "-e", "-c", commands], cwd=folder, capture_output=True, text=True, timeout=500,
                          env={**os.environ, "PATH": path})
    return commands, done
