"""One bounded run of a Switchback pipeline, for an orchestrator of any kind.

It starts `consumer run --until-end`, waits for it, reads the summary and says what the exit code means for
the schedule. It needs nothing but Python's standard library and `consumer` on the PATH.
"""

import enum
import json
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field


class Verdict(enum.Enum):
    """What an orchestrator is to do after a run."""

    DONE = "done"          # go on
    PARTLY = "partly"      # go on, and tell somebody: running again does not fix what failed
    HELD = "paused"        # stop and ask a person: the pipeline holds until `consumer resume`
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


def run(config, run_id, *, consumer="consumer", timeout=None, env=None, max_dlq_rate=None, sla=None, allow_quarantine=False, log=None):
    """Run the pipeline of the file `config` to the end of what its source holds now.

    `run_id` stands in every header, log line and audit event of the run; take the orchestrator's own. After `timeout`
    seconds the consumer is asked to stop: it commits what is finished, and the verdict is AGAIN.

    `max_dlq_rate` (0 to 1) and `sla` (such as "10m") are limits of the run: beyond them, and when it leaves a batch of the
    producer quarantined (unless `allow_quarantine`), the verdict is PARTLY. `log` is called with each line of the consumer's
    log while it runs; without it, the lines go to standard error, which orchestrators keep with the task.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "summary.json")
        command = [consumer, "run", "-c", config, "--until-end", "--run-id", run_id, "--summary", path]
        if max_dlq_rate is not None:
            command += ["--max-dlq-rate", str(max_dlq_rate)]
        if sla is not None:
            command += ["--sla", sla]
        if allow_quarantine:
            command.append("--allow-quarantine")
        last = [""]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}) as process:
            reader = threading.Thread(target=_pass_on, args=(process.stderr, log or _to_stderr, last))
            reader.start()
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                process.terminate()
                process.wait()
            reader.join()
        summary = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                summary = json.load(file)
    return Run(process.returncode, VERDICTS.get(process.returncode, Verdict.AGAIN), summary, last[0])


def _pass_on(lines, log, last):
    """Give each line to the log as it comes, and keep the last one that says something."""
    for line in lines:
        line = line.rstrip("\n")
        log(line)
        last[0] = line.strip() or last[0]


def _to_stderr(line):
    print(line, file=sys.stderr, flush=True)
