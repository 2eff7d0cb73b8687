"""Many changes of one source in one text, each behind a switch, for scripts/mutate.

`a < b` becomes `(mutant_switch::on(7) ? (a <= b) : (a < b))`: one build serves every change, and the environment says which one is on
(MUTANT_ON=7) or that each that is come by is written down (MUTANTS_REACHED=FILE). Nothing here compiles: what does not with its
switch, as a constant expression cannot, is found by the compiler and decided by a build of its own.
"""

import re
from dataclasses import dataclass

from mutation_rules import ENDS, tokens_of

# In front of each text. Lines keep their numbers. Programs that a test starts inherit the environment.
PROLOGUE = """#ifndef MUTANT_SWITCH
#define MUTANT_SWITCH
#include <fcntl.h>
#include <unistd.h>
#include <cstdlib>
#include <string>
#include <type_traits>
namespace mutant_switch {
inline bool on(int number) {
  static const char* const reached = std::getenv("MUTANTS_REACHED");
  static const int chosen = std::getenv("MUTANT_ON") ? std::atoi(std::getenv("MUTANT_ON")) : 0;
  static bool seen[1 << 16] = {};
  if (reached != nullptr && !seen[number & 0xffff]) {
    seen[number & 0xffff] = true;
    const std::string line = std::to_string(number) + "\\n";
    const int file = open(reached, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file >= 0 && write(file, line.data(), line.size()) < 0) std::abort();
    if (file >= 0) close(file);
  }
  return number == chosen;
}
}  // namespace mutant_switch
#endif
#line 1
"""
ENDS_OF_VALUE = ENDS | {"&&", "||", "else", "case", "do", "co_return", "throw"}
STATEMENTS_WITH_CONDITION = {"if", "while", "for", "switch", "catch"}
TRUTHS = ("dropped condition", "negated condition", "negation")
CONSTEXPR = re.compile(r"^((?:static |inline )*)constexpr (const char\* |char \* )?(?=[\w:<>, ]*\w+ = )")


@dataclass
class Place:
    """Where a text is replaced by one with a switch, from `begin` to before `end`."""

    begin: int
    end: int
    text: str
    constant: bool = False  # a constant expression was made an ordinary constant for it


class Source:
    """One file, its tokens, and the places of the changes that can be switched."""

    def __init__(self, text):
        self.text = text
        self.tokens = [t for t in tokens_of(text) if t.kind not in ("space", "comment")]
        self.starts = [0]
        for line in text.split("\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)

    def token_at(self, at):
        """Index of the first token that ends behind `at`."""
        for index, token in enumerate(self.tokens):
            if token.at + len(token.text) > at:
                return index
        return None

    def begins_block(self, index):
        """True for the brace of a block; that of an initialiser follows its type without a space."""
        at = self.tokens[index].at
        return at == 0 or self.text[at - 1].isspace()

    def opening_of(self, closing):
        depth = 0
        for index in range(closing, -1, -1):
            text = self.tokens[index].text if self.tokens[index].kind == "op" else ""
            depth += (text in (")", "]", "}")) - (text in ("(", "[", "{"))
            if depth == 0 and text:
                return index
        return None

    def first_of(self, index, ends):
        """Index of the first token of the expression that holds token `index`, which ends at one of `ends` or a bracket."""
        first = index
        at = index - 1
        while at >= 0:
            token = self.tokens[at]
            if token.kind == "op" and token.text in (")", "]", "}"):
                opening = self.opening_of(at)
                if opening is None or (token.text == "}" and self.begins_block(opening)):
                    break
                if opening > 0 and self.tokens[opening - 1].text in STATEMENTS_WITH_CONDITION | {"constexpr"}:
                    break
                first = at = opening
            elif token.kind == "op" and token.text in ("(", "[", "{") or token.text in ends:
                break
            else:
                first = at
            at -= 1
        return first

    def last_of(self, index, ends):
        depth = 0
        last = index
        for at in range(index + 1, len(self.tokens)):
            token = self.tokens[at]
            if token.kind == "op" and token.text in ("(", "[", "{"):
                if depth == 0 and token.text == "{" and self.begins_block(at):
                    return last
                depth += 1
            elif token.kind == "op" and token.text in (")", "]", "}"):
                if depth == 0:
                    return last
                depth -= 1
            elif depth == 0 and token.text in ends:
                return last
            last = at
        return last

    def flat(self, begin, end):
        """A stretch of the text on one line; None if that cannot be written."""
        out, at = [], begin
        for token in self.tokens:
            if token.at + len(token.text) <= begin or token.at >= end:
                continue
            if token.kind == "raw" and (token.at < begin or token.at + len(token.text) > end):
                return None
            out.append(" " if token.at > at else "")
            out.append(escaped(token.text) if token.kind == "raw" else token.text)
            at = token.at + len(token.text)
        return "".join(out)

    def place(self, mutant, number):
        """The Place of a change, or None if it has none: its line is directly below the file's prologue otherwise."""
        begin = self.starts[mutant.line - 1] + mutant.column - 1
        end = begin + len(mutant.old)
        if self.text[begin:end] != mutant.old:
            return None
        index = self.token_at(begin)
        if index is None:
            return None
        if mutant.rule.startswith("SQL"):
            return self.literal(index, begin, end, mutant.new, number)
        if mutant.rule == "returned value":
            return self.returned(index, begin, end, mutant.new, number)
        last = max((i for i, t in enumerate(self.tokens) if t.at < end), default=index)
        if mutant.old == "!" and mutant.rule == "negation":
            ends = ENDS_OF_VALUE | {"==", "!=", "<", ">", "<=", ">="}
            first, last = index, self.last_of(index, ends)
        elif mutant.rule == "negated condition":
            first = index
        else:
            ends = ENDS - {"||"} if mutant.rule == "dropped condition" else ENDS_OF_VALUE
            ends = ends - {"+=", "-="} if mutant.old in ("+=", "-=") else ends
            first = min(self.first_of(index, ends), index)
            last = max(self.last_of(last, ends), last)
        return self.expression(mutant, (begin, end), (first, last), number)

    def expression(self, mutant, change, tokens, number):
        begin = min(self.tokens[tokens[0]].at, change[0])
        end = max(self.tokens[tokens[1]].at + len(self.tokens[tokens[1]].text), change[1])
        if any(self.tokens[i].kind in ("string", "raw") and "\n" in self.tokens[i].text for i in range(tokens[0], tokens[1] + 1)):
            return None
        before, after = self.flat(begin, change[0]), self.flat(change[1], end)
        original = self.text[begin:end].lstrip()
        if before is None or after is None or "//" in original or not original.strip():
            return None
        space = " " if self.text[change[0] - 1 : change[0]].isspace() else ""
        changed = f"{before}{space}{mutant.new}{after}".strip()
        if not changed:
            return None
        if mutant.rule in TRUTHS:
            text = f"(mutant_switch::on({number}) ? static_cast<bool>({changed}) : static_cast<bool>({original}))"
        elif mutant.rule == "dropped term":
            text = f"(mutant_switch::on({number}) ? static_cast<std::decay_t<decltype({self.flat(begin, end)})>>({changed}) : ({original}))"
        else:
            text = f"(mutant_switch::on({number}) ? ({changed}) : ({original}))"
        return Place(begin, end, text, self.constant_at(begin))

    def returned(self, index, begin, end, new, number):
        if index == 0 or self.tokens[index - 1].text != "return":
            return None
        close = self.last_of(index, {";"}) + 1
        if close >= len(self.tokens) or self.tokens[close].text != ";":
            return None
        value = self.text[begin : self.tokens[close].at]
        text = f"{{ if (mutant_switch::on({number})) return {new}; return {value}; }}"
        return Place(self.tokens[index - 1].at, self.tokens[close].at + 1, text)

    def literal(self, index, begin, end, new, number):
        if self.tokens[index].kind not in ("string", "raw"):
            return None
        first = last = index
        while first > 0 and self.tokens[first - 1].kind in ("string", "raw"):
            first -= 1
        while last + 1 < len(self.tokens) and self.tokens[last + 1].kind in ("string", "raw"):
            last += 1
        parts = []
        for at in range(first, last + 1):
            token = self.tokens[at]
            text = token.text
            if at == index:
                text = text[: begin - token.at] + new + text[end - token.at :]
            parts.append(escaped(text) if token.kind == "raw" else text)
        start, stop = self.tokens[first].at, self.tokens[last].at + len(self.tokens[last].text)
        text = f"(mutant_switch::on({number}) ? {' '.join(parts)} : {self.text[start:stop]})"
        return Place(start, stop, text, self.constant_at(start))

    def constant_at(self, at):
        """True if the declaration that holds this begins with `constexpr` on its line or one of the few above."""
        line = self.line_of(at)
        for above in range(line, max(line - 4, -1), -1):
            text = self.text[self.starts[above] : self.starts[above + 1] - 1]
            if CONSTEXPR.match(text):
                return True
            if above < line and text.rstrip().endswith((";", "{", "}")):
                return False
        return False

    def line_of(self, at):
        low, high = 0, len(self.starts) - 2
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.starts[middle] <= at else (low, middle - 1)
        return low


def escaped(raw):
    """A raw literal as an ordinary one on one line."""
    found = re.fullmatch(r'R"([^()\\\s]*)\((.*)\)\1"', raw, re.DOTALL)
    if not found:
        return raw
    return '"' + found[2].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def switched(text, numbered):
    """The text with each change of `numbered` (number and Mutant) behind its switch: the new text, and by number the lines (from 1) that
    each takes part of. A change without a place, or in that of another one, is left out."""
    source = Source(text)
    places, taken = {}, []
    for number, mutant in numbered:
        place = source.place(mutant, number)
        if place and all(place.end <= other.begin or place.begin >= other.end for other in taken):
            places[number] = place
            taken.append(place)
    out = text
    lines = {}
    for number, place in sorted(places.items(), key=lambda item: -item[1].begin):
        out = out[: place.begin] + place.text + out[place.end :]
        lines[number] = range(source.line_of(place.begin) + 1, source.line_of(max(place.begin, place.end - 1)) + 2)
    if any(place.constant for place in places.values()):
        out = without_constexpr(out, [source.line_of(p.begin) for p in places.values() if p.constant])
    return (PROLOGUE + out if places else text), lines


def without_constexpr(text, lines):
    """The declarations that hold these lines (from 0) as ordinary constants."""
    rows = text.split("\n")
    for line in lines:
        for above in range(line, max(line - 4, -1), -1):
            if CONSTEXPR.match(rows[above]):
                rows[above] = CONSTEXPR.sub(lambda m: m[1] + ("const char* const " if m[2] else "const "), rows[above])
                break
    return "\n".join(rows)
