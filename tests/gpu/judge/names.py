"""Kernel names of two sources, which two demanglers may have written.

Both sides are normalised by the same rules. Two kernels get one name only if their names differ in nothing but
spaces, a leading void, an ABI tag, the name of an anonymous namespace, or the spelling of a literal (4 and 4u).
"""

import ctypes
import ctypes.util
import functools
import re

ABI_TAG = re.compile(r"\[abi:\w+\]")
ANONYMOUS = re.compile(r"\(anonymous namespace\)|<unnamed>|\{anonymous\}|`anonymous namespace'|_GLOBAL__N_\w*|"
                       r"_NV_ANON_NAMESPACE")
SPACE = re.compile(r"\s*([^\w\s])\s*")  # spaces beside a character that is not of a word
BOOL = re.compile(r"\(bool\)([01])(?!\w)")
CAST = re.compile(r"\((?:(?:unsigned|signed|char|short|int|long|__int128)(?: (?=\w))?)+\)(?=-?\d)")
SUFFIX = re.compile(r"(?<![\w.])(\d+)(?:[uU][lL]{0,2}|[lL]{1,2}[uU]?)(?!\w)")


@functools.cache
def _runtime():
    library = ctypes.CDLL(ctypes.util.find_library("stdc++") or "libstdc++.so.6")
    library.__cxa_demangle.restype = ctypes.c_void_p
    return library


@functools.cache
def demangled(name):
    """Returns the demangled name by the C++ runtime. Other names are returned unchanged."""
    if not name.startswith("_Z"):
        return name
    status = ctypes.c_int(-1)
    text = _runtime().__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if status.value != 0 or not text:
        return name
    try:
        return ctypes.string_at(text).decode(errors="replace")
    finally:
        ctypes.CDLL(None).free(ctypes.c_void_p(text))


@functools.cache
def normalised(name):
    """The demangled name in one spelling:

    - no ABI tags, and one spelling of anonymous namespaces;
    - no leading "void", the return type that a demangler writes for a template;
    - one space between two words, no other spaces;
    - integer literals without suffix and without a cast to a builtin integer type: 4u, 4ul and (int)4 become 4;
    - (bool)1 becomes true, (bool)0 becomes false.
    """
    text = ANONYMOUS.sub("(anonymous)", ABI_TAG.sub("", demangled(name))).strip()
    text = SPACE.sub(r"\1", re.sub(r"\s+", " ", re.sub(r"^void\s+", "", text)))
    text = BOOL.sub(lambda one: "true" if one[1] == "1" else "false", text)
    return SUFFIX.sub(r"\1", CAST.sub("", text))


def _without_last(text, opening, closing):
    """The text without the list in brackets at its end. Unchanged if it has none, or if nothing would be left."""
    if not text.endswith(closing):
        return text
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == closing) - (text[at] == opening)
        if depth == 0:
            before = text[:at]
            return text if not before or before.endswith(("operator", "::")) else before
    return text


def without_parameters(name):
    return _without_last(name, "(", ")")


def without_lists(name):
    return _without_last(without_parameters(name), "<", ">")


def matched(first, second):
    """Pairs (name of first, name of second) of normalised names where one side has no parameter or template list.

    `first` and `second` have no name in common. A name is left out if it matches two names of the other side.
    """
    pairs, first, second = [], set(first), set(second)
    for cut in (without_parameters, without_lists):
        fitting = [(one, other) for one in first for other in second if cut(one) == other or one == cut(other)]
        ones, others = [one for one, _ in fitting], [other for _, other in fitting]
        single = [(one, other) for one, other in fitting if ones.count(one) == 1 and others.count(other) == 1]
        pairs += single
        first -= {one for one, _ in single}
        second -= {other for _, other in single}
    return sorted(pairs)
