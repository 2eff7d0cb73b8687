"""Single-line changes of C++ source by rule, for scripts/mutate.

A file is cut into tokens; each rule proposes replacements of a stretch of one line. Nothing here compiles or runs:
a proposal that does not compile is found by the build and not counted.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One change: `old` at line `line`, column `column` (both from 1) of `file` becomes `new`."""

    module: str
    file: str
    line: int
    column: int
    old: str
    new: str
    rule: str

    def key(self):
        return f"{self.file}:{self.line}:{self.column}:{self.rule}:{self.old}=>{self.new}"

    def describe(self):
        return f"{self.file}:{self.line}: {self.rule}: `{self.old}` -> `{self.new}`"


TOKEN = re.compile(
    r"""
    (?P<space>\s+)
    | (?P<comment>//[^\n]* | /\*.*?\*/)
    | (?P<raw>R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
    | (?P<string>"(?:\\.|[^"\\\n])*")
    | (?P<char>'(?:\\.|[^'\\\n])+')
    | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
    | (?P<word>[A-Za-z_]\w*)
    | (?P<op><=>|<<=|>>=|\.\.\.|::|->|\+\+|--|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|<<|>>|[^\s\w])
    """,
    re.VERBOSE | re.DOTALL,
)

COMPARISONS = {
    "<": ["<=", ">="],
    "<=": ["<", ">"],
    ">": [">=", "<="],
    ">=": [">", "<"],
    "==": ["!="],
    "!=": ["=="],
}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+="}
EXCHANGED = {
    "min": "max",
    "max": "min",
    "min_element": "max_element",
    "max_element": "min_element",
    "lower_bound": "upper_bound",
    "upper_bound": "lower_bound",
    "front": "back",
    "back": "front",
    "any_of": "all_of",
    "all_of": "any_of",
    "true": "false",
    "false": "true",
}
# What ends an operand, besides an unbalanced bracket, by the operator whose operand it is.
ENDS = {",", ";", "?", ":", "=", "+=", "-=", "*=", "/=", "<<", ">>", "||", "return"}
ENDS_OF = {
    "||": ENDS,
    "&&": ENDS | {"&&"},
    "+": ENDS | {"&&", "==", "!=", "<", ">", "<=", ">=", "+", "-"},
}
ENDS_OF["-"] = ENDS_OF["+"]
# A capacity is no result: a change of it is slower at most.
IDLE_LINE = re.compile(r"\breserve\(|\bstatic_assert\b")
# Returned, these are what {} makes, or another rule changes them.
SAME_AS_NOTHING = re.compile(r'true|false|\{\}|\*this|nullptr|std::nullopt|""|0[uUlLzZ]*|0\.0*[fF]?')
SQL = re.compile(r"\b(SELECT|FROM|WHERE|JOIN|ORDER BY|GROUP BY|INSERT INTO|UPDATE|DELETE|AND|UNION)\b")


@dataclass
class Token:
    kind: str
    text: str
    at: int


def tokens_of(text):
    tokens = []
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:  # a lone quote, as in an error of the tokenizer: left out
            at += 1
            continue
        kind = found.lastgroup if found.lastgroup != "delimiter" else "raw"
        tokens.append(Token(kind, found.group(), at))
        at = found.end()
    return tokens


class Finder:
    """Collects the proposals of one file."""

    def __init__(self, module, file, text):
        self.module = module
        self.file = file
        self.text = text
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.found = []
        self.tokens = [t for t in self.without_preprocessor(tokens_of(text)) if t.kind not in ("space", "comment")]

    def without_preprocessor(self, tokens):
        skipped_to = -1
        for token in tokens:
            if token.at < skipped_to:
                continue
            if token.text == "#":
                end = self.text.find("\n", token.at)
                while end > 0 and self.text[end - 1] == "\\":
                    end = self.text.find("\n", end + 1)
                skipped_to = len(self.text) if end < 0 else end
                continue
            yield token

    def line_of(self, at):
        low, high = 0, len(self.lines) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.starts[middle] <= at:
                low = middle
            else:
                high = middle - 1
        return low

    def propose(self, begin, end, new, rule):
        line = self.line_of(begin)
        old = self.text[begin:end]
        if "\n" in old or old == new or IDLE_LINE.search(self.lines[line]):
            return
        column = begin - self.starts[line] + 1
        self.found.append(Mutant(self.module, self.file, line + 1, column, old, new, rule))

    def spaced(self, token):
        """True for a binary operator as the formatter sets it: with a space or the line's end on both sides."""
        before = self.text[token.at - 1 : token.at]
        after = self.text[token.at + len(token.text) : token.at + len(token.text) + 1]
        return before.isspace() and after.isspace()

    def operand(self, index, direction, ends):
        """Index of the last token of the operand that starts beside `index`, or None if it is empty."""
        depth = 0
        at = index + direction
        last = None
        opening, closing = ("([{", ")]}") if direction > 0 else (")]}", "([{")
        while 0 <= at < len(self.tokens):
            token = self.tokens[at]
            if token.kind in ("op", "word"):
                if token.text in opening:
                    depth += 1
                elif token.text in closing:
                    if depth == 0:
                        break
                    depth -= 1
                elif depth == 0 and token.text in ends:
                    if token.text not in ("<", ">") or self.spaced(token):
                        break
            last = at
            at += direction
        return last

    def operators(self):
        for index, token in enumerate(self.tokens):
            if token.kind != "op":
                continue
            end = token.at + len(token.text)
            before = self.tokens[index - 1] if index else None
            if token.text in COMPARISONS and self.spaced(token) and before.text not in ("template", "operator"):
                for new in COMPARISONS[token.text]:
                    self.propose(token.at, end, new, "comparison")
            if token.text in ARITHMETIC and self.spaced(token):
                self.propose(token.at, end, ARITHMETIC[token.text], "arithmetic")
            if token.text in ENDS_OF and self.spaced(token):
                self.dropped(index, token)
            if token.text == "!" and not self.spaced(token):
                self.propose(token.at, end, "", "negation")

    def dropped(self, index, token):
        left = self.operand(index, -1, ENDS_OF[token.text])
        right = self.operand(index, +1, ENDS_OF[token.text])
        if left is None or right is None:
            return
        if any(t.kind in ("string", "raw", "char") for t in self.tokens[left : right + 1]) and token.text in "+-":
            return
        last = self.tokens[right]
        before = self.tokens[index - 1]
        rule = "dropped condition" if token.text in ("&&", "||") else "dropped term"
        self.propose(before.at + len(before.text), last.at + len(last.text), "", rule)
        if token.text != "-":
            self.propose(self.tokens[left].at, self.tokens[index + 1].at, "", rule)

    def words(self):
        for index, token in enumerate(self.tokens):
            if token.kind != "word":
                continue
            after = self.tokens[index + 1].text if index + 1 < len(self.tokens) else ""
            if token.text in EXCHANGED and (token.text in ("true", "false") or after == "("):
                self.propose(token.at, token.at + len(token.text), EXCHANGED[token.text], "exchanged word")
            if token.text == "if" and after == "(":
                self.negated_condition(index + 1)
            if token.text == "return":
                self.returned(index)

    def negated_condition(self, opening):
        close = self.operand(opening, +1, set())
        if close is None:
            return
        begin = self.tokens[opening].at + 1
        end = self.tokens[close].at + len(self.tokens[close].text)
        condition = self.text[begin:end]
        if ";" not in condition and " = " not in condition:
            self.propose(begin, end, f"!({condition})", "negated condition")

    def returned(self, index):
        last = self.operand(index, +1, {";"})
        if last is None:
            return
        begin = self.tokens[index + 1].at
        end = self.tokens[last].at + len(self.tokens[last].text)
        if not SAME_AS_NOTHING.fullmatch(self.text[begin:end]):
            self.propose(begin, end, "{}", "returned value")

    def numbers(self):
        for token in self.tokens:
            if token.kind != "number":
                continue
            for new in changed_number(token.text):
                self.propose(token.at, token.at + len(token.text), new, "constant")

    def sql(self):
        group = []
        for token in self.tokens + [Token("op", ";", len(self.text))]:
            if token.kind in ("string", "raw"):
                group.append(token)
                continue
            if group and SQL.search(" ".join(t.text for t in group)):
                for literal in group:
                    self.sql_literal(literal)
            group = []

    def sql_literal(self, literal):
        at = literal.at
        for line in literal.text.split("\n"):
            code = line.split("--")[0]
            self.sql_line(at, code)
            at += len(line) + 1

    def sql_line(self, at, code):
        def propose(found, group, new, rule):
            self.propose(at + found.start(group), at + found.end(group), new, "SQL: " + rule)

        for found in re.finditer(r"(?<=\s)(<=|>=|<>|!=|=|<|>)(?=\s)", code):
            for new in {"=": ["<>"], "<>": ["="], "!=": ["="]}.get(found.group(), COMPARISONS.get(found.group(), [])):
                propose(found, 0, new, "comparison")
        for found in re.finditer(r"\b(MIN|MAX|min|max)(?=\()", code):
            old = found.group()
            propose(found, 0, {"MIN": "MAX", "MAX": "MIN", "min": "max", "max": "min"}[old], "minimum and maximum")
        for found in re.finditer(r" IS (NOT )?NULL\b", code):
            propose(found, 0, " IS NULL" if found.group(1) else " IS NOT NULL", "null")
        for found in re.finditer(r"[\w.]+ IS (?:NOT )?NULL OR ", code):
            propose(found, 0, "", "dropped condition")
        for found in re.finditer(r"\bLEFT JOIN\b", code):
            propose(found, 0, "JOIN", "outer join")
        for found in re.finditer(r" DESC\b", code):
            propose(found, 0, "", "order")
        for found in re.finditer(r" ([+-]) (?=[\w(])", code):
            propose(found, 1, ARITHMETIC[found.group(1)], "arithmetic")
        for found in re.finditer(r"(?<=[\s(,])\d+(?:\.\d+)?(?=[\s),;]|$)", code):
            for new in changed_number(found.group())[:1]:
                propose(found, 0, new, "constant")
        condition = r"[^()]*?(?:\([^()]*\)[^()]*?)*?"
        end = r"(?= AND | OR |\)|\"|;| GROUP | ORDER | THEN | LIMIT |$)"
        for found in re.finditer(rf"\b(AND|WHERE) ({condition}){end}", code):
            if found.group(2).strip() and "BETWEEN" not in code:
                propose(found, 2, "1 ", "dropped condition")
        # The order of columns counts in a list of results or values, not behind FROM or GROUP BY or in a key.
        if not re.search(r"INDEX|PRIMARY|UNIQUE|REFERENCES|CREATE", code):
            listed = re.split(r"\b(?:FROM|JOIN|WHERE|GROUP BY|ORDER BY)\b", code)[0]
            for found in re.finditer(r"(?<![\w.(])((?:\w+\.)?[a-z]\w*), ((?:\w+\.)?[a-z]\w*)(?=[,\s]|$)", listed):
                propose(found, 0, f"{found.group(2)}, {found.group(1)}", "swapped columns")


def changed_number(text):
    """Replacements of a number, the nearest first."""
    found = re.fullmatch(r"(0[xX][\dA-Fa-f']+|[\d']+)([uUlLzZ]*)", text)
    if found:
        digits, suffix = found.group(1).replace("'", ""), found.group(2)
        value = int(digits, 16 if digits[:2] in ("0x", "0X") else 10)
        changed = [value + 1] + ([value - 1] if value > 0 else [])
        if value >= 1000 and value % 1000 == 0:
            changed.append(value * 1000)
        return [f"{new}{suffix}" for new in changed if new < 2**63]
    try:
        value = float(text.replace("'", "").rstrip("fFlL"))
    except ValueError:
        return []
    if value == 0.0:
        return ["1.0"]
    return [repr(value / 2), repr(value * 2)]


def mutants_of(module, file, text):
    """All proposals for one file, in the order of the text, each once."""
    finder = Finder(module, file, text)
    finder.operators()
    finder.words()
    finder.numbers()
    finder.sql()
    unique = {}
    for mutant in finder.found:
        unique.setdefault((mutant.line, mutant.column, mutant.old, mutant.new), mutant)
    return sorted(unique.values(), key=lambda m: (m.line, m.column, m.new))


def applied(text, mutant):
    """The file's text with the change made; None if the place does not hold what the mutant says."""
    lines = text.split("\n")
    if mutant.line > len(lines):
        return None
    line = lines[mutant.line - 1]
    begin = mutant.column - 1
    if line[begin : begin + len(mutant.old)] != mutant.old:
        return None
    lines[mutant.line - 1] = line[:begin] + mutant.new + line[begin + len(mutant.old) :]
    return "\n".join(lines)
