"""Registry of the rules, in the order in which results list them. To add one: one file here, one line below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clientscope.risks import Risk
from udfs.rules import (
    an101_acks_zero,
    an102_idempotence_lost_to_acks,
    an103_retries_few,
    an104_in_flight_above_idempotence,
    an105_reordering_possible,
    an106_delivery_timeout_below_one_try,
    an107_delivery_timeout_short,
    an108_request_timeout_short,
    an109_linger_zero,
    an110_batch_size_small,
    an111_batch_never_fills,
    an112_compression_none,
    an113_buffer_memory_small,
    an114_transactional_not_idempotent,
    an115_request_size_above_broker,
    an116_acks_one,
    an201_heartbeat_interval_long,
    an202_session_timeout_short,
    an203_session_timeout_long,
    an204_poll_interval_below_session,
    an205_poll_interval_long,
    an206_poll_records_many,
    an207_auto_commit,
    an208_auto_commit_interval_short,
    an209_offset_reset_none,
    an210_fetch_min_bytes_one,
    an211_fetch_wait_unfit,
    an212_isolation_level_unfit,
    an213_eager_rebalancing,
    an214_auto_commit_without_group,
    an215_rack_unset,
    an216_static_member_unfit,
    an217_auto_create_topics,
    an301_metadata_age_unfit,
    an302_idle_connections_kept,
    an303_reconnect_backoff_flat,
    an304_retry_backoff_unfit,
    an305_socket_buffer_small,
    an306_client_id_anonymous,
    an307_software_known_bad,
    an308_software_unknown,
    an309_versions_removed_later,
    an310_configuration_drift,
    an311_value_unparsable,
    an401_setting_changed,
    an402_value_rare_in_fleet,
    an403_version_outside_fleet,
    an404_reconnect_storm,
    an405_requests_contradict,
    an406_poll_headroom_small,
    an407_queue_time_above_linger,
    an408_retries_after_change,
    cf101_key_unknown,
    cf102_value_out_of_range,
    cf103_value_not_allowed,
    cf104_combination_refused,
    cf105_key_deprecated,
    cf106_key_removed,
    cf107_key_not_yet,
    cf108_key_set_twice,
    cf109_key_of_other_library,
    cf110_key_of_other_client,
    sk001_pushed_credential,
    sk002_credential_in_value,
    sk003_excluded_setting,
    sk004_random_looking_value,
    sk005_custom_setting,
)
from udfs.rules.engine.rule import Rule

if TYPE_CHECKING:
    from clientscope.findings.record import Finding  # its models take a tenth of the start of a command that needs none

RULES: tuple[Rule, ...] = (
    an101_acks_zero.RULE,
    an102_idempotence_lost_to_acks.RULE,
    an103_retries_few.RULE,
    an104_in_flight_above_idempotence.RULE,
    an105_reordering_possible.RULE,
    an106_delivery_timeout_below_one_try.RULE,
    an107_delivery_timeout_short.RULE,
    an108_request_timeout_short.RULE,
    an109_linger_zero.RULE,
    an110_batch_size_small.RULE,
    an111_batch_never_fills.RULE,
    an112_compression_none.RULE,
    an113_buffer_memory_small.RULE,
    an114_transactional_not_idempotent.RULE,
    an115_request_size_above_broker.RULE,
    an116_acks_one.RULE,
    an201_heartbeat_interval_long.RULE,
    an202_session_timeout_short.RULE,
    an203_session_timeout_long.RULE,
    an204_poll_interval_below_session.RULE,
    an205_poll_interval_long.RULE,
    an206_poll_records_many.RULE,
    an207_auto_commit.RULE,
    an208_auto_commit_interval_short.RULE,
    an209_offset_reset_none.RULE,
    an210_fetch_min_bytes_one.RULE,
    an211_fetch_wait_unfit.RULE,
    an212_isolation_level_unfit.RULE,
    an213_eager_rebalancing.RULE,
    an214_auto_commit_without_group.RULE,
    an215_rack_unset.RULE,
    an216_static_member_unfit.RULE,
    an217_auto_create_topics.RULE,
    an301_metadata_age_unfit.RULE,
    an302_idle_connections_kept.RULE,
    an303_reconnect_backoff_flat.RULE,
    an304_retry_backoff_unfit.RULE,
    an305_socket_buffer_small.RULE,
    an306_client_id_anonymous.RULE,
    an307_software_known_bad.RULE,
    an308_software_unknown.RULE,
    an311_value_unparsable.RULE,
    cf101_key_unknown.RULE,
    cf102_value_out_of_range.RULE,
    cf103_value_not_allowed.RULE,
    cf104_combination_refused.RULE,
    cf105_key_deprecated.RULE,
    cf106_key_removed.RULE,
    cf107_key_not_yet.RULE,
    cf108_key_set_twice.RULE,
    cf109_key_of_other_library.RULE,
    cf110_key_of_other_client.RULE,
    sk001_pushed_credential.RULE,
    sk002_credential_in_value.RULE,
    sk003_excluded_setting.RULE,
    sk004_random_looking_value.RULE,
    sk005_custom_setting.RULE,
)
"""Judged push by push, by code."""

FLEET_RULES: tuple[Rule, ...] = (
    an309_versions_removed_later.RULE,
    an310_configuration_drift.RULE,
    an401_setting_changed.RULE,
    an402_value_rare_in_fleet.RULE,
    an403_version_outside_fleet.RULE,
    an404_reconnect_storm.RULE,
    an405_requests_contradict.RULE,
    an406_poll_headroom_small.RULE,
    an407_queue_time_above_linger.RULE,
    an408_retries_after_change.RULE,
)
"""Judged over time and across the fleet (`streaming.findings`), by code; no push's result lists them."""

EVERY_RULE: tuple[Rule, ...] = tuple(sorted((*RULES, *FLEET_RULES), key=lambda rule: rule.code))

LIMITS = {rule.code: tuple(rule.limits) for rule in EVERY_RULE}
"""Every code → the names of its thresholds: what a profile may change."""

LOW_CONFIDENCE = frozenset({sk004_random_looking_value.RULE.code})
"""Rules whose findings are in a list of their own and cause no alert."""

_RISKS = {rule.code: rule.risks for rule in EVERY_RULE}


def risks_of(code: str) -> tuple[Risk, ...]:
    """What a finding of this code risks; nothing of a code that is no rule's, such as those of clientscope's own operation."""
    return _RISKS.get(code, ())


def with_risks(finding: Finding) -> Finding:
    """A finding with what it risks: records of releases before 0.2 don't say it."""
    return finding if finding.risks else finding.model_copy(update={"risks": list(risks_of(finding.code))})
