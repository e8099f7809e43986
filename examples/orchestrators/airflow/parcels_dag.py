"""Airflow: the parcels of the night, once a day.

Put switchback_run.py beside this file in the DAGs folder. The verdict becomes Airflow's own states: success, failed
without another try, or failed with the tries of the task.
"""

from datetime import datetime, timedelta

from airflow.exceptions import AirflowException, AirflowFailException
from airflow.sdk import dag, get_current_context, task

from switchback_run import Verdict, run


def page(context):
    """What no retry fixes: put your pager here. `consumer status` says why a pipeline is paused."""
    print(f"parcels failed in run {context['run_id']}: {context.get('exception')}")


@dag(schedule="0 2 * * *", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1)
def parcels():
    @task(
        retries=3, retry_delay=timedelta(minutes=1), retry_exponential_backoff=True, max_retry_delay=timedelta(minutes=30),
        on_failure_callback=page,
    )
    def consume():
        context = get_current_context()
        ended = run("/etc/switchback/parcels.yaml", context["run_id"], timeout=3600, max_dlq_rate=0.05, sla="30m")
        if ended.verdict in (Verdict.HELD, Verdict.WRONG):
            raise AirflowFailException(str(ended))  # failed; no other try
        if ended.verdict is Verdict.AGAIN:
            raise AirflowException(str(ended))  # failed; tried again
        return {"partly": ended.verdict is Verdict.PARTLY, **ended.summary}

    @task.short_circuit
    def has_dead_letters(summary):
        return summary["partly"] or summary["dead_lettered"] > 0

    @task
    def tell(summary):
        print(f"{summary['dead_lettered']} dead letters in run {summary['run_id']}: replayer groups")

    summary = consume()
    has_dead_letters(summary) >> tell(summary)


parcels()
