"""Prefect: the parcels of the night as a flow.

The verdict becomes Prefect's own states: Completed, Completed under the name PartlyFailed, Failed, or Failed with the
retries of the task.
"""

from prefect import flow, runtime, task
from prefect.states import Completed, Failed

from switchback_run import Verdict, run


class Again(Exception):
    """The run can go on where it stopped."""


def worth_another_try(_task, _run, state):
    """Retry what is over by itself, and nothing that a person has to mend."""
    return isinstance(state.result(raise_on_failure=False), Again)


@task(retries=3, retry_delay_seconds=300, retry_condition_fn=worth_another_try)
def consume(config: str, run_id: str):
    ended = run(config, run_id, timeout=3600)
    if ended.verdict is Verdict.AGAIN:
        raise Again(str(ended))
    return ended


@flow
def parcels(config: str = "/etc/switchback/parcels.yaml"):
    ended = consume(config, str(runtime.flow_run.id))
    if ended.verdict in (Verdict.HELD, Verdict.WRONG):
        return Failed(message=str(ended))
    if ended.verdict is Verdict.PARTLY:
        return Completed(name="PartlyFailed", message=str(ended))
    return Completed(message=str(ended))


if __name__ == "__main__":
    parcels.serve(name="nightly", cron="0 2 * * *")
