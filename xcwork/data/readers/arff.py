"""ARFF files: attribute declarations, then data rows, dense (`0,1,0.5`) or sparse (`{3 1,7 0.5}`).

Numeric attributes are one column; nominal ones with the values 0 and 1 (or false/true, no/yes) too; other nominal ones
are a column for each value; text has no columns. A relational attribute holds a bag of instances in one quoted field.

Why not liac-arff (2.4.0): it rejects relational attributes, and so all multi-instance data; its rows come without line
numbers, which our messages name; and it expands sparse rows, which takes 2 to 13 times as long (delicious-train.arff:
2.7 s instead of 0.3 s), unless it is told that all rows are sparse (0.6 s), and then it rejects dense ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from xcwork.data.readers.safe_files import read_lines
from xcwork.errors import DataError

_ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+(.+)", re.IGNORECASE)
_FIELD = re.compile(r"\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^,]*?)\s*(?:,|$)", re.DOTALL)
_END = re.compile(r"@end\s+(.+)", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(.)")
NUMERIC = ("numeric", "real", "integer")
TRUTH = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0, "no": 0.0, "yes": 1.0, "n": 0.0, "y": 1.0}


@dataclass(frozen=True)
class Attribute:
    """One declared attribute; `values` of a nominal one, `inner` attributes of a relational one."""

    name: str
    values: tuple[str, ...] | None = None
    inner: tuple[Attribute, ...] | None = None
    is_text: bool = False
    line: int | None = None  # where it is declared

    @property
    def binary(self) -> bool:
        return self.values is not None and 0 < len(self.values) <= 2 and all(v.lower() in TRUTH for v in self.values)

    @property
    def default(self) -> str | None:
        """What a sparse row means when it does not mention the attribute; None for a plain zero."""
        if self.values is None or (self.binary and TRUTH[self.values[0].lower()] == 0):
            return None
        return self.values[0]


@dataclass(frozen=True)
class ArffFile:
    """A parsed header, and where the rows start."""

    path: Path
    relation: str
    attributes: tuple[Attribute, ...]
    encoding: str
    data_line: int

    def rows(self) -> Iterator[tuple[int, list[tuple[int, str]]]]:
        """Yield (line number, [(attribute number, value)]) of every row; an attribute that is not listed is zero."""
        for number, line in read_lines(self.path, self.encoding):
            line = line.strip()
            if number <= self.data_line or not line or line.startswith("%"):
                continue
            if line.startswith("{"):
                yield number, self._read_sparse_row(line, number)
                continue
            fields = split_fields(line)
            if len(fields) != len(self.attributes):
                raise DataError(
                    f"the row has {len(fields)} values for {len(self.attributes)} attributes",
                    file=self.path,
                    line=number,
                    remedy="check commas and quotes; the file may be cut off",
                )
            yield number, list(enumerate(fields))

    def _read_sparse_row(self, line: str, number: int) -> list[tuple[int, str]]:
        if not line.endswith("}"):
            raise DataError("the row has no closing }", file=self.path, line=number, remedy="the file may be cut off")
        entries: dict[int, str] = {}
        for field in split_fields(line[1:-1]) if line[1:-1].strip() else ():
            index, _, value = field.partition(" ")
            if not (index.isascii() and index.isdigit() and len(index) < 10 and value.strip()):
                raise DataError(
                    f"{field[:40]!r} is not `attribute value`", file=self.path, line=number, remedy="correct the entry"
                )
            if int(index) >= len(self.attributes):
                raise DataError(
                    f"the row speaks of attribute {index}, but only {len(self.attributes)} are declared (0 to "
                    f"{len(self.attributes) - 1})",
                    file=self.path,
                    line=number,
                    remedy="correct the number",
                )
            if int(index) in entries:
                raise DataError(
                    f"attribute {index} occurs twice", file=self.path, line=number, remedy="keep one of the entries"
                )
            entries[int(index)] = _unquote(value.strip())
        for attribute, default in self._defaults:
            entries.setdefault(attribute, default)
        return sorted(entries.items())

    @cached_property
    def _defaults(self) -> list[tuple[int, str]]:
        return [(i, attribute.default) for i, attribute in enumerate(self.attributes) if attribute.default is not None]


def read_arff(path: Path, encoding: str = "utf-8") -> ArffFile:
    """Return the header of a file, from which its rows can be read."""
    relation = ""
    attributes: list[Attribute] = []
    open_relation: tuple[str, list[Attribute]] | None = None
    for number, line in read_lines(path, encoding):
        line = line.strip()
        lowered = line.lower()
        if not line or line.startswith("%"):
            continue
        if lowered.startswith("@relation"):
            relation = _unquote(line[len("@relation") :].strip())
        elif match := _ATTRIBUTE.fullmatch(line):
            name, kind = _unquote(match[1]), match[2].strip()
            if kind.lower() == "relational" and open_relation is None:
                open_relation = (name, [])
                continue
            (attributes if open_relation is None else open_relation[1]).append(
                _read_attribute(name, kind, path, number)
            )
        elif _END.fullmatch(line) and open_relation is not None:
            attributes.append(Attribute(open_relation[0], inner=tuple(open_relation[1])))
            open_relation = None
        elif lowered == "@data" and open_relation is None and attributes:
            return ArffFile(path, relation, tuple(attributes), encoding, number)
        else:
            raise DataError(
                f"{line[:40]!r} is not an ARFF declaration",
                file=path,
                line=number,
                remedy="expected @relation, @attribute or @data",
            )
    raise DataError("the file ends before @data", file=path, remedy="it may be cut off; download it again")


def _read_attribute(name: str, kind: str, path: Path, number: int) -> Attribute:
    """Return the attribute of a declaration."""
    if kind.startswith("{") and kind.endswith("}"):
        values = tuple(_unquote(value.strip()) for value in split_fields(kind[1:-1]))
        return Attribute(name, values=values, line=number)
    if kind.split()[0].lower() in NUMERIC:
        return Attribute(name, line=number)
    if kind.lower() == "string":
        return Attribute(name, is_text=True, line=number)
    raise describe_bad_attribute(name, kind, path, number)


def describe_bad_attribute(name: str, kind: str, path: Path, line: int | None) -> DataError:
    """Return the error about an attribute of this type."""
    problem = f"attribute {name!r} is of type {kind[:20]!r}, which cannot become features"
    return DataError(problem, file=path, line=line, remedy="remove it, or make it numeric or nominal")


def split_fields(line: str) -> list[str]:
    """Return the comma-separated fields of a row; commas inside quotes do not count, and quotes are taken off."""
    if "'" not in line and '"' not in line:
        return [field.strip() for field in line.split(",")]
    fields, at = [], 0
    while at <= len(line):
        match = _FIELD.match(line, at)
        assert match is not None  # its last alternative fits anything
        fields.append(_unquote(match[1]))
        at = match.end() + (match.end() == len(line) and not match[0].endswith(","))
    return fields


def _unquote(text: str) -> str:
    """Return a text without the quotes around it."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return _ESCAPE.sub(lambda match: {"n": "\n", "t": "\t", "r": "\r"}.get(match[1], match[1]), text[1:-1])
    return text
