"""Which tests of a file run: those with @long_test only if DDPPROF_LONG_TESTS is set, as in scripts/test --all."""

import os

LONG = bool(os.environ.get("DDPPROF_LONG_TESTS"))


def long_test(function):
    """Removes a test from its class unless long tests are asked for. It is not skipped: it belongs to another tier."""
    return function if LONG else None
