"""One function a format: parses a document with an independent parser or against its schema and returns what a reader of the format
sees. Raises what the parser raises, or AssertionError."""
import csv
import importlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

PACKAGES = {"junitparser": "python3-junitparser", "prometheus_client": "python3-prometheus-client", "jsonschema": "python3-jsonschema",
            "markdown_it": "python3-markdown-it", "html5lib": "python3-html5lib", "yaml": "python3-yaml"}
missing = []
for module, package in PACKAGES.items():
    try:
        importlib.import_module(module)
    except ImportError:
        missing.append(package)
if not shutil.which("xmllint"):
    missing.append("libxml2-utils")
if missing:
    sys.exit("the parsers that formats are held against are missing: apt-get install " + " ".join(missing))

import html5lib  # noqa: E402
import jsonschema  # noqa: E402
import junitparser  # noqa: E402
from markdown_it import MarkdownIt  # noqa: E402
from prometheus_client.openmetrics.parser import text_string_to_metric_families  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def schema(name):
    with open(os.path.join(ROOT, "docs", "schemas", name + ".json"), encoding="utf-8") as file:
        read = json.load(file)
    jsonschema.Draft202012Validator.check_schema(read)
    return read


def against(name, text):
    document = json.loads(text)
    jsonschema.Draft202012Validator(schema(name)).validate(document)
    return document


def jenkins(text):
    """What Jenkins' xUnit plugin takes, by its schema."""
    done = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", os.path.join(os.path.dirname(os.path.abspath(__file__)), "junit-10.xsd"), "-"],
                          input=text.encode(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[:1000]


def junit(text):
    """Cases as (class name, name, result kind, message); the counts of the attributes are those of the cases."""
    jenkins(text)
    document = junitparser.JUnitXml.fromstring(text.encode())
    suites = list(document)
    assert len(suites) == 1, f"{len(suites)} suites"
    suite = suites[0]
    kinds = {junitparser.Failure: "failure", junitparser.Error: "error", junitparser.Skipped: "skipped"}
    cases = []
    for case in suite:
        assert case.name and case.classname and case.time is not None and case.time >= 0, case
        assert len(case.result) <= 1, f"{case.name} has {len(case.result)} results"
        result = case.result[0] if case.result else None
        assert result is None or result.message, f"{case.name} says nothing"
        cases.append((case.classname, case.name, kinds[type(result)] if result is not None else "passed", result.message if result is not None else ""))
    names = [case[:2] for case in cases]
    assert len(set(names)) == len(names), "two cases of one name"
    counted = [sum(case[2] == kind for case in cases) for kind in ("failure", "error", "skipped")]
    for level in (document, suite):
        said = [level.tests, level.failures, level.errors]
        assert said == [len(cases), *counted[:2]], f"counts {said} of {len(cases)} cases, {counted}"
    assert suite.skipped == counted[2], f"{suite.skipped} skipped of {counted[2]}"
    return cases


def openmetrics(text):
    """Family name -> [(labels, value)]."""
    families = list(text_string_to_metric_families(text))
    names = [family.name for family in families]
    assert len(set(names)) == len(names), "a family twice"
    for family in families:
        assert family.type == "gauge" and family.documentation, family
    return {family.name: [(sample.labels, sample.value) for sample in family.samples] for family in families}


def github(text):
    """Workflow commands as (kind, title, message), by the grammar of GitHub's documentation ("Workflow commands"): ::name k=v,k=v::data,
    with % \\r \\n escaped in data and : , as well in properties. Ten of a kind at most are shown."""
    commands = []
    for line in text.splitlines():
        found = re.fullmatch(r"::(error|warning|notice) ((?:\w+=[^,:]*)(?:,\w+=[^,:]*)*)::(.*)", line)
        assert found, f"no workflow command: {line!r}"
        properties = dict(pair.split("=", 1) for pair in found[2].split(","))
        assert set(properties) <= {"title", "file", "col", "endColumn", "line", "endLine"}, properties
        for escaped in [found[3], *properties.values()]:
            assert not re.search(r"%(?!25|0D|0A|3A|2C)", escaped), f"a bare %: {escaped}"
        plain = lambda value: re.sub(r"%(25|0D|0A|3A|2C)", lambda m: chr(int(m[1], 16)), value)
        commands.append((found[1], plain(properties["title"]), plain(found[3])))
    for kind in ("error", "warning", "notice"):
        assert sum(command[0] == kind for command in commands) <= 10, f"more {kind}s than are shown"
    return commands


def markdown(text):
    """Tables as lists of rows of cell texts. Of HTML only <details> and <summary> may come through."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    tables = []
    for token in tokens:
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and tables and token.level >= 4:
            tables[-1][-1].append("".join(child.content for child in token.children))
        for part in [token, *(token.children or [])]:
            if part.type in ("html_block", "html_inline"):
                rest = re.sub(r"</?(details|summary)>|Runs and environment", "", part.content)
                assert not rest.strip(), f"HTML in Markdown: {part.content!r}"
    for table in tables:
        assert len({len(row) for row in table}) == 1, f"rows of {sorted({len(row) for row in table})} cells"
    return tables


def rows_of_csv(text):
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert rows and len({len(row) for row in rows}) == 1, "rows of different lengths"
    return rows


def html(text):
    """The page's visible text. Nothing in it runs or fetches; each chart is XML of its own."""
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    for element in tree.iter():
        if not isinstance(element.tag, str):
            continue
        assert not element.tag.endswith(("script", "iframe", "object", "embed", "link", "form")), element.tag
        for name, value in element.attrib.items():
            assert not str(name).lower().startswith("on"), f"{element.tag} {name}"
            assert str(name) not in ("src", "href") or value.startswith("#"), f"{element.tag} {name}={value}"
    charts = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    for chart in charts:
        root = ElementTree.fromstring(chart)
        assert root.attrib.get("viewBox") and root.attrib.get("role") == "img", root.attrib
    body = tree.find("body")
    return " ".join("".join(body.itertext()).split()), len(charts)


def text(document):
    for character in document:
        assert character == "\n" or ord(character) >= 32 and not 127 <= ord(character) < 160, f"control character {ord(character)}"
        assert character not in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068", "text that is reordered"
    return document
