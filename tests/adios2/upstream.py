"""Copies the operator tests of ADIOS2 with the fzgm operator in place of theirs.

    upstream.py <source of ADIOS2> <destination>

Lossy operators keep their accuracy; lossless operators become the operator without parameters. An error may be as large as the accuracy,
where some tests require less. The other tests of operators are for parameters that only one compressor has.
"""

import pathlib
import re
import sys

TESTS = {"SZ": "accuracy", "SZ3": "accuracy", "SzComplex": "accuracy", "MGARD": "tolerance", "BZIP2": None, "Blosc2": None}
PLUGIN = '"plugin", adios2::Params{{"PluginName", "fzgm"}, {"PluginLibrary", "fzgm_adios2"}}'


def parameters(match, key):
    """The call of AddOperation with the accuracy alone."""
    operator, text = match.groups()
    if key is None:
        return f"AddOperation({operator});"
    value = re.search(rf'(?:key::{key}|"{key}"),\s*(\w+)\}}', text)
    if not value:
        raise SystemExit(f"no {key} in: {text}")
    return f'AddOperation({operator}, {{{{"accuracy", {value[1]}}}}});'


def convert(text, key):
    text, defined = re.subn(r'DefineOperator\(\s*("\w+"),\s*(?:adios2::ops::\w+|"\w+")\)', rf"DefineOperator(\1, {PLUGIN})", text)
    text, added = re.subn(r"AddOperation\(\s*(\w+)\s*,\s*(\{\{.*?\}\})\s*\);", lambda m: parameters(m, key), text, flags=re.DOTALL)
    # Constants that an ADIOS2 without these compressors does not have.
    text = re.sub(r"adios2::ops::(?:blosc|bzip2)::\w+::(\w+)", r'"\1"', text)
    if not defined or not added:
        raise SystemExit("the tests of ADIOS2 have another form")
    return text


def main(source, destination):
    folder = pathlib.Path(source, "testing/adios2/engine/bp/operations")
    for name, key in TESTS.items():
        text = convert((folder / f"TestBPWriteRead{name}.cpp").read_text(), key)
        text = text.replace('"../../TestHelpers.h"', '"TestHelpers.h"').replace("ASSERT_LT", "ASSERT_LE").replace("stof(accuracy)", "stod(accuracy)")
        pathlib.Path(destination, f"{name}.cpp").write_text(text)


main(*sys.argv[1:])
