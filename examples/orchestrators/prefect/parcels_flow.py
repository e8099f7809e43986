"""Prefect: the parcels of the night as a flow.

The verdict becomes Prefect's own states: Completed, Completed under the name PartlyFailed, Failed, or Failed with the
retries of the task.
"""

from prefect import flow, get_run_logger, runtime, task
from prefect.states import Completed, Failed
from prefect.tasks import exponential_backoff

from switchback_run import Verdict, run


class Again(Exception):
    """The run can go on where it stopped."""


def worth_another_try(_task, _run, state):
    """Retry what is over by itself, and nothing that a person has to fix."""
    return isinstance(state.result(raise_on_failure=False), Again)


def page(_flow, flow_run, state):
    """What no retry fixes: put your pager here. `consumer status` says why a pipeline is paused."""
    print(f"{flow_run.name} failed: {state.message}")


@task(retries=3, retry_delay_seconds=exponential_backoff(backoff_factor=60), retry_jitter_factor=0.5, retry_condition_fn=worth_another_try)
def consume(config: str, run_id: str):
    ended = run(config, run_id, timeout=3600, max_dlq_rate=0.05, sla="30m", log=get_run_logger().info)
    if ended.verdict is Verdict.AGAIN:
        raise Again(str(ended))
    return ended


@flow(on_failure=[page])
def parcels(config: str = "/etc/switchback/parcels.yaml"):
    ended = consume(config, str(runtime.flow_run.id))
    if ended.verdict in (Verdict.HELD, Verdict.WRONG):
        return Failed(message=str(ended))
    if ended.verdict is Verdict.PARTLY:
        return Completed(name="PartlyFailed", message=str(ended))
    return Completed(message=str(ended))


if __name__ == "__main__":
    parcels.serve(name="nightly", cron="0 2 * * *")
