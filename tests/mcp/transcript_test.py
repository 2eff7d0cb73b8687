"""What an agent sees: a client of each era that follows what the server says is worth asking, and finds the kernel to
improve in at most four calls; then strangers, whom the server survives. What the first says and reads of the example's capture is a
page of docs/results; it is compared, or written with --accept.

usage: transcript_test.py RIDGELINE FABRICATE CAPTURE PAGE [--accept]
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAM, FABRICATE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CAPTURE, PAGE, ACCEPT = sys.argv[3], sys.argv[4], "--accept" in sys.argv
MAX_CALLS = 4
MAX_TOKENS = 10_000
MAX_BYTES_A_TOKEN = 3  # of JSON; most tokenisers take more bytes a token
STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "transcript", "version": "1"},
}


class Client:
    """The program, spoken to a line at a time."""

    def __init__(self, root, handshake, *more):
        self.server = subprocess.Popen([PROGRAM, "mcp", "--root", root, *more], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.meta = None if handshake else STATELESS
        self.last_id = 0
        self.calls = 0
        self.said = []  # tool, arguments, answer
        if handshake:
            begun = self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                            "clientInfo": {"name": "transcript", "version": "1"}})
            assert begun["protocolVersion"] == "2025-11-25", begun
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        else:
            assert "2026-07-28" in self.ask("server/discover", {})["supportedVersions"]

    def send(self, message):
        self.server.stdin.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
        self.server.stdin.flush()

    def receive(self):
        line = self.server.stdout.readline()
        assert line.endswith(b"\n"), (line[:200], self.server.stderr.read()[:500])
        return json.loads(line)

    def ask(self, method, params):
        self.last_id += 1
        if self.meta:
            params = dict(params, _meta=self.meta)
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        answer = self.receive()
        assert answer["id"] == self.last_id, answer
        assert "result" in answer, answer
        return answer["result"]

    def call(self, tool, arguments):
        self.calls += 1
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = result["content"][0]["text"]
        assert len(text.encode()) / MAX_BYTES_A_TOKEN < MAX_TOKENS, (tool, len(text))
        assert not result["isError"], text
        assert json.loads(text) == result["structuredContent"]
        self.said.append((tool, arguments, result["structuredContent"]))
        return result["structuredContent"]

    def end(self):
        self.server.stdin.close()
        assert self.server.wait(timeout=60) == 0, self.server.stderr.read()
        rest = self.server.stdout.read()
        self.server.stdout.close()
        self.server.stderr.close()
        return rest


def expected_kernel(capture):
    """What the program itself ranks first."""
    document = subprocess.run([PROGRAM, "rank", capture, "--format", "json", "--top", "1"], check=True,
                              capture_output=True, text=True).stdout
    return json.loads(document)["rows"][0]["kernel"]


def finds_the_kernel(root, capture, handshake):
    client = Client(root, handshake)
    tool, arguments = "captures", {}
    while True:
        answer = client.call(tool, arguments)
        if tool == "explain":
            break
        assert answer["next"], (tool, answer)
        tool, arguments = answer["next"][0]["tool"], answer["next"][0]["arguments"]
    assert client.calls <= MAX_CALLS, client.calls
    assert answer["kernel"]["kernel"] == expected_kernel(capture), answer["kernel"]
    assert answer["limits"] and answer["holds"], answer
    assert all("error_ratio" in limit and "tier" in limit for limit in answer["limits"]), answer["limits"]
    command = client.call("ncu_command", {"capture": arguments["capture"], "kernel": "1"})["command"]
    assert command.startswith("ncu "), command
    assert client.end() == b"", "nothing but answers is on standard output"
    print(f"found in {client.calls - 1} calls: {answer['kernel']['name']}")
    return client.said


# What of each answer leads on; the whole is what the client reads.
SHOWN = {"captures": ("rows_total", "sorted_by", "rows", "next"),
         "summary": ("step", "time", "what_to_do.first", "what_to_do.cases.0", "rows.0", "rows.1", "rows_total", "sorted_by", "quality", "left_out", "next"),
         "explain": ("kernel", "holds", "limits", "what_to_do.first", "quality.coverage_ratio", "left_out", "next"), "ncu_command": ("command", "notes")}
WHY = {"captures": "It knows nothing yet, and the server's instructions say to ask this first.",
       "summary": "`next` of the first answer. Kernels come by what the step would gain, with errors and tiers beside the figures, and `quality` says how far to trust them.",
       "explain": "`next` again: the kernel that could save most. `holds` is the sentence to act on; each limit has its tier and error.",
       "ncu_command": "To look inside, it hands this on to somebody with the program."}


def member(answer, path):
    for part in path.split("."):
        if isinstance(answer, list):
            if not part.isdigit() or int(part) >= len(answer):
                return None
            answer = answer[int(part)]
        elif isinstance(answer, dict):
            answer = answer.get(part)
        else:
            return None
    return answer


def readable(value):
    """Numbers to four digits; a handle without what it says of the file's time."""
    if isinstance(value, float):
        short = float(f"{value:.4g}")
        return int(short) if abs(short) >= 1e4 else short
    if isinstance(value, str):
        return re.sub(r"@[0-9a-f]+$", "@…", value)
    if isinstance(value, list):
        return [readable(part) for part in value]
    return {key: readable(part) for key, part in value.items()} if isinstance(value, dict) else value


def folded(text, width=150):
    """Long lists of short values in a line."""
    def one_line(match):
        line = " ".join(part.strip() for part in match[0].splitlines())
        return line if len(line) < width else match[0]
    for _ in range(3):
        text = re.sub(r"[\[{][^\[\]{}]*[\]}]", one_line, text)
    return text


def page_of(said):
    text = ["# Transcript: an agent finds the kernel to improve", "",
            "A client of `ridgeline mcp` that knows nothing of captures and follows what each answer says is worth asking next, on the recording in",
            "[examples](../../examples/README.md). `tests/mcp/transcript_test.py` plays it and holds this page to it (`--accept` writes it). Of each answer",
            "the members that lead on are shown, numbers to four digits.", ""]
    for number, (tool, arguments, answer) in enumerate(said, 1):
        shown = {path: member(answer, path) for path in SHOWN[tool]}
        shown = {path: value for path, value in shown.items() if value not in (None, [], {})}
        size = len(json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode())
        text += [f"## {number}. `{tool}`", WHY[tool], "", "```json", json.dumps(readable(arguments), ensure_ascii=False), "```", "",
                 f"The answer has {size:,} bytes, and {'lists were cut' if answer.get('left_out') else 'nothing was left out of it'}:", "", "```json",
                 folded(json.dumps(readable(shown), indent=1, ensure_ascii=False)), "```", ""]
    return "\n".join(text)


def check_page(folder):
    root = os.path.join(folder, "page")
    os.mkdir(root)
    copy = os.path.join(root, "gpt2-h200.ridge")
    shutil.copy(CAPTURE, copy)
    page = page_of(finds_the_kernel(root, copy, False))
    if ACCEPT:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page)
    with open(PAGE, encoding="utf-8") as file:
        kept = file.read()
    assert kept == page, f"{PAGE} is not what the server says now: look at it with --accept\n" + page[:2000]


def survives(root):
    client = Client(root, False, "--time-limit", "2")
    for line, code in [(b"{", -32700), (b"[" * 2_000_000, -32600), (b'{"jsonrpc":"2.0","id":1,"method":"x"}', -32602),
                       (b"\x00\xff\xfe", -32700), (b'"' + b"a" * 3_000_000 + b'"', -32600), (b"[1,2]", -32600)]:
        client.send(line)
        assert client.receive()["error"]["code"] == code, line[:40]
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n"
    begun = time.monotonic()
    result = client.ask("tools/call", {"name": "sql", "arguments": {"capture": "c.ridge", "query": endless}})
    assert result["isError"] and "stopped after 2 s" in result["content"][0]["text"], result
    assert 1 < time.monotonic() - begun < 30
    # One that is cancelled is not answered, and the next is.
    client.send({"jsonrpc": "2.0", "id": "endless", "method": "tools/call",
                 "params": {"name": "sql", "arguments": {"capture": "c.ridge", "query": endless}, "_meta": STATELESS}})
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "endless"}})
    assert client.call("captures", {})["rows_total"] == 1
    # What was asked before the end is answered.
    client.send({"jsonrpc": "2.0", "id": "last", "method": "tools/list", "params": {"_meta": STATELESS}})
    assert json.loads(client.end())["id"] == "last"
    nowhere = subprocess.run([PROGRAM, "mcp", "--root", root + "/nowhere"], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False)
    assert nowhere.returncode == 4 and "nowhere" in nowhere.stderr and nowhere.stderr.count("\n") == 1, nowhere


with tempfile.TemporaryDirectory() as folder:
    made = os.path.join(folder, "c.ridge")
    subprocess.run([FABRICATE, made, "samples"], check=True)
    for with_handshake in (False, True):
        finds_the_kernel(folder, made, with_handshake)
    survives(folder)
    check_page(folder)
