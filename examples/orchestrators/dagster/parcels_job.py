"""Dagster: the parcels as an asset, materialised once a day.

The verdict becomes Dagster's own: materialised with the counts as metadata, a failure without retries, or a request for
one. What went wrong in part is a failed check on an asset that is there.
"""

from dagster import (
    AssetCheckResult, AssetCheckSpec, AssetExecutionContext, Definitions, Failure, HookContext, MaterializeResult, RetryRequested,
    ScheduleDefinition, asset, define_asset_job, failure_hook,
)

from switchback_run import Verdict, run


@failure_hook
def page(context: HookContext):
    """What no retry fixes: put your pager here. `consumer status` says why a pipeline is paused."""
    context.log.error(f"parcels failed: {context.op_exception}")


@asset(check_specs=[AssetCheckSpec(name="all_delivered", asset="parcels")])
def parcels(context: AssetExecutionContext) -> MaterializeResult:
    ended = run("/etc/switchback/parcels.yaml", context.run_id, timeout=3600, max_dlq_rate=0.05, sla="30m", log=context.log.info)
    if ended.verdict in (Verdict.HELD, Verdict.WRONG):
        raise Failure(description=str(ended), metadata=ended.summary, allow_retries=False)
    if ended.verdict is Verdict.AGAIN:
        raise RetryRequested(max_retries=3, seconds_to_wait=60 * 2**context.retry_number) from Exception(str(ended))
    dead = ended.summary["dead_lettered"]
    return MaterializeResult(
        metadata=ended.summary,
        check_results=[AssetCheckResult(
            check_name="all_delivered", passed=ended.verdict is Verdict.DONE and dead == 0, metadata={"dead_lettered": dead},
        )],
    )


nightly = define_asset_job("nightly", selection=[parcels], hooks={page})
definitions = Definitions(
    assets=[parcels], jobs=[nightly], schedules=[ScheduleDefinition(job=nightly, cron_schedule="0 2 * * *")],
)
