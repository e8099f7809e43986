"""One bounded run of a Switchback pipeline, for an orchestrator of any kind.

It starts `consumer run --until-end`, waits for it, reads the summary and says what the exit code means for whoever
schedules. It needs nothing but Python's standard library and `consumer` on the PATH.
"""

import enum
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field


class Verdict(enum.Enum):
    """What an orchestrator is to do after a run."""

    DONE = "done"          # go on
    PARTLY = "partly"      # go on, and tell somebody: running again does not mend what failed
    HELD = "held"          # stop and ask a person: the pipeline holds until `consumer resume`
    WRONG = "wrong"        # stop: the call or the pipeline file is wrong, and stays so
    AGAIN = "again"        # run again: what is finished is committed, the next run goes on from there


# The exit codes of the command line. Whatever is not here, such as a signal, is AGAIN: no run leaves anything half done.
VERDICTS = {0: Verdict.DONE, 2: Verdict.WRONG, 4: Verdict.PARTLY, 6: Verdict.HELD}


@dataclass
class Run:
    """A run that has ended."""

    code: int
    verdict: Verdict
    summary: dict = field(default_factory=dict)  # empty when the run did not come to have one
    message: str = ""                            # the last line that it said

    def __str__(self):
        counts = {k: self.summary[k] for k in ("consumed", "delivered", "dead_lettered", "waiting") if k in self.summary}
        return f"{self.verdict.value} (exit code {self.code}): {counts or self.message}"


def run(config, run_id, *, consumer="consumer", timeout=None, env=None):
    """Run the pipeline of the file `config` to the end of what its source holds now.

    `run_id` stands in every header, log line and audit event of the run; take the orchestrator's own. After `timeout`
    seconds the consumer is asked to stop: it commits what is finished, and the verdict is AGAIN.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "summary.json")
        command = [consumer, "run", "-c", config, "--until-end", "--run-id", run_id, "--summary", path]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}) as process:
            try:
                _, said = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.terminate()
                _, said = process.communicate()
        summary = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                summary = json.load(file)
    lines = said.strip().splitlines()
    return Run(process.returncode, VERDICTS.get(process.returncode, Verdict.AGAIN), summary, lines[-1] if lines else "")
