"""Options that people write as name=value."""

from __future__ import annotations

from xcwork.methods.params import Parameter
from xcwork.options import format_value


def test_values_on_the_command_line_are_those_it_reads() -> None:
    assert [format_value(value) for value in (None, True, 0.5, "x")] == ["none", "true", "0.5", "x"]
    for kind, value in ((int, None), (bool, True), (float, 0.5), (str, "x")):
        declared = Parameter("p", kind, True, None, "help", None, None, None, False)
        assert declared.parse(format_value(value)) == value
