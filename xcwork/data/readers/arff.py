"""ARFF files: attribute declarations, then data rows, dense (`0,1,0.5`) or sparse (`{3 1,7 0.5}`).

Numeric attributes are one column; nominal ones with the values 0 and 1 (or false/true, no/yes) too; other nominal ones
are a column for each value; text and dates have no columns. A relational attribute holds a bag of instances in one
quoted field. As in Weka, values may be separated by blanks or tabs instead of commas, `%` after a blank starts a
comment, and `{5}` at the end of a row is its weight.

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

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_NOMINAL = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{]+)\s*(\{{.*\}})", re.IGNORECASE)
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|\S+)\s+(.+)", re.IGNORECASE)
_FIELD = re.compile(rf"\s*({_QUOTED}|[^,]*?)\s*(?:,|$)", re.DOTALL)
_WORD = re.compile(rf"{_QUOTED}|[^\s,]+")
_WEIGHT = re.compile(r",?\s*\{\s*[\d.]+(?:[eE][+-]?\d+)?\s*\}$")
_END = re.compile(r"@end\s+(.+)", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(.)")
_KIND = re.compile(r"[a-z]*", re.IGNORECASE)
NUMERIC = ("numeric", "real", "integer")
TRUTH = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0, "no": 0.0, "yes": 1.0, "n": 0.0, "y": 1.0}
MISSING = "?"

ArffRow = tuple[int, list[tuple[int, str]]]  # (line number, [(attribute number, value)])


@dataclass(frozen=True)
class Attribute:
    """One declared attribute; `values` of a nominal one, `inner` attributes of a relational one."""

    name: str
    values: tuple[str, ...] | None = None
    inner: tuple[Attribute, ...] | None = None
    is_text: bool = False
    is_date: bool = False
    line: int | None = None  # where it is declared

    @property
    def is_binary(self) -> bool:
        """Whether it is nominal with values that mean no and yes."""
        return self.values is not None and 0 < len(self.values) <= 2 and all(v.lower() in TRUTH for v in self.values)

    @property
    def is_numeric(self) -> bool:
        """Whether its values are numbers."""
        return self.values is None and self.inner is None and not self.is_text and not self.is_date

    @property
    def default(self) -> str | None:
        """What a sparse row means when it does not mention the attribute; None for a plain zero."""
        if self.values is None or (self.is_binary and TRUTH[self.values[0].lower()] == 0):
            return None
        return self.values[0]


@dataclass
class ArffFile:
    """A parsed header, and where the rows start."""

    path: Path
    relation: str
    attributes: tuple[Attribute, ...]
    encoding: str
    data_line: int
    has_weights: bool = False  # whether a row that was read ended in a weight

    @property
    def bag(self) -> int | None:
        """The number of the attribute that holds a bag of instances; None where there is none."""
        return next((i for i, attribute in enumerate(self.attributes) if attribute.inner is not None), None)

    def read_rows(self) -> Iterator[ArffRow]:
        """Yield (line number, [(attribute number, value)]) of every row; an attribute that is not listed is zero."""
        for number, line in self._list_lines():
            if "%" in line:
                line = _cut_comment(line)
            yield number, self._read_sparse_row(line, number) if line[0] == "{" else self._read_dense_row(line, number)

    def count_rows(self) -> int:
        """Return the number of rows, without looking into them."""
        return sum(1 for _ in self._list_lines())

    def _list_lines(self) -> Iterator[tuple[int, str]]:
        """Yield (line number, line) of every row."""
        for number, line in read_lines(self.path, self.encoding):
            line = line.strip()
            if number > self.data_line and line and not line.startswith("%"):
                yield number, line

    def _read_dense_row(self, line: str, number: int) -> list[tuple[int, str]]:
        fields = split_fields(line)
        if len(fields) != len(self.attributes) and (weight := _WEIGHT.search(line)):
            self.has_weights = True
            fields = split_fields(line[: weight.start()])
        if len(fields) != len(self.attributes):  # Weka takes blanks and tabs for commas
            words = [_unquote(word) for word in _WORD.findall(line)]
            fields = words if len(words) == len(self.attributes) else fields
        if len(fields) != len(self.attributes):
            raise DataError(
                f"the row has {len(fields)} values for {len(self.attributes)} attributes",
                file=self.path,
                line=number,
                remedy="check commas and quotes; the file may be cut off",
            )
        return list(enumerate(fields))

    def _read_sparse_row(self, line: str, number: int) -> list[tuple[int, str]]:
        if line.count("{") > 1 and (weight := _WEIGHT.search(line)) and line[: weight.start()].endswith("}"):
            self.has_weights = True
            line = line[: weight.start()]
        if not line.endswith("}"):
            raise DataError("the row has no closing }", file=self.path, line=number, remedy="the file may be cut off")
        entries: dict[int, str] = {}
        for field in split_fields(line[1:-1]) if line[1:-1].strip() else ():
            index, _, value = field.partition(" ") if "\t" not in field else field.replace("\t", " ", 1).partition(" ")
            if not (index.isascii() and index.isdigit() and len(index) < 10 and value.strip()):
                raise DataError(
                    f"{field[:40]!r} is not `attribute value`", file=self.path, line=number, remedy="correct the entry"
                )
            if int(index) >= len(self.attributes):
                raise DataError(
                    f"the row refers to attribute {index}, but only {len(self.attributes)} are declared (0 to "
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
        if not line or line.startswith("%"):
            continue
        if "%" in line:
            line = _cut_comment(line)
        lowered = line.lower()
        if lowered.startswith("@relation"):
            relation = _unquote(line[len("@relation") :].strip())
        elif match := _NOMINAL.fullmatch(line) or _ATTRIBUTE.fullmatch(line):
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
        inner = kind[1:-1].strip()
        fields = split_fields(inner) if "," in inner else [_unquote(word) for word in _WORD.findall(inner)]
        return Attribute(name, values=tuple(field.strip() for field in fields), line=number)
    word = (_KIND.match(kind) or [""])[0].lower()
    if word in NUMERIC:
        return Attribute(name, line=number)
    if word in ("string", "date"):
        return Attribute(name, is_text=word == "string", is_date=word == "date", line=number)
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


def _cut_comment(line: str) -> str:
    """Return a line without the comment at its end: `%` after a blank, a comma or a brace, outside quotes."""
    at, quote = 0, ""
    while at < len(line):
        character = line[at]
        if character == "\\" and quote:
            at += 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "%" and at and line[at - 1] in " \t,}":
            return line[:at].rstrip()
        at += 1
    return line


def _unquote(text: str) -> str:
    """Return a text without the quotes around it."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return _ESCAPE.sub(lambda match: {"n": "\n", "t": "\t", "r": "\r"}.get(match[1], match[1]), text[1:-1])
    return text
