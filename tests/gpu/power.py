"""What nvidia-smi says each card draws while a program runs, to hold the power of a capture against."""
import subprocess
import tempfile

LEAST_APART_W = 50  # cards that draw about the same tell nothing


class PowerWatch:
    """Most power of each card from start() to stop()."""

    def __init__(self):
        self.max_w = {}  # UUID -> watts
        self.printed = self.process = None

    def start(self):
        self.printed = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(["nvidia-smi", "--query-gpu=uuid,power.draw", "--format=csv,noheader,nounits", "-lms", "200"],
                                        stdout=self.printed, stderr=subprocess.DEVNULL)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.printed.seek(0)
        self.read(self.printed)
        self.printed.close()

    def read(self, lines):
        for line in lines:
            uuid, _, watts = line.partition(",")
            try:
                self.max_w[uuid.strip()] = max(float(watts), self.max_w.get(uuid.strip(), 0.0))
            except ValueError:
                continue  # "[N/A]", or a line cut off by the end

    def judge(self, uuid, recorded_w, wrong):
        """Adds to `wrong` if the recorded maximum is nearer to another card's than to that of `uuid`; says what was compared."""
        others = [watts for other, watts in self.max_w.items() if other != uuid]
        mine = self.max_w.get(uuid)
        if mine is None or not others:
            wrong.append("nvidia-smi says no power of the cards")
            return "nothing to compare"
        other = min(others, key=lambda watts: abs(watts - recorded_w))
        if abs(mine - other) < LEAST_APART_W:
            return f"undecided: both cards drew {mine:.0f} and {other:.0f} W"
        if abs(mine - recorded_w) >= abs(other - recorded_w):
            wrong.append(f"the recorded power is that of another card: {recorded_w:.0f} W, {mine:.0f} here and {other:.0f} there")
        return f"nvidia-smi: {mine:.0f} here, {other:.0f} there"
